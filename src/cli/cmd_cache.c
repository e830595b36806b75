/*
 * cmd_cache.c - rgetfs cache: what the caches hold, whether they are consistent, removal of what no
 * mount uses
 *
 * Caches that nobody uses are looked at here. One that is in use is its owner's: it is asked.
 */
#include <inttypes.h>

#include "base/size.h"
#include "cli/commands.h"
#include "cli/order.h"
#include "daemon/control.h"
#include "daemon/paths.h"
#include "store/inventory.h"

struct cache {
	const char *root_given;
	bool json, dry_run;
	bool named;	     /* the user says which */
	char *root;	     /* resolved */
	json_t *list;	     /* an object for each cache */
	unsigned int failed; /* each was said */
};

#define OPTIONS "Options"
static const struct cli_option cache_command_options[] = {
	{"cache-dir", 0, "DIR", OPTIONS, set_path, offsetof(struct cache, root_given), 0,
	 "a directory"},
	{"dry-run", 'n', NULL, OPTIONS, set_flag, offsetof(struct cache, dry_run), 0, NULL},
	{"json", 0, NULL, OPTIONS, set_flag, offsetof(struct cache, json), 0, NULL},
};

static void fail(struct cache *c, const char *name, const char *what)
{
	char clean[INVENTORY_TEXT_MAX * 2];

	c->failed++;
	fprintf(stderr, "rgetfs: %s/%s: %s\n", c->root, name,
		text_clean(clean, sizeof(clean), what));
}

static json_t *text(const char *s)
{
	json_t *j = json_string(s);

	return j ? j : json_string("?");
}

static int add_item(void *ctx, const struct inventory_item *item)
{
	struct cache *c = ctx;

	json_array_append_new(c->list,
			      json_pack("{s:o,s:b,s:o,s:o,s:I,s:I}", "name", text(item->name),
					"used", item->used, "owner", text(item->owner),
					"description", text(item->description), "files",
					(json_int_t)item->files, "bytes", (json_int_t)item->bytes));
	return 0;
}

/* ---- the owner of a cache ---- */

struct owner_search {
	const char *dir;
	int (*fn)(void *ctx, struct control_client *client, const json_t *ping);
	void *ctx;
	bool found;
	int result;
};

static int is_owner(void *ctx, struct control_client *client)
{
	struct owner_search *s = ctx;
	char error[CONTROL_ERROR_MAX];
	json_t *ping = NULL;

	if (control_call(client, json_pack("{s:s}", "command", "ping"), NULL, NULL, &ping, error) ==
		    0 &&
	    strcmp(json_get_text(ping, "cache_dir"), s->dir) == 0) {
		s->found = true;
		s->result = s->fn(s->ctx, client, ping);
	}
	json_decref(ping);
	return s->found;
}

/* fn with a connection to the owner of the cache. What fn returned, or -ENOENT: it does not answer.
 */
static int ask_owner(struct cache *c, const char *name,
		     int (*fn)(void *ctx, struct control_client *client, const json_t *ping),
		     void *ctx)
{
	struct owner_search s = {.fn = fn, .ctx = ctx};
	unsigned int silent;
	char *dir = NULL;

	if (asprintf(&dir, "%s/%s", c->root, name) < 0)
		return -ENOMEM;
	s.dir = dir;
	control_each(is_owner, &s, &silent);
	free(dir);
	return s.found ? s.result : -ENOENT;
}

/* ---- list ---- */

static int list(struct cache *c)
{
	uint64_t total = 0;
	const json_t *one;
	char size[SIZE_TEXT_MAX], what[INVENTORY_TEXT_MAX], name[512];
	size_t i;

	if (json_array_size(c->list) == 0) {
		printf("no caches in %s\n", c->root);
		return 0;
	}
	printf("%9s %7s %-6s %s\n", "SIZE", "FILES", "USE", "CACHE");
	json_array_foreach(c->list, i, one)
	{
		bool used = json_is_true(json_object_get(one, "used"));
		const char *about = json_get_text(one, used ? "owner" : "description");

		total += json_get_number(one, "bytes");
		printf("%9s %7" PRIu64 " %-6s %s\n",
		       format_size(size, json_get_number(one, "bytes")),
		       json_get_number(one, "files"), used ? "in use" : "free",
		       text_clean(name, sizeof(name), json_get_text(one, "name")));
		if (*about)
			printf("%25s %s\n", "", text_clean(what, sizeof(what), about));
	}
	printf("%9s in %zu %s of %s\n", format_size(size, total), json_array_size(c->list),
	       plural(json_array_size(c->list), "cache", "caches"), c->root);
	return 0;
}

