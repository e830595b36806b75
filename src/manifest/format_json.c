/*
 * format_json.c - {"version":1,"entries":[…]}, or one entry a line (JSON Lines)
 * Callers: load. Only one entry at a time is ever held as JSON values, so that a list of millions
 * costs what its manifest does; the brackets around them are walked here, everything inside is
 * jansson's.
 */
#include "manifest/format.h"

#include <ctype.h>
#include <inttypes.h>

#include <jansson.h>

#include "manifest/keys.h"
#include "manifest/names.h"

#define JSON_VERSION 1
/* Names with NULs are for name_check() to refuse, in its words. */
#define JSON_FLAGS (JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

enum json_key {
	JK_PATH,
	JK_PATH_ENCODED,
	JK_URL,
	JK_URLS,
	JK_SIZE,
	JK_MTIME,
	JK_CHECKSUM,
	JK_ETAG,
	JK_ID,
	JK_MODE,
	JK_HEADERS,
	JK_RANGE,
	JK_COUNT
};

static const char *const entry_keys[] = {
	[JK_PATH] = "path",
	[JK_PATH_ENCODED] = "path_encoded",
	[JK_URL] = "url",
	[JK_URLS] = "urls",
	[JK_SIZE] = "size",
	[JK_MTIME] = "mtime",
	[JK_CHECKSUM] = "checksum",
	[JK_ETAG] = "etag",
	[JK_ID] = "id",
	[JK_MODE] = "mode",
	[JK_HEADERS] = "headers",
	[JK_RANGE] = "range",
};
_Static_assert(ARRAY_SIZE(entry_keys) == JK_COUNT, "name every json_key");

enum top_key { TOP_VERSION, TOP_ENTRIES, TOP_COUNT };
static const char *const top_keys[] = {[TOP_VERSION] = "version", [TOP_ENTRIES] = "entries"};
_Static_assert(ARRAY_SIZE(top_keys) == TOP_COUNT, "name every top_key");

/* Where we are in the text. */
struct json_cursor {
	struct builder *b;
	struct complaint *c;
	const char *at;
	const char *end;
	uint32_t line;
	struct draft draft;
	struct strbuf path; /* a decoded path_encoded, while its entry is added */
};

/* ---- one entry ---- */

/* Keys that belong to somebody else. */
static bool key_is_foreign(const char *key)
{
	return key[0] == '_' || strncmp(key, "x-", 2) == 0;
}

static struct span span_of_string(const json_t *value)
{
	return span_make(json_string_value(value), json_string_length(value));
}

static int wrong_type(struct json_cursor *j, enum json_key key, const char *wanted)
{
	return refuse(j->c, j->line, "\"%s\" is not %s (see rgetfs-manifest(5))", entry_keys[key],
		      wanted);
}

/* A path that ends in a slash is a directory. */
static int set_path(struct json_cursor *j, struct span path)
{
	if (path.len > 1 && path.s[path.len - 1] == '/') {
		j->draft.directory = true;
		path.len--;
	}
	return draft_set(j->c, j->line, &j->draft, KEY_OUT, path);
}

