/*
 * download.h - one small document into memory, before anything else runs
 */
#ifndef DAEMON_DOWNLOAD_H
#define DAEMON_DOWNLOAD_H

#include "net/fetch.h"

#define DOWNLOAD_MAX (UINT64_C(1) << 30)

struct download {
	char *data; /* malloc'ed */
	size_t len;
	int64_t last_modified;	     /* VALIDATOR_NO_TIME */
	char url[HTTP_LOCATION_MAX]; /* that answered, after redirects */
};

/* Who started it may lose interest: asked every 100 ms. fn NULL: never. */
struct download_cancel {
	bool (*fn)(void *ctx);
	void *ctx;
};

/*
 * Plain GET of url by a fetch instance made and ended here. Tried again after what may pass by
 * itself, for some seconds. 0, or -EIO, -ENOENT (gone), -EFBIG, -ENOMEM, -ECANCELED with a few
 * words in why.
 */
int download(const struct fetch_config *net, const char *url, struct download_cancel cancel,
	     struct download *ret, char *why, size_t why_size);

#endif
