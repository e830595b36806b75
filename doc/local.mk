dist_noinst_DATA += doc/design.md doc/HACKING.md
dist_man_MANS += doc/rgetfs-manifest.5
