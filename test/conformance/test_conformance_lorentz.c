/* test/conformance/test_conformance_lorentz.c -- Lorentz transformations of the
 * input of a lorentz_network change no logit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "base/cpu.h"

#include <math.h>
#include <stdlib.h>

#include "case.h"

#define N_NODES    12
#define N_EDGES    20
#define N_FEATURES 6 /* four-vector, two scalars */

enum { T, X, Y, Z };

/* (a, b) of every node turned by an angle, or, boosted, by a rapidity. */
static void turn(struct network_problem *problem, int32_t a, int32_t b,
    double angle, int32_t is_boost)
{
    const double c = is_boost ? cosh(angle) : cos(angle);
    const double s = is_boost ? sinh(angle) : sin(angle);

    for (int64_t i = 0; i < N_NODES; i++) {
        float *x = problem->features + i * N_FEATURES;
        const double old_a = (double)x[a], old_b = (double)x[b];
        x[a] = (float)(c * old_a + (is_boost ? s : -s) * old_b);
        x[b] = (float)(s * old_a + c * old_b);
    }
}

/* Large steps, so that four-vectors that did not move along would show. */
static const struct network_case which = {.name = "large steps",
    .arch = "lorentz_network",
    .options = "{'hidden': 6, 'n_iterations': 3, 'step': 0.1, 'ratio': 2}",
    .n_node_features = N_FEATURES};

static const struct {
    int32_t a, b, is_boost, is_symmetry;
} cases[] = {
    {X, Y, 0, 1}, {Y, Z, 0, 1}, {T, Z, 1, 1}, {T, X, 1, 1},
    {T, Z, 0, 0},               /* no symmetry: turns time into space */
    {X, Y, 1, 0}, {T, 4, 1, 0}, /* a scalar is none of the components */
};

#define N_CASES ((int32_t)(sizeof cases / sizeof cases[0]))

ETX_TEST(test_lorentz_symmetry, .rows = N_CASES)
{
    scoped_trial trial;
    float before[N_EDGES], after[N_EDGES];

    network_trial_open(&trial, &which, 5, N_NODES, N_EDGES, ETX_CPU_REF);
    ck_assert_int_eq(trial.n_out, N_EDGES);
    network_forward(before, trial.network, &trial.context, &trial.problem);
    turn(&trial.problem, cases[_i].a, cases[_i].b, 0.7, cases[_i].is_boost);
    network_forward(after, trial.network, &trial.context, &trial.problem);
    const double change = network_largest_difference(before, after, N_EDGES);

    if (cases[_i].is_symmetry)
        ck_assert_msg(change < 1e-5, "row %d changes %.3g", _i, change);
    else
        ck_assert_msg(change > 1e-3, "row %d changes %.3g only", _i, change);
}
