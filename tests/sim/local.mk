# The scheduler in simulated time; each prints a table and fails on a ratio that is not kept.
check_PROGRAMS += tests/sim/sim_matrix
tests_sim_sim_matrix_SOURCES = tests/sim/sim_matrix.c tests/sim/sim.c tests/sim/sim_reader.c tests/sim/sim.h tests/sim/sim_internal.h
tests_sim_sim_matrix_LDADD = $(rgetfs_libs)
TESTS += tests/sim/sim_matrix
check_PROGRAMS += tests/sim/sim_readers
tests_sim_sim_readers_SOURCES = tests/sim/sim_readers.c tests/sim/sim.c tests/sim/sim_reader.c tests/sim/sim.h tests/sim/sim_internal.h
tests_sim_sim_readers_LDADD = $(rgetfs_libs)
TESTS += tests/sim/sim_readers
check_PROGRAMS += tests/sim/sim_faults
tests_sim_sim_faults_SOURCES = tests/sim/sim_faults.c tests/sim/sim.c tests/sim/sim_reader.c tests/sim/sim.h tests/sim/sim_internal.h
tests_sim_sim_faults_LDADD = $(rgetfs_libs)
TESTS += tests/sim/sim_faults
check_PROGRAMS += tests/sim/sim_scale
tests_sim_sim_scale_SOURCES = tests/sim/sim_scale.c
tests_sim_sim_scale_LDADD = $(rgetfs_libs)
TESTS += tests/sim/sim_scale
