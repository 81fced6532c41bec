/* test_differential.c -- random programs on every instruction set, on threads
 * and ranks, and by a model that was written and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "differential.h"

#include "base/cpu.h"
#include "rank_threads.h"

#define N_PROGRAMS 24

static struct outcome run(
    const struct program *program, int32_t n_threads, int32_t level)
{
    scoped_context *context = etx_test_context_level(n_threads, level);

    return program_run(program, context);
}

/* Every instruction set is near the reference, and gives the same bits with any
 * number of threads. */
ETX_TEST(test_differential_levels_and_threads, .rows = N_PROGRAMS)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_outcome reference = run(&program, 1, ETX_CPU_REF);

    ETX_EACH_CPU_LEVEL (level) {
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

struct scoring {
    const struct program *program;
    const etx_graph *expected;
    int32_t order, precision;
};

static etx_context *open_scoring(const struct scoring *scoring)
{
    return scoring->precision == ETX_PRECISION_BFLOAT16
               ? etx_test_context_bfloat16()
               : etx_test_context_level(1, ETX_CPU_BEST);
}

static void score_part(struct rank_thread *thread, void *argument)
{
    const struct scoring *scoring = argument;
    const struct program *program = scoring->program;
    scoped_context *context = open_scoring(scoring);
    scoped_graph *graph = program_candidates(program);

    ck_assert_ok(etx_dist_graph_score(graph, thread->dist, context,
        program->model, program->event, scoring->order));
    ck_assert_mem_eq(etx_graph_scores(graph),
        etx_graph_scores(scoring->expected),
        (size_t)etx_graph_n_edges(graph) * sizeof(float));
}

/* Ranks that score parts of a graph have the bits of one, also in bfloat16. */
ETX_TEST(test_differential_ranks, .rows = N_PROGRAMS)
{
    scoped_program program = program_draw((uint64_t)_i);
    scoped_graph *expected = program_candidates(&program);
    struct scoring scoring = {.program = &program,
        .expected = expected,
        .order = _i / 2 % 2,
        .precision =
            _i % 3 == 0 ? ETX_PRECISION_BFLOAT16 : ETX_PRECISION_FLOAT32};
    scoped_context *context = open_scoring(&scoring);

    if (!program.has_parts)
        return;
    ck_assert_ok(
        etx_graph_score(expected, context, program.model, program.event));
    rank_threads_run(2 + _i % 4, NULL, score_part, &scoring);
}
