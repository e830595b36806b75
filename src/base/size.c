/*
 * size.c - numbers as people write them: sizes, rates, durations
 */
#include "base/size.h"

#include <ctype.h>
#include <inttypes.h>
#include <strings.h>

#include "base/base.h"
#include "base/clock.h"

int parse_u64(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (!isdigit((unsigned char)*s))
			return -EINVAL;
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
			return -ERANGE;
	}
	if (value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* Digits with at most one point, then a unit; scale_of() says its factor (0: no such unit). */
static int parse_scaled(const char *s, double (*scale_of)(const char *unit), uint64_t *ret)
{
	char number[32];
	size_t len = strspn(s, "0123456789.");
	double scale = scale_of(s + len);
	double value;
	char *end;

	if (len == 0 || len >= sizeof(number) || scale == 0)
		return -EINVAL;
	if (s[0] == '.' || s[len - 1] == '.')
		return -EINVAL;
	memcpy(number, s, len);
	number[len] = '\0';
	if (scale == 1 && !strchr(number, '.'))
		return parse_u64(number, FILE_SIZE_MAX, ret);
	value = strtod(number, &end);
	if (*end)
		return -EINVAL;
	value *= scale;
	if (value >= (double)FILE_SIZE_MAX)
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

static double size_scale(const char *unit)
{
	static const char letters[] = "KMGTPE";
	const char *at;

	if (!*unit || strcasecmp(unit, "B") == 0)
		return 1;
	at = strchr(letters, toupper((unsigned char)unit[0]));
	if (!at || (unit[1] && strcasecmp(unit + 1, "B") != 0 && strcasecmp(unit + 1, "iB") != 0))
		return 0;
	return (double)(UINT64_C(1) << (10 * (unsigned int)(at - letters + 1)));
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	return parse_scaled(s, size_scale, ret_bytes);
}

static double duration_scale(const char *unit)
{
	static const struct {
		const char *unit;
		double us;
	} units[] = {
		{"", 1e6},   {"us", 1},	    {"ms", 1e3},    {"s", 1e6},
		{"m", 60e6}, {"h", 3600e6}, {"d", 86400e6},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].unit, unit) == 0)
			return units[i].us;
	}
	return 0;
}

int parse_duration(const char *s, uint64_t *ret_us)
{
	return parse_scaled(s, duration_scale, ret_us);
}

const char *format_size(char buf[SIZE_TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, SIZE_TEXT_MAX, "%u B", (unsigned int)bytes);
		return buf;
	}
	for (value /= 1024; value >= 1023.95 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(buf, SIZE_TEXT_MAX, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *format_duration(char buf[SIZE_TEXT_MAX], uint64_t us)
{
	unsigned int s = (unsigned int)min_u64(us / USEC_PER_SEC, UINT64_C(99) * 86400);

	if (us < USEC_PER_SEC)
		snprintf(buf, SIZE_TEXT_MAX, "%u ms", (unsigned int)(us / USEC_PER_MS));
	else if (s < 60)
		snprintf(buf, SIZE_TEXT_MAX, "%u s", s);
	else if (s < 3600)
		snprintf(buf, SIZE_TEXT_MAX, "%u min %u s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, SIZE_TEXT_MAX, "%u h %u min", s / 3600, s / 60 % 60);
	else
		snprintf(buf, SIZE_TEXT_MAX, "%u d %u h", s / 86400, s / 3600 % 24);
	return buf;
}
