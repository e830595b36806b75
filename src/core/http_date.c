/*
 * http_date.c - the dates of HTTP (RFC 9110 5.6.7), without libc's: those know locales and time
 * zones
 */
#include "core/http.h"

#include <ctype.h>
#include <strings.h>

#define DAY_S 86400

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					"Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char day_names[7][10] = {"Sunday",	  "Monday", "Tuesday", "Wednesday",
				      "Thursday", "Friday", "Saturday"};

struct date {
	int year;
	int month; /* 1 to 12 */
	int day;
	int hour, minute, second;
};

/* A cursor over the text; each take_ function returns false and stays put when the text is another.
 */
struct text {
	const char *at;
	const char *end;
};

static bool take(struct text *t, const char *literal)
{
	size_t len = strlen(literal);

	if ((size_t)(t->end - t->at) < len || memcmp(t->at, literal, len) != 0)
		return false;
	t->at += len;
	return true;
}

/* Exactly so many digits. */
static bool take_number(struct text *t, int digits, int *ret)
{
	int value = 0;

	if (t->end - t->at < digits)
		return false;
	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)t->at[i]))
			return false;
		value = value * 10 + (t->at[i] - '0');
	}
	t->at += digits;
	*ret = value;
	return true;
}

static bool take_month(struct text *t, int *ret)
{
	for (int i = 0; i < 12; i++) {
		if (take(t, month_names[i])) {
			*ret = i + 1;
			return true;
		}
	}
	return false;
}

static bool take_time(struct text *t, struct date *d)
{
	return take_number(t, 2, &d->hour) && take(t, ":") && take_number(t, 2, &d->minute) &&
	       take(t, ":") && take_number(t, 2, &d->second);
}

/* The name of a day, whole or its first three letters. It carries nothing: which day is not
 * compared. */
static bool take_day_name(struct text *t)
{
	for (size_t i = 0; i < ARRAY_SIZE(day_names); i++) {
		char brief[4];

		if (take(t, day_names[i]))
			return true;
		memcpy(brief, day_names[i], 3);
		brief[3] = '\0';
		if (take(t, brief))
			return true;
	}
	return false;
}

/* "06 Nov 1994 08:49:37 GMT" */
static bool take_imf(struct text *t, struct date *d)
{
	return take_number(t, 2, &d->day) && take(t, " ") && take_month(t, &d->month) &&
	       take(t, " ") && take_number(t, 4, &d->year) && take(t, " ") && take_time(t, d) &&
	       take(t, " GMT");
}

/* "06-Nov-94 08:49:37 GMT": the century is the one that makes it a year from 1970 to 2069. */
static bool take_rfc850(struct text *t, struct date *d)
{
	if (!take_number(t, 2, &d->day) || !take(t, "-") || !take_month(t, &d->month) ||
	    !take(t, "-") || !take_number(t, 2, &d->year) || !take(t, " ") || !take_time(t, d) ||
	    !take(t, " GMT"))
		return false;
	d->year += d->year < 70 ? 2000 : 1900;
	return true;
}

/* "Nov  6 08:49:37 1994" */
static bool take_asctime(struct text *t, struct date *d)
{
	if (!take_month(t, &d->month) || !take(t, " "))
		return false;
	if (!(take(t, " ") ? take_number(t, 1, &d->day) : take_number(t, 2, &d->day)))
		return false;
	return take(t, " ") && take_time(t, d) && take(t, " ") && take_number(t, 4, &d->year);
}

/* Days from 1970-01-01 to the first of March of the year (a year begins in March here). */
static int64_t days_to_march(int64_t year)
{
	return year * 365 + year / 4 - year / 100 + year / 400 - 719468;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool date_valid(const struct date *d)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int last = days[d->month - 1] + (d->month == 2 && is_leap(d->year));

	/* Year 1 keeps the arithmetic positive; second 60 is a leap second. */
	return d->year >= 1 && d->day >= 1 && d->day <= last && d->hour <= 23 && d->minute <= 59 &&
	       d->second <= 60;
}

static int64_t date_seconds(const struct date *d)
{
	int from_march = (d->month + 9) % 12;
	int64_t days =
		days_to_march(d->year - (d->month <= 2)) + (from_march * 153 + 2) / 5 + d->day - 1;

	int in_day = d->hour * 3600 + d->minute * 60 + d->second;

	return days * DAY_S + in_day;
}

int http_parse_date(const char *value, size_t len, int64_t *ret_s)
{
	struct text t = {value, value + len};
	struct text after_day;
	struct date d;
	bool ok;

	if (!take_day_name(&t))
		return -EINVAL;
	after_day = t;
	ok = take(&t, ", ") && take_imf(&t, &d);
	if (!ok) {
		t = after_day;
		ok = take(&t, ", ") && take_rfc850(&t, &d);
	}
	if (!ok) {
		t = after_day;
		ok = take(&t, " ") && take_asctime(&t, &d);
	}
	if (!ok || t.at != t.end || !date_valid(&d))
		return -EINVAL;
	*ret_s = date_seconds(&d);
	return 0;
}

void http_format_date(char buf[HTTP_DATE_TEXT_MAX], int64_t s)
{
	const int64_t first = INT64_C(-62135596800); /* of year 1 */
	const int64_t last = HTTP_DATE_MAX_S;
	int64_t since = (s < first ? first : s > last ? last : s) - days_to_march(0) * DAY_S;
	int64_t days = since / DAY_S;
	unsigned int in_day = (unsigned int)(since % DAY_S);
	int64_t year;
	int in_year;
	int from_march;
	unsigned int day;

	/* An estimate that is at most one too large, then the truth. */
	year = days * 400 / 146097 + 1;
	while (days_to_march(year) - days_to_march(0) > days)
		year--;
	in_year = (int)(days - (days_to_march(year) - days_to_march(0)));
	from_march = (in_year * 5 + 2) / 153;
	day = (unsigned int)(in_year - (from_march * 153 + 2) / 5 + 1);
	/* The remainders change nothing but what the compiler knows of the length. */
	snprintf(buf, HTTP_DATE_TEXT_MAX, "%.3s, %02u %s %04u %02u:%02u:%02u GMT",
		 day_names[(days + 3) % 7], day % 100, month_names[(from_march + 2) % 12],
		 (unsigned int)(year + (from_march >= 10)) % 10000, in_day / 3600 % 24,
		 in_day / 60 % 60, in_day % 60);
}
