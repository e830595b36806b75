librgetfs_a_SOURCES += \
	src/core/addr.c \
	src/core/extmap.c src/core/extmap.h \
	src/core/failmem.c src/core/failmem.h \
	src/core/http.c src/core/http.h \
	src/core/http_date.c \
	src/core/http_disposition.c \
	src/core/http_judge.c \
	src/core/range.h \
	src/core/rangeset.c src/core/rangeset.h \
	src/core/url.c src/core/url.h \
	src/core/validator.c src/core/validator.h \
	src/core/verdict.c src/core/verdict.h

librgetfs_a_SOURCES += \
	src/core/origin.c \
	src/core/readahead.c src/core/readahead.h \
	src/core/retry.c src/core/retry.h \
	src/core/sched.c src/core/sched.h src/core/sched_internal.h \
	src/core/sched_check.c \
	src/core/sched_connect.c \
	src/core/sched_demand.c \
	src/core/sched_gap.c \
	src/core/sched_lease.c \
	src/core/sched_queue.c \
	src/core/sched_report.c \
	src/core/sched_source.c
