/*
 * names.h - which paths and URLs a manifest may give, and the path of an entry that gives none
 *
 * Names are keys of a tree, never host paths: any byte but NUL, slash and control bytes is kept as
 * it is, so names that differ only in case, in Unicode normalisation or by a space at the end are
 * different.
 */
#ifndef MANIFEST_NAMES_H
#define MANIFEST_NAMES_H

#include "manifest/manifest.h"
#include "manifest/refuse.h"

#define NAME_COMPONENT_MAX 255
#define NAME_PATH_MAX	   4095
#define NAME_DEPTH_MAX	   64
#define HEADER_TEXT_MAX	   8192

/* path is not empty and has valid components only. 0, or refused. */
int name_check(struct complaint *c, uint32_t line, struct span path);
/* A URL that may be fetched and shown: 0, or refused. */
int name_check_url(struct complaint *c, uint32_t line, struct span url);
/*
 * The path an entry has by its URL (checked), appended to path: the last segment decoded once, or
 * host/path… for LAYOUT_URL. 0, or refused; the result still has to pass name_check().
 */
int name_of_url(struct complaint *c, uint32_t line, struct span url, enum manifest_layout layout,
		struct strbuf *path);
/* "Name: value", "Name:value": the parts. 0, or refused. */
int name_check_header(struct complaint *c, uint32_t line, struct span header, struct span *ret_name,
		      struct span *ret_value);

#endif
