dist_noinst_DATA += doc/design.md doc/format.md doc/HACKING.md
dist_man_MANS += doc/rgetfs-manifest.5
dist_man_MANS += doc/rgetfs.1 doc/rgetfs-mount.1 doc/rgetfs-unmount.1
