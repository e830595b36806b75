# End to end: one behaviour a file, TAP (lib.sh). Each may run beside the others.
check_PROGRAMS += tests/e2e/access
tests_e2e_access_SOURCES = tests/e2e/access.c
tests_e2e_access_LDADD = librgetfs.a -lm
e2e_tests = \
	tests/e2e/backfill-room.t \
	tests/e2e/busy-server.t \
	tests/e2e/cache.t \
	tests/e2e/cache-damage.t \
	tests/e2e/cache-full.t \
	tests/e2e/cache-limit.t \
	tests/e2e/cache-shortened.t \
	tests/e2e/completion.t \
	tests/e2e/connections.t \
	tests/e2e/credentials.t \
	tests/e2e/cut-short.t \
	tests/e2e/demand-first.t \
	tests/e2e/df-du.t \
	tests/e2e/drop.t \
	tests/e2e/drop-filling.t \
	tests/e2e/drop-full.t \
	tests/e2e/drop-parked.t \
	tests/e2e/durable-told.t \
	tests/e2e/encoded.t \
	tests/e2e/etag-flips.t \
	tests/e2e/ever-new.t \
	tests/e2e/few-descriptors.t \
	tests/e2e/fill.t \
	tests/e2e/fill-host-down.t \
	tests/e2e/few-places.t \
	tests/e2e/fill-after.t \
	tests/e2e/fstab.t \
	tests/e2e/get.t \
	tests/e2e/bench-guard.t \
	tests/e2e/get-adopt.t \
	tests/e2e/get-changed.t \
	tests/e2e/get-few-descriptors.t \
	tests/e2e/get-kill.t \
	tests/e2e/get-manifest.t \
	tests/e2e/get-names.t \
	tests/e2e/get-resume.t \
	tests/e2e/get-there.t \
	tests/e2e/help.t \
	tests/e2e/hints.t \
	tests/e2e/host-down.t \
	tests/e2e/hostile-answers.t \
	tests/e2e/hung-daemon.t \
	tests/e2e/if-range-date.t \
	tests/e2e/index.t \
	tests/e2e/index-changed.t \
	tests/e2e/index-reload.t \
	tests/e2e/interrupt.t \
	tests/e2e/kill9.t \
	tests/e2e/length-lies.t \
	tests/e2e/link.t \
	tests/e2e/log.t \
	tests/e2e/log-unread.t \
	tests/e2e/manifest-sources.t \
	tests/e2e/many-entries.t \
	tests/e2e/many-hosts.t \
	tests/e2e/many-stalled.t \
	tests/e2e/mistakes.t \
	tests/e2e/mount-life.t \
	tests/e2e/names.t \
	tests/e2e/nginx.t \
	tests/e2e/no-head.t \
	tests/e2e/no-length.t \
	tests/e2e/stream-known.t \
	tests/e2e/stream-sizes.t \
	tests/e2e/stream-spliced.t \
	tests/e2e/no-ranges-told.t \
	tests/e2e/no-total.t \
	tests/e2e/no-waste.t \
	tests/e2e/nobody-reads.t \
	tests/e2e/open-again.t \
	tests/e2e/orders.t \
	tests/e2e/origin.t \
	tests/e2e/origin-gone.t \
	tests/e2e/owner.t \
	tests/e2e/probes.t \
	tests/e2e/programs-copy.t \
	tests/e2e/programs-exec.t \
	tests/e2e/programs-ffmpeg.t \
	tests/e2e/programs-git.t \
	tests/e2e/programs-hdf5.t \
	tests/e2e/programs-iso.t \
	tests/e2e/programs-samtools.t \
	tests/e2e/programs-sqlite.t \
	tests/e2e/programs-squashfs.t \
	tests/e2e/programs-zip.t \
	tests/e2e/range-elsewhere.t \
	tests/e2e/range-ignored.t \
	tests/e2e/ranges-again.t \
	tests/e2e/redirect-busy.t \
	tests/e2e/redirect-expiry.t \
	tests/e2e/redirect-stale.t \
	tests/e2e/ranges-lost.t \
	tests/e2e/rate-limit.t \
	tests/e2e/read.t \
	tests/e2e/reload.t \
	tests/e2e/reload-indexed.t \
	tests/e2e/reload-resigned.t \
	tests/e2e/remount.t \
	tests/e2e/replaced.t \
	tests/e2e/revalidate.t \
	tests/e2e/roomy-file.t \
	tests/e2e/signed-redirect.t \
	tests/e2e/sizes.t \
	tests/e2e/some-broken.t \
	tests/e2e/some-busy.t \
	tests/e2e/sparse-copies.t \
	tests/e2e/stalled-bodies.t \
	tests/e2e/stalled-server.t \
	tests/e2e/status.t \
	tests/e2e/strided.t \
	tests/e2e/thousand-parked.t \
	tests/e2e/tls.t \
	tests/e2e/two-names.t \
	tests/e2e/two-owners.t \
	tests/e2e/unmount-at-once.t \
	tests/e2e/unproven.t \
	tests/e2e/verify.t \
	tests/e2e/wrong-bytes.t \
	tests/e2e/wrong-clock.t
TESTS += $(e2e_tests)
dist_check_SCRIPTS += $(e2e_tests)
EXTRA_DIST += tests/e2e/lib.sh tests/e2e/programs.sh
TEST_EXTENSIONS = .t
T_LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
AM_TESTS_ENVIRONMENT = RGETFS_BUILD='$(abs_top_builddir)'; export RGETFS_BUILD;

# The end-to-end tests alone, and which of them took longest.
.PHONY: check-e2e
check-e2e: $(check_PROGRAMS) $(bin_PROGRAMS)
	$(MAKE) check TESTS='$(e2e_tests)'; status=$$?; \
	grep -H '^# took' $(e2e_tests:.t=.log) | sed 's/^\(.*\)\.log:# took \(.*\)/\2 \1/' | sort -rn | head -n 10; \
	exit $$status
