bin_PROGRAMS += rgetfs
rgetfs_SOURCES = \
	src/cli/cmd_mount.c \
	src/cli/cmd_unmount.c \
	src/cli/commands.h \
	src/cli/main.c \
	src/cli/options.c src/cli/options.h \
	src/cli/settings.c src/cli/settings.h \
	src/cli/version.c src/cli/version.h
rgetfs_LDADD = $(rgetfs_libs)
