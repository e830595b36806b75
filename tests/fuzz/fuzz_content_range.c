/*
 * fuzz_content_range.c - any bytes as a Content-Range; what is understood is said again and
 * understood the same
 */
#include <inttypes.h>

#include "core/http.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct range r;
	struct range again;
	uint64_t total;
	uint64_t total_again;
	char text[100];
	char range[HTTP_RANGE_TEXT_MAX] = "*";

	if (http_parse_content_range((const char *)data, size, &r, &total) < 0)
		return 0;
	must(r.off <= r.end && r.end <= INT64_MAX, "a range of a file");
	must(r.end <= total, "inside the total");
	must(!range_empty(r) || (r.off == 0 && total != SIZE_UNKNOWN), "unsatisfied has a total");

	if (!range_empty(r))
		must(http_format_range(range, sizeof(range), r) == 0, "it can be said");
	if (total == SIZE_UNKNOWN)
		snprintf(text, sizeof(text), "bytes %s/*", range);
	else
		snprintf(text, sizeof(text), "bytes %s/%" PRIu64, range, total);
	must(http_parse_content_range(text, strlen(text), &again, &total_again) == 0, "said again");
	must(again.off == r.off && again.end == r.end && total_again == total, "and the same");
	return 0;
}
