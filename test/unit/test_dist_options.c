/* test_dist_options.c -- what groups refuse: options, numbers of ranks, teams
 * and exchanges of callers who are newer than the library, or wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "support.h"
#include "train_bench.h"

/* A caller's struct of a later header. */
struct later {
    etx_dist_options options;
    int64_t newer;
};

static void check_refused(const etx_dist_options *options, const char *why)
{
    etx_dist *dist[2] = {NULL, NULL};

    ck_assert_refused(etx_dist_open_threads(dist, 2, options), why);
    ck_assert_ptr_null(dist[0]);
    ck_assert_ptr_null(dist[1]);
}

static void check_accepted(const etx_dist_options *options)
{
    etx_dist *dist[2] = {NULL, NULL};

    ck_assert_ok(etx_dist_open_threads(dist, 2, options));
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
}

ETX_TEST(test_dist_options_size)
{
    const size_t first = offsetof(etx_dist_options, deadline) + sizeof(double);
    struct later later;

    ck_assert_ok(etx_dist_options_init(&later.options, sizeof later));
    ck_assert_int_eq(later.newer, 0);
    ck_assert_uint_eq(later.options.struct_size, sizeof later);
    check_accepted(&later.options);
    later.newer = 1;
    check_refused(&later.options, "something newer");
    later.options.struct_size = (uint32_t)first - 1;
    check_refused(&later.options, "struct_size");
    later.options.struct_size = 4097;
    check_refused(&later.options, "4096");
    later.options.struct_size = UINT32_MAX;
    check_refused(&later.options, "4096");
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

ETX_TEST(
    test_dist_options_deadline, .rows = sizeof deadlines / sizeof *deadlines)
{
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.deadline = deadlines[_i].deadline;
    if (deadlines[_i].why == NULL)
        check_accepted(&options);
    else
        check_refused(&options, deadlines[_i].why);
}

ETX_TEST(test_dist_options_reserved)
{
    etx_dist_options options;

    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    options.reserved = 3;
    check_refused(&options, "reserved is 3");
}

static const int32_t wrong_ranks[] = {INT32_MIN, -1, 0, 1025, INT32_MAX};

ETX_TEST(
    test_dist_options_ranks, .rows = sizeof wrong_ranks / sizeof *wrong_ranks)
{
    etx_dist *dist[1] = {NULL};

    ck_assert_refused(
        etx_dist_open_threads(dist, wrong_ranks[_i], NULL), "1 .. 1024");
    ck_assert_ptr_null(dist[0]);
}

/* What a caller's team or exchange of a later header has behind it. */
ETX_TEST(test_dist_options_team)
{
    struct train_bench bench;
    etx_dist *dist[2];
    struct {
        etx_team team;
        int64_t newer;
    } later = {.newer = 0};

    train_bench_open(&bench, ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(dist, 2, NULL));
    ck_assert_ok(etx_dist_team(&later.team, dist[0]));
    later.team.struct_size = sizeof later;
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &later.team));
    later.newer = 1;
    ck_assert_refused(
        etx_trainer_set_team(bench.trainer, &later.team), "something newer");
    later.team.struct_size = 1000000;
    ck_assert_refused(etx_trainer_set_team(bench.trainer, &later.team), "4096");
    later.team.struct_size = sizeof later.team - 1;
    ck_assert_refused(
        etx_trainer_set_team(bench.trainer, &later.team), "struct_size");
    later.team.struct_size = sizeof later.team;
    later.team.reserved = 1;
    ck_assert_refused(
        etx_trainer_set_team(bench.trainer, &later.team), "reserved");
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
    train_bench_close(&bench);
}

ETX_TEST(test_dist_options_exchange)
{
    struct train_bench bench;
    etx_dist *dist;
    struct {
        etx_part_exchange exchange;
        int64_t newer;
    } later = {.newer = 0};

    train_bench_open(&bench, ETX_TRAIN_GNN, 1, NULL);
    ck_assert_ok(etx_dist_open_threads(&dist, 1, NULL));
    ck_assert_ok(etx_dist_exchange(&later.exchange, dist));
    later.exchange.struct_size = sizeof later;
    ck_assert_ok(
        etx_trainer_set_parts(bench.trainer, 1, 0, 0, &later.exchange));
    later.newer = 1;
    ck_assert_refused(
        etx_trainer_set_parts(bench.trainer, 1, 0, 0, &later.exchange),
        "something newer");
    later.exchange.struct_size = sizeof later.exchange;
    later.exchange.reserved = 1;
    ck_assert_refused(
        etx_trainer_set_parts(bench.trainer, 1, 0, 0, &later.exchange),
        "reserved");
    later.exchange.struct_size = 4;
    ck_assert_refused(
        etx_trainer_set_parts(bench.trainer, 1, 0, 0, &later.exchange),
        "struct_size");
    etx_dist_close(dist);
    train_bench_close(&bench);
}