/* ---- check ---- */

struct check {
	struct cache *c;
	const char *name;
	json_t *item;
	json_t *problems;
	uint64_t blocks, blocks_bad;
};

static void problem(void *ctx, const char *what)
{
	struct check *k = ctx;

	fail(k->c, k->name, what);
	json_array_append_new(k->problems, text(what));
}

static void on_failed(void *ctx, const json_t *line)
{
	const json_t *failed = json_object_get(line, "failed");
	struct check *k = ctx;
	char what[INVENTORY_TEXT_MAX];

	if (!failed)
		return;
	snprintf(what, sizeof(what), "%s: %s", json_get_text(failed, "path"),
		 json_get_text(failed, "error"));
	problem(k, what);
}

static int verify_there(void *ctx, struct control_client *client, const json_t *ping)
{
	char error[CONTROL_ERROR_MAX];
	struct check *k = ctx;
	json_t *result = NULL;
	int r;

	(void)ping;
	r = control_call(client, json_pack("{s:s,s:[s]}", "command", "verify", "paths", ""),
			 on_failed, k, &result, error);
	if (r < 0)
		problem(k, error);
	k->blocks = json_get_number(result, "blocks");
	k->blocks_bad = json_get_number(result, "blocks_bad");
	json_decref(result);
	return 0;
}

static void check_one(struct cache *c, json_t *item)
{
	struct check k = {.c = c,
			  .name = json_get_text(item, "name"),
			  .item = item,
			  .problems = json_array()};
	char owner[INVENTORY_TEXT_MAX] = "", why[INVENTORY_TEXT_MAX + 64];
	struct inventory_report report = {0};
	char size[SIZE_TEXT_MAX];
	int r;

	r = inventory_check(c->root, k.name, true, problem, &k, &report, owner);
	k.blocks = report.blocks_checked;
	k.blocks_bad = report.blocks_bad;
	if (r == -EBUSY && ask_owner(c, k.name, verify_there, &k) == -ENOENT) {
		snprintf(why, sizeof(why), "in use by %s, which does not answer", owner);
		problem(&k, why);
	} else if (r < 0 && r != -EBUSY) {
		problem(&k, strerror(-r));
	}
	if (!c->json)
		printf("%s: %" PRIu64 " %s checked, %" PRIu64 " wrong, %zu %s, %s\n", k.name,
		       k.blocks, plural(k.blocks, "block", "blocks"), k.blocks_bad,
		       json_array_size(k.problems),
		       plural(json_array_size(k.problems), "problem", "problems"),
		       r == -EBUSY ? "by the mount that uses it"
				   : format_size(size, report.bytes_allocated));
	json_object_set_new(item, "blocks", json_integer((json_int_t)k.blocks));
	json_object_set_new(item, "blocks_bad", json_integer((json_int_t)k.blocks_bad));
	json_object_set_new(item, "problems", k.problems);
}

static int check(struct cache *c)
{
	json_t *one;
	size_t i;

	json_array_foreach(c->list, i, one)
	{
		check_one(c, one);
	}
	return c->failed > 0;
}

/* ---- prune ---- */

/* owner: of one that was free a moment ago. */
static void fail_used(struct cache *c, const char *name, const json_t *item, const char *owner)
{
	char what[INVENTORY_TEXT_MAX + 64];
	const char *listed = json_get_text(item, "owner");

	snprintf(what, sizeof(what), "in use by %s (unmount that first)", *listed ? listed : owner);
	fail(c, name, what);
}

