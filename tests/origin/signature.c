/*
 * signature.c - query strings that are good for a while, as signed URLs of object stores are
 */
#include "base/clock.h"
#include "base/size.h"
#include "origin.h"

#define SIGNATURES_MAX 4096

struct signatures {
	pthread_mutex_t mutex;
	unsigned int count; /* made so far; the newest SIGNATURES_MAX are known */
	struct {
		uint64_t until_us, uses;
	} sig[SIGNATURES_MAX];
};

struct signatures *signatures_new(void)
{
	struct signatures *s = calloc(1, sizeof(*s));

	if (s)
		pthread_mutex_init(&s->mutex, NULL);
	return s;
}

unsigned int signature_make(struct signatures *s, uint64_t for_us, uint64_t uses)
{
	unsigned int n;

	pthread_mutex_lock(&s->mutex);
	n = s->count++;
	s->sig[n % SIGNATURES_MAX].until_us = for_us ? clock_now_us() + for_us : UINT64_MAX;
	s->sig[n % SIGNATURES_MAX].uses = uses ? uses : UINT64_MAX;
	pthread_mutex_unlock(&s->mutex);
	return n;
}

bool signature_use(struct signatures *s, const char *query)
{
	const char *at = query ? strstr(query, "sig=") : NULL;
	char number[16];
	uint64_t n;
	bool good = false;

	if (!at)
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)strspn(at + 4, "0123456789"), at + 4);
	if (parse_u64(number, UINT32_MAX, &n) < 0)
		return false;
	pthread_mutex_lock(&s->mutex);
	if (n < s->count && s->count - n <= SIGNATURES_MAX) {
		good = s->sig[n % SIGNATURES_MAX].until_us > clock_now_us() &&
		       s->sig[n % SIGNATURES_MAX].uses > 0;
		if (good && s->sig[n % SIGNATURES_MAX].uses != UINT64_MAX)
			s->sig[n % SIGNATURES_MAX].uses--;
	}
	pthread_mutex_unlock(&s->mutex);
	return good;
}
