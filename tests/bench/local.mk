# Readers and drivers of the benchmarks; built by "make check", run by "make bench-core".
check_PROGRAMS += tests/bench/reads
tests_bench_reads_SOURCES = tests/bench/reads.c
tests_bench_reads_LDADD = $(rgetfs_libs)
dist_noinst_SCRIPTS += tests/bench/core tests/bench/scattered tests/bench/downloads tests/bench/links

# The figures the mount is built for; some minutes, alone on the machine.
.PHONY: bench-core bench-downloads bench-links
bench-core: $(check_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/core

# rgetfs get beside the downloaders that are installed; some ten minutes, alone on the machine.
bench-downloads: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/downloads

# rgetfs get beside wget on emulated links (tests/net); half an hour, alone on the machine, as root.
bench-links: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/links
