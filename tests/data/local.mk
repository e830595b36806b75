EXTRA_DIST += tests/data/manifest
