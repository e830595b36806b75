dist_noinst_DATA += doc/design.md doc/HACKING.md