static int hex_value(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* JSON is UTF-8 and a name need not be: the other way to write one is percent-encoded. */
static int set_path_encoded(struct json_cursor *j, struct span text)
{
	strbuf_reset(&j->path);
	for (size_t i = 0; i < text.len; i++) {
		int high, low;

		if (text.s[i] != '%') {
			strbuf_addc(&j->path, text.s[i]);
			continue;
		}
		high = i + 1 < text.len ? hex_value(text.s[i + 1]) : -1;
		low = i + 2 < text.len ? hex_value(text.s[i + 2]) : -1;
		if (high < 0 || low < 0)
			return refuse(j->c, j->line,
				      "\"path_encoded\" has a %% without two hex digits (write "
				      "it as %%25)");
		strbuf_addc(&j->path, (char)(high << 4 | low));
		i += 2;
	}
	if (strbuf_error(&j->path) == -ENOBUFS)
		return refuse(j->c, j->line,
			      "\"path_encoded\" is longer than any path (shorten it)");
	if (strbuf_error(&j->path))
		return strbuf_error(&j->path);
	return set_path(j, span_make(j->path.s, j->path.len));
}

static int set_urls(struct json_cursor *j, const json_t *list)
{
	if (!json_is_array(list) || json_array_size(list) == 0)
		return wrong_type(j, JK_URLS, "an array of URLs");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *url = json_array_get(list, i);
		int r;

		if (!json_is_string(url))
			return wrong_type(j, JK_URLS, "an array of URLs");
		r = draft_add_url(j->c, j->line, &j->draft, span_of_string(url));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Numbers as they are, or the text that the other format takes. */
static int set_size(struct json_cursor *j, const json_t *value)
{
	j->draft.key_line[KEY_SIZE] = j->line;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return draft_set_size(j->c, j->line, &j->draft,
				      (uint64_t)json_integer_value(value));
	return wrong_type(j, JK_SIZE, "a number of bytes");
}

static int set_mtime(struct json_cursor *j, const json_t *value)
{
	double real = json_real_value(value); /* 0 for all that is none */
	int64_t whole;

	j->draft.key_line[KEY_MTIME] = j->line;
	if (json_is_integer(value))
		return draft_set_mtime(j->c, j->line, &j->draft, json_integer_value(value));
	if (!json_is_real(value) || !(real > -1e15 && real < 1e15))
		return wrong_type(j, JK_MTIME, "a time in seconds since 1970 or a date");
	whole = (int64_t)real;
	whole -= (double)whole > real; /* down, also before 1970 */
	return draft_set_mtime(j->c, j->line, &j->draft, whole);
}

/* ["Name: value", …] */
static int set_headers(struct json_cursor *j, const json_t *list)
{
	if (!json_is_array(list))
		return wrong_type(j, JK_HEADERS, "an array of strings \"Name: value\"");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *header = json_array_get(list, i);
		int r;

		if (!json_is_string(header))
			return wrong_type(j, JK_HEADERS, "an array of strings \"Name: value\"");
		r = draft_set(j->c, j->line, &j->draft, KEY_HEADER, span_of_string(header));
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_text(struct json_cursor *j, enum json_key key, enum key draft_key,
		    const json_t *value, const char *wanted)
{
	if (!json_is_string(value))
		return wrong_type(j, key, wanted);
	return draft_set(j->c, j->line, &j->draft, draft_key, span_of_string(value));
}

static int set_name(struct json_cursor *j, enum json_key key, const json_t *value)
{
	if (!json_is_string(value))
		return wrong_type(j, key, "a string");
	if (j->draft.out.s)
		return refuse(j->c, j->line,
			      "\"path\" and \"path_encoded\" are both given (leave one out)");
	return key == JK_PATH ? set_path(j, span_of_string(value))
			      : set_path_encoded(j, span_of_string(value));
}

static int set_key(struct json_cursor *j, enum json_key key, const json_t *value)
{
	switch (key) {
	case JK_PATH:
	case JK_PATH_ENCODED:
		return set_name(j, key, value);
	case JK_URL:
		if (!json_is_string(value))
			return wrong_type(j, key, "a string");
		return draft_add_url(j->c, j->line, &j->draft, span_of_string(value));
	case JK_URLS:
		return set_urls(j, value);
	case JK_SIZE:
		return json_is_string(value) ? set_text(j, key, KEY_SIZE, value, "")
					     : set_size(j, value);
	case JK_MTIME:
		return json_is_string(value) ? set_text(j, key, KEY_MTIME, value, "")
					     : set_mtime(j, value);
	case JK_CHECKSUM:
		return set_text(j, key, KEY_CHECKSUM, value, "a string ALGORITHM=HEX");
	case JK_ETAG:
		return set_text(j, key, KEY_ETAG, value, "a string");
	case JK_ID:
		return set_text(j, key, KEY_ID, value, "a string");
	case JK_MODE:
		return set_text(j, key, KEY_MODE, value, "a string of octal digits like \"0555\"");
	case JK_HEADERS:
		return set_headers(j, value);
	case JK_RANGE:
		return set_text(j, key, KEY_RANGE, value, "a string FIRST-LAST");
	case JK_COUNT:
		break;
	}
	return -EINVAL;
}

static int unknown_key(struct json_cursor *j, const char *const *known, size_t count,
		       const char *key)
{
	struct span span = span_make(key, strlen(key));
	char shown[QUOTE_MAX];

	return refuse(j->c, j->line,
		      "unknown key %s (did you mean \"%s\"? your own start with x- or _)",
		      quote(shown, span), keys_nearest(known, count, false, span));
}

/* object is the entry that starts on j->line. */
static int add_entry(struct json_cursor *j, json_t *object)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object))
		return refuse(j->c, j->line,
			      "the entry is not a JSON object (write {\"path\":…,\"url\":…})");
	draft_init(&j->draft, j->line);
	if (json_object_get(object, "url") && json_object_get(object, "urls"))
		return refuse(j->c, j->line, "\"url\" and \"urls\" are both given (leave one out)");
	json_object_foreach(object, name, value)
	{
		int key = keys_find(entry_keys, JK_COUNT, span_make(name, strlen(name)));
		int r = 0;

		if (key < 0 && !key_is_foreign(name))
			return unknown_key(j, entry_keys, JK_COUNT, name);
		if (key >= 0 && !json_is_null(value))
			r = set_key(j, (enum json_key)key, value);
		if (r < 0)
			return r;
	}
	return builder_add(j->b, &j->draft);
}

