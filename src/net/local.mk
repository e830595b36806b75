librgetfs_a_SOURCES += \
	src/net/body.c \
	src/net/chunk.c src/net/chunk.h \
	src/net/easy.c \
	src/net/failure.c \
	src/net/fetch.c src/net/fetch.h \
	src/net/head.c \
	src/net/hop.c \
	src/net/limiter.c src/net/limiter.h \
	src/net/owned.c src/net/owned.h \
	src/net/policy.c \
	src/net/proxy.c \
	src/net/run.c src/net/run.h \
	src/net/shared.c src/net/shared.h \
	src/net/sockets.c src/net/sockets.h
