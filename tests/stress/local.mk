# Everything at once: "make stress" runs two minutes of it in a build of its own with address sanitizer and debug checks,
# "make stress SECONDS=1200 SEED=7" longer, or again what a seed showed; "make stress-here" uses this build.
check_PROGRAMS += tests/stress/reader
tests_stress_reader_SOURCES = \
	tests/origin/content.c tests/origin/content.h \
	tests/stress/oracle.c tests/stress/oracle.h \
	tests/stress/reader.c
tests_stress_reader_LDADD = librgetfs.a -lm
dist_noinst_SCRIPTS += tests/stress/stress

stress_options = --seconds=$(or $(SECONDS),120) $(if $(SEED),--seed=$(SEED))
.PHONY: stress stress-here
stress-here: $(check_PROGRAMS) $(noinst_PROGRAMS) $(bin_PROGRAMS)
	RGETFS_BUILD='$(abs_top_builddir)' $(abs_top_srcdir)/tests/stress/stress $(stress_options)
stress:
	$(MKDIR_P) build-asan && cd build-asan && \
	{ test -f Makefile || $(abs_top_srcdir)/configure -q --enable-sanitizer=address --enable-debug $(SANITIZER_CONFIGURE); } && \
	$(MAKE) $(AM_MAKEFLAGS) && \
	$(MAKE) $(AM_MAKEFLAGS) stress-here SECONDS='$(SECONDS)' SEED='$(SEED)'
