/*
 * status.c - the status command: one JSON object about a mount and its files
 *
 * The request may say "all" (every file, not only those with cached bytes, at work or failed) and
 * "files": false (totals alone, which cost nothing with a long manifest).
 */
#include "core/url.h"
#include "daemon/mount.h"

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)min_u64(n, INT64_MAX));
}

static void set_number(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, number(n));
}

/* Bytes that are no UTF-8 can't stand in JSON: shown as U+FFFD each. */
static json_t *text(const char *s)
{
	json_t *j = json_string(s);
	struct strbuf b;

	if (j)
		return j;
	strbuf_init(&b, 4 * strlen(s) + 1);
	for (; *s; s++) {
		if ((unsigned char)*s < 0x80)
			strbuf_addc(&b, *s);
		else
			strbuf_adds(&b, "\xef\xbf\xbd");
	}
	j = json_string(b.s);
	strbuf_done(&b);
	return j;
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
	if (st.store.degraded)
		json_object_set_new(j, "degraded", text(strerror(-st.store.degraded)));
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
	json_object_set_new(j, "path", text(e->path));
	json_object_set_new(j, "url", text(url));
	json_object_set_new(j, "size",
			    info->size == SIZE_UNKNOWN ? json_null() : number(info->size));
	set_number(j, "bytes_cached", info->bytes_cached);
	set_number(j, "bytes_durable", info->bytes_durable);
	json_object_set_new(j, "state", text(object_state_name(info->state)));
	set_number(j, "connections", info->connections);
	set_number(j, "rate_bps", info->rate_bps);
	json_object_set_new(j, "validator", text(validator));
	json_object_set_new(j, "error", text(info->error));
	return j;
}

static json_t *files(struct mount *mt, struct control_call *call, bool all)
{
	struct manifest *m = fs_manifest(mount_fs(mt));
	uint32_t count = manifest_count(m);
	json_t *list = json_array();
	struct object_info info;
	struct entry e;

	entry_init(&e);
	for (uint32_t i = 0; i < count; i++) {
		if (i % 4096 == 4095 && control_cancelled(call))
			break;
		if (engine_peek(mount_engine(mt), m, i, &info) == -ENOMEM)
			continue;
		if (!all && !worth_showing(&info))
			continue;
		if (manifest_entry(m, i, &e) == 0 && !e.directory)
			json_array_append_new(list, file(&e, &info));
	}
	entry_done(&e);
	manifest_put(m);
	return list;
}

static int on_status(void *ctx, struct control_call *call, const json_t *request,
		     json_t **ret_result)
{
	struct mount *mt = ctx;
	bool all = json_is_true(json_object_get(request, "all"));
	json_t *j = json_object();

	json_object_set_new(j, "mountpoint", text(mount_point(mt)));
	json_object_set_new(j, "manifest", text(mount_manifest_shown(mt)));
	json_object_set_new(j, "cache_dir", text(mount_cache_dir(mt)));
	set_number(j, "pid", (uint64_t)getpid());
	set_number(j, "uptime_s", mount_uptime_s(mt));
	json_object_set_new(j, "totals", totals(mt));
	if (!json_is_false(json_object_get(request, "files")))
		json_object_set_new(j, "files", files(mt, call, all));
	*ret_result = j;
	return j ? 0 : -ENOMEM;
}

int status_register(struct control *c, struct mount *mt)
{
	return control_register(c, "status", on_status, mt);
}
