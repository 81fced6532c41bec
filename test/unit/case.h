/* case.h -- tests that register themselves.
 *
 *     ETX_TEST(test_graph_empty)
 *     {
 *         ...
 *     }
 *     ETX_TEST(test_graph_refused, .rows = ROWS(refused))
 *     {
 *         ... refused[_i] ...
 *     }
 *
 * A constructor adds the test to the suite of its file: NAME of test_NAME.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_CASE_H
#define ETX_TEST_CASE_H

#include <check.h>

struct etx_case {
    TTest test;
    void (*set_up)(void);    /* in the test's process, before and after it; */
    void (*tear_down)(void); /* or NULL */
    int rows;       /* the test runs for _i = 0 .. rows - 1; 0: once, _i = 0 */
    int is_large;   /* tagged "large": left out of the emulation of a device */
    int n_small;    /* rows from this one on are large; 0: no row is */
    int is_slow;    /* tagged "slow": left out of make check, in check-all */
    int n_quick;    /* rows from this one on are slow; 0: no row is */
    char suite[64]; /* set by etx_case_register */
    struct etx_case *next;
};

/* Rows of a table, for .rows. */
#define ROWS(table) ((int)(sizeof(table) / sizeof(table)[0]))

/* A test; the fields rows, is_large, n_small, is_slow and n_quick may follow
 * its name. */
#define ETX_TEST(...) ETX_TEST_WITH(NULL, NULL, __VA_ARGS__)
/* The same between two functions. */
#define ETX_TEST_WITH(set_up_, tear_down_, ...)                                \
    ETX_TEST_DEFINE(set_up_, tear_down_, __VA_ARGS__, .next = NULL)

#define ETX_TEST_DEFINE(set_up_, tear_down_, name, ...)                        \
    static void name(int _i);                                                  \
    __attribute__((constructor)) static void name##_register(void)             \
    {                                                                          \
        static struct etx_case one;                                            \
                                                                               \
        one = (struct etx_case){.test = {#name, name, __FILE__, __LINE__},     \
            .set_up = set_up_,                                                 \
            .tear_down = tear_down_,                                           \
            __VA_ARGS__};                                                      \
        etx_case_register(&one);                                               \
    }                                                                          \
    static void name(__attribute__((unused)) int _i)

void etx_case_register(struct etx_case *one);

#endif
