/*
 * fault.c - one misbehaviour: how it is written, and whether it applies to a request
 */
#include "fault.h"

#include "base/size.h"

/*
 * Arguments of each kind, a letter each: N amount (bytes, or percent of the body), S signed bytes,
 * D duration, s signed seconds, C number, R "5", "date=5" or "reset=5", T text. A '?' makes the
 * rest optional.
 */
static const struct {
	const char *name, *arguments;
} kinds[] = {
	[FAULT_SHORT] = {"short", "N"},
	[FAULT_CLOSE] = {"close", "N"},
	[FAULT_RESET] = {"reset", "N"},
	[FAULT_STALL] = {"stall", "N?D"},
	[FAULT_HANG] = {"hang", "?D"},
	[FAULT_DROP] = {"drop", ""},
	[FAULT_DELAY] = {"delay", "D"},
	[FAULT_DRIP] = {"rate", "N"},
	[FAULT_SHIFT] = {"range-shift", "S"},
	[FAULT_ZERO] = {"range-zero", ""},
	[FAULT_NO_RANGE_HEADER] = {"no-content-range", ""},
	[FAULT_BAD_RANGE_HEADER] = {"bad-content-range", "?T"},
	[FAULT_TOTAL] = {"wrong-total", "?S"},
	[FAULT_STAR_TOTAL] = {"star-total", ""},
	[FAULT_MULTIPART] = {"multipart", ""},
	[FAULT_IGNORE_RANGE] = {"ignore-range", ""},
	[FAULT_CHUNKED] = {"chunked", ""},
	[FAULT_UNSIZED] = {"unsized", ""},
	[FAULT_ENCODING] = {"encoding", "?T"},
	[FAULT_VERSION] = {"version", "C"},
	[FAULT_ETAG] = {"etag", "T"},
	[FAULT_STATUS] = {"status", "C?R"},
	[FAULT_DATE] = {"date", "s"},
	[FAULT_CORRUPT] = {"corrupt", "?NL"},
	[FAULT_ENDLESS_HEADER] = {"endless-header", ""},
	[FAULT_BIG_HEADER] = {"big-header", "N"},
	[FAULT_INTERIM] = {"interim", "?C"},
	[FAULT_GARBAGE] = {"garbage", ""},
	[FAULT_NO_KEEP_ALIVE] = {"no-keep-alive", ""},
};
_Static_assert(ARRAY_SIZE(kinds) == FAULT_COUNT, "name every fault_kind");

static int parse_amount(char *text, struct fault *f)
{
	size_t len = strlen(text);

	f->percent = len > 0 && text[len - 1] == '%';
	if (!f->percent)
		return parse_size(text, &f->amount);
	text[len - 1] = '\0';
	return parse_u64(text, 100, &f->amount);
}

static int parse_signed(const char *text, int (*parse)(const char *, uint64_t *), int64_t *ret)
{
	bool negative = *text == '-';
	uint64_t value;
	int e = parse(*text == '-' || *text == '+' ? text + 1 : text, &value);

	if (e == 0)
		*ret = negative ? -(int64_t)value : (int64_t)value;
	return e;
}

static int parse_retry(const char *text, struct fault *f)
{
	f->retry = RETRY_SECONDS;
	if (strncmp(text, "date=", 5) == 0) {
		f->retry = RETRY_DATE;
		text += 5;
	} else if (strncmp(text, "reset=", 6) == 0) {
		f->retry = RETRY_RESET;
		text += 6;
	}
	return parse_duration(text, &f->us);
}

static int parse_argument(char letter, char *text, struct fault *f)
{
	switch (letter) {
	case 'N':
		return parse_amount(text, f);
	case 'L':
		return parse_size(text, &f->len);
	case 'S':
		return parse_signed(text, parse_size, &f->shift);
	case 'D':
		return parse_duration(text, &f->us);
	case 's':
		return parse_signed(text, parse_duration, &f->shift);
	case 'C':
		return parse_u64(text, UINT64_MAX, &f->amount);
	case 'R':
		return parse_retry(text, f);
	case 'T':
		f->text = strdup(text);
		return f->text ? 0 : -ENOMEM;
	}
	return -EINVAL;
}

