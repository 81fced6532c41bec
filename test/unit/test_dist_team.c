/* test_dist_team.c -- what a trainer requires of a team, seen by a team that
 * the test plays; and what etx_dist refuses.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */

#include <exatrkx/dist.h>

#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "train/hash.h"
#include "train/ranks/assign.h"
#include "train/ranks/gradient.h"
#include "train/ranks/team.h"
#include "train_bench.h"

/* ------------------------------------------------------------- the tree -- */

/* The balanced tree over slices first .. first + n, as a definition: the left
 * subtree has the largest power of two of them that leaves some. */
static float add_tree(const float *value, int n)
{
    int n_left = 1;

    if (n == 1)
        return value[0];
    while (2 * n_left < n)
        n_left *= 2;
    return add_tree(value, n_left) + add_tree(value + n_left, n - n_left);
}

ETX_TEST(test_dist_team_gradient_sum)
{
    float value[9], taken[9];
    float *slice[9];
    int n_unlike = 0;

    for (int n = 1; n <= 9; n++) {
        float in_turn = 0.0f;

        for (int k = 0; k < n; k++) {
            value[k] = taken[k] = 1.0f / (float)(k + 3);
            slice[k] = taken + k;
            in_turn += value[k];
        }
        ck_assert_ok(etx_gradient_sum(slice, 1, n));
        ck_assert(taken[0] == add_tree(value, n));
        n_unlike += taken[0] != in_turn;
    }
    ck_assert_int_gt(n_unlike, 0);
    slice[1] = NULL;
    ck_assert_refused(etx_gradient_sum(slice, 1, 2), "slice[k] is NULL");
    ck_assert_fails(etx_gradient_sum(slice, 1, -5), ETX_ERR_ARGUMENT,
        "n_slices -5 is negative");
}

/* The graph of the most work is given first, whatever its index, and one that a
 * rank alone has counts as its work. */
ETX_TEST(test_dist_team_assigns_the_largest_first)
{
    static const struct {
        double n_edges[4];
        int32_t holder, owner[4]; /* holder of the first */
    } rows[] = {{{2, 1, 1, 3}, -1, {1, 1, 0, 0}},
        {{1, 1, 1, 3}, -1, {1, 1, 1, 0}}, {{4, 1, 1, 1}, 1, {1, 0, 0, 0}}};
    const etx_team team = {.n_ranks = 2};
    scoped_context *context = etx_test_context();
    struct etx_train_event event[4];
    struct etx_train_event *of[4];
    int32_t *owner;

    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (int k = 0; k < 4; k++) {
            event[k] = (struct etx_train_event){
                .n_edges = rows[r].n_edges[k], .holder = -1};
            of[k] = &event[k];
        }
        event[0].holder = rows[r].holder;
        ck_assert_ok(
            etx_team_assign(&owner, &team, context->stream->arena, of, 4));
        ck_assert_mem_eq(owner, rows[r].owner, sizeof rows[r].owner);
    }
}

/* -------------------------------------------------------- a team of one -- */

enum { N_HASHES = ETX_N_COMMON + 2 };

/* Rank 0 of 2; the other rank adds zeros, or hashes of its own. */
struct lone {
    int32_t n_sums;
    int32_t other; /* 1 + the half of a hash that differs; 0: none */
    double half[2 * N_HASHES]; /* of rank 0 */
};

static etx_status sum_alone(void *user, double *values, int64_t n)
{
    struct lone *lone = user;

    if (++lone->n_sums > 1)
        return ETX_OK;
    ck_assert_int_eq(n, 4 * N_HASHES);
    for (int64_t k = 0; k < 2 * N_HASHES; k++) {
        double *const half = values + 4 * (k / 2) + k % 2;

        lone->half[k] = half[0];
        half[2] = half[0] + (k + 1 == lone->other);
    }
    return ETX_OK;
}

static etx_status gather_alone(
    void *user, uint64_t *all, const uint64_t *mine, const int64_t *count)
{
    (void)user;
    memcpy(all, mine, (size_t)count[0] * sizeof *all);
    return ETX_OK;
}

