/*
 * hop.c - which URL is asked next, and whether it may be
 *
 * Callers: run.c, when a transfer begins, when a redirect came and when a resolved URL has died.
 * libcurl follows nothing itself: each redirect comes back here and is judged like a new request.
 *
 * Always true:
 *   H1  no hop goes from https to http, and no redirect leaves http and https.
 *   H2  a chain has at most max_redirects redirects and never asks the same URL twice (with a
 *       cookie jar it may: a server that wants its cookie back redirects to itself).
 *   H3  what is secret (headers of the manifest and the settings, user info, netrc, client
 *       certificate, cookies) goes to hops on the manifest's own scheme, host and port only:
 *       hop_is_home().
 */
#include "net/run.h"

#include "base/clock.h"

/* User info goes to libcurl by options of its own and never stays in a URL that travels on. */
static int hop_take_userinfo(struct run *r)
{
	CURLU *u = curl_url();
	char *part = NULL;
	int error = 0;

	if (!u)
		return -ENOMEM;
	if (curl_url_set(u, CURLUPART_URL, r->rq.url, CURLU_NON_SUPPORT_SCHEME)) {
		error = -EINVAL;
		goto out;
	}
	if (!curl_url_get(u, CURLUPART_USER, &part, CURLU_URLDECODE)) {
		r->user = strdup(part);
		curl_free(part);
		part = NULL;
		if (!r->user)
			error = -ENOMEM;
	}
	if (!curl_url_get(u, CURLUPART_PASSWORD, &part, CURLU_URLDECODE)) {
		r->password = strdup(part);
		curl_free(part);
		if (!r->password)
			error = -ENOMEM;
	}
out:
	curl_url_cleanup(u);
	return error;
}

int hop_init(struct run *r)
{
	int error = url_origin(r->rq.url, &r->home);

	return error < 0 ? error : hop_take_userinfo(r);
}

static void hop_forget_seen(struct run *r)
{
	for (unsigned int i = 0; i < r->seen_count; i++)
		free(r->seen[i]);
	free(r->seen);
	r->seen = NULL;
	r->seen_count = 0;
}

void hop_done(struct run *r)
{
	hop_forget_seen(r);
	free(r->url);
	free(r->user);
	free(r->password);
	r->url = r->user = r->password = NULL;
}

bool hop_is_home(const struct run *r)
{
	return url_origin_equal(&r->origin, &r->home);
}

/* H2. */
static enum verdict hop_remember(struct run *r)
{
	char **seen;

	for (unsigned int i = 0; i < r->seen_count; i++) {
		if (!r->inst->shared->cfg.cookie_jar && strcmp(r->seen[i], r->url) == 0)
			return VERDICT_REDIRECTS;
	}
	seen = realloc(r->seen, (r->seen_count + 1) * sizeof(*seen));
	if (!seen)
		return VERDICT_INTERNAL;
	r->seen = seen;
	seen[r->seen_count] = strdup(r->url);
	if (!seen[r->seen_count])
		return VERDICT_INTERNAL;
	r->seen_count++;
	return VERDICT_PART;
}

/* Behind a proxy the address is the proxy's: only the name can be judged. */
static bool hop_name_allowed(struct run *r)
{
	r->scope = policy_scope_of_name(r->origin.host);
	return policy_allows(r, r->scope);
}

static bool hop_scheme_allowed(const struct run *r, const struct url_origin *before)
{
	if (r->first_hop || !before)
		return true;
	if (!run_is_http(r))
		return false;
	return strcmp(before->scheme, "https") != 0 || strcmp(r->origin.scheme, "https") == 0;
}

static void hop_reset(struct run *r)
{
	r->phase = RUN_ASKING;
	r->outcome = VERDICT_COUNT;
	r->sockets_tried = 0;
	r->address_refused = false;
	r->paused_in_curl = false;
	r->scope = ADDR_PUBLIC;
	r->begun_us = clock_now_us();
	r->asked_us = r->stall_us = 0;
	r->errbuf[0] = '\0';
	r->detail = NULL;
	head_begin(r);
}

/* Ask url, which is the caller's own or the target of a redirect from before. */
static enum verdict hop_begin(struct run *r, const char *url, const struct url_origin *before)
{
	const char *proxy;
	enum verdict v;

