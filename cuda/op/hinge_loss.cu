/* cuda/op/hinge_loss.cu -- contrastive loss of pairs of points.
 *
 * For the gradient, the ends of all pairs are sorted by point; a thread sums a
 * column of a point over its ends in the order of the pairs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/column_sums.cuh"
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

#include "op/shared/losses.h"

/* Column 0: the losses of pairs with y = 1; column 1: of the others. */
struct hinge_term {
    struct etx_hinge_loss_args args;

    __device__ double operator()(int64_t p, int32_t column) const
    {
        double slope;

        if ((args.target[p] != 0) != (column == 0))
            return 0.0;
        return etx_hinge_of(&slope, &args, p);
    }
};

/* End 2 p is a of pair p, 2 p + 1 is b. */
__global__ static void ends_kernel(
    uint64_t *key, int32_t *end, struct etx_hinge_loss_args args)
{
    for (int64_t t = etx_first_item(); t < 2 * args.n_pairs;
         t += etx_item_step()) {
        const int32_t *side = t % 2 == 0 ? args.a : args.b;

        key[t] = (uint64_t)(uint32_t)side[t / 2];
        end[t] = (int32_t)t;
    }
}

/* The first thread of a run of equal keys sums the run, column by column. */
__global__ static void gradient_kernel(
    const uint64_t *key, const int32_t *end, struct etx_hinge_loss_args args)
{
    const int64_t n_ends = 2 * args.n_pairs;

    for (int64_t u = etx_first_item(); u < n_ends * args.n_dim;
         u += etx_item_step()) {
        const int64_t first = u / args.n_dim;
        const int64_t k = u % args.n_dim;
        double sum = 0.0;

        if (first > 0 && key[first - 1] == key[first])
            continue;
        for (int64_t t = first; t < n_ends && key[t] == key[first]; t++) {
            const int64_t p = end[t] / 2;
            const double d =
                (double)args.point[(int64_t)args.a[p] * args.n_dim + k] -
                (double)args.point[(int64_t)args.b[p] * args.n_dim + k];
            double slope;

            (void)etx_hinge_of(&slope, &args, p);
            sum += (end[t] % 2 == 0 ? 2.0 : -2.0) * slope * d;
        }
        float *out = args.d_point + (int64_t)key[first] * args.n_dim + k;

        *out = (float)((double)*out + sum);
    }
}

static etx_status add_gradient(
    struct etx_stream *stream, const struct etx_hinge_loss_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = 2 * args->n_pairs;
    uint64_t *key = NULL;
    uint64_t *sorted = NULL;
    int32_t *end = NULL;
    int32_t *order = NULL;

    if (args->n_pairs > INT32_MAX / 2)
        return etx_fail(ETX_ERR_LIMIT,
            "hinge_loss: %lld pairs are more than %d on a device",
            (long long)args->n_pairs, INT32_MAX / 2);
    ETX_TRY(scratch.alloc_all(n, "ends of pairs", &key, &sorted, &end, &order));
    ETX_TRY(etx_launch(stream, n, ends_kernel, key, end, *args));
    ETX_TRY(etx_cuda_sort_pairs(
        stream, sorted, key, order, end, n, etx_bits_of(args->n_points)));
    return etx_launch(stream, n * args->n_dim, gradient_kernel,
        (const uint64_t *)sorted, (const int32_t *)order, *args);
}

etx_status etx_cuda_hinge_loss(
    struct etx_stream *stream, const struct etx_hinge_loss_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    double *sum = NULL;
    double total[2] = {0.0, 0.0};

    ETX_TRY(scratch.alloc(&sum, 2, "sums of losses"));
    if (args->d_point != NULL)
        ETX_TRY(add_gradient(stream, args));
    ETX_TRY(etx_column_sums(stream, sum, args->n_pairs, 2, hinge_term{*args}));
    ETX_TRY(etx_memory_to_host(stream->memory, total, sum, 2, sizeof *total));
    *args->positive_sum = total[0];
    *args->negative_sum = total[1];
    return ETX_OK;
}