static etx_status sum_slices_alone(void *user, float *sum, int64_t n_values,
    int64_t n_slices, const int32_t *owner, float *const *slice)
{
    (void)user;
    memset(sum, 0, (size_t)n_values * sizeof *sum);
    for (int64_t k = 0; k < n_slices; k++)
        for (int64_t v = 0; owner[k] == 0 && v < n_values; v++)
            sum[v] += slice[k][v];
    return ETX_OK;
}

static etx_team make_lone(struct lone *lone)
{
    return (etx_team){.struct_size = sizeof(etx_team),
        .n_ranks = 2,
        .user = lone,
        .sum = sum_alone,
        .gather = gather_alone,
        .sum_slices = sum_slices_alone};
}

/* What the ranks do not have alike is named before the first gradient,
 * whichever half of its hash says so; the first one is that of the version. */
ETX_TEST(test_dist_team_first_step_agrees, .rows = 1 + 2 * N_HASHES)
{
    static const char *const what[N_HASHES] = {"the version", "device,",
        "the config", "the events", "owners of graphs or learning rates"};
    const uint64_t version =
        etx_hash_bytes(ETX_HASH_START, etx_version(), strlen(etx_version()));
    struct lone lone = {.other = _i};
    const etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};
    char text[80];

    scoped_bench bench =
        train_bench_new(ETX_TRAIN_FILTER, 1, "{'sampling': {'graphs': 5}}");
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    ck_assert_int_eq(etx_trainer_step(&report, bench.trainer),
        _i == 0 ? ETX_OK : ETX_ERR_FORMAT);
    ck_assert(lone.half[0] == (double)(version >> 32));
    ck_assert(lone.half[1] == (double)(version & UINT32_MAX));
    if (_i > 0) {
        ck_assert_int_eq(lone.n_sums, 1);
        (void)snprintf(text, sizeof text, "rank 1 differs from rank 0 in %s",
            what[(_i - 1) / 2]);
        ck_assert_ptr_nonnull(strstr(etx_last_error(), text));
    }
}

/* The hash of a trainer's owners and learning rates. */
static double hash_rates(struct train_bench *bench, const char *change)
{
    struct lone lone = {.n_sums = 0};
    const etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};

    etx_trainer_free(bench->trainer);
    train_bench_add(bench, ETX_TRAIN_EMBEDDING, change);
    ck_assert_ok(etx_trainer_set_team(bench->trainer, &team));
    ck_assert_ok(etx_trainer_step(&report, bench->trainer));
    return lone.half[2 * N_HASHES - 1];
}

/* Of two steps a warm-up of two halves the first rate, a decay at every step
 * the second, and a warm-up of one changes none. */
ETX_TEST(test_dist_team_compares_every_learning_rate)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    const double same =
        hash_rates(&bench, "{'schedule': {'steps': 2, 'warmup_steps': 0}}");
    ck_assert(same == hash_rates(&bench, "{'schedule': {'steps': 2, "
                                         "'warmup_steps': 1}}"));
    ck_assert(same != hash_rates(&bench, "{'schedule': {'steps': 2, "
                                         "'warmup_steps': 2}}"));
    ck_assert(same != hash_rates(&bench, "{'schedule': {'steps': 2, "
                                         "'warmup_steps': 0, 'decay': 'step', "
                                         "'decay_every': 1, 'decay_factor': "
                                         "0.5}}"));
}

static etx_status fail_sum(void *user, double *values, int64_t n)
{
    (void)user, (void)values, (void)n;
    return ETX_ERR_DEVICE;
}

static etx_status fail_gather(
    void *user, uint64_t *all, const uint64_t *mine, const int64_t *count)
{
    (void)user, (void)all, (void)mine, (void)count;
    return 7;
}

static etx_status fail_sum_slices(void *user, float *sum, int64_t n_values,
    int64_t n_slices, const int32_t *owner, float *const *slice)
{
    (void)user, (void)sum, (void)n_values, (void)n_slices, (void)owner;
    (void)slice;
    return INT32_MIN;
}

