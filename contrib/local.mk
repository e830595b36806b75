dist_noinst_SCRIPTS += contrib/check
dist_noinst_DATA += contrib/common.sh
