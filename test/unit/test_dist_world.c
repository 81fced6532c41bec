/* test_dist_world.c -- ranks that are not together, or not alike, are refused.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"
#include "dist/dist.h"
#include "dist/world.h"
#include "job.h"
#include "rank_threads.h"
#include "train_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------- launched -- */

static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
    "PMI_RANK", "MV2_COMM_WORLD_SIZE", "FLUX_JOB_SIZE", "SLURM_STEP_NUM_TASKS",
    "SLURM_NTASKS", "SLURM_PROCID", "PMIX_RANK", "PMIX_NAMESPACE"};

/* Variables of a launcher, how many processes it started (0: it does not tell),
 * and the fewest ranks with which this process is not alone. */
static const struct {
    const char *set[3]; /* NAME=VALUE */
    int64_t n_launched;
    int32_t least;
} environments[] = {
    {{NULL}, 1, 1},
    {{"OMPI_COMM_WORLD_SIZE=3"}, 3, 3},
    {{"PMI_SIZE=2", "PMI_RANK=1"}, 2, 2},
    {{"MV2_COMM_WORLD_SIZE=5"}, 5, 5},
    {{"FLUX_JOB_SIZE=4"}, 4, 4},
    {{"SLURM_STEP_NUM_TASKS=8", "SLURM_PROCID=3"}, 8, 8},
    {{"SLURM_STEP_NUM_TASKS=1"}, 1, 1},
    {{"SLURM_NTASKS=8"}, 1, 1}, /* of a batch job */
    {{"OMPI_COMM_WORLD_SIZE=2", "SLURM_STEP_NUM_TASKS=1"}, 2, 2},
    {{"PMIX_RANK=2", "PMIX_NAMESPACE=x"}, 0, 2},
    {{"PMIX_RANK=2", "SLURM_STEP_NUM_TASKS=4"}, 4, 4},
    {{"OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=two"}, 1, 1},
    {{"OMPI_COMM_WORLD_SIZE=-3"}, 1, 1},
};

ETX_TEST(test_dist_world_launched, .rows = ROWS(environments))
{
    const int32_t least = environments[_i].least;

    for (int k = 0; k < ROWS(names); k++)
        ck_assert_int_eq(unsetenv(names[k]), 0);
    for (int k = 0; k < 3 && environments[_i].set[k] != NULL; k++) {
        char text[64];
        char *value;

        snprintf(text, sizeof text, "%s", environments[_i].set[k]);
        value = strchr(text, '=');
        *value = '\0';
        ck_assert_int_eq(setenv(text, value + 1, 1), 0);
    }
    ck_assert_int_eq(etx_dist_n_launched(), environments[_i].n_launched);
    ck_assert_ok(etx_dist_check_launched(least));
    if (least > 1)
        ck_assert_fails(etx_dist_check_launched(least - 1), ETX_ERR_UNSUPPORTED,
            "that of another MPI than this build's");
}

/* ---------------------------------------------------------------- alike -- */

/* What rank 1 of 3 has in place of its build. */
static const struct {
    struct etx_dist_build build;
    const char *piece; /* of the message; NULL: accepted */
} builds[] = {
    {{0}, NULL},
    {{.order = 0x0102030405060708, .library = "9.9.9"},
        "rank 1 has libexatrkx 9.9.9 and libexatrkx_dist 0.0.0, rank 0 has "},
    {{.order = 0x0807060504030201, .library = "\x01\x02"},
        "rank 1 has another order of bytes than rank 0"},
};

static void check_build(struct rank_thread *thread, void *argument)
{
    const int row = *(const int *)argument;
    struct etx_dist_build build = etx_dist_this_build();
    const char *piece = builds[row].piece;
    etx_status status;

    if (thread->rank == 1 && piece != NULL)
        build = builds[row].build;
    status = etx_dist_check_builds(thread->dist->comm, &build);
    if (piece == NULL)
        ck_assert_ok(status);
    else
        ck_assert_fails(status, ETX_ERR_UNSUPPORTED, piece);
}

ETX_TEST(test_dist_world_builds, .rows = ROWS(builds))
{
    rank_threads_run(3, NULL, check_build, &_i);
}

/* ------------------------------------------------------------- training -- */

/* What rank 1 of 2 has another of, and what the ranks say of it. */
static const struct {
    const char *change; /* of the config */
    int32_t cpu_level;
    int32_t more_events; /* of which parts of graphs need not know */
    const char *piece;   /* NULL: nothing */
} trainings[] = {
    {NULL, ETX_CPU_BEST, 0, NULL},
    {"{'optimiser': {'weight_decay': 0.5}}", ETX_CPU_BEST, 0,
        "in the config or the start model"},
    {NULL, ETX_CPU_REF, 0, "in device, precision or instruction set"},
    {NULL, ETX_CPU_BEST, 1, "in the events"},
};

static void open_bench(struct train_bench *bench, int32_t rank, int row)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.cpu_level = rank == 1 ? trainings[row].cpu_level : ETX_CPU_BEST;
    ck_assert_ok(etx_context_create(&context, &options));
    train_bench_open_in(bench, context, ETX_TRAIN_GNN,
        rank == 1 ? trainings[row].change : NULL);
    if (rank == 1 && trainings[row].more_events)
        ck_assert_ok(etx_trainer_add_event(bench->trainer, bench->event[0], 1));
}

static void expect(etx_status status, const char *who, const char *piece)
{
    if (piece == NULL) {
        ck_assert_ok(status);
        return;
    }
    ck_assert_fails(status, ETX_ERR_FORMAT, piece);
    ck_assert_error(who);
}