/* A function of the team that fails without a message, or with no status. */
ETX_TEST(test_dist_team_failures, .rows = 3)
{
    static const char *const text[] = {("sum of the caller returned "
                                        "ETX_ERR_DEVICE"),
        "gather of the caller returned 7, which is no status",
        "sum_slices of the caller returned -2147483648, which is no status"};
    struct lone lone = {.n_sums = _i == 1}; /* a validation comes first */
    etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};

    if (_i == 0)
        team.sum = fail_sum;
    else if (_i == 1)
        team.gather = fail_gather;
    else
        team.sum_slices = fail_sum_slices;
    scoped_bench bench =
        train_bench_new(ETX_TRAIN_FILTER, 1, "{'sampling': {'graphs': 5}}");
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    etx_set_last_error("of an earlier call");
    ck_assert_fails(_i == 1 ? etx_trainer_validate(&report, bench.trainer)
                            : etx_trainer_step(&report, bench.trainer),
        _i == 0 ? ETX_ERR_DEVICE : ETX_ERR_IO, text[_i]);
}

/* Before an event of a rank that has had one the ranks synchronise. */
ETX_TEST(test_dist_team_validations_synchronise)
{
    struct lone lone = {.n_sums = 1};
    const etx_team team = make_lone(&lone);
    etx_training_report report = {.struct_size = sizeof report};
    int32_t n_first;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    ck_assert_ok(etx_trainer_validate(&report, bench.trainer));
    n_first = lone.n_sums;
    lone.n_sums = 1;
    for (int k = 0; k < 3; k++)
        ck_assert_ok(etx_trainer_add_event_of_rank(bench.trainer,
            bench.event[0], etx_event_n_hits(bench.event[0]), 0, 1));
    ck_assert_ok(etx_trainer_validate(&report, bench.trainer));
    /* The free event is the other rank's, which has less work. */
    ck_assert_int_eq(lone.n_sums, n_first + 2);
}

ETX_TEST(test_dist_team_comes_first)
{
    const etx_part_exchange exchange = etx_test_no_exchange();
    struct train_bench bench;
    struct lone lone = {.n_sums = 1};
    const etx_team team = make_lone(&lone);
    etx_team other = team;

    other.is_fast = 2;
    bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_fails(etx_trainer_set_team(bench.trainer, &other),
        ETX_ERR_ARGUMENT, "is_fast is 2");
    ck_assert_fails(etx_trainer_add_event(bench.trainer, bench.event[0], 2),
        ETX_ERR_ARGUMENT, "validation is 2");
    train_bench_steps(bench.trainer, 1);
    ck_assert_fails(etx_trainer_set_team(bench.trainer, &team),
        ETX_ERR_ARGUMENT, "made 1 steps");
    train_bench_close(&bench);
    bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    ck_assert_ok(etx_trainer_add_event_of_rank(bench.trainer, NULL, 50, 1, 0));
    ck_assert_fails(etx_trainer_set_team(bench.trainer, NULL), ETX_ERR_ARGUMENT,
        "belong to ranks");
    train_bench_close(&bench);
    bench = train_bench_new(ETX_TRAIN_GNN, 1, NULL);
    ck_assert_ok(etx_trainer_set_parts(bench.trainer, 2, 0, 0, &exchange));
    ck_assert_fails(etx_trainer_set_team(bench.trainer, &team),
        ETX_ERR_ARGUMENT, "computes parts of graphs");
    train_bench_close(&bench);
}

/* ------------------------------------------------------ floating point -- */

struct adder {
    etx_dist *dist;
    double value;
};

static void *add(void *argument)
{
    struct adder *adder = argument;

    feclearexcept(FE_ALL_EXCEPT);
    feenableexcept(FE_INEXACT);
    fesetround(FE_UPWARD);
    etx_status status = etx_dist_sum(adder->dist, &adder->value, 1);
    if (status == ETX_OK)
        status = etx_dist_barrier(adder->dist);
    if (status == ETX_OK)
        status = etx_dist_agree(adder->dist, 7, "a number");
    const int is_same =
        fegetexcept() == FE_INEXACT && fegetround() == FE_UPWARD;
    fesetenv(FE_DFL_ENV);
    return status == ETX_OK && is_same ? NULL : argument;
}

