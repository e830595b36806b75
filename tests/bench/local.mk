# Readers and drivers of the benchmarks; built by "make check", run by "make bench-core".
check_PROGRAMS += tests/bench/reads
tests_bench_reads_SOURCES = tests/bench/reads.c
tests_bench_reads_LDADD = $(rgetfs_libs)
check_PROGRAMS += tests/bench/writes
tests_bench_writes_SOURCES = tests/bench/writes.c
tests_bench_writes_LDADD = $(rgetfs_libs)
dist_noinst_DATA += tests/bench/README.md
dist_noinst_SCRIPTS += tests/bench/core tests/bench/scattered tests/bench/downloads tests/bench/links

# The figures the mount is built for; some minutes, alone on the machine.
.PHONY: bench bench-core bench-downloads bench-guard bench-links
bench-core: $(check_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/core

# rgetfs get beside the downloaders that are installed; some ten minutes, alone on the machine.
bench-downloads: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/downloads

# rgetfs get beside wget on emulated links (tests/net); half an hour, alone on the machine, as root.
bench-links: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/links

# All that needs no root and no hour.
bench: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	status=0; for b in downloads core; do \
		BUILD='$(abs_top_builddir)' $(top_srcdir)/tests/bench/$$b || status=1; \
	done; exit $$status

# Has it become worse? Ratios within one run, with room for a machine that is not quiet; not part of "make check".
bench-guard: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	BUILD='$(abs_top_builddir)' OUT='$(abs_top_builddir)/bench-guard.json' $(top_srcdir)/tests/bench/downloads --guard
