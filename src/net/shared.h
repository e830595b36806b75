/*
 * shared.h - what all fetch instances have in common: settings, caches of libcurl, memory, rates,
 * counters
 */
#ifndef NET_SHARED_H
#define NET_SHARED_H

#include <curl/curl.h>
#include <stdatomic.h>

#include "core/url.h"
#include "net/chunk.h"
#include "net/limiter.h"
#include "net/owned.h"

/* A CURLSH with the locks it asks for. They are libcurl's own and have no rank: it calls nothing of
 * ours while it holds one. */
struct share {
	CURLSH *curl;
	pthread_mutex_t lock[CURL_LOCK_DATA_LAST];
};

/*
 * "Manifest origin home was redirected to target from a local address": what lets a resolved URL of
 * ours be on a local address again (the address policy, see policy.c).
 */
struct grant {
	struct url_origin home, target;
};
#define GRANTS_MAX 64

struct fetch_shared {
	struct fetch_config cfg; /* its strings are in owned */
	struct owned owned;
	struct share foreign; /* for hops to other origins than the manifest's: never a cookie */
	struct share home;    /* for the manifest's own origins: with cookies, if there is a jar */
	CURL *jar;	      /* loads and saves the cookies; NULL: no jar */
	struct pool pool;
	struct limiter limit, fill;

	struct mtx grants_lock; /* RANK_POOL; guards the two below */
	struct grant *grants;	/* a ring */
	unsigned int grants_used;

	/* Counters of struct fetch_stats. */
	atomic_uint_fast64_t requests, redirects, connections_made, bytes_received, bytes_discarded;
	atomic_uint connections_now;
};

#endif
