/* cuda/op/outward_edges.cu -- the edges of tracks, inside first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

/* picked [*args.n]: the edges. */
__global__ static void turn_kernel(
    const int32_t *picked, struct etx_outward_edges_args args)
{
    for (int64_t k = etx_first_item(); k < *args.n; k += etx_item_step()) {
        const int32_t e = picked[k];
        const int32_t a = args.src[e];
        const int32_t b = args.dst[e];
        const bool is_outward =
            args.key[a] < args.key[b] || (a < b && args.key[a] == args.key[b]);

        args.tail[k] = is_outward ? a : b;
        args.head[k] = is_outward ? b : a;
        args.score[k] = args.edge_score[e];
    }
}

etx_status etx_cuda_outward_edges(
    struct etx_stream *stream, const struct etx_outward_edges_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_edges;
    int32_t *picked = NULL;

    ETX_CUDA(cudaMemsetAsync(
        args->n, 0, sizeof *args->n, etx_cuda_of(stream)->stream));
    if (n == 0)
        return ETX_OK;
    ETX_TRY(scratch.alloc(&picked, n, "edges of tracks"));
    ETX_TRY(etx_cuda_pick_above(stream, picked, args->n, args->edge_score,
        args->cut, args->src, args->dst, n));
    return etx_launch(stream, n, turn_kernel, (const int32_t *)picked, *args);
}
