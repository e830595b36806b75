/*
 * manifest.h - a list of remote files, as the user wrote it
 *
 * A struct manifest is immutable once loaded, counted, and shared by threads without a lock. It is
 * compact: names and URLs share prefixes, 10^6 entries stay under 200 bytes each. An entry is
 * looked at through a struct entry, whose strings are assembled into its own buffer.
 */
#ifndef MANIFEST_MANIFEST_H
#define MANIFEST_MANIFEST_H

#include "base/strbuf.h"
#include "core/range.h"

#define MANIFEST_NO_TIME     INT64_MIN
#define MANIFEST_ENTRIES_MAX UINT32_C(16777216)
#define MANIFEST_URLS_MAX    64
#define MANIFEST_HEADERS_MAX 32

enum checksum_algo {
	CHECKSUM_NONE,
	CHECKSUM_MD5,
	CHECKSUM_SHA1,
	CHECKSUM_SHA224,
	CHECKSUM_SHA256,
	CHECKSUM_SHA384,
	CHECKSUM_SHA512,
	CHECKSUM_ALGO_COUNT
};
#define CHECKSUM_MAX 64

struct checksum {
	enum checksum_algo algo;
	uint8_t value[CHECKSUM_MAX];
};
size_t checksum_length(enum checksum_algo algo);
bool checksum_equal(const struct checksum *a, const struct checksum *b);
const char *checksum_name(enum checksum_algo algo); /* "sha-256" */
/* "sha-256=HEX", also "sha256:HEX". 0 or -EINVAL. */
int checksum_parse(const char *text, struct checksum *ret);

struct entry {
	const char *path; /* "dir/name": no leading slash, valid components only */
	bool directory;	  /* an empty directory; no URL */
	unsigned int url_count;
	const char *url[MANIFEST_URLS_MAX];
	uint64_t size;		  /* of the file (of the slice, if there is one); SIZE_UNKNOWN */
	int64_t mtime;		  /* seconds; MANIFEST_NO_TIME */
	unsigned int mode;	  /* permission bits, 0: not given */
	struct checksum checksum; /* of the file */
	const char *etag;	  /* NULL: not given */
	const char *id;		  /* NULL: not given */
	unsigned int header_count;
	const char *header[MANIFEST_HEADERS_MAX]; /* "Name: value" */
	struct range slice;			  /* of the URL; {0, SIZE_UNKNOWN}: all of it */
	struct strbuf text;			  /* the strings live here */
};
void entry_init(struct entry *e);
void entry_done(struct entry *e);
/* Of "Name: value": may it change what is sent? Those that only tell who asks may not. */
bool header_names_content(const char *header);

enum manifest_layout { LAYOUT_FLAT, LAYOUT_URL };

struct manifest_options {
	enum manifest_layout layout;
	int64_t default_mtime; /* of the manifest file itself; shown for entries without one */
	const char *path_key;  /* how a name is given, for messages on text; NULL: "out=NAME" */
	bool foreign;	       /* it came from a public address: see manifest_foreign() */
};

struct manifest;

/*
 * Load from a buffer; name is for messages ("list.txt", "standard input", a redacted URL).
 * 0 and a manifest with one reference. -EINVAL: refused; *error (at least MANIFEST_ERROR_MAX) is
 * one line "FILE:LINE: what is wrong (what to do)". -ENOMEM. Warnings (ignored aria2 keys) are
 * logged.
 */
#define MANIFEST_ERROR_MAX 1024
int manifest_parse(const char *data, size_t len, const char *name,
		   const struct manifest_options *opt, struct manifest **ret,
		   char error[MANIFEST_ERROR_MAX]);
/* All that fd gives, to be freed. 0, -errno, or -EFBIG: more than the largest manifest (1 GiB). */
int manifest_read(int fd, char **ret, size_t *ret_len);
struct manifest *manifest_get(struct manifest *m);
void manifest_put(struct manifest *m);

uint32_t manifest_count(const struct manifest *m);
/* Was m loaded after the other one? */
bool manifest_newer(const struct manifest *m, const struct manifest *than);
/* Its URLs are a stranger's: they must not reach what is not public (the address policy). */
bool manifest_foreign(const struct manifest *m);
/*
 * Fill e (entry_init()ed, reused freely). 0 or -ENOMEM. Entries are sorted by path, component by
 * component ("a/b" before "a-b"), and are files but for directories with nothing in them.
 */
int manifest_entry(const struct manifest *m, uint32_t index, struct entry *e);
/* Cheap looks, no assembly. An empty directory has size 0. */
uint64_t manifest_size(const struct manifest *m, uint32_t index);
int64_t manifest_mtime(const struct manifest *m,
		       uint32_t index); /* the default where none was given */
unsigned int manifest_mode(const struct manifest *m, uint32_t index);
/*
 * Names as a tree: directory d's children are consecutive. The root is directory 0.
 * manifest_child() fills name (borrowed, not terminated), and either a file's index or a directory.
 */
uint32_t manifest_dir_count(const struct manifest *m);
uint32_t manifest_dir_children(const struct manifest *m, uint32_t dir);
struct manifest_child {
	const char *name;
	size_t name_len;
	bool directory;
	uint32_t index; /* of the entry, or of the directory */
};
void manifest_child(const struct manifest *m, uint32_t dir, uint32_t nth,
		    struct manifest_child *ret);
/* Binary search by name in dir. 0 or -ENOENT. */
int manifest_lookup(const struct manifest *m, uint32_t dir, const char *name, size_t len,
		    struct manifest_child *ret);

/* Write entries as the JSON manifest (rgetfs index). 0 or -errno of the stream. */
int manifest_write_json_begin(FILE *f);
int manifest_write_json_entry(FILE *f, const struct entry *e, bool first);
int manifest_write_json_end(FILE *f);

#endif
