/*
 * record.c - what is remembered of each object, in memory: a tree by key
 *
 * A million of them are loaded at start, so a validator is kept as its short text and parsed when
 * asked for.
 */
#include "store/record.h"

static int record_cmp(const struct record *a, const struct record *b)
{
	return memcmp(a->key.bytes, b->key.bytes, OBJECT_KEY_BYTES);
}

RB_GENERATE(record_tree, record, node, record_cmp)

void records_init(struct records *rs)
{
	RB_INIT(&rs->tree);
	TAILQ_INIT(&rs->dirty);
	rs->count = 0;
}

void records_done(struct records *rs)
{
	struct record *rec, *next;

	for (rec = RB_MIN(record_tree, &rs->tree); rec; rec = next) {
		next = RB_NEXT(record_tree, &rs->tree, rec);
		RB_REMOVE(record_tree, &rs->tree, rec);
		free(rec->validator);
		free(rec->version_validator);
		free(rec);
	}
	records_init(rs);
}

struct record *records_find(struct records *rs, const struct object_key *key)
{
	struct record like = {.key = *key};

	return RB_FIND(record_tree, &rs->tree, &like);
}

struct record *records_make(struct records *rs, const struct object_key *key)
{
	struct record *rec = records_find(rs, key);

	if (rec)
		return rec;
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return NULL;
	rec->key = *key;
	rec->size = SIZE_UNKNOWN;
	rec->mtime = VALIDATOR_NO_TIME;
	rec->version_size = SIZE_UNKNOWN;
	RB_INSERT(record_tree, &rs->tree, rec);
	rs->count++;
	return rec;
}

void records_mark(struct records *rs, struct record *rec)
{
	if (rec->dirty)
		return;
	rec->dirty = true;
	TAILQ_INSERT_TAIL(&rs->dirty, rec, link);
}

void records_mark_first(struct records *rs, struct record *rec)
{
	if (rec->dirty)
		TAILQ_REMOVE(&rs->dirty, rec, link);
	rec->dirty = true;
	TAILQ_INSERT_HEAD(&rs->dirty, rec, link);
}

int record_set_text(char **text, const struct validator *v)
{
	char buf[VALIDATOR_TEXT_MAX], *copy;

	validator_format(v, buf);
	if (*text && strcmp(*text, buf) == 0)
		return 0;
	copy = strdup(buf);
	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

static void parse_text(const char *text, struct validator *ret)
{
	*ret = VALIDATOR_INIT;
	if (text && validator_parse(text, ret))
		*ret = VALIDATOR_INIT;
}

void record_validator(const struct record *rec, struct validator *ret)
{
	parse_text(rec->validator, ret);
}

void record_version_validator(const struct record *rec, struct validator *ret)
{
	parse_text(rec->version_validator ? rec->version_validator : rec->validator, ret);
}

int record_set_version(struct record *rec, uint64_t id, struct version *v,
		       const struct validator *validator)
{
	char *text = NULL;
	int r;

	if (validator) {
		r = record_set_text(&text, validator);
		if (r)
			return r;
	}
	free(rec->version_validator);
	rec->version_validator = text;
	rec->version = v;
	rec->version_id = id;
	rec->version_row = 0;
	rec->version_size = SIZE_UNKNOWN;
	rec->version_bytes = 0;
	return 0;
}

void record_row(const struct record *rec, struct object_row *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->key = rec->key;
	ret->size = rec->size;
	ret->mtime = rec->mtime;
	ret->asked_s = rec->asked_s;
	ret->version = rec->version_row;
	snprintf(ret->validator, sizeof(ret->validator), "%s",
		 rec->validator ? rec->validator : "");
}
