/* cuda_shim/test_cuda_shim_rounding.c -- how much a score changes where
 * operands of products have 11 bits.
 *
 * Rounded up or down by chance, an operand has twice the variance of one that
 * is rounded to the nearest number: (2^-11)^2 / 6 on average, not / 12. Trials
 * with other random numbers give the standard deviation of each score, from
 * which the bounds of test_cuda_near_scores follow.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/device.h"
#include "shim.h"

#define N_TRIALS 12
#define SEED     UINT64_C(0x9E3779B97F4A7C15)

/* Of the differences to the CPU: in units of what chance gives. */
#define MAX_DEVIATIONS 4.0
#define MAX_RMS        1.6

/* Differences of scores [n_edges] between device and CPU. */
static void find_differences(double *out, struct device_job *both,
    etx_context *device, const float *filtered, const float *expected)
{
    const int64_t n = etx_graph_n_edges(both->graph);

    ck_assert_ok(etx_graph_set_scores(both->graph, filtered));
    ck_assert_ok(
        etx_graph_score(both->graph, device, both->model, both->event));
    for (int64_t e = 0; e < n; e++)
        out[e] = (double)etx_graph_scores(both->graph)[e] - (double)expected[e];
}

/* No difference of float16 or TF32 is larger than chance makes it in some edge,
 * nor are all of them together. */
ETX_TEST(test_cuda_shim_rounding)
{
    static const int32_t precisions[] = {
        ETX_PRECISION_FLOAT16, ETX_PRECISION_TF32};
    const etx_context_options tf32 = device_options(ETX_PRECISION_TF32);
    scoped_device_job both = {NULL};
    double variance = 0.0;
    double most = 0.0;

    ck_assert_int_eq(
        device_job_make(&both, __func__, "event000000000", &tf32), 1);
    device_job_filter(&both);
    const int64_t n = etx_graph_n_edges(both.graph);
    scoped float *filtered = device_job_scores(&both);
    scoped double *squares = etx_test_alloc(n, sizeof *squares);
    scoped double *difference = etx_test_alloc(n, sizeof *difference);

    ck_assert_ok(etx_graph_score(both.graph, both.cpu, both.model, both.event));
    scoped float *expected = device_job_scores(&both);

    memset(squares, 0, (size_t)n * sizeof *squares);
    for (uint64_t t = 1; t <= N_TRIALS; t++) {
        shim_round_at_random(SEED * t);
        find_differences(difference, &both, both.cuda, filtered, expected);
        for (int64_t e = 0; e < n; e++)
            squares[e] += difference[e] * difference[e] / (2.0 * N_TRIALS);
    }
    shim_round_at_random(0);
    for (int64_t e = 0; e < n; e++) {
        variance += squares[e] / (double)n;
        most = fmax(most, sqrt(squares[e]));
    }
    for (size_t p = 0; p < ROWS(precisions); p++) {
        const etx_context_options options = device_options(precisions[p]);
        scoped_context *device = NULL;
        double sum = 0.0;

        ck_assert_ok(etx_context_create(&device, &options));
        find_differences(difference, &both, device, filtered, expected);
        for (int64_t e = 0; e < n; e++) {
            ck_assert_double_le(fabs(difference[e]), MAX_DEVIATIONS * most);
            sum += difference[e] * difference[e] / (double)n;
        }
        ck_assert_double_gt(sum, 0.0);
        ck_assert_double_le(sqrt(sum), MAX_RMS * sqrt(variance));
    }
}
