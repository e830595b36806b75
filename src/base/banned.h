/*
 * banned.h - calls that do not compile here, each with what to use instead
 *
 * Included before everything by the build (-include), so that no file can forget it. System headers
 * still declare them; only a use is an error.
 */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

/* The headers that declare them come first, so that their own lines are not poisoned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Macros where clang is the compiler and _FORTIFY_SOURCE is on; those can't be poisoned. */
#undef sprintf
#undef vsprintf

/* strcpy, strcat, sprintf: strbuf or snprintf. strncpy: never terminates. strtok: strsep. */
#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets
/* atoi, atol, atoll: no errors. size.h parses. */
#pragma GCC poison atoi atol atoll
/* not thread-safe: gmtime_r, localtime_r */
#pragma GCC poison gmtime localtime asctime ctime
/* usleep, sleep: a wait needs a bound and a wake-up: a condition variable or poll. */
#pragma GCC poison usleep

#endif
