/*
 * handlers.c - the small commands of the control socket: ping, checkpoint, reload, unmount
 */
#include <inttypes.h>

#include "daemon/mount.h"

/* Who are you? For those who look through the sockets of a user. */
static int on_ping(void *ctx, struct control_call *call, const json_t *request, json_t **ret_result)
{
	struct mount *mt = ctx;

	(void)call;
	(void)request;
	*ret_result = json_pack("{s:s,s:s,s:s,s:I}", "mountpoint", mount_point(mt), "manifest",
				mount_manifest_shown(mt), "cache_dir", mount_cache_dir(mt), "pid",
				(json_int_t)getpid());
	return *ret_result ? 0 : -ENOMEM;
}

static int on_checkpoint(void *ctx, struct control_call *call, const json_t *request,
			 json_t **ret_result)
{
	int r = engine_checkpoint(mount_engine(ctx));

	(void)request;
	(void)ret_result;
	return r < 0 ? control_explain(call, r, "the checkpoint failed: %s", strerror(-r)) : 0;
}

static bool gone(void *ctx)
{
	return control_cancelled(ctx);
}

static int on_reload(void *ctx, struct control_call *call, const json_t *request,
		     json_t **ret_result)
{
	char error[MANIFEST_ERROR_MAX] = "", kept_why[SOURCE_WHY_MAX] = "";
	struct manifest *m;
	int r = mount_reload(ctx, (struct download_cancel){gone, call}, kept_why, error);

	(void)request;
	if (r < 0)
		return control_explain(call, r, "%s", error);
	m = fs_manifest(mount_fs(ctx));
	*ret_result = json_pack("{s:I,s:s}", "entries", (json_int_t)manifest_count(m), "kept_why",
				kept_why);
	manifest_put(m);
	return 0;
}

/* The answer comes at once; the end of the connection tells that it is over. */
static int on_unmount(void *ctx, struct control_call *call, const json_t *request,
		      json_t **ret_result)
{
	(void)call;
	(void)request;
	(void)ret_result;
	mount_end(ctx);
	return 0;
}

int handlers_register(struct control *c, struct mount *mt)
{
	static const struct {
		const char *name;
		control_handler fn;
	} handlers[] = {
		{"ping", on_ping},
		{"checkpoint", on_checkpoint},
		{"reload", on_reload},
		{"unmount", on_unmount},
	};

	for (size_t i = 0; i < ARRAY_SIZE(handlers); i++) {
		int r = control_register(c, handlers[i].name, handlers[i].fn, mt);

		if (r < 0)
			return r;
	}
	return 0;
}
