/*
 * replay.c - the main() of a fuzz target without libFuzzer: each file of its corpus once
 *
 * Usage: fuzz_NAME [FILE…]; without arguments all of $srcdir/tests/fuzz/corpus/NAME, which must not
 * be empty. The file's name is printed before it is read, so that an abort says which one it was.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/strbuf.h"
#include "fuzz.h"

#define PATH_TEXT_MAX 4096

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data = NULL;
	int r = -1;

	printf("%s\n", path);
	if (!f || fstat(fileno(f), &st) < 0)
		goto out;
	/* As large as the input and no more: a sanitizer then sees a byte too far. */
	data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
	if (!data || fread(data, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		goto out;
	r = LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
out:
	if (r < 0)
		perror(path);
	free(data);
	if (f)
		fclose(f);
	return r;
}

static int replay_directory(const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, NULL, alphasort);
	int ran = 0;
	int r = 0;

	for (int i = 0; i < n; i++) {
		struct strbuf path;

		if (names[i]->d_name[0] != '.') {
			strbuf_init(&path, PATH_TEXT_MAX);
			strbuf_addf(&path, "%s/%s", dir, names[i]->d_name);
			r |= strbuf_error(&path) ? -1 : replay(path.s);
			strbuf_done(&path);
			ran++;
		}
		free(names[i]);
	}
	free(names);
	if (ran == 0)
		fprintf(stderr, "%s: no corpus\n", dir);
	return ran > 0 ? r : -1;
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	const char *srcdir = getenv("srcdir");
	char dir[PATH_TEXT_MAX];
	int r = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++)
		r |= replay(argv[i]);
	if (argc == 1) {
		name += strncmp(name, "fuzz_", 5) == 0 ? 5 : 0;
		snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", name);
		r = replay_directory(dir);
	}
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
