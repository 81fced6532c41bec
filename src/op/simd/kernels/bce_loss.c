/* op/simd/kernels/bce_loss.c -- binary cross-entropy of logits, in parallel.
 *
 * One exponential and one logarithm per edge, in float64: with
 * e = exp(-|x|), softplus(x) = max(x, 0) + log1p(e) and sigmoid(x) is
 * 1 / (1 + e) or e / (1 + e). Sums of fixed blocks are added in block order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"

#include <math.h>

#define BLOCK 4096 /* edges */

struct sums {
    double loss, weight;
};

struct job {
    const struct etx_bce_loss_args *args;
    struct sums *sums; /* [n_blocks] */
};

/* The same of a focal loss, where small = exp(-|x|). */
static void focal_edge(struct sums *sums, const struct etx_bce_loss_args *args,
    int64_t e, double small)
{
    const double weight = args->weight ? (double)args->weight[e] : 1.0;
    const double x = (double)args->logit[e];
    const double y = (double)args->target[e];
    const double gamma = (double)args->focal_gamma;
    const double up = (x >= 0.0 ? 1.0 : small) / (1.0 + small);
    const double down = (x >= 0.0 ? small : 1.0) / (1.0 + small);
    const double far = fmax(x, 0.0) + log1p(small);
    const double near = fmax(-x, 0.0) + log1p(small);
    const double positive = (double)args->pos_weight * y * pow(down, gamma);
    const double negative = (1.0 - y) * pow(up, gamma);

    if (args->loss_sum != NULL)
        sums->loss += weight * (positive * near + negative * far);
    if (args->d_logit != NULL)
        args->d_logit[e] = (float)((double)args->scale * weight *
                                   (negative * (up + gamma * down * far) -
                                       positive * (down + gamma * up * near)));
}

/* Adds edge e to sums and writes its gradient. */
static void one_edge(
    struct sums *sums, const struct etx_bce_loss_args *args, int64_t e)
{
    const double weight = args->weight ? (double)args->weight[e] : 1.0;
    const double x = (double)args->logit[e];
    const double y = (double)args->target[e];
    const double positive = (double)args->pos_weight * y;

    if (weight == 0.0) {
        if (args->d_logit != NULL)
            args->d_logit[e] = 0.0f;
        return;
    }
    const double small = exp(-fabs(x));
    const double inverse = 1.0 / (1.0 + small);
    sums->weight += weight;
    if (args->focal_gamma > 0.0f) {
        focal_edge(sums, args, e, small);
        return;
    }
    if (args->loss_sum != NULL)
        sums->loss +=
            weight * (positive * fmax(-x, 0.0) + (1.0 - y) * fmax(x, 0.0) +
                         (positive + (1.0 - y)) * log1p(small));
    if (args->d_logit != NULL) {
        const double up = x >= 0.0 ? inverse : small * inverse;
        const double down = x >= 0.0 ? small * inverse : inverse;
        args->d_logit[e] = (float)((double)args->scale * weight *
                                   ((1.0 - y) * up - positive * down));
    }
}

static etx_status run_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    struct sums sums = {0.0, 0.0};

    (void)worker;
    for (int64_t e = begin; e < end; e++)
        one_edge(&sums, job->args, e);
    job->sums[begin / BLOCK] = sums;
    return ETX_OK;
}

etx_status ETX_ISA_NAME(bce_loss)(
    struct etx_stream *stream, const struct etx_bce_loss_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_blocks = (args->n + BLOCK - 1) / BLOCK;
    struct job job = {.args = args};
    struct sums total = {0.0, 0.0};
    etx_status status;

    ETX_SCRATCH(job.sums, stream->arena, n_blocks, "sums of the loss");
    ETX_CHECK(
        etx_parallel_ranges(stream->pool, args->n, BLOCK, run_block, &job));
    for (int64_t b = 0; b < n_blocks; b++) {
        total.loss += job.sums[b].loss;
        total.weight += job.sums[b].weight;
    }
    if (args->loss_sum != NULL)
        *args->loss_sum = total.loss;
    if (args->weight_sum != NULL)
        *args->weight_sum = total.weight;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
