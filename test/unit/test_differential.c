/* test_differential.c -- random programs on every instruction set, on threads
 * and ranks, and by a model that was written and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "differential.h"

#include "base/cpu.h"

#include <exatrkx/dist.h>
#include <pthread.h>

#define N_PROGRAMS 24
#define MAX_RANKS  5

static etx_context *open_context(int32_t n_threads, int32_t level)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = n_threads;
    options.cpu_level = level;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

static struct outcome run(
    const struct program *program, int32_t n_threads, int32_t level)
{
    scoped_context *context = open_context(n_threads, level);

    return program_run(program, context);
}

/* Every instruction set is near the reference, and gives the same bits with any
 * number of threads. */
ETX_TEST(test_differential_levels_and_threads, .rows = N_PROGRAMS)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_outcome reference = run(&program, 1, ETX_CPU_REF);

    for (int32_t level = ETX_CPU_REF; level <= etx_cpu_level(); level++) {
        scoped_outcome one = run(&program, 1, level);
        scoped_outcome many = run(&program, 2 + _i % 3, level);

        outcome_assert_near(&reference, &one, 2e-4);
        outcome_assert_same(&one, &many);
    }
}

/* What the model learned is the same after it was written and read. */
ETX_TEST(test_differential_saved, .rows = 4)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_outcome before = run(&program, 1, ETX_CPU_BEST);
    etx_model *const saved = etx_test_saved(program.model);

    etx_model_free(program.model);
    program.model = saved;
    scoped_outcome after = run(&program, 2, ETX_CPU_BEST);
    outcome_assert_same(&before, &after);
}

struct rank {
    const struct program *program;
    etx_dist *dist;
    etx_graph *graph;
    int32_t order;
    etx_status status;
};

static void *score_part(void *argument)
{
    struct rank *rank = argument;
    scoped_context *context = open_context(1, ETX_CPU_BEST);

    rank->status = etx_dist_graph_score(rank->graph, rank->dist, context,
        rank->program->model, rank->program->event, rank->order);
    return NULL;
}

/* Ranks that score parts of a graph have the bits of one. */
ETX_TEST(test_differential_ranks, .rows = N_PROGRAMS)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_context *context = open_context(1, ETX_CPU_BEST);
    scoped_graph *expected = program_candidates(&program);
    const int32_t n_ranks = 2 + _i % (MAX_RANKS - 1);
    struct rank rank[MAX_RANKS];
    etx_dist *dist[MAX_RANKS];
    pthread_t thread[MAX_RANKS];

    if (!program.has_parts)
        return;
    ck_assert_ok(
        etx_graph_score(expected, context, program.model, program.event));
    ck_assert_ok(etx_dist_open_threads(dist, n_ranks, NULL));
    for (int32_t r = 0; r < n_ranks; r++) {
        rank[r] = (struct rank){.program = &program,
            .dist = dist[r],
            .graph = program_candidates(&program),
            .order = _i / 2 % 2};
        ck_assert_int_eq(
            pthread_create(&thread[r], NULL, score_part, &rank[r]), 0);
    }
    for (int32_t r = 0; r < n_ranks; r++) {
        (void)pthread_join(thread[r], NULL);
        ck_assert_int_eq(rank[r].status, ETX_OK);
        ck_assert_mem_eq(etx_graph_scores(rank[r].graph),
            etx_graph_scores(expected),
            (size_t)etx_graph_n_edges(expected) * sizeof(float));
        etx_graph_free(rank[r].graph);
        etx_dist_close(dist[r]);
    }
}
