/* differential.h -- random valid programs, of which every context must give
 * the same.
 *
 * A program is a random model, an event, and the calls of every stage on what
 * one reference context made of the stage before. So contexts are compared
 * stage by stage, and not by what follows from the last bit of a score.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_DIFFERENTIAL_H
#define ETX_TEST_UNIT_DIFFERENTIAL_H

#include "support.h"

struct program {
    etx_model *model; /* random networks, learned tables */
    etx_event *event, *other;
    etx_graph *graph; /* scored candidates */
    etx_tracks *tracks;
    int64_t n_points, n_dim;
    float *point; /* [n_points, n_dim] */
    etx_graph_options search;
    etx_label_options label;
    int32_t has_parts; /* its networks run on parts of a graph */
};

struct program program_draw(uint64_t seed);
void program_free(struct program *program);
#define scoped_program SCOPED(program_free) struct program

/* What the calls of a program give. */
struct outcome {
    int64_t n_exact, n_own; /* bytes */
    int64_t n_near;
    char *
        exact; /* whole numbers: the same on every instruction set and device */
    char *own; /* what follows from floats: the same in the same bits */
    float *near; /* coordinates and scores */
};

struct outcome program_run(const struct program *program, etx_context *context);
void outcome_free(struct outcome *outcome);
#define scoped_outcome SCOPED(outcome_free) struct outcome

/* All bits are the same; or what is exact is, and floats differ by at most
 * tolerance of the largest. */
void outcome_assert_same(const struct outcome *a, const struct outcome *b);
void outcome_assert_near(
    const struct outcome *a, const struct outcome *b, double tolerance);

/* The candidates of the program, without scores; freed by etx_graph_free. */
etx_graph *program_candidates(const struct program *program);

#endif
