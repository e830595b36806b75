/*
 * fuzz_manifest.c - any bytes as a manifest: refused in one line, or taken and written back the
 * same
 *
 * Each input is tried in both layouts. The files of tests/data/manifest are good seeds too.
 */
#include "base/log.h"
#include "fuzz.h"
#include "manifest/manifest.h"

static void check_message(const char *error)
{
	must(strncmp(error, "fuzz:", 5) == 0, "a refusal names its file");
	for (; *error; error++)
		must((unsigned char)*error >= 0x20 && *error != 0x7f,
		     "a refusal is one line of text");
}

/* Every name is found where it is listed, in order. */
static void check_tree(const struct manifest *m)
{
	uint32_t files = 0;

	for (uint32_t dir = 0; dir < manifest_dir_count(m); dir++) {
		for (uint32_t i = 0; i < manifest_dir_children(m, dir); i++) {
			struct manifest_child child, found;

			manifest_child(m, dir, i, &child);
			must(child.name_len > 0 && child.name_len <= 255,
			     "a name has 1 to 255 bytes");
			must(!memchr(child.name, '/', child.name_len), "a name has no slash");
			must(!memchr(child.name, '\0', child.name_len), "a name has no NUL");
			must(manifest_lookup(m, dir, child.name, child.name_len, &found) == 0 &&
				     found.index == child.index &&
				     found.directory == child.directory,
			     "a listed name is found");
			files += !child.directory;
		}
	}
	must(files <= manifest_count(m), "every file has an entry");
}

static char *write_back(const struct manifest *m, size_t *ret_len)
{
	struct entry e;
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_len);

	must(f, "memory");
	entry_init(&e);
	must(manifest_write_json_begin(f) == 0, "begin");
	for (uint32_t i = 0; i < manifest_count(m); i++) {
		must(manifest_entry(m, i, &e) == 0, "an entry");
		must(e.directory == (e.url_count == 0), "a file has a URL");
		must(manifest_write_json_entry(f, &e, i == 0) == 0, "write");
	}
	must(manifest_write_json_end(f) == 0, "end");
	entry_done(&e);
	fclose(f);
	return text;
}

static void one_layout(const uint8_t *data, size_t size, enum manifest_layout layout)
{
	struct manifest_options opt = {.layout = layout, .default_mtime = 1};
	char error[MANIFEST_ERROR_MAX];
	struct manifest *m, *again;
	char *text, *same;
	size_t len;
	int r;

	r = manifest_parse((const char *)data, size, "fuzz", &opt, &m, error);
	if (r < 0) {
		must(r == -EINVAL, "a refusal is EINVAL");
		check_message(error);
		return;
	}
	check_tree(m);
	text = write_back(m, &len);
	must(manifest_parse(text, len, "fuzz", &opt, &again, error) == 0, "what we write we read");
	same = write_back(again, &len);
	must(strcmp(text, same) == 0, "and it says the same");
	manifest_put(m);
	manifest_put(again);
	free(text);
	free(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_LEVEL_ERROR);
	one_layout(data, size, LAYOUT_FLAT);
	one_layout(data, size, LAYOUT_URL);
	return 0;
}
