/*
 * failure.c - what libcurl's error codes mean to us, and how an end is told to a person
 *
 * Callers: run.c at the end of a hop. Answers that were judged never come here: their verdict is
 * the judge's.
 */
#include "net/run.h"

/* No byte of a name or a secret is in there: libcurl's words name host and port at most. */
static bool failure_says(const struct run *r, const char *words)
{
	return strstr(r->errbuf, words) != NULL;
}

/* CONNECT to a proxy failed before anything of the server's was heard. */
static enum verdict failure_of_proxy(const struct run *r, enum verdict otherwise)
{
	long code = 0;

	if (!r->proxied || r->resp->status || !r->easy ||
	    curl_easy_getinfo(r->easy, CURLINFO_HTTP_CONNECTCODE, &code) || code < 300)
		return otherwise;
	return code == 407 || code == 403 ? VERDICT_DENIED : VERDICT_CONNECT;
}

static enum verdict failure_of_timeout(const struct run *r)
{
	curl_off_t resolved = 0;

	if (r->asked_us)
		return VERDICT_STALL;
	if (r->sockets_tried == 0 &&
	    !curl_easy_getinfo(r->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved) && resolved == 0)
		return VERDICT_NAME;
	return VERDICT_CONNECT;
}

static enum verdict failure_of_connect(const struct run *r)
{
	/* Where one address was tried and another refused, the tried one is what failed. */
	return r->address_refused && r->sockets_tried == 0 ? VERDICT_ADDRESS : VERDICT_CONNECT;
}

/* libcurl says "handshake failed" also where the connection broke in it. */
static enum verdict failure_of_handshake(const struct run *r)
{
	if (failure_says(r, "SYSCALL") || failure_says(r, "reset by peer") ||
	    failure_says(r, "unexpected eof"))
		return VERDICT_CONNECT;
	return VERDICT_TLS;
}

enum verdict failure_verdict(const struct run *r, CURLcode code)
{
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return VERDICT_NAME;
	case CURLE_COULDNT_CONNECT:
	case CURLE_INTERFACE_FAILED:
	case CURLE_PROXY:
	case CURLE_SSH:
	case CURLE_FTP_ACCEPT_FAILED:
	case CURLE_FTP_ACCEPT_TIMEOUT:
	case CURLE_FTP_CANT_GET_HOST:
		return failure_of_proxy(r, failure_of_connect(r));
	case CURLE_OPERATION_TIMEDOUT:
		return failure_of_timeout(r);
	case CURLE_PARTIAL_FILE:
		return VERDICT_SHORT;
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_GOT_NOTHING:
		return failure_of_proxy(r, VERDICT_RESET);
	case CURLE_SSL_CONNECT_ERROR:
		return failure_of_handshake(r);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_ENGINE_INITFAILED:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_ENGINE_SETFAILED:
	case CURLE_SSL_CLIENTCERT:
	case CURLE_USE_SSL_FAILED:
		return VERDICT_TLS;
	case CURLE_LOGIN_DENIED:
	case CURLE_REMOTE_ACCESS_DENIED:
	case CURLE_AUTH_ERROR:
		return VERDICT_DENIED;
	case CURLE_REMOTE_FILE_NOT_FOUND:
	case CURLE_FTP_COULDNT_RETR_FILE:
		return VERDICT_GONE;
	case CURLE_RANGE_ERROR:
	case CURLE_FTP_COULDNT_USE_REST:
	case CURLE_BAD_DOWNLOAD_RESUME:
		return VERDICT_WRONG_RANGE;
	case CURLE_URL_MALFORMAT:
		return VERDICT_REFUSED;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_FAILED_INIT:
	case CURLE_BAD_FUNCTION_ARGUMENT:
	case CURLE_WRITE_ERROR:
		return VERDICT_INTERNAL;
	default:
		return VERDICT_PROTOCOL;
	}
}

/* Of libcurl's words the reason, unless that is only that there is no connection: the verdict says
 * so.
 */
static void connect_detail(const struct run *r, char *buf, size_t size)
{
	const char *why = strrchr(r->errbuf, ':');

	if (!why || strstr(why, "onnect to server"))
		why = "";
	snprintf(buf, size, "%.80s:%u%.70s", r->origin.host, (unsigned int)r->origin.port, why);
}

void failure_detail(const struct run *r, CURLcode code, enum verdict v, char *buf, size_t size)
{
	const char *said = r->errbuf[0] ? r->errbuf : curl_easy_strerror(code);

	if (r->detail)
		snprintf(buf, size, "%s (%s)", r->detail, r->origin.host);
	else if (r->outcome == VERDICT_STALL && !r->judged)
		snprintf(buf, size, "no answer from %s in time", r->origin.host);
	else if (code == CURLE_COULDNT_CONNECT && !r->proxied && r->outcome == VERDICT_COUNT)
		connect_detail(r, buf, size);
	else if (code != CURLE_OK && r->outcome == VERDICT_COUNT)
		snprintf(buf, size, "%.100s (%.50s)", said, r->origin.host);
	else if (r->status_line[0])
		snprintf(buf, size, "HTTP %s from %.60s", r->status_line, r->origin.host);
	else
		snprintf(buf, size, "%s (%.60s)", verdict_text(v), r->origin.host);
	for (char *p = buf; *p; p++) {
		if (*p < ' ' || *p > '~')
			*p = '?';
	}
}
