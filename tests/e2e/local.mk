# End to end: one behaviour a file, TAP (lib.sh). Each may run beside the others.
check_PROGRAMS += tests/e2e/access
tests_e2e_access_SOURCES = tests/e2e/access.c
tests_e2e_access_LDADD = librgetfs.a -lm
e2e_tests = \
	tests/e2e/mount-life.t \
	tests/e2e/origin.t
TESTS += $(e2e_tests)
dist_check_SCRIPTS += $(e2e_tests)
EXTRA_DIST += tests/e2e/lib.sh tests/e2e/programs.sh
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = RGETFS_BUILD='$(abs_top_builddir)'; export RGETFS_BUILD;
