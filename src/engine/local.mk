librgetfs_a_SOURCES += \
	src/engine/adopt.c \
	src/engine/answer.c \
	src/engine/backfill.c \
	src/engine/content.c \
	src/engine/engine.c src/engine/engine.h \
	src/engine/fill.c \
	src/engine/identity.c \
	src/engine/internal.h \
	src/engine/learned.c \
	src/engine/lease.c \
	src/engine/loop.c \
	src/engine/object.c \
	src/engine/origin.c \
	src/engine/outcome.c \
	src/engine/probe.c \
	src/engine/pull.c \
	src/engine/reader.c src/engine/readers.h \
	src/engine/recall.c \
	src/engine/revalidate.c \
	src/engine/roll.c \
	src/engine/task.c src/engine/task.h \
	src/engine/tell.c \
	src/engine/worker.c \
	src/engine/writer.c
