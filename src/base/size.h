/*
 * size.h - numbers as people write them: sizes, rates, durations
 */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* No file is longer than an off_t can say. */
#define FILE_SIZE_MAX ((uint64_t)INT64_MAX)

/* Plain decimal digits, all of s, at most max. 0, -EINVAL (not a number) or -ERANGE (too large). */
int parse_u64(const char *s, uint64_t max, uint64_t *ret);

/* "10", "64K", "1.5G": powers of 1024; K, M, G, T, also as KiB or KB. 0, -EINVAL or -ERANGE. */
int parse_size(const char *s, uint64_t *ret_bytes);

/* "500ms", "20s", "5m", "1h", "1d"; a plain number is seconds. 0, -EINVAL or -ERANGE. */
int parse_duration(const char *s, uint64_t *ret_us);

#define SIZE_TEXT_MAX 16
/* "1023 B", "1.5 KiB", "12 MiB": for people. Returns buf. */
const char *format_size(char buf[SIZE_TEXT_MAX], uint64_t bytes);
/* "45 s", "3 min 20 s", "2 h 5 min": for people. Returns buf. */
const char *format_duration(char buf[SIZE_TEXT_MAX], uint64_t us);

#endif
