/* test/unit/main.c -- every registered test in one run; Check's line closes it.
 *
 * CK_RUN_SUITE=name runs one suite, CK_RUN_CASE=name one test, and a name that
 * no test has fails; --list prints the suites, --tests the tests. Each test
 * runs in a process of its own, so a crash is one failure.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASES       2048
#define TIMEOUT_SECONDS 300 /* a busy machine is slow, not wrong */

static struct etx_case *cases;

/* The suite is NAME of FOLDER/test_NAME.c. */
void etx_case_register(struct etx_case *one)
{
    const char *base = strrchr(one->test.file, '/');

    base = base == NULL ? one->test.file : base + 1;
    if (strncmp(base, "test_", 5) == 0)
        base += 5;
    (void)snprintf(
        one->suite, sizeof one->suite, "%.*s", (int)strcspn(base, "."), base);
    one->next = cases;
    cases = one;
}

/* By suite, then in the order of the file. */
static int compare(const void *left, const void *right)
{
    const struct etx_case *a = *(struct etx_case *const *)left;
    const struct etx_case *b = *(struct etx_case *const *)right;
    const int order = strcmp(a->suite, b->suite);

    return order != 0 ? order : a->test.line - b->test.line;
}

static int sorted_cases(struct etx_case *sorted[MAX_CASES])
{
    int n = 0;

    for (struct etx_case *one = cases; one != NULL; one = one->next) {
        if (n == MAX_CASES) {
            fputs("more tests than MAX_CASES\n", stderr);
            exit(EXIT_FAILURE);
        }
        sorted[n++] = one;
    }
    qsort(sorted, (size_t)n, sizeof(struct etx_case *), compare);
    return n;
}

static const char *tags_of(const struct etx_case *one, int row)
{
    static const char *const tags[2][2] = {
        {"quick", "slow"}, {"quick large", "slow large"}};
    const int is_large =
        one->is_large || (one->n_small > 0 && row >= one->n_small);
    const int is_slow =
        one->is_slow || (one->n_quick > 0 && row >= one->n_quick);

    return tags[is_large][is_slow];
}

static void add_rows(
    Suite *suite, const struct etx_case *one, int first, int end)
{
    TCase *test_case = tcase_create(one->test.name);

    tcase_set_timeout(test_case, TIMEOUT_SECONDS);
    tcase_add_checked_fixture(test_case, one->set_up, one->tear_down);
    tcase_set_tags(test_case, tags_of(one, first));
    tcase_add_loop_test(test_case, &one->test, first, end);
    suite_add_tcase(suite, test_case);
}

static void add_case(Suite *suite, const struct etx_case *one)
{
    const int rows = one->rows > 0 ? one->rows : 1;
    int end;

    for (int first = 0; first < rows; first = end) {
        end = first + 1;
        while (end < rows && tags_of(one, end) == tags_of(one, first))
            end++;
        add_rows(suite, one, first, end);
    }
}

/* Without a runner the names of the suites are printed. */
static void add_all(SRunner *runner)
{
    static struct etx_case *sorted[MAX_CASES];
    const int n = sorted_cases(sorted);
    Suite *suite = NULL;

    for (int i = 0; i < n; i++) {
        const char *name = sorted[i]->suite;
        const int is_new = i == 0 || strcmp(name, sorted[i - 1]->suite) != 0;

        if (runner == NULL && is_new)
            puts(name);
        if (runner != NULL && is_new)
            srunner_add_suite(runner, suite = suite_create(name));
        if (runner != NULL)
            add_case(suite, sorted[i]);
    }
}

static void print_tests(void)
{
    for (const struct etx_case *one = cases; one != NULL; one = one->next)
        puts(one->test.name);
}

int main(int n_arguments, char **argument)
{
    SRunner *runner = NULL;
    int n_failed = 0;

    if (n_arguments > 1 && strcmp(argument[1], "--tests") == 0) {
        print_tests();
        return EXIT_SUCCESS;
    }
    if (n_arguments > 1 && strcmp(argument[1], "--list") == 0) {
        add_all(NULL);
        return EXIT_SUCCESS;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    runner = srunner_create(NULL);
    add_all(runner);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    if (srunner_ntests_run(runner) == 0) {
        fputs("no test has this name\n", stderr);
        n_failed = 1;
    }
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
