/*
 * status.c - the status command: one JSON object about a mount and its files
 *
 * The request may say "all" (every file, not only those with cached bytes, at work or failed) and
 * "files": false (totals alone, which cost nothing with a long manifest). Many files come in
 * batches as
 * {"progress":{"files":[…]}}; the last ones are in the answer.
 */
#include "base/clock.h"
#include "base/heap.h"
#include "core/url.h"
#include "daemon/mount.h"
#include "daemon/select.h"

#define BATCH 1000 /* files sent at once */

static void set_number(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, json_number(n));
}

static json_t *totals(struct mount *mt)
{
	json_t *j = json_object();
	struct engine_stats st;
	struct fs_totals t;

	engine_stats(mount_engine(mt), &st);
	fs_totals(mount_fs(mt), &t);
	set_number(j, "files", t.files);
	set_number(j, "files_without_size", t.unknown);
	set_number(j, "bytes", t.bytes);
	set_number(j, "bytes_cached", st.store.bytes_cached);
	set_number(j, "bytes_durable", st.store.bytes_durable);
	set_number(j, "bytes_evicted", st.store.bytes_evicted);
	set_number(j, "bytes_fetched", st.fetch.bytes_received);
	set_number(j, "bytes_discarded", st.fetch.bytes_discarded);
	set_number(j, "blocks_bad", st.store.blocks_bad);
	set_number(j, "checkpoints", st.store.checkpoints);
	set_number(j, "requests", st.fetch.requests);
	set_number(j, "redirects", st.fetch.redirects);
	set_number(j, "retries", st.sched.retries);
	set_number(j, "cuts", st.sched.cuts);
	set_number(j, "steals", st.sched.steals);
	set_number(j, "hedges", st.sched.hedges);
	set_number(j, "connections", st.connections);
	set_number(j, "connections_made", st.fetch.connections_made);
	set_number(j, "rate_bps", st.rate_bps);
	set_number(j, "reads", st.reads);
	set_number(j, "read_hits", st.read_hits);
	set_number(j, "reads_waiting", st.parked);
	set_number(j, "heap_bytes", heap_bytes());
	if (st.store.degraded)
		json_object_set_new(j, "degraded", json_text(strerror(-st.store.degraded)));
	return j;
}

static bool worth_showing(const struct object_info *info)
{
	return info->bytes_cached > 0 || info->connections > 0 || info->error[0] ||
	       info->state == OBJECT_PROBING || info->state == OBJECT_FILLING ||
	       info->state == OBJECT_STALE || info->state == OBJECT_FAILED;
}

static json_t *file(const struct entry *e, const struct object_info *info)
{
	char url[URL_MAX] = "", validator[VALIDATOR_TEXT_MAX] = "";
	json_t *j = json_object();

	if (e->url_count > 0)
		url_redact(e->url[0], url, sizeof(url));
	validator_format(&info->validator, validator);
	json_object_set_new(j, "path", json_text(e->path));
	json_object_set_new(j, "url", json_text(url));
	json_object_set_new(j, "size",
			    info->size == SIZE_UNKNOWN ? json_null() : json_number(info->size));
	set_number(j, "bytes_cached", info->bytes_cached);
	set_number(j, "bytes_durable", info->bytes_durable);
	json_object_set_new(j, "state", json_text(object_state_name(object_shown_state(info))));
	set_number(j, "connections", info->connections);
	set_number(j, "rate_bps", info->rate_bps);
	json_object_set_new(j, "validator", json_text(validator));
	json_object_set_new(j, "error", json_text(info->error));
	return j;
}

struct sums {
	uint64_t bytes, unknown; /* files without a size */
	uint64_t in_state[OBJECT_STATE_COUNT];
};

/* Send what has come together: a million of them would need gigabytes. 0 or -errno. */
static int send_batch(struct control_call *call, json_t *list)
{
	json_t *batch = json_copy(list);

	json_array_clear(list);
	return control_progress(call, json_pack("{s:o}", "files", batch));
}

