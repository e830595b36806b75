# Seeded random operations against naive oracles: PROGRAM [SEED], or RGETFS_SEED.
noinst_HEADERS += tests/model/seed.h
check_PROGRAMS += tests/model/model_extmap
tests_model_model_extmap_SOURCES = tests/model/model_extmap.c
tests_model_model_extmap_LDADD = $(rgetfs_libs)
TESTS += tests/model/model_extmap
check_PROGRAMS += tests/model/model_rangeset
tests_model_model_rangeset_SOURCES = tests/model/model_rangeset.c
tests_model_model_rangeset_LDADD = $(rgetfs_libs)
TESTS += tests/model/model_rangeset
check_PROGRAMS += tests/model/scale_extmap
tests_model_scale_extmap_SOURCES = tests/model/scale_extmap.c
tests_model_scale_extmap_LDADD = $(rgetfs_libs)
TESTS += tests/model/scale_extmap
check_PROGRAMS += tests/model/model_sched
tests_model_model_sched_SOURCES = tests/model/model_sched.c
tests_model_model_sched_LDADD = $(rgetfs_libs)
TESTS += tests/model/model_sched
