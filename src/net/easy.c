/*
 * easy.c - how one hop is put to libcurl, and the sockets it makes for it
 *
 * Callers: hop.c begins, run.c ends; the callbacks run inside curl_multi_perform() on the
 * instance's thread.
 */
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/run.h"

#define RECEIVE_BUFFER	 (512 * 1024) /* at 16 KiB, libcurl's own, a GiB costs twice the CPU */
#define KEEPALIVE_IDLE_S 30

/* ---- sockets ---- */

static void easy_forget_socket(struct instance *inst, int fd)
{
	if (sockets_remove(&inst->sockets, fd))
		atomic_fetch_sub_explicit(&inst->shared->connections_now, 1, memory_order_relaxed);
}

/*
 * libcurl 7.88 closes a socket that never got connected without calling easy_close_socket(): so all
 * of this hop's are forgotten here but keep (-1: none).
 */
static void easy_forget_opened(struct run *r, int keep)
{
	for (unsigned int i = 0; i < r->opened_count; i++) {
		if (r->opened[i] != keep)
			easy_forget_socket(r->inst, r->opened[i]);
	}
	r->opened_count = 0;
}

static void easy_note_socket(struct run *r, int fd)
{
	struct instance *inst = r->inst;
	unsigned int before = inst->sockets.count;

	if (sockets_add(&inst->sockets, fd) < 0)
		return; /* not counted, not bounded: nothing worse */
	if (inst->sockets.count > before)
		atomic_fetch_add_explicit(&inst->shared->connections_now, 1, memory_order_relaxed);
	if (r->opened_count == ARRAY_SIZE(r->opened))
		easy_forget_opened(r, -1);
	r->opened[r->opened_count++] = fd;
}

/* Each address of a name that is about to be tried. */
static curl_socket_t easy_open_socket(void *user, curlsocktype purpose,
				      struct curl_sockaddr *address)
{
	struct run *r = user;
	int fd;

	(void)purpose;
	if (!r->proxied && !policy_allows(r, addr_scope(&address->addr))) {
		r->address_refused = true;
		return CURL_SOCKET_BAD;
	}
	fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	if (fd < 0)
		return CURL_SOCKET_BAD;
	r->sockets_tried++;
	easy_note_socket(r, fd);
	return fd;
}

/* The connection outlives the run that opened it, so user is the instance. */
static int easy_close_socket(void *user, curl_socket_t fd)
{
	easy_forget_socket(user, fd);
	return close(fd);
}

/* Connected, perhaps long ago: the address of a reused connection is judged here only. */
static int easy_before_request(void *user, char *ip, char *local_ip, int port, int local_port)
{
	struct run *r = user;

	(void)port;
	if (!r->proxied) {
		r->scope = policy_scope_of_ip(ip);
		if (!policy_allows(r, r->scope)) {
			r->address_refused = true;
			r->outcome = VERDICT_ADDRESS;
			return CURL_PREREQFUNC_ABORT;
		}
	}
	r->fd = sockets_find(&r->inst->sockets, local_ip, local_port);
	if (!r->rq.urgent && r->opened_count > 0)
		socket_bound(r->fd);
	easy_forget_opened(r, r->fd);
	r->asked_us = r->stall_us = clock_now_us();
	return CURL_PREREQFUNC_OK;
}

/* ---- headers ---- */

/* What we say ourselves, or what would make the answer another one than the judge knows of. */
static bool header_is_ours(const char *line)
{
	static const char *const ours[] = {
		"range",	  "if-range",	"accept-encoding", "te", "transfer-encoding",
		"content-length", "connection", "expect"};
	size_t len = strcspn(line, ":;");

	for (unsigned int i = 0; i < ARRAY_SIZE(ours); i++) {
		if (strlen(ours[i]) == len && strncasecmp(line, ours[i], len) == 0)
			return true;
	}
	/* Loading refuses these; a request that somebody else continues is nothing to rely on
	 * others for. */
	return strpbrk(line, "\r\n") != NULL;
}

