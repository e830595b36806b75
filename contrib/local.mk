dist_noinst_SCRIPTS += contrib/demo contrib/check
dist_noinst_DATA += contrib/common.sh
dist_sbin_SCRIPTS = contrib/mount.fuse.rgetfs
