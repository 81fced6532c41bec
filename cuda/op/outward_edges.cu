/* cuda/op/outward_edges.cu -- the edges of tracks, inside first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

__global__ static void flag_kernel(
    uint8_t *flag, struct etx_outward_edges_args args)
{
    for (int64_t k = etx_first_item(); k < args.n_selected;
         k += etx_item_step())
        flag[k] = args.src[args.selected[k]] != args.dst[args.selected[k]];
}

/* proper [n]: indices into selected. */
__global__ static void turn_kernel(
    const int32_t *proper, int64_t n, struct etx_outward_edges_args args)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step()) {
        const int32_t e = args.selected[proper[k]];
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
    const int64_t n_selected = args->n_selected;
    uint8_t *flag = NULL;
    int32_t *proper = NULL;

    ETX_TRY(scratch.alloc(&flag, n_selected, "edges that are no loops"));
    ETX_TRY(scratch.alloc(&proper, n_selected, "edges that are no loops"));
    ETX_TRY(etx_launch(stream, n_selected, flag_kernel, flag, *args));
    ETX_TRY(etx_cuda_compact(stream, proper, args->n, flag, n_selected));
    return etx_launch(stream, *args->n, turn_kernel, (const int32_t *)proper,
        *args->n, *args);
}