	easy_end(r);
	hop_reset(r);
	free(r->url);
	r->url = url_without_userinfo(url);
	if (!r->url)
		return VERDICT_INTERNAL;
	if (url_origin(r->url, &r->origin) < 0)
		return r->first_hop ? VERDICT_REFUSED : VERDICT_SCHEME;
	if (!hop_scheme_allowed(r, before))
		return VERDICT_SCHEME;
	v = hop_remember(r);
	if (v != VERDICT_PART)
		return v;
	proxy = proxy_for(r->inst->shared->cfg.proxy, &r->origin);
	r->proxied = proxy[0] != '\0';
	if (r->proxied && !hop_name_allowed(r))
		return VERDICT_ADDRESS;
	if (easy_begin(r, proxy) < 0)
		return VERDICT_INTERNAL;
	atomic_fetch_add_explicit(&r->inst->shared->requests, 1, memory_order_relaxed);
	return VERDICT_PART;
}

static enum verdict hop_begin_home(struct run *r)
{
	hop_forget_seen(r);
	r->fresh_s = -1;
	r->on_resolved = false;
	r->ask_home = false;
	r->first_hop = true;
	return hop_begin(r, r->rq.url, NULL);
}

enum verdict hop_first(struct run *r)
{
	struct url_origin target;
	enum verdict v;

	if (!r->rq.resolved || url_origin(r->rq.resolved, &target) < 0)
		return hop_begin_home(r);
	/* A redirect's target, judged as one: what allowed it to be on a local address then still
	 * does. */
	r->fresh_s = -1;
	r->on_resolved = true;
	r->first_hop = url_origin_equal(&target, &r->home);
	r->scope_before =
		policy_granted(r->inst->shared, &r->home, &target) ? ADDR_LOOPBACK : ADDR_PUBLIC;
	v = hop_begin(r, r->rq.resolved, &r->home);
	return hop_resolved_died(r, v, 0) ? hop_begin_home(r) : v;
}

static bool hop_ends_its_life(const struct run *r, int status)
{
	return status == 401 || status == 403 || status == 404 || status == 410 ||
	       /* an expired signature; there is none where there is no query */
	       (status == 400 && strchr(r->rq.resolved, '?'));
}

bool hop_resolved_died(const struct run *r, enum verdict v, int status)
{
	if (!r->on_resolved)
		return false;
	if (status)
		return hop_ends_its_life(r, status);
	/* The name or node it pointed to is no more: the manifest's URL may know another one. */
	return v == VERDICT_NAME || v == VERDICT_CONNECT || v == VERDICT_ADDRESS ||
	       v == VERDICT_TLS || v == VERDICT_SCHEME;
}

/* Blanks and bytes beyond ASCII are no part of a URL, but servers send them raw; as browsers read
 * them. */
static char *hop_escape(const char *location)
{
	static const char hex[] = "0123456789ABCDEF";
	char *to, *p = malloc(3 * strlen(location) + 1);

	if (!p)
		return NULL;
	for (to = p; *location; location++) {
		unsigned char c = (unsigned char)*location;

		if (c != ' ' && c < 0x80) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	*to = '\0';
	return p;
}

enum verdict hop_next(struct run *r)
{
	struct fetch_shared *sh = r->inst->shared;
	struct url_origin before = r->origin;
	enum addr_scope scope = r->scope;
	char *url, *location;
	enum verdict v;
	int error;

	if (r->ask_home)
		return hop_begin_home(r);
	if (r->redirects >= sh->cfg.max_redirects)
		return VERDICT_REDIRECTS;
	url = malloc(URL_MAX);
	if (!url)
		return VERDICT_INTERNAL;
	location = hop_escape(r->resp->location);
	if (!location) {
		free(url);
		return VERDICT_INTERNAL;
	}
	error = url_resolve(r->url, location, url, URL_MAX);
	free(location);
	if (error == 0) {
		r->redirects++;
		if (r->resp->fresh_s >= 0 && (r->fresh_s < 0 || r->resp->fresh_s < r->fresh_s))
			r->fresh_s = r->resp->fresh_s;
		atomic_fetch_add_explicit(&sh->redirects, 1, memory_order_relaxed);
		r->on_resolved = false;
		r->first_hop = false;
		r->scope_before = scope;
		v = hop_begin(r, url, &before);
	} else {
		r->detail = "redirect to something that is no URL";
		v = VERDICT_SCHEME;
	}
	free(url);
	return v;
}
