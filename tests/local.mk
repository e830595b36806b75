include tests/unit/local.mk
include tests/model/local.mk
include tests/sim/local.mk
include tests/origin/local.mk
include tests/e2e/local.mk
include tests/crash/local.mk
include tests/fuzz/local.mk
include tests/data/local.mk
include tests/platform/local.mk
include tests/net/local.mk
include tests/bench/local.mk
include tests/stress/local.mk

# What check-asan and check-tsan run. Everything without a mount and, with one, the quick tests that come by
# most of the code. Threads: what has some, and the models that share its code; extdb and the models of
# manifests have none and are slow there.
sanitizer_e2e = read range-ignored cut-short stalled-bodies replaced cache-limit remount programs-copy names \
	sizes no-length stream-sizes manifest-sources tls encoded get get-resume
tsan_e2e = read cut-short replaced remount cache-limit range-ignored get-manifest
no_tsan = tests/unit/test_manifest_model tests/unit/test_extdb tests/unit/test_http tests/crash/% tests/fuzz/% \
	tests/sim/% tests/model/scale_extmap
sanitizer_tests = $(filter-out %.t,$(TESTS)) $(sanitizer_e2e:%=tests/e2e/%.t)
tsan_tests = $(filter-out %.t $(no_tsan:%=%$(EXEEXT)),$(TESTS)) $(tsan_e2e:%=tests/e2e/%.t)
