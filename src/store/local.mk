librgetfs_a_SOURCES += \
	src/store/backing.c \
	src/store/batch.c src/store/batch.h \
	src/store/cache.c src/store/cache.h \
	src/store/checkpoint.c \
	src/store/dbthread.c src/store/dbthread.h \
	src/store/digest.c src/store/digest.h \
	src/store/evict.c \
	src/store/extdb.c src/store/extdb.h \
	src/store/extdb_open.c src/store/extdb_schema.h \
	src/store/forget.c \
	src/store/inventory.c src/store/inventory.h src/store/inventory_check.c \
	src/store/load.c \
	src/store/openfiles.c src/store/openfiles.h \
	src/store/order.c \
	src/store/record.c src/store/record.h \
	src/store/space.c \
	src/store/store.c src/store/store.h src/store/store_priv.h \
	src/store/sweep.c \
	src/store/syncpool.c src/store/syncpool.h \
	src/store/target.c \
	src/store/trust.c src/store/trust.h \
	src/store/upkeep.c \
	src/store/version.c src/store/version.h src/store/version_priv.h \
	src/store/write.c
