check_PROGRAMS += tests/crash/store_kill
tests_crash_store_kill_SOURCES = tests/crash/store_kill.c tests/unit/store_util.c tests/unit/store_util.h
tests_crash_store_kill_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/unit $(CHECK_CFLAGS)
tests_crash_store_kill_LDADD = $(rgetfs_libs) $(CHECK_LIBS)
TESTS += tests/crash/store_kill
