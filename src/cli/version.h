/*
 * version.h - which libraries this program runs with
 */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

#include "base/base.h"

/* "libfuse 3.14.0, libcurl 7.88.1, ..." */
void version_format(char *buf, size_t size);

#endif
