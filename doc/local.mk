dist_noinst_DATA += doc/design.md doc/format.md doc/HACKING.md
dist_man_MANS += doc/rgetfs-manifest.5
dist_man_MANS += doc/rgetfs.1 doc/rgetfs-mount.1 doc/rgetfs-unmount.1
dist_man_MANS += doc/rgetfs-cache.1 doc/rgetfs-drop.1 doc/rgetfs-fill.1 doc/rgetfs-get.1 doc/rgetfs-index.1 doc/rgetfs-reload.1 doc/rgetfs-status.1 doc/rgetfs-verify.1
