dist_noinst_SCRIPTS += contrib/demo contrib/check contrib/debian13-build
dist_noinst_DATA += contrib/common.sh
dist_sbin_SCRIPTS = contrib/mount.fuse.rgetfs
EXTRA_DIST += contrib/completion/rgetfs.bash
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(bashcompdir)'
	$(INSTALL_DATA) '$(srcdir)/contrib/completion/rgetfs.bash' '$(DESTDIR)$(bashcompdir)/rgetfs'
uninstall-local:
	rm -f '$(DESTDIR)$(bashcompdir)/rgetfs'
