librgetfs_a_SOURCES += \
	src/daemon/check.c src/daemon/check.h \
	src/daemon/control.c src/daemon/control.h \
	src/daemon/control_client.c \
	src/daemon/download.c src/daemon/download.h \
	src/daemon/handle_drop.c \
	src/daemon/handle_fill.c \
	src/daemon/handle_verify.c \
	src/daemon/handlers.c \
	src/daemon/limits.c src/daemon/limits.h \
	src/daemon/mount.c src/daemon/mount.h \
	src/daemon/mounts.c src/daemon/mounts.h \
	src/daemon/orders.c src/daemon/orders.h \
	src/daemon/paths.c src/daemon/paths.h \
	src/daemon/ready.c src/daemon/ready.h \
	src/daemon/select.c src/daemon/select.h \
	src/daemon/source.c src/daemon/source.h \
	src/daemon/status.c
