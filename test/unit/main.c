/* test/unit/main.c -- every suite in one run; Check's line closes it.
 *
 * CK_RUN_SUITE=name runs one suite. Each test runs in a process of its own,
 * so a crash is one failure.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "suites.h"

#define ADD_SUITE(suite) srunner_add_suite(runner, suite());

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    int n_failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    ETX_SUITES(ADD_SUITE)
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
