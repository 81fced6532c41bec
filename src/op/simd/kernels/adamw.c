/* op/simd/kernels/adamw.c -- one step of AdamW, vectorised by the compiler.
 *
 * In float64 and in the order of the reference: the same bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include <math.h>

#define BLOCK 8192 /* parameters */

struct job {
    const struct etx_adamw_args *args;
    double bias1, bias2;
};

/* Parameters begin .. end - 1; with_max and with_decays are constants where
 * this is inlined. */
static inline __attribute__((always_inline)) void update(const struct job *job,
    const int with_max, const int with_decays, int64_t begin, int64_t end)
{
    const struct etx_adamw_args *args = job->args;
    const double beta1 = (double)args->beta1;
    const double beta2 = (double)args->beta2;
    const double rate = (double)args->learning_rate;
    const double eps = (double)args->eps;
    const double weight_decay = (double)args->weight_decay;
    const double bias1 = job->bias1;
    const double bias2 = job->bias2;
    const float *restrict decays = args->decays;
    const float *restrict gradient = args->gradient;
    float *restrict parameter = args->parameter;
    float *restrict m = args->m;
    float *restrict v = args->v;
    float *restrict v_max = args->v_max;

    for (int64_t i = begin; i < end; i++) {
        const double g = (double)gradient[i];
        const double first = beta1 * (double)m[i] + (1.0 - beta1) * g;
        const double second = beta2 * (double)v[i] + (1.0 - beta2) * g * g;
        double largest = second;
        m[i] = (float)first;
        v[i] = (float)second;
        if (with_max) {
            const double before = (double)v_max[i];
            largest = before > second ? before : second;
            v_max[i] = (float)largest;
        }
        const double decay =
            with_decays ? weight_decay * (double)decays[i] : weight_decay;
        const double step = first / bias1 / (sqrt(largest / bias2) + eps);
        parameter[i] =
            (float)((double)parameter[i] * (1.0 - rate * decay) - rate * step);
    }
}

static inline __attribute__((always_inline)) void choose_update(
    const struct job *job, const int with_max, int64_t begin, int64_t end)
{
    if (job->args->decays != NULL)
        update(job, with_max, 1, begin, end);
    else
        update(job, with_max, 0, begin, end);
}

static etx_status run_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;

    (void)worker;
    if (job->args->v_max != NULL)
        choose_update(job, 1, begin, end);
    else
        choose_update(job, 0, begin, end);
    return ETX_OK;
}

etx_status ETX_ISA_NAME(adamw)(
    struct etx_stream *stream, const struct etx_adamw_args *args)
{
    struct job job = {.args = args,
        .bias1 = 1.0 - pow((double)args->beta1, (double)args->step),
        .bias2 = 1.0 - pow((double)args->beta2, (double)args->step)};

    return etx_parallel_ranges(stream->pool, args->n, BLOCK, run_block, &job);
}
