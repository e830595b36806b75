
check_PROGRAMS += tests/unit/test_manifest tests/unit/test_manifest_model
tests_unit_test_manifest_SOURCES = tests/unit/test_manifest.c
tests_unit_test_manifest_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_manifest_LDADD = $(rgetfs_libs) $(CHECK_LIBS)
tests_unit_test_manifest_model_SOURCES = tests/unit/test_manifest_model.c
tests_unit_test_manifest_model_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_manifest_model_LDADD = $(rgetfs_libs) $(CHECK_LIBS)
TESTS += tests/unit/test_manifest tests/unit/test_manifest_model
check_PROGRAMS += tests/unit/test_fetch_answer
tests_unit_test_fetch_answer_SOURCES = tests/unit/test_fetch_answer.c tests/unit/test_fetch_help.c tests/unit/test_fetch_help.h
tests_unit_test_fetch_answer_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_unit_test_fetch_answer_LDADD = $(rgetfs_libs) $(CHECK_LIBS)
TESTS += tests/unit/test_fetch_answer
