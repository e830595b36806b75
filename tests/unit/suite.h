/*
 * suite.h - the main() that the unit tests of one module share
 */
#ifndef TESTS_UNIT_SUITE_H
#define TESTS_UNIT_SUITE_H

#include <check.h>

#include "base/base.h"

/* fill adds the tests. The exit status for main(). CK_RUN_CASE, CK_FORK and the like work as in
 * check's manual. */
static inline int suite_run(const char *name, void (*fill)(TCase *tc))
{
	Suite *suite = suite_create(name);
	TCase *tc = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60); /* a hang is found, a busy machine is not one */
	fill(tc);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
