librgetfs_a_SOURCES += \
	src/base/banned.h \
	src/base/base.h \
	src/base/clock.c src/base/clock.h \
	src/base/heap.c src/base/heap.h \
	src/base/lock.c src/base/lock.h \
	src/base/log.c src/base/log.h \
	src/base/size.c src/base/size.h \
	src/base/strbuf.c src/base/strbuf.h
