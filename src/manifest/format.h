/*
 * format.h - the formats a manifest may have; one file each
 */
#ifndef MANIFEST_FORMAT_H
#define MANIFEST_FORMAT_H

#include "manifest/builder.h"

/*
 * One entry as text: a line of the list, or one object of a JSON document. All URLs and headers
 * that an entry may have fit, each byte escaped.
 */
#define FORMAT_ENTRY_MAX (2u << 20)

/* The whole text into b. 0, -EINVAL (refused) or -ENOMEM. */
int format_text_parse(struct builder *b, const char *data, size_t len);
int format_json_parse(struct builder *b, const char *data, size_t len);

#endif
