/*
 * validator.c - what proves that two responses are of one version
 */
#include "core/validator.h"

#include <inttypes.h>

#include "base/size.h"

bool validator_etag_strong(const char *etag)
{
	size_t len = strlen(etag);

	return len >= 2 && etag[0] == '"' && etag[len - 1] == '"';
}

enum validator_strength validator_strength(const struct validator *v)
{
	if (validator_etag_strong(v->etag))
		return VALIDATOR_STRONG;
	if (v->size == SIZE_UNKNOWN)
		return VALIDATOR_NONE;
	return v->last_modified != VALIDATOR_NO_TIME ? VALIDATOR_TIME : VALIDATOR_SIZE;
}

/* Without W/: what is left says "the same thing", if not "the same bytes". */
static const char *opaque_tag(const char *etag)
{
	return strncmp(etag, "W/", 2) == 0 ? etag + 2 : etag;
}

enum validator_match validator_compare(const struct validator *have, const struct validator *got,
				       bool pinned)
{
	bool sizes = have->size != SIZE_UNKNOWN && got->size != SIZE_UNKNOWN;
	bool times =
		have->last_modified != VALIDATOR_NO_TIME && got->last_modified != VALIDATOR_NO_TIME;
	bool etags = have->etag[0] && got->etag[0];

	if (sizes && have->size != got->size)
		return VALIDATOR_DIFFERENT;
	if (pinned)
		return VALIDATOR_SAME;
	if (etags && strcmp(opaque_tag(have->etag), opaque_tag(got->etag)) != 0)
		return sizes && times && have->last_modified == got->last_modified
			       ? VALIDATOR_FLIPPED
			       : VALIDATOR_DIFFERENT;
	/* Equal strong tags prove it, whatever dates the nodes of one origin give the file. */
	if (etags && validator_etag_strong(have->etag) && validator_etag_strong(got->etag))
		return VALIDATOR_SAME;
	if (times && have->last_modified != got->last_modified)
		return VALIDATOR_DIFFERENT;
	return VALIDATOR_SAME;
}

void validator_learn(struct validator *have, const struct validator *got)
{
	if (!have->etag[0])
		memcpy(have->etag, got->etag, sizeof(have->etag));
	if (have->last_modified == VALIDATOR_NO_TIME)
		have->last_modified = got->last_modified;
	if (have->size == SIZE_UNKNOWN)
		have->size = got->size;
}

/* "size=10 time=784111777 etag=..."; what is unknown is left out, the tag is last as it may hold
 * spaces. */
void validator_format(const struct validator *v, char buf[VALIDATOR_TEXT_MAX])
{
	char size[32] = "";
	char time[32] = "";

	if (v->size != SIZE_UNKNOWN)
		snprintf(size, sizeof(size), "size=%" PRIu64 " ", v->size);
	if (v->last_modified != VALIDATOR_NO_TIME)
		snprintf(time, sizeof(time), "time=%" PRId64 " ", v->last_modified);
	snprintf(buf, VALIDATOR_TEXT_MAX, "%s%s%s%s", size, time, v->etag[0] ? "etag=" : "",
		 v->etag);
	if (!v->etag[0] && buf[0])
		buf[strlen(buf) - 1] = '\0';
}

static int parse_item(const char *word, struct validator *v)
{
	uint64_t value;
	bool negative;

	if (strncmp(word, "size=", 5) == 0)
		return v->size == SIZE_UNKNOWN ? parse_u64(word + 5, FILE_SIZE_MAX, &v->size)
					       : -EINVAL;
	if (strncmp(word, "time=", 5) != 0 || v->last_modified != VALIDATOR_NO_TIME)
		return -EINVAL;
	negative = word[5] == '-';
	if (parse_u64(word + 5 + negative, INT64_MAX, &value) < 0)
		return -EINVAL;
	v->last_modified = negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

int validator_parse(const char *text, struct validator *ret)
{
	struct validator v = VALIDATOR_INIT;

	while (*text) {
		char word[40];
		size_t len = strcspn(text, " ");

		if (strncmp(text, "etag=", 5) == 0) {
			if (validator_set_etag(&v, text + 5, strlen(text + 5)) < 0)
				return -EINVAL;
			break;
		}
		if (len >= sizeof(word))
			return -EINVAL;
		memcpy(word, text, len);
		word[len] = '\0';
		if (parse_item(word, &v) < 0)
			return -EINVAL;
		text += len;
		text += *text == ' ';
	}
	*ret = v;
	return 0;
}

int validator_set_etag(struct validator *v, const char *etag, size_t len)
{
	if (len == 0 || len >= sizeof(v->etag))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)etag[i] < 0x20 || (unsigned char)etag[i] > 0x7e)
			return -EINVAL;
	}
	memcpy(v->etag, etag, len);
	memset(v->etag + len, 0, sizeof(v->etag) - len);
	return 0;
}