/* The last ones to list. 0 or -errno. */
static int files(struct mount *mt, struct control_call *call, bool all, struct sums *sums,
		 json_t *list)
{
	struct manifest *m = fs_manifest(mount_fs(mt));
	uint32_t count = manifest_count(m);
	struct object_info info;
	struct entry e;
	int r = 0;

	entry_init(&e);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		if (i % 4096 == 4095 && control_cancelled(call))
			r = -ECANCELED;
		if (json_array_size(list) == BATCH)
			r = send_batch(call, list);
		if (engine_peek(mount_engine(mt), m, i, &info) == -ENOMEM)
			continue;
		if (info.size == 0 && (manifest_entry(m, i, &e) < 0 || e.directory))
			continue;
		sums->in_state[object_shown_state(&info)]++;
		if (info.size == SIZE_UNKNOWN)
			sums->unknown++;
		else
			sums->bytes = add_sat_u64(sums->bytes, info.size);
		if (!all && !worth_showing(&info))
			continue;
		if (manifest_entry(m, i, &e) == 0)
			json_array_append_new(list, file(&e, &info));
	}
	entry_done(&e);
	manifest_put(m);
	return r;
}

struct origins {
	json_t *list;
	uint64_t in_trouble;
};

/* An origin in trouble, or one that can't do all that is asked of it. */
static void add_origin(void *ctx, const struct engine_origin *o)
{
	struct origins *origins = ctx;
	bool trouble = o->bans || o->banned_for_us;
	const char *state = o->banned_for_us ? "banned" : trouble ? "failing" : "ok";

	if (!trouble && !o->no_ranges)
		return;
	origins->in_trouble += trouble;
	json_array_append_new(origins->list,
			      json_pack("{s:o,s:s,s:I,s:i,s:i,s:b}", "origin", json_text(o->name),
					"state", state, "banned_ms",
					(json_int_t)(o->banned_for_us / USEC_PER_MS), "bans",
					(int)o->bans, "connections", (int)o->connections, "ranges",
					!o->no_ranges));
}

/* Who has looked at each file knows its size, where totals() has what was so a moment ago. */
static int add_files(json_t *j, json_t *t, struct mount *mt, struct control_call *call, bool all)
{
	struct sums sums = {0};
	json_t *list = json_array();
	int r = files(mt, call, all, &sums, list);

	json_object_set_new(j, "files", list);
	set_number(t, "bytes", sums.bytes);
	set_number(t, "files_without_size", sums.unknown);
	set_number(t, "files_complete", sums.in_state[OBJECT_COMPLETE]);
	set_number(t, "files_failed", sums.in_state[OBJECT_FAILED]);
	return r;
}

static int on_status(void *ctx, struct control_call *call, const json_t *request,
		     json_t **ret_result)
{
	struct mount *mt = ctx;
	bool all = json_is_true(json_object_get(request, "all"));
	struct origins origins = {.list = json_array()};
	json_t *sums = totals(mt);
	json_t *j = json_object();
	int r = 0;

	json_object_set_new(j, "mountpoint", json_text(mount_point(mt)));
	json_object_set_new(j, "manifest", json_text(mount_manifest_shown(mt)));
	json_object_set_new(j, "cache_dir", json_text(mount_cache_dir(mt)));
	set_number(j, "pid", (uint64_t)getpid());
	set_number(j, "uptime_s", mount_uptime_s(mt));
	engine_each_origin(mount_engine(mt), add_origin, &origins);
	set_number(sums, "origins_in_trouble", origins.in_trouble);
	json_object_set_new(j, "totals", sums);
	json_object_set_new(j, "origins", origins.list);
	if (!json_is_false(json_object_get(request, "files")))
		r = add_files(j, sums, mt, call, all);
	if (r < 0) {
		json_decref(j);
		return r;
	}
	*ret_result = j;
	return j ? 0 : -ENOMEM;
}

int status_register(struct control *c, struct mount *mt)
{
	return control_register(c, "status", on_status, mt);
}
