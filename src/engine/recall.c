/*
 * recall.c - what the store remembers of an object, and what that is worth for a manifest's entry
 *
 * The record is of whatever the entry was when it was made. The manifest's word on size, ETag and
 * checksum stands above it: what was cached for another size or checksum is never served.
 * Callers: object.c, on any thread.
 */
#include <xxhash.h>

#include "engine/internal.h"

int64_t object_proof(const struct checksum *c)
{
	uint64_t h = XXH3_64bits_withSeed(c->value, checksum_length(c->algo), c->algo);

	return -(int64_t)(h >> 2) - 1;
}

/* Below every proof. */
int64_t object_claim(const struct checksum *c)
{
	return object_proof(c) - (INT64_C(1) << 62);
}

/* An answer that came when there was no checksum proves nothing, nor does one for another. */
static int64_t object_recall_asked(const struct store_record *rec, const struct entry *entry)
{
	if (entry->checksum.algo == CHECKSUM_NONE)
		return rec->asked_s > 0 ? rec->asked_s : 0;
	return rec->asked_s == object_proof(&entry->checksum) ||
			       rec->asked_s == object_claim(&entry->checksum)
		       ? rec->asked_s
		       : 0;
}

/* What is recorded is not what entry asks for: of another size, or fetched for another checksum. */
static bool record_is_other(const struct store_record *rec, const struct entry *entry)
{
	if (entry->size != SIZE_UNKNOWN && rec->size != SIZE_UNKNOWN && rec->size != entry->size)
		return true;
	return entry->checksum.algo != CHECKSUM_NONE && rec->asked_s < 0 &&
	       object_recall_asked(rec, entry) == 0;
}

/* All of it is recorded, and proven where there is a checksum. */
static bool record_is_complete(const struct store_record *rec, const struct entry *entry)
{
	return rec->complete && !record_is_other(rec, entry) &&
	       (entry->size == SIZE_UNKNOWN || entry->size == rec->size) &&
	       (entry->checksum.algo == CHECKSUM_NONE ||
		rec->asked_s == object_proof(&entry->checksum));
}

void object_recall(struct object *o, const struct entry *entry)
{
	struct store_record rec;

	o->size = entry->size;
	o->mtime = entry->mtime == MANIFEST_NO_TIME ? VALIDATOR_NO_TIME : entry->mtime;
	o->validator = VALIDATOR_INIT;
	o->fresh = false;
	if (store_lookup(o->store, &o->key, &rec) == 0) {
		o->fresh = record_is_other(&rec, entry);
		if (!o->fresh && (entry->size == SIZE_UNKNOWN || rec.size == entry->size))
			o->validator = rec.validator;
		if (o->size == SIZE_UNKNOWN && !o->fresh)
			o->size = rec.size;
		if (o->mtime == VALIDATOR_NO_TIME && !o->fresh)
			o->mtime = rec.mtime;
		o->asked_s = o->fresh ? 0 : object_recall_asked(&rec, entry);
		o->cached = o->fresh ? 0 : rec.bytes_cached;
		o->complete = record_is_complete(&rec, entry);
	}
	if (o->size == 0)
		o->complete = true;
	if (entry->etag && strcmp(entry->etag, o->validator.etag) != 0 &&
	    strlen(entry->etag) < sizeof(o->validator.etag)) {
		bool had = o->validator.etag[0] != '\0';

		if (had)
			o->validator = VALIDATOR_INIT;
		memcpy(o->validator.etag, entry->etag, strlen(entry->etag) + 1);
		o->complete = o->complete && !had;
	}
}

int recall_peek(struct engine *e, const struct entry *entry, const struct object_key *key,
		struct object_info *info)
{
	struct store_record rec;

	if (store_lookup(e->store, key, &rec) == 0 && !record_is_other(&rec, entry)) {
		if (info->size == SIZE_UNKNOWN)
			info->size = rec.size;
		if (info->mtime == MANIFEST_NO_TIME && rec.mtime != VALIDATOR_NO_TIME)
			info->mtime = rec.mtime;
		info->validator = rec.validator;
		info->bytes_cached = rec.bytes_cached;
		info->bytes_durable = rec.bytes_durable;
		if (record_is_complete(&rec, entry))
			info->state = OBJECT_COMPLETE;
	}
	if (info->size == 0)
		info->state = OBJECT_COMPLETE;
	return info->size == SIZE_UNKNOWN ? -ENOENT : 0;
}