static int prune(struct cache *c)
{
	uint64_t bytes = 0, removed = 0;
	char owner[INVENTORY_TEXT_MAX] = "", size[SIZE_TEXT_MAX];
	size_t i, stay;
	json_t *one;

	json_array_foreach(c->list, i, one)
	{
		const char *name = json_get_text(one, "name");
		int r = json_is_true(json_object_get(one, "used")) ? -EBUSY : 0;

		if (r == 0 && !c->dry_run)
			r = inventory_remove(c->root, name, owner);
		json_object_set_new(one, "removed", json_boolean(r == 0));
		if (r == 0) {
			removed++;
			bytes += json_get_number(one, "bytes");
			if (!c->json)
				printf("%9s %s\n", format_size(size, json_get_number(one, "bytes")),
				       name);
		} else if (r != -EBUSY) {
			fail(c, name,
			     r == -ENOTEMPTY ? "something lies in it that is not the cache's (move "
					       "that away, then prune again)"
					     : strerror(-r));
		} else if (c->named) { /* of all of them one in use stays, which is no failure */
			fail_used(c, name, one, owner);
		}
	}
	stay = json_array_size(c->list) - (size_t)removed;
	/* Of names that are none there is nothing to sum up. */
	if (!c->json && (json_array_size(c->list) > 0 || c->failed == 0))
		printf("%9s in %" PRIu64 " %s %s, %zu %s\n", format_size(size, bytes), removed,
		       plural(removed, "cache", "caches"),
		       c->dry_run ? "would be removed" : "removed", stay,
		       plural(stay, "stays", "stay"));
	return c->failed > 0;
}

/* ---- the command ---- */

/* Only those named stay on the list; each name must be there. */
static void select_named(struct cache *c, int argc, char **argv)
{
	json_t *named = json_array();
	json_t *one;
	size_t i;

	for (int n = 0; n < argc; n++) {
		size_t before = json_array_size(named);

		json_array_foreach(c->list, i, one)
		{
			if (strcmp(json_get_text(one, "name"), argv[n]) == 0)
				json_array_append(named, one);
		}
		if (json_array_size(named) == before)
			fail(c, argv[n], "no such cache (rgetfs cache list names them)");
	}
	json_decref(c->list);
	c->list = named;
}

static int run(struct cache *c, int (*verb)(struct cache *c), int argc, char **argv)
{
	const json_t *one;
	char *root = NULL;
	size_t i;
	int r;

	r = cache_root(c->root_given, &root);
	if (r == 0)
		r = path_resolve(root, &c->root);
	if (r == 0)
		r = inventory_each(c->root, add_item, c);
	/* Before the first mount there is no root of our own yet; one that was given should be. */
	if (r < 0 && !(r == -ENOENT && !c->root_given)) {
		fprintf(stderr, "rgetfs: %s: %s\n", root ? root : "cache", strerror(-r));
		free(root);
		return 1;
	}
	free(root);
	c->named = argc > 0;
	if (c->named)
		select_named(c, argc, argv);
	if (c->json && verb == list)
		r = 0;
	else
		r = verb(c);
	if (c->json) {
		json_array_foreach(c->list, i, one)
		{
			json_dumpf(one, stdout, JSON_COMPACT);
			putchar('\n');
		}
	}
	return r || c->failed > 0;
}

int cmd_cache(const struct command *cmd, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*fn)(struct cache *c);
	} verbs[] = {{"list", list}, {"check", check}, {"prune", prune}};
	struct cache c = {0};
	const struct option_set set = {cache_command_options, ARRAY_SIZE(cache_command_options), &c,
				       false};
	int n = options_parse(cmd, &set, 1, argc, argv);
	int r;

	if (n < 0)
		return options_status(n);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, argv[0]) != 0)
			continue;
		c.list = json_array();
		r = run(&c, verbs[i].fn, n - 1, argv + 1);
		json_decref(c.list);
		free(c.root);
		return r;
	}
	return options_usage(cmd, "list, check or prune?");
}
