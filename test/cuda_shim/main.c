/* cuda_shim/main.c -- the suites of operators and of the device, on the device
 * that is none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim_suites.h"

#define DECLARE_SUITE(suite) Suite *suite(void);
#define ADD_SUITE(suite)     srunner_add_suite(runner, suite());

ETX_SHIM_SUITES(DECLARE_SUITE)

int main(void)
{
    SRunner *runner = srunner_create(NULL);
    int n_failed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    ETX_SHIM_SUITES(ADD_SUITE)
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
