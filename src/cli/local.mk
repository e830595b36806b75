bin_PROGRAMS += rgetfs
rgetfs_SOURCES = \
	src/cli/asking.c src/cli/asking.h \
	src/cli/cmd_cache.c \
	src/cli/cmd_drop.c \
	src/cli/cmd_fill.c \
	src/cli/cmd_get.c \
	src/cli/cmd_index.c \
	src/cli/cmd_mount.c \
	src/cli/cmd_reload.c \
	src/cli/cmd_status.c \
	src/cli/cmd_unmount.c \
	src/cli/cmd_verify.c \
	src/cli/commands.h \
	src/cli/get_plan.c src/cli/get_plan.h \
	src/cli/get_saved.c src/cli/get_saved.h \
	src/cli/get_view.c src/cli/get_view.h \
	src/cli/main.c \
	src/cli/options.c src/cli/options.h \
	src/cli/order.c src/cli/order.h \
	src/cli/output.c src/cli/output.h \
	src/cli/progress.c src/cli/progress.h \
	src/cli/screen.c src/cli/screen.h \
	src/cli/settings.c src/cli/settings.h \
	src/cli/status_view.c src/cli/status_view.h \
	src/cli/suggest.c src/cli/suggest.h \
	src/cli/targets.c src/cli/targets.h \
	src/cli/version.c src/cli/version.h
rgetfs_LDADD = $(rgetfs_libs)
