# A link between network namespaces, for what only real TCP shows; README.md there. "make check" builds it and runs
# tests/e2e/link.t.
noinst_PROGRAMS += tests/net/link
tests_net_link_SOURCES = tests/net/lane.c tests/net/lane.h tests/net/link.c
tests_net_link_LDADD = librgetfs.a -lm
check_PROGRAMS += tests/unit/test_lane
tests_unit_test_lane_SOURCES = tests/net/lane.c tests/net/lane.h tests/unit/test_lane.c
tests_unit_test_lane_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(CHECK_CFLAGS)
tests_unit_test_lane_LDADD = $(rgetfs_libs) $(CHECK_LIBS)
TESTS += tests/unit/test_lane
dist_noinst_SCRIPTS += tests/net/lab tests/net/check
dist_noinst_DATA += tests/net/README.md

# Is the link true on this machine? About a minute, as root, alone on the machine.
.PHONY: net-check
net-check: $(noinst_PROGRAMS)
	RGETFS_BUILD='$(abs_top_builddir)' $(abs_top_srcdir)/tests/net/check
