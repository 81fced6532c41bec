/* test_dist_options.c -- what groups refuse: options, numbers of ranks, teams
 * and exchanges of callers who are newer than the library, or wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "support.h"
#include "train_bench.h"

/* A caller's struct of a later header. */
struct later {
    etx_dist_options options;
    int64_t newer;
};

/* NULL: accepted. */
static void check_options(const etx_dist_options *options, const char *why)
{
    etx_dist *dist[2] = {NULL, NULL};

    if (why != NULL) {
        ck_assert_refused(etx_dist_open_threads(dist, 2, options), why);
        ck_assert_ptr_null(dist[0]);
        ck_assert_ptr_null(dist[1]);
        return;
    }
    ck_assert_ok(etx_dist_open_threads(dist, 2, options));
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
}

ETX_TEST(test_dist_options_size)
{
    const size_t first = offsetof(etx_dist_options, deadline) + sizeof(double);
    const struct {
        size_t size;
        const char *why;
    } sizes[] = {
        {first - 1, "struct_size"}, {4097, "4096"}, {UINT32_MAX, "4096"}};
    struct later later;

    ck_assert_ok(etx_dist_options_init(&later.options, sizeof later));
    ck_assert_int_eq(later.newer, 0);
    ck_assert_uint_eq(later.options.struct_size, sizeof later);
    check_options(&later.options, NULL);
    later.newer = 1;
    check_options(&later.options, "a newer library");
    for (int k = 0; k < ROWS(sizes); k++) {
        later.options.struct_size = (uint32_t)sizes[k].size;
        check_options(&later.options, sizes[k].why);
    }
    ck_assert_refused(etx_dist_options_init(&later.options, 4097), "4097");
    ck_assert_refused(
        etx_dist_options_init(&later.options, first - 1), "struct_size");
}

static const struct {
    double deadline;
    const char *why; /* NULL: accepted */
} deadlines[] = {{(double)NAN, "not a number"}, {(double)INFINITY, "above 10"},
    {(double)-INFINITY, "not above 0"}, {DBL_MAX, "above 1000000000 s"},
    {-DBL_MAX, "not above 0"}, {-1.0, "not above 0"}, {0.0, "not above 0"},
    {1.1e9, "above 1000000000 s"}, {1e9, NULL}, {DBL_MIN, NULL}};

ETX_TEST(test_dist_options_deadline, .rows = ROWS(deadlines))
{
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.deadline = deadlines[_i].deadline;
    check_options(&options, deadlines[_i].why);
}

ETX_TEST(test_dist_options_reserved)
{
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.reserved = 3;
    check_options(&options, "reserved is 3");
}

ETX_TEST(test_dist_options_ranks)
{
    static const int32_t wrong[] = {INT32_MIN, -1, 0, 1025, INT32_MAX};
    etx_dist *dist[1] = {NULL};

    for (int k = 0; k < ROWS(wrong); k++) {
        ck_assert_refused(
            etx_dist_open_threads(dist, wrong[k], NULL), "1 .. 1024");
        ck_assert_ptr_null(dist[0]);
    }
}

/* A team or an exchange of a later header: accepted where what it has in
 * addition is zero. */
static const struct {
    uint32_t struct_size; /* 0: that of the later header */
    int32_t reserved;
    int64_t newer;
    const char *why; /* NULL: accepted */
} later_rows[] = {
    {0, 0, 0, NULL},
    {0, 0, 1, "a newer library"},
    {1000000, 0, 0, "4096"},
    {4, 0, 0, "struct_size"},
    {0, 1, 0, "reserved"},
};

static void expect_later(etx_status status, const char *why)
{
    if (why == NULL)
        ck_assert_ok(status);
    else
        ck_assert_refused(status, why);
}

/* The struct_size of a caller's team or exchange, which the library fills: it
 * writes nothing beyond it, zero where it knows no field, and nothing when it
 * refuses. */
ETX_TEST(test_dist_options_filled)
{
    enum { LATER = sizeof(int64_t) };
    etx_dist *dist;
    union {
        etx_team team;
        etx_part_exchange exchange;
        unsigned char byte[sizeof(etx_team) + 2 * LATER];
    } out;
    const struct {
        const char *why; /* NULL: accepted */
        size_t size;
        int32_t is_team;
    } rows[] = {{NULL, sizeof(etx_team), 1},
        {NULL, sizeof(etx_team) + LATER, 1},
        {"struct_size", sizeof(etx_team) - 1, 1}, {"4096", 4097, 1},
        {NULL, sizeof(etx_part_exchange), 0},
        {NULL, sizeof(etx_part_exchange) + LATER, 0},
        {"struct_size", sizeof(etx_part_exchange) - 1, 0}, {"4096", 4097, 0}};

    ck_assert_ok(etx_dist_open_threads(&dist, 1, NULL));
    for (int k = 0; k < ROWS(rows); k++) {
        const size_t known = rows[k].why != NULL ? sizeof(uint32_t)
                             : rows[k].is_team   ? sizeof out.team
                                                 : sizeof out.exchange;

        memset(&out, 0xee, sizeof out);
        out.team.struct_size = (uint32_t)rows[k].size;
        expect_later(rows[k].is_team ? etx_dist_team(&out.team, dist)
                                     : etx_dist_exchange(&out.exchange, dist),
            rows[k].why);
        ck_assert_uint_eq(out.team.struct_size, rows[k].size);
        for (size_t b = known; b < sizeof out.byte; b++)
            ck_assert_int_eq(out.byte[b],
                rows[k].why == NULL && b < rows[k].size ? 0 : 0xee);
    }
    etx_dist_close(dist);
}

ETX_TEST(test_dist_options_team, .rows = ROWS(later_rows))
{
    scoped_bench bench = {NULL};
    etx_dist *dist[2];
    struct {
        etx_team team;
        int64_t newer;
    } later = {
        .team.struct_size = sizeof later.team, .newer = later_rows[_i].newer};

    bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(dist, 2, NULL));
    ck_assert_ok(etx_dist_team(&later.team, dist[0]));
    later.team.struct_size = later_rows[_i].struct_size > 0
                                 ? later_rows[_i].struct_size
                                 : sizeof later;
    later.team.reserved = later_rows[_i].reserved;
    expect_later(
        etx_trainer_set_team(bench.trainer, &later.team), later_rows[_i].why);
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
}

ETX_TEST(test_dist_options_exchange, .rows = ROWS(later_rows))
{
    scoped_bench bench = {NULL};
    etx_dist *dist;
    struct {
        etx_part_exchange exchange;
        int64_t newer;
    } later = {.exchange.struct_size = sizeof later.exchange,
        .newer = later_rows[_i].newer};

    bench = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(&dist, 1, NULL));
    ck_assert_ok(etx_dist_exchange(&later.exchange, dist));
    later.exchange.struct_size = later_rows[_i].struct_size > 0
                                     ? later_rows[_i].struct_size
                                     : sizeof later;
    later.exchange.reserved = later_rows[_i].reserved;
    expect_later(etx_trainer_set_parts(bench.trainer, 1, 0, 0, &later.exchange),
        later_rows[_i].why);
    etx_dist_close(dist);
}
