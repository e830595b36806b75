dist_noinst_SCRIPTS += tools/lint tools/check-includes tools/count-tests
dist_noinst_DATA += tools/tsan.suppress .clang-format .clang-tidy tests/.clang-tidy .shellcheckrc

.PHONY: lint check-unit check-asan check-tsan
lint:
	$(top_srcdir)/tools/lint $(top_builddir)

# What needs no mount, for where there can be none.
check-unit:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$(filter-out %.t tests/crash/%,$(TESTS))"

# The same tests in builds of their own below this one. The sanitizers' options make the first finding fatal.
check-asan:
	$(MKDIR_P) build-asan && cd build-asan && \
	{ test -f Makefile || $(abs_top_srcdir)/configure -q --enable-sanitizer=address --enable-debug $(SANITIZER_CONFIGURE); } && \
	$(MAKE) $(AM_MAKEFLAGS) && \
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$(sanitizer_tests)"

check-tsan:
	$(MKDIR_P) build-tsan && cd build-tsan && \
	{ test -f Makefile || $(abs_top_srcdir)/configure -q --enable-sanitizer=thread --enable-debug $(SANITIZER_CONFIGURE); } && \
	$(MAKE) $(AM_MAKEFLAGS) && \
	TSAN_OPTIONS="halt_on_error=1 suppressions=$(abs_top_srcdir)/tools/tsan.suppress" \
	$(MAKE) $(AM_MAKEFLAGS) check TESTS="$(tsan_tests)"
