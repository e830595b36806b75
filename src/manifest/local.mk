librgetfs_a_SOURCES += \
	src/manifest/builder.c src/manifest/builder.h \
	src/manifest/checksum.c \
	src/manifest/contents.c src/manifest/contents.h \
	src/manifest/draft.c src/manifest/draft.h \
	src/manifest/format.h \
	src/manifest/format_json.c \
	src/manifest/format_text.c \
	src/manifest/keys.c src/manifest/keys.h \
	src/manifest/load.c \
	src/manifest/manifest.c src/manifest/manifest.h \
	src/manifest/names.c src/manifest/names.h \
	src/manifest/pack.c src/manifest/pack.h \
	src/manifest/refuse.c src/manifest/refuse.h \
	src/manifest/sort.c \
	src/manifest/store.h \
	src/manifest/strings.c src/manifest/strings.h \
	src/manifest/write_json.c
