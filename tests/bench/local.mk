# Readers and drivers of the benchmarks; built by "make check", run by "make bench-core".
check_PROGRAMS += tests/bench/reads
tests_bench_reads_SOURCES = tests/bench/reads.c
tests_bench_reads_LDADD = $(rgetfs_libs)