static int header_add(struct run *r, const char *line)
{
	struct curl_slist *list = curl_slist_append(r->header_list, line);

	if (!list)
		return -ENOMEM;
	r->header_list = list;
	return 0;
}

static int header_add_all(struct run *r, const char *const *lines)
{
	for (size_t i = 0; lines && lines[i]; i++) {
		if (!header_is_ours(lines[i]) && header_add(r, lines[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * RFC 9110 13.1.5: If-Range takes a strong validator only. A date is one (8.8.2.2) when the answer
 * that brought it was at least a minute younger, by the server's own clock.
 */
static int header_add_if_range(struct run *r)
{
	const struct validator *v = &r->rq.validator;
	char line[sizeof("If-Range: ") + ETAG_MAX], date[HTTP_DATE_TEXT_MAX];

	r->want.if_range = false;
	if (!r->rq.if_range || !r->rq.ranged)
		return 0;
	if (validator_etag_strong(v->etag)) {
		snprintf(line, sizeof(line), "If-Range: %s", v->etag);
	} else if (v->etag[0] == '\0' && v->last_modified != VALIDATOR_NO_TIME &&
		   r->rq.validator_date > 0 && v->last_modified <= r->rq.validator_date - 60) {
		http_format_date(date, v->last_modified);
		snprintf(line, sizeof(line), "If-Range: %s", date);
	} else {
		return 0;
	}
	r->want.if_range = true;
	return header_add(r, line);
}

static int easy_headers(struct run *r)
{
	int error = header_add(r, "Accept-Encoding: identity");

	error |= header_add_if_range(r);
	if (hop_is_home(r)) {
		error |= header_add_all(r, r->inst->shared->cfg.headers);
		error |= header_add_all(r, r->rq.headers);
	}
	return error ? -ENOMEM : 0;
}

/* ---- options ---- */

/* Options of a run of settings: the first failure sticks. */
#define SET(r, failed, option, value)                                           \
	do {                                                                    \
		if (curl_easy_setopt((r)->easy, (option), (value)) != CURLE_OK) \
			*(failed) = true;                                       \
	} while (0)

static void easy_set_transport(struct run *r, bool *failed)
{
	const struct fetch_config *cfg = &r->inst->shared->cfg;

	SET(r, failed, CURLOPT_NOSIGNAL, 1L);
	SET(r, failed, CURLOPT_QUICK_EXIT,
	    1L); /* else removing one that is resolving waits for the resolver */
	SET(r, failed, CURLOPT_BUFFERSIZE, (long)RECEIVE_BUFFER);
	SET(r, failed, CURLOPT_TCP_NODELAY, 1L);
	SET(r, failed, CURLOPT_TCP_KEEPALIVE, 1L);
	SET(r, failed, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
	SET(r, failed, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)max_u64(min_u64(cfg->connect_timeout_us / USEC_PER_MS, INT32_MAX), 1));
	SET(r, failed, CURLOPT_OPENSOCKETFUNCTION, easy_open_socket);
	SET(r, failed, CURLOPT_OPENSOCKETDATA, r);
	SET(r, failed, CURLOPT_CLOSESOCKETFUNCTION, easy_close_socket);
	SET(r, failed, CURLOPT_CLOSESOCKETDATA, r->inst);
	SET(r, failed, CURLOPT_PREREQFUNCTION, easy_before_request);
	SET(r, failed, CURLOPT_PREREQDATA, r);
	if (cfg->cacert)
		SET(r, failed, CURLOPT_CAINFO, cfg->cacert);
	if (cfg->insecure) {
		SET(r, failed, CURLOPT_SSL_VERIFYPEER, 0L);
		SET(r, failed, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

/* H3 of hop.c. */
static void easy_set_credentials(struct run *r, bool *failed)
{
	const struct fetch_config *cfg = &r->inst->shared->cfg;

	SET(r, failed, CURLOPT_SHARE, r->inst->shared->home.curl);
	if (cfg->cookie_jar) /* only switches cookies on: the shared ones are read already */
		SET(r, failed, CURLOPT_COOKIEFILE, "");
	if (r->user)
		SET(r, failed, CURLOPT_USERNAME, r->user);
	if (r->password)
		SET(r, failed, CURLOPT_PASSWORD, r->password);
	if (cfg->netrc || cfg->netrc_file)
		SET(r, failed, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
	if (cfg->netrc_file)
		SET(r, failed, CURLOPT_NETRC_FILE, cfg->netrc_file);
	if (cfg->cert)
		SET(r, failed, CURLOPT_SSLCERT, cfg->cert);
	if (cfg->key)
		SET(r, failed, CURLOPT_SSLKEY, cfg->key);
}

static void easy_set_request(struct run *r, const char *proxy, bool *failed)
{
	const struct fetch_config *cfg = &r->inst->shared->cfg;
	char range[HTTP_RANGE_TEXT_MAX];

	SET(r, failed, CURLOPT_PROTOCOLS_STR, r->first_hop ? r->origin.scheme : "http,https");
	SET(r, failed, CURLOPT_URL, r->url);
	SET(r, failed, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(r, failed, CURLOPT_FOLLOWLOCATION, 0L);
	SET(r, failed, CURLOPT_PROXY, proxy);
	SET(r, failed, CURLOPT_NOPROXY, "");
	SET(r, failed, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (cfg->user_agent)
		SET(r, failed, CURLOPT_USERAGENT, cfg->user_agent);
	if (r->rq.ranged && (run_is_http(r) || !r->rq.probe)) {
		if (http_format_range(range, sizeof(range), r->rq.range) < 0)
			*failed = true;
		else
			SET(r, failed, CURLOPT_RANGE, range);
	}
	SET(r, failed, CURLOPT_HTTPHEADER, r->header_list);
	SET(r, failed, CURLOPT_HEADERFUNCTION, head_on_line);
	SET(r, failed, CURLOPT_HEADERDATA, r);
	SET(r, failed, CURLOPT_WRITEFUNCTION, body_on_data);
	SET(r, failed, CURLOPT_WRITEDATA, r);
	SET(r, failed, CURLOPT_ERRORBUFFER, r->errbuf);
	SET(r, failed, CURLOPT_PRIVATE, r);
	SET(r, failed, CURLOPT_FILETIME, 1L); /* for ftp and sftp */
}

int easy_begin(struct run *r, const char *proxy)
{
	bool failed = false;

	r->fd = -1;
	r->easy = curl_easy_init();
	if (!r->easy || easy_headers(r) < 0)
		goto fail;
	if (hop_is_home(r))
		easy_set_credentials(r, &failed);
	else
		SET(r, &failed, CURLOPT_SHARE, r->inst->shared->foreign.curl);
	easy_set_transport(r, &failed);
	easy_set_request(r, proxy, &failed);
	if (failed || curl_multi_add_handle(r->inst->multi, r->easy))
		goto fail;
	return 0;
fail:
	if (r->easy)
		curl_easy_cleanup(r->easy);
	r->easy = NULL;
	curl_slist_free_all(r->header_list);
	r->header_list = NULL;
	return -ENOMEM;
}

void easy_end(struct run *r)
{
	long made = 0;

	if (!r->easy)
		return;
	if (!curl_easy_getinfo(r->easy, CURLINFO_NUM_CONNECTS, &made) && made > 0)
		atomic_fetch_add_explicit(&r->inst->shared->connections_made, (unsigned long)made,
					  memory_order_relaxed);
	curl_multi_remove_handle(r->inst->multi, r->easy);
	curl_easy_cleanup(r->easy);
	r->easy = NULL;
	easy_forget_opened(r, -1);
	r->fd = -1;
	curl_slist_free_all(r->header_list);
	r->header_list = NULL;
}
