# The fault server and its formula tool: what end-to-end tests and benchmarks fetch from.
noinst_PROGRAMS += tests/origin/origin tests/origin/formula
tests_origin_origin_SOURCES = \
	tests/origin/answer.c \
	tests/origin/conn.c \
	tests/origin/content.c tests/origin/content.h \
	tests/origin/control.c \
	tests/origin/fault.c tests/origin/fault.h \
	tests/origin/head.c \
	tests/origin/help.c \
	tests/origin/origin.c tests/origin/origin.h \
	tests/origin/plan.h \
	tests/origin/resource.c \
	tests/origin/rule.c tests/origin/rule.h \
	tests/origin/send.c \
	tests/origin/serve.c \
	tests/origin/signature.c \
	tests/origin/stats.c \
	tests/origin/tls.c
tests_origin_origin_CPPFLAGS = $(AM_CPPFLAGS) $(SSL_CFLAGS)
tests_origin_origin_LDADD = librgetfs.a $(SSL_LIBS) $(CRYPTO_LIBS) -lm
tests_origin_formula_SOURCES = \
	tests/origin/content.c tests/origin/content.h \
	tests/origin/formula.c
tests_origin_formula_LDADD = librgetfs.a -lm