/* "3", "3-5", "3-": which requests. */
static int parse_counts(char *text, struct when *w)
{
	char *dash = strchr(text, '-');

	if (dash)
		*dash++ = '\0';
	if (parse_u64(text, UINT64_MAX, &w->first) < 0 || w->first == 0)
		return -EINVAL;
	w->last = w->first;
	if (!dash)
		return 0;
	w->last = UINT64_MAX;
	return *dash ? parse_u64(dash, UINT64_MAX, &w->last) : 0;
}

static int parse_place(char *text, struct when *w)
{
	char *dash = strchr(text, '-');

	w->ranged = true;
	if (dash)
		*dash++ = '\0';
	if (parse_size(text, &w->off) < 0)
		return -EINVAL;
	return dash && *dash ? parse_size(dash, &w->end) : 0;
}

static int parse_word(char *text, struct when *w)
{
	if (strcmp(text, "ranged") == 0) {
		w->ranged = true;
	} else if (strcmp(text, "tail") == 0) {
		w->ranged = true;
		w->off = 1;
	} else if (strcmp(text, "encoded") == 0) {
		w->encoded = true;
	} else if (strcmp(text, "head") == 0) {
		w->head = true;
	} else if (strcmp(text, "get") == 0) {
		w->get = true;
	} else {
		return parse_counts(text, w);
	}
	return 0;
}

static int parse_condition(char *text, struct when *w)
{
	char *value = strchr(text, '=');
	char *end;

	if (!value)
		return parse_word(text, w);
	*value++ = '\0';
	if (strcmp(text, "n") == 0)
		return parse_counts(value, w);
	if (strcmp(text, "every") == 0)
		return parse_u64(value, UINT64_MAX, &w->every);
	if (strcmp(text, "p") == 0) {
		w->probability = strtod(value, &end);
		return *value && !*end ? 0 : -EINVAL;
	}
	if (strcmp(text, "after") == 0)
		return parse_duration(value, &w->after_us);
	if (strcmp(text, "for") == 0)
		return parse_duration(value, &w->for_us);
	if (strcmp(text, "at") == 0)
		return parse_place(value, w);
	return -EINVAL;
}

static int parse_when(char *text, struct when *w)
{
	char *part;

	*w = (struct when){.first = 1,
			   .last = UINT64_MAX,
			   .probability = 1,
			   .end = UINT64_MAX,
			   .for_us = UINT64_MAX};
	while ((part = strsep(&text, ",")) != NULL) {
		if (parse_condition(part, w) < 0)
			return -EINVAL;
	}
	return 0;
}

static int parse_arguments(char *text, const char *letters, struct fault *f)
{
	bool optional = false;

	for (; *letters; letters++) {
		char *part;
		int e;

		if (*letters == '?') {
			optional = true;
			continue;
		}
		part = strsep(&text, ":");
		if (!part)
			return optional ? 0 : -EINVAL;
		if (*letters == 'T' && text) { /* the rest, colons and all */
			text[-1] = ':';
			text = NULL;
		}
		e = parse_argument(*letters, part, f);
		if (e < 0)
			return e;
	}
	return text ? -EINVAL : 0;
}

int fault_parse(char *text, struct fault *ret)
{
	struct fault f = {.shift = 1};
	char *conditions = strrchr(text, '@');
	char *arguments;
	unsigned int kind;
	int e;

	if (conditions)
		*conditions++ = '\0';
	e = parse_when(conditions, &f.when);
	if (e < 0)
		return e;
	arguments = strchr(text, ':');
	if (arguments)
		*arguments++ = '\0';
	for (kind = 0; kind < FAULT_COUNT && strcmp(kinds[kind].name, text) != 0; kind++)
		;
	if (kind == FAULT_COUNT)
		return -EINVAL;
	f.kind = (enum fault_kind)kind;
	f.len = UINT64_MAX;
	e = parse_arguments(arguments, kinds[kind].arguments, &f);
	if (e < 0) {
		free(f.text);
		return e;
	}
	*ret = f;
	return 0;
}

bool fault_applies(const struct fault *f, const struct occasion *o)
{
	const struct when *w = &f->when;

	if (o->nth < w->first || o->nth > w->last)
		return false;
	if (w->every && o->nth % w->every != 0)
		return false;
	if (o->since_us < w->after_us || o->since_us >= w->for_us)
		return false;
	if ((w->ranged && !o->ranged) || (w->encoded && !o->encoded) || (w->head && !o->head) ||
	    (w->get && o->head))
		return false;
	if (o->off < w->off || o->off >= w->end)
		return false;
	return w->probability >= 1 || (double)(o->luck >> 11) * 0x1p-53 < w->probability;
}
