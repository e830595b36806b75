librgetfs_a_SOURCES += \
	src/fs/fsops.c src/fs/fsops.h src/fs/fsops_int.h \
	src/fs/fsops_dir.c \
	src/fs/fsops_file.c \
	src/fs/fsops_name.c \
	src/fs/fsops_notify.c \
	src/fs/fsops_xattr.c \
	src/fs/nodes.c src/fs/nodes.h \
	src/fs/reload.c \
	src/fs/tree.c src/fs/tree.h
