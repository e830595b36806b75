/*
 * format_text.c - aria2's input file: lines of URLs, and indented key=value lines for each
 * Callers: load. Borrows from the text, so that an entry is copied once, into the manifest.
 */
#include "manifest/format.h"

#include "base/log.h"
#include "manifest/keys.h"

/* How many ignored keys the warning names. */
#define IGNORED_SHOWN 8

static const char *const keys[] = {
	[KEY_OUT] = "out",	     [KEY_DIR] = "dir",
	[KEY_SIZE] = "size",	     [KEY_MTIME] = "mtime",
	[KEY_CHECKSUM] = "checksum", [KEY_HEADER] = "header",
	[KEY_ETAG] = "etag",	     [KEY_ID] = "id",
	[KEY_MODE] = "mode",	     [KEY_RANGE] = "range",
};
_Static_assert(ARRAY_SIZE(keys) == KEY_COUNT, "name every key");

struct text_parser {
	struct builder *b;
	struct complaint *c;
	struct draft draft;
	bool open; /* draft waits for more keys */
	bool ignored[KEYS_ARIA2_COUNT];
	unsigned int ignored_count;
	uint32_t ignored_line;
};

static struct span trim_end(struct span text)
{
	while (text.len > 0 && (text.s[text.len - 1] == ' ' || text.s[text.len - 1] == '\t'))
		text.len--;
	return text;
}

/* What a message may show of a line that is not understood: a header's value could be a secret. */
static struct span first_word(struct span text)
{
	size_t len = 0;

	while (len < text.len && !strchr(" \t:=", text.s[len]))
		len++;
	return span_make(text.s, len);
}

static int close_entry(struct text_parser *p)
{
	if (!p->open)
		return 0;
	p->open = false;
	return builder_add(p->b, &p->draft);
}

/* One URL, or mirrors of the same bytes with tabs between them. */
static int url_line(struct text_parser *p, uint32_t line, struct span text)
{
	const char *at = text.s;
	const char *end = text.s + text.len;
	int r = close_entry(p);

	if (r < 0)
		return r;
	draft_init(&p->draft, line);
	while (at < end) {
		const char *tab = memchr(at, '\t', (size_t)(end - at));
		const char *stop = tab ? tab : end;

		if (stop > at)
			r = draft_add_url(p->c, line, &p->draft,
					  span_make(at, (size_t)(stop - at)));
		if (r < 0)
			return r;
		at = stop + 1;
	}
	p->open = true;
	return 0;
}

static int unknown_key(struct text_parser *p, uint32_t line, struct span key)
{
	char shown[QUOTE_MAX];
	const char *near = keys_nearest(keys, ARRAY_SIZE(keys), true, key);

	return refuse(p->c, line,
		      "unknown key %s (did you mean \"%s\"? rgetfs-manifest(5) has the list)",
		      quote(shown, first_word(key)), near);
}

/* text is what follows the indentation, not empty. */
static int key_line(struct text_parser *p, uint32_t line, struct span text)
{
	const char *equals = memchr(text.s, '=', text.len);
	struct span key = span_make(text.s, equals ? (size_t)(equals - text.s) : 0);
	struct span value;
	char shown[QUOTE_MAX];
	int index;

	if (memmem(text.s, equals ? key.len : text.len, "://", 3))
		return refuse(p->c, line,
			      "a URL may not be indented (start it at the beginning of the line)");
	if (!equals)
		return refuse(
			p->c, line,
			"%s begins no key=value line (start a URL at the beginning of the line)",
			quote(shown, first_word(text)));
	if (trim_end(key).len != key.len)
		return refuse(p->c, line,
			      "there is a space before the = (write key=value without spaces)");
	if (!p->open)
		return refuse(p->c, line,
			      "the key %s comes before any URL (a URL's keys follow its line)",
			      quote(shown, first_word(key)));
	value = span_make(equals + 1, text.len - key.len - 1);
	index = keys_find(keys, ARRAY_SIZE(keys), key);
	if (index >= 0) {
		/* A name may end in a space; nothing else does on purpose. */
		if (index != KEY_OUT && index != KEY_DIR)
			value = trim_end(value);
		return draft_set(p->c, line, &p->draft, (enum key)index, value);
	}
	index = keys_aria2_find(key);
	if (index < 0)
		return unknown_key(p, line, key);
	if (!p->ignored[index]) {
		p->ignored[index] = true;
		if (p->ignored_count++ == 0)
			p->ignored_line = line;
	}
	return 0;
}

static int any_line(struct text_parser *p, uint32_t line, struct span text)
{
	size_t indent = 0;

	if (text.len > 0 && text.s[text.len - 1] == '\r')
		text.len--;
	if (text.len > FORMAT_ENTRY_MAX)
		return refuse(p->c, line,
			      "the line has %zu bytes, at most %u are possible (shorten it)",
			      text.len, FORMAT_ENTRY_MAX);
	while (indent < text.len && (text.s[indent] == ' ' || text.s[indent] == '\t'))
		indent++;
	if (indent == text.len || text.s[indent] == '#')
		return 0;
	if (indent)
		return key_line(p, line, span_make(text.s + indent, text.len - indent));
	return url_line(p, line, trim_end(text));
}

static void warn_ignored(const struct text_parser *p)
{
	struct strbuf names;
	unsigned int shown = 0;

	if (!p->ignored_count)
		return;
	strbuf_init(&names, 1024);
	for (unsigned int i = 0; i < KEYS_ARIA2_COUNT && shown < IGNORED_SHOWN; i++) {
		if (p->ignored[i])
			strbuf_addf(&names, "%s%s", shown++ ? ", " : "", keys_aria2_name(i));
	}
	if (shown < p->ignored_count)
		strbuf_addf(&names, " and %u more", p->ignored_count - shown);
	log_warn("%s:%u: keys of aria2 that mean nothing here are ignored: %s", p->c->file,
		 p->ignored_line, names.s);
	strbuf_done(&names);
}

int format_text_parse(struct builder *b, const char *data, size_t len)
{
	struct text_parser *p = calloc(1, sizeof(*p));
	const char *at = data, *end = data + len;
	uint32_t line = 0;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->b = b;
	p->c = builder_complaint(b);
	while (r == 0 && at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		const char *stop = feed ? feed : end;

		r = any_line(p, ++line, span_make(at, (size_t)(stop - at)));
		at = stop + 1;
	}
	if (r == 0)
		r = close_entry(p);
	if (r == 0)
		warn_ignored(p);
	free(p);
	return r;
}