/* ---- the text around entries ---- */

static void skip_space(struct json_cursor *j)
{
	for (; j->at < j->end && byte_is_space(*j->at); j->at++)
		j->line += *j->at == '\n';
}

/* Step over c, after space. False: something else is there. */
static bool skip_char(struct json_cursor *j, char c)
{
	skip_space(j);
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

static int expected(struct json_cursor *j, const char *what)
{
	skip_space(j);
	if (j->at == j->end)
		return refuse(j->c, j->line,
			      "the JSON text ends where %s is expected (is the file complete?)",
			      what);
	return refuse(j->c, j->line, "%s is expected here (correct the JSON text)", what);
}

static int json_refused(struct json_cursor *j, const json_error_t *error)
{
	char shown[JSON_ERROR_TEXT_LENGTH];
	uint32_t line = j->line + (error->line > 0 ? (uint32_t)error->line - 1 : 0);
	const char *at = error->text;
	const char *token = strstr(at, " near '\"");
	size_t n = 0;

	/* Most of jansson's own failures to allocate leave no text. */
	if (json_error_code(error) == json_error_out_of_memory || !error->text[0])
		return -ENOMEM;
	/* It quotes what it stumbled over: a key may be shown, another string could be a secret. */
	if (!token || json_error_code(error) == json_error_duplicate_key)
		token = at + strlen(at);
	for (; at < token; at++)
		shown[n++] = isprint((unsigned char)*at) ? *at : '?';
	shown[n] = '\0';
	return refuse(j->c, line, "%s (correct the JSON text)", shown);
}

/* The next value, of any kind; at most FORMAT_ENTRY_MAX long. 0, -EINVAL (refused) or -ENOMEM. */
static int next_value(struct json_cursor *j, json_t **ret)
{
	size_t left, offered;
	json_error_t error;
	json_t *value;

	skip_space(j);
	left = (size_t)(j->end - j->at);
	offered = min_u64(left, FORMAT_ENTRY_MAX);
	value = json_loadb(j->at, offered, JSON_FLAGS | JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY,
			   &error);
	if (!value && offered < left && (size_t)error.position + 8 >= offered)
		return refuse(j->c, j->line, "the value has more than %u bytes (shorten it)",
			      FORMAT_ENTRY_MAX);
	if (!value)
		return json_refused(j, &error);
	*ret = value;
	return error.position;
}

/* Behind the value of len bytes at j->at, whose line was j->line. */
static void step(struct json_cursor *j, size_t len)
{
	for (const char *stop = j->at + len; j->at < stop; j->at++)
		j->line += *j->at == '\n';
}

/* The key of the next pair and its colon. */
static int next_key(struct json_cursor *j, json_t **ret)
{
	json_t *key = NULL;
	int r;

	skip_space(j);
	if (j->at == j->end || *j->at != '"')
		return expected(j, "a key in quotes");
	r = next_value(j, &key);
	if (r < 0)
		return r;
	step(j, (size_t)r);
	if (!skip_char(j, ':')) {
		json_decref(key);
		return expected(j, "a colon");
	}
	*ret = key;
	return 0;
}

static int parse_entries(struct json_cursor *j)
{
	if (!skip_char(j, '['))
		return expected(j, "the [ of \"entries\"");
	if (skip_char(j, ']'))
		return 0;
	for (;;) {
		json_t *entry = NULL;
		int len = next_value(j, &entry);
		int r;

		if (len < 0)
			return len;
		r = add_entry(j, entry);
		json_decref(entry);
		if (r < 0)
			return r;
		step(j, (size_t)len);
		if (skip_char(j, ']'))
			return 0;
		if (!skip_char(j, ','))
			return expected(j, "a comma or the ] of \"entries\"");
	}
}

/* A value of the outermost object other than the entries. */
static int parse_top_value(struct json_cursor *j, int key)
{
	json_t *value = NULL;
	int len = next_value(j, &value);
	int r = 0;

	if (len < 0)
		return len;
	if (key == TOP_VERSION &&
	    !(json_is_integer(value) && json_integer_value(value) == JSON_VERSION))
		r = refuse(j->c, j->line,
			   "the version of this manifest is not %d, the one known here (make it "
			   "for version 1, or use a newer rgetfs)",
			   JSON_VERSION);
	json_decref(value);
	step(j, (size_t)len);
	return r;
}

static int parse_pair(struct json_cursor *j, bool seen[TOP_COUNT])
{
	json_t *name = NULL;
	int key, r;

	r = next_key(j, &name);
	if (r < 0)
		return r;
	key = keys_find(top_keys, TOP_COUNT, span_of_string(name));
	if (key < 0 && !key_is_foreign(json_string_value(name)))
		r = unknown_key(j, top_keys, TOP_COUNT, json_string_value(name));
	else if (key >= 0 && seen[key])
		r = refuse(j->c, j->line, "\"%s\" is given twice (leave one out)", top_keys[key]);
	json_decref(name);
	if (r < 0)
		return r;
	if (key >= 0)
		seen[key] = true;
	return key == TOP_ENTRIES ? parse_entries(j) : parse_top_value(j, key);
}

static int parse_document(struct json_cursor *j)
{
	bool seen[TOP_COUNT] = {false};
	int r;

	skip_char(j, '{');
	if (!skip_char(j, '}')) {
		do {
			r = parse_pair(j, seen);
			if (r < 0)
				return r;
		} while (skip_char(j, ','));
		if (!skip_char(j, '}'))
			return expected(j, "a comma or the closing }");
	}
	if (!seen[TOP_ENTRIES])
		return refuse(j->c, j->line,
			      "\"entries\" is missing (write {\"version\":1,\"entries\":[…]})");
	skip_space(j);
	if (j->at != j->end)
		return refuse(j->c, j->line,
			      "there is text after the end of the document (remove it)");
	return 0;
}

/* One entry a line; empty lines are nothing. */
static int parse_lines(struct json_cursor *j)
{
	for (j->line = 1; j->at < j->end; j->line++) {
		const char *feed = memchr(j->at, '\n', (size_t)(j->end - j->at));
		const char *stop = feed ? feed : j->end;
		size_t len = (size_t)(stop - j->at);
		const char *at = j->at;
		json_error_t error;
		json_t *entry;
		int r;

		j->at = feed ? feed + 1 : j->end;
		while (len > 0 && byte_is_space(at[len - 1]))
			len--;
		if (len == 0)
			continue;
		if (len > FORMAT_ENTRY_MAX)
			return refuse(j->c, j->line,
				      "the line has %zu bytes, at most %u are possible (shorten "
				      "it)",
				      len, FORMAT_ENTRY_MAX);
		entry = json_loadb(at, len, JSON_FLAGS | JSON_DECODE_ANY, &error);
		if (!entry)
			return json_refused(j, &error);
		r = add_entry(j, entry);
		json_decref(entry);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Which of the two it is, by the first key of the first object that is not foreign. Moves j. */
static int is_document(struct json_cursor *j, bool *ret)
{
	int r;

	*ret = true;
	skip_char(j, '{');
	while (!skip_char(j, '}')) {
		json_t *value = NULL;
		bool foreign;

		r = next_key(j, &value);
		if (r < 0)
			return r;
		foreign = key_is_foreign(json_string_value(value));
		*ret = keys_find(entry_keys, JK_COUNT, span_of_string(value)) < 0;
		json_decref(value);
		if (!foreign)
			return 0;
		r = next_value(j, &value);
		if (r < 0)
			return r;
		json_decref(value);
		step(j, (size_t)r);
		skip_char(j, ',');
	}
	return 0;
}

int format_json_parse(struct builder *b, const char *data, size_t len)
{
	struct json_cursor *j = calloc(1, sizeof(*j));
	bool document;
	int r;

	if (!j)
		return -ENOMEM;
	j->b = b;
	j->c = builder_complaint(b);
	j->c->path_key = "\"path\"";
	j->at = data;
	j->end = data + len;
	j->line = 1;
	strbuf_init(&j->path, NAME_PATH_MAX + 1);
	r = is_document(j, &document);
	j->at = data;
	j->line = 1;
	if (r == 0)
		r = document ? parse_document(j) : parse_lines(j);
	strbuf_done(&j->path);
	free(j);
	return r;
}
