check_PROGRAMS += tests/platform/window_clamp
tests_platform_window_clamp_SOURCES = tests/platform/window_clamp.c
tests_platform_window_clamp_LDADD = librgetfs.a
TESTS += tests/platform/window_clamp
