/* cuda/op/distance_bins.cu -- distances of the points of pairs.
 *
 * What is counted are whole numbers, so the order of the pairs does not matter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

/* count [n_bins], zero before. */
__global__ static void distance_bins_kernel(
    unsigned long long *count, struct etx_distance_bins_args args)
{
    const double whole = (double)args.radius * (double)args.radius;
    const double n_bins = (double)args.n_bins;

    for (int64_t e = etx_first_item(); e < args.n_pairs; e += etx_item_step()) {
        const float *a = args.point + (int64_t)args.src[e] * args.n_dim;
        const float *b = args.point + (int64_t)args.dst[e] * args.n_dim;
        double sum = 0.0;

        for (int32_t k = 0; k < args.n_dim; k++) {
            const double d = (double)a[k] - (double)b[k];

            sum += d * d;
        }
        const double bin = n_bins * (sum / whole);

        atomicAdd(&count[bin < n_bins ? (int32_t)bin : args.n_bins - 1], 1ull);
    }
}

etx_status etx_cuda_distance_bins(
    struct etx_stream *stream, const struct etx_distance_bins_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    unsigned long long *count = NULL;

    static_assert(sizeof *count == sizeof *args->count, "bits of a count");
    ETX_TRY(scratch.alloc(&count, args->n_bins, "pairs by distance"));
    ETX_CUDA(cudaMemsetAsync(count, 0, (size_t)args->n_bins * sizeof *count,
        etx_cuda_of(stream)->stream));
    ETX_TRY(
        etx_launch(stream, args->n_pairs, distance_bins_kernel, count, *args));
    return etx_memory_to_host(
        stream->memory, args->count, count, args->n_bins, sizeof *args->count);
}