static void step_in_team(struct rank_thread *thread, void *argument)
{
    const int row = *(const int *)argument;
    etx_training_report report = {.struct_size = sizeof report};
    scoped_bench bench = {NULL};
    etx_team team = {.struct_size = sizeof team};

    open_bench(&bench, thread->rank, row);
    ck_assert_ok(etx_dist_team(&team, thread->dist));
    ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
    expect(etx_trainer_step(&report, bench.trainer),
        "rank 1 differs from rank 0", trainings[row].piece);
}

static void step_in_parts(struct rank_thread *thread, void *argument)
{
    const int row = *(const int *)argument;
    etx_training_report report = {.struct_size = sizeof report};
    scoped_bench bench = {NULL};

    open_bench(&bench, thread->rank, row);
    ck_assert_ok(etx_dist_trainer_set_parts(
        bench.trainer, thread->dist, ETX_PARTITION_PHI));
    expect(etx_trainer_step(&report, bench.trainer),
        "part 1 differs from part 0",
        trainings[row].more_events ? NULL : trainings[row].piece);
}

ETX_TEST(test_dist_world_training, .rows = ROWS(trainings))
{
    if (trainings[_i].cpu_level == ETX_CPU_REF &&
        etx_cpu_level() == ETX_CPU_REF)
        return;
    rank_threads_run(2, NULL, step_in_team, &_i);
    rank_threads_run(2, NULL, step_in_parts, &_i);
}

/* -------------------------------------------------------------- scoring -- */

enum unlike { NONE, MODEL, EVENT, EDGES, LEVEL, N_UNLIKE };

static const char *const scoring_pieces[N_UNLIKE] = {
    [MODEL] = "part 1 differs from part 0 in the model",
    [EVENT] = "part 1 differs from part 0 in the event",
    [EDGES] = "edges of the graph: rank 0 has",
    [LEVEL] = "part 1 differs from part 0 in device, precision or instruction"};

static void make_unlike(struct job *job, enum unlike unlike)
{
    const int64_t n = etx_event_n_hits(job->event);
    etx_context_options options;

    if (unlike == MODEL) {
        job->model->gnn.network->value[0] += 1.0f;
    } else if (unlike == EVENT) {
        scoped float *position = etx_test_alloc(3 * n, sizeof *position);

        memcpy(position, etx_event_positions(job->event),
            (size_t)(3 * n) * sizeof *position);
        position[0] += 1.0f;
        etx_event_free(job->event);
        ck_assert_ok(etx_event_create(&job->event, n, NULL, position));
    } else if (unlike == EDGES) {
        etx_graph *less = NULL;

        ck_assert_ok(etx_graph_from_edges(&less, n, job->n_edges - 1,
            etx_graph_src(job->graph), etx_graph_dst(job->graph), NULL, NULL));
        etx_graph_free(job->graph);
        job->graph = less;
    } else if (unlike == LEVEL) {
        etx_context_free(job->context);
        ck_assert_ok(etx_context_options_init(&options, sizeof options));
        options.cpu_level = ETX_CPU_REF;
        ck_assert_ok(etx_context_create(&job->context, &options));
    }
}

static void score(struct rank_thread *thread, void *argument)
{
    const enum unlike unlike = (enum unlike) * (const int *)argument;
    scoped_job job = job_make_graph();

    if (thread->rank == 1)
        make_unlike(&job, unlike);
    expect(etx_dist_graph_score(job.graph, thread->dist, job.context, job.model,
               job.event, ETX_PARTITION_PHI),
        "", scoring_pieces[unlike]);
}

ETX_TEST(test_dist_world_scoring, .rows = N_UNLIKE)
{
    if (_i != LEVEL || etx_cpu_level() != ETX_CPU_REF)
        rank_threads_run(2, NULL, score, &_i);
}

/* -------------------------------------------------------------- waiting -- */

static double wall_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int32_t is_late(void *end)
{
    return wall_time() >= *(const double *)end;
}

/* Rank 1 waits for rank 0, which comes when rank 1 has been told not to: by the
 * callback of its thread, or of its context. */
static void wait_in_vain(struct rank_thread *thread, void *argument)
{
    const int in_step = *(const int *)argument;
    etx_training_report report = {.struct_size = sizeof report};
    double latest = HUGE_VAL;
    scoped_bench bench = {NULL};
    etx_team team = {.struct_size = sizeof team};

    if (in_step) {
        train_bench_open_in(&bench,
            etx_test_context_with(1, 0, is_late, &latest), ETX_TRAIN_EMBEDDING,
            NULL);
        ck_assert_ok(etx_dist_team(&team, thread->dist));
        ck_assert_ok(etx_trainer_set_team(bench.trainer, &team));
        ck_assert_ok(etx_dist_barrier(thread->dist));
    }
    latest = wall_time() + 0.1;
    if (thread->rank == 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
        ck_assert_fails(
            etx_dist_barrier(thread->dist), ETX_ERR_RANK, "rank 1 gave up");
        return;
    }
    if (!in_step)
        etx_set_cancel(is_late, &latest);
    ck_assert_fails(in_step ? etx_trainer_step(&report, bench.trainer)
                            : etx_dist_barrier(thread->dist),
        ETX_ERR_CANCELLED, "cancelled by the caller");
    ck_assert_double_lt(wall_time() - latest, 0.3);
    etx_set_cancel(NULL, NULL);
}

ETX_TEST(test_dist_world_cancelled, .rows = 2)
{
    rank_threads_run(2, NULL, wait_in_vain, &_i);
}
