# Fuzz targets. "make check" replays their corpora; "make fuzz" searches, FUZZ_SECONDS for each target of
# fuzz_targets, with clang's libFuzzer in a directory of its own; what it finds is left in fuzz/NAME.
fuzz_targets = content_range date http_resp manifest url
fuzz_replay = tests/fuzz/replay.c tests/fuzz/fuzz.h

check_PROGRAMS += tests/fuzz/fuzz_content_range
tests_fuzz_fuzz_content_range_SOURCES = tests/fuzz/fuzz_content_range.c $(fuzz_replay)
tests_fuzz_fuzz_content_range_LDADD = $(rgetfs_libs)
TESTS += tests/fuzz/fuzz_content_range
check_PROGRAMS += tests/fuzz/fuzz_date
tests_fuzz_fuzz_date_SOURCES = tests/fuzz/fuzz_date.c $(fuzz_replay)
tests_fuzz_fuzz_date_LDADD = $(rgetfs_libs)
TESTS += tests/fuzz/fuzz_date
check_PROGRAMS += tests/fuzz/fuzz_http_resp
tests_fuzz_fuzz_http_resp_SOURCES = tests/fuzz/fuzz_http_resp.c $(fuzz_replay)
tests_fuzz_fuzz_http_resp_LDADD = $(rgetfs_libs)
TESTS += tests/fuzz/fuzz_http_resp
check_PROGRAMS += tests/fuzz/fuzz_manifest
tests_fuzz_fuzz_manifest_SOURCES = tests/fuzz/fuzz_manifest.c $(fuzz_replay)
tests_fuzz_fuzz_manifest_LDADD = $(rgetfs_libs)
TESTS += tests/fuzz/fuzz_manifest
check_PROGRAMS += tests/fuzz/fuzz_url
tests_fuzz_fuzz_url_SOURCES = tests/fuzz/fuzz_url.c $(fuzz_replay)
tests_fuzz_fuzz_url_LDADD = $(rgetfs_libs)
TESTS += tests/fuzz/fuzz_url

EXTRA_DIST += tests/fuzz/corpus

FUZZ_SECONDS = 60
FUZZ_CC = clang
FUZZ_CFLAGS = -std=gnu11 -O1 -g -pthread -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
	-Wno-gnu-variable-sized-type-not-at-end
.PHONY: fuzz
fuzz:
	@set -e; for name in $(fuzz_targets); do \
		dir=fuzz/$$name; $(MKDIR_P) $$dir/corpus; \
		echo "fuzz: $$name, $(FUZZ_SECONDS) s"; \
		$(FUZZ_CC) $(FUZZ_CFLAGS) $(DEFS) $(AM_CPPFLAGS) -o $$dir/run $(srcdir)/tests/fuzz/fuzz_$$name.c \
			$(srcdir)/src/base/*.c $(srcdir)/src/core/*.c $(srcdir)/src/manifest/*.c $(JANSSON_LIBS) $(XXHASH_LIBS) -lm; \
		$$dir/run -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix=$$dir/ $$dir/corpus $(srcdir)/tests/fuzz/corpus/$$name 2>$$dir/log \
			|| { tail -40 $$dir/log; echo "fuzz: $$name FAILED, the input is in $$dir"; exit 1; }; \
	done