/* Ranks of a host that traps and rounds upward add as others do. */
ETX_TEST(test_dist_team_sum_in_any_environment)
{
    etx_dist *dist[2] = {NULL, NULL};
    pthread_t thread;
    void *failed = NULL;

    ck_assert_ok(etx_dist_open_threads(dist, 2, NULL));
    struct adder adder[2] = {{dist[0], 0.1}, {dist[1], 0.7}};
    ck_assert_int_eq(pthread_create(&thread, NULL, add, &adder[1]), 0);
    ck_assert_ptr_null(add(&adder[0]));
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
    ck_assert(adder[0].value == 0.1 + 0.7 && adder[1].value == 0.1 + 0.7);
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
}

/* ------------------------------------------------------------ arguments -- */

ETX_TEST(test_dist_team_arguments)
{
    etx_dist_options options;
    etx_dist *dist[2] = {NULL, NULL};
    etx_dist_statistics statistics = {.struct_size = sizeof statistics};
    etx_team team = {.struct_size = sizeof team};
    double value = 2.5;

    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, NULL);
    ck_assert_ok(etx_dist_options_init(&options, sizeof options));
    ck_assert_double_eq(options.deadline, 60.0);
    ck_assert_status(etx_dist_options_init(&options, 4), ETX_ERR_ARGUMENT);
    options.deadline = 0.0;
    ck_assert_status(
        etx_dist_open_threads(dist, 2, &options), ETX_ERR_ARGUMENT);
    options.deadline = 1.0;
    options.assignment = 2;
    ck_assert_status(
        etx_dist_open_threads(dist, 2, &options), ETX_ERR_ARGUMENT);
    ck_assert_ok(etx_dist_open_threads(dist, 2, NULL));
    ck_assert_int_eq(etx_dist_rank(dist[1]), 1);
    ck_assert_int_eq(etx_dist_n_ranks(dist[1]), 2);
    ck_assert_ok(etx_dist_team(&team, dist[1]));
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    ck_assert_status(
        etx_trainer_add_event_of_rank(bench.trainer, NULL, 5, 2, 0),
        ETX_ERR_ARGUMENT);
    ck_assert_status(
        etx_trainer_add_event_of_rank(bench.trainer, NULL, 5, 1, 0),
        ETX_ERR_ARGUMENT);
    team.rank = 2;
    ck_assert_fails(etx_trainer_set_team(bench.trainer, &team),
        ETX_ERR_ARGUMENT, "rank 2 of 2");
    ck_assert_ok(etx_trainer_set_team(bench.trainer, NULL));
    etx_dist_close(dist[0]);
    etx_dist_close(dist[1]);
    ck_assert_ok(etx_dist_open_threads(dist, 1, NULL));
    ck_assert_ok(etx_dist_barrier(dist[0]));
    ck_assert_ok(etx_dist_sum(dist[0], &value, 1));
    ck_assert_double_eq(value, 2.5);
    ck_assert_status(etx_dist_sum(dist[0], &value, -1), ETX_ERR_ARGUMENT);
    ck_assert_ok(etx_dist_agree(dist[0], 7, "seven"));
    ck_assert_ok(etx_dist_get_statistics(&statistics, dist[0]));
    ck_assert_int_eq(statistics.n_calls, 2);
    statistics.struct_size = 8;
    ck_assert_status(
        etx_dist_get_statistics(&statistics, dist[0]), ETX_ERR_ARGUMENT);
    etx_dist_end_processes(dist[0], 3); /* threads: returns */
    ck_assert_int_ne(etx_dist_barrier(dist[0]), ETX_OK);
    etx_dist_close(dist[0]);
    etx_dist_close(NULL);
}

/* The archive that the tests link has no MPI. */
ETX_TEST(test_dist_team_without_mpi)
{
    etx_dist *dist = NULL;

    ck_assert_int_eq(etx_dist_has_mpi(), 0);
    ck_assert_status(etx_dist_open_mpi(&dist, NULL), ETX_ERR_UNSUPPORTED);
    ck_assert_ptr_null(dist);
}
