/*
 * fuzz_date.c - any bytes as a date; what is understood is said again and understood the same
 */
#include "core/http.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[HTTP_DATE_TEXT_MAX];
	int64_t s;
	int64_t again;

	/* Any number can be said, too. */
	if (size >= sizeof(s)) {
		memcpy(&s, data, sizeof(s));
		http_format_date(text, s);
		must(http_parse_date(text, strlen(text), &again) == 0, "what we say is a date");
		must(s != again ? s > HTTP_DATE_MAX_S || s < 0 : true, "of that second");
	}
	if (http_parse_date((const char *)data, size, &s) < 0)
		return 0;
	must(s <= HTTP_DATE_MAX_S + 1, "before the year 10000"); /* + 1: a leap second at its end */
	http_format_date(text, s);
	must(http_parse_date(text, strlen(text), &again) == 0, "said again");
	must(s == again || s == HTTP_DATE_MAX_S + 1, "and the same");
	return 0;
}
