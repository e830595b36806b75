/*
 * shared.c - what all fetch instances have in common
 *
 * Callers: the engine makes and frees it; instances read it. After fetch_shared_new() only the
 * pool, the limiters, the grants and the counters change, each under its own lock or atomic.
 */
#include "net/shared.h"

#include "base/clock.h"

static void share_lock(CURL *easy, curl_lock_data data, curl_lock_access access, void *user)
{
	struct share *s = user;

	(void)easy;
	(void)access;
	pthread_mutex_lock(&s->lock[data]);
}

static void share_unlock(CURL *easy, curl_lock_data data, void *user)
{
	struct share *s = user;

	(void)easy;
	pthread_mutex_unlock(&s->lock[data]);
}

static int share_init(struct share *s, bool cookies)
{
	bool ok;

	for (unsigned int i = 0; i < ARRAY_SIZE(s->lock); i++)
		pthread_mutex_init(&s->lock[i], NULL);
	s->curl = curl_share_init();
	if (!s->curl)
		return -ENOMEM;
	ok = !curl_share_setopt(s->curl, CURLSHOPT_LOCKFUNC, share_lock) &&
	     !curl_share_setopt(s->curl, CURLSHOPT_UNLOCKFUNC, share_unlock) &&
	     !curl_share_setopt(s->curl, CURLSHOPT_USERDATA, s) &&
	     !curl_share_setopt(s->curl, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) &&
	     !curl_share_setopt(s->curl, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	if (ok && cookies)
		ok = !curl_share_setopt(s->curl, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
	return ok ? 0 : -ENOMEM;
}

static void share_done(struct share *s)
{
	if (s->curl)
		curl_share_cleanup(s->curl);
	for (unsigned int i = 0; i < ARRAY_SIZE(s->lock); i++)
		pthread_mutex_destroy(&s->lock[i]);
}

static int config_copy(struct fetch_shared *sh, const struct fetch_config *from)
{
	struct fetch_config *to = &sh->cfg;
	struct owned *o = &sh->owned;

	*to = *from;
	if (owned_copy(o, from->user_agent, &to->user_agent) < 0 ||
	    owned_copy(o, from->proxy, &to->proxy) < 0 ||
	    owned_copy(o, from->cacert, &to->cacert) < 0 ||
	    owned_copy(o, from->cert, &to->cert) < 0 || owned_copy(o, from->key, &to->key) < 0 ||
	    owned_copy(o, from->netrc_file, &to->netrc_file) < 0 ||
	    owned_copy(o, from->cookie_jar, &to->cookie_jar) < 0)
		return -ENOMEM;
	return owned_list(o, from->headers, &to->headers);
}

/* Cookies are read once, here, and written once, in fetch_shared_free(). */
static int jar_open(struct fetch_shared *sh)
{
	sh->jar = curl_easy_init();
	if (!sh->jar)
		return -ENOMEM;
	if (curl_easy_setopt(sh->jar, CURLOPT_SHARE, sh->home.curl) ||
	    curl_easy_setopt(sh->jar, CURLOPT_COOKIEFILE, sh->cfg.cookie_jar) ||
	    curl_easy_setopt(sh->jar, CURLOPT_COOKIEJAR, sh->cfg.cookie_jar) ||
	    curl_easy_setopt(sh->jar, CURLOPT_COOKIELIST, "RELOAD"))
		return -ENOMEM;
	return 0;
}

int fetch_shared_new(const struct fetch_config *cfg, struct fetch_shared **ret)
{
	struct fetch_shared *sh;
	uint64_t now = clock_now_us();
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	sh = calloc(1, sizeof(*sh));
	if (!sh) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	pool_init(&sh->pool);
	mtx_init(&sh->grants_lock, RANK_POOL, "grants");
	limiter_init(&sh->limit, cfg->limit_rate_bps, now);
	limiter_init(&sh->fill, cfg->fill_rate_bps, now);
	r = config_copy(sh, cfg);
	if (share_init(&sh->foreign, false) < 0 ||
	    share_init(&sh->home, cfg->cookie_jar != NULL) < 0)
		r = -ENOMEM;
	sh->grants = calloc(GRANTS_MAX, sizeof(*sh->grants));
	if (!sh->grants)
		r = -ENOMEM;
	if (r == 0 && sh->cfg.cookie_jar)
		r = jar_open(sh);
	if (r < 0) {
		fetch_shared_free(sh);
		return r;
	}
	*ret = sh;
	return 0;
}

void fetch_shared_free(struct fetch_shared *sh)
{
	if (!sh)
		return;
	if (sh->jar) /* writes the jar */
		curl_easy_cleanup(sh->jar);
	share_done(&sh->home);
	share_done(&sh->foreign);
	pool_done(&sh->pool);
	limiter_done(&sh->limit);
	limiter_done(&sh->fill);
	mtx_done(&sh->grants_lock);
	free(sh->grants);
	owned_done(&sh->owned);
	free(sh);
	curl_global_cleanup();
}

void fetch_stats(struct fetch_shared *sh, struct fetch_stats *ret)
{
	*ret = (struct fetch_stats){
		.requests = atomic_load_explicit(&sh->requests, memory_order_relaxed),
		.redirects = atomic_load_explicit(&sh->redirects, memory_order_relaxed),
		.connections_made =
			atomic_load_explicit(&sh->connections_made, memory_order_relaxed),
		.bytes_received = atomic_load_explicit(&sh->bytes_received, memory_order_relaxed),
		.bytes_discarded = atomic_load_explicit(&sh->bytes_discarded, memory_order_relaxed),
		.connections_now = atomic_load_explicit(&sh->connections_now, memory_order_relaxed),
	};
}
