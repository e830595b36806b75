/*
 * beneath.h - directories that are made and entered without leaving the place that a user named
 */
#ifndef GET_BENEATH_H
#define GET_BENEATH_H

#include "base/base.h"

/*
 * The directory path, made with what is missing above it, as umask says. own: so many bytes of path
 * are the user's own words, where links are followed; none is behind them. A descriptor, or -errno;
 * -ELOOP: there is such a link.
 */
int beneath_open(const char *path, size_t own);

#endif
