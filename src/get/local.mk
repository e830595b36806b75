librgetfs_a_SOURCES += \
	src/get/adopt.c \
	src/get/beneath.c src/get/beneath.h \
	src/get/file.c src/get/internal.h \
	src/get/foreign.c src/get/foreign.h \
	src/get/get.c src/get/get.h \
	src/get/saved.c src/get/saved.h \
	src/get/target.c src/get/target.h
