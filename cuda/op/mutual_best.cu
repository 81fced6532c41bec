/* cuda/op/mutual_best.cu -- edges that are the best at both of their ends.
 *
 * The best edge of a node is the largest of numbers made of its score and,
 * below that, its id counted backwards: a maximum does not depend on the order
 * of arrival.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

__device__ static unsigned long long rank_of(
    const struct etx_mutual_best_args &args, int64_t e)
{
    return (unsigned long long)etx_ordered(args.score[e]) << 32 |
           (0xFFFFFFFFu - (uint32_t)e);
}

/* best_out, best_in [n_nodes], zero before. */
__global__ static void best_kernel(unsigned long long *best_out,
    unsigned long long *best_in, struct etx_mutual_best_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        if (!(args.score[e] > args.cut))
            continue;
        atomicMax(&best_out[args.src[e]], rank_of(args, e));
        atomicMax(&best_in[args.dst[e]], rank_of(args, e));
    }
}

__global__ static void flag_kernel(uint8_t *flag,
    const unsigned long long *best_out, const unsigned long long *best_in,
    struct etx_mutual_best_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step())
        flag[e] = args.score[e] > args.cut &&
                  best_out[args.src[e]] == rank_of(args, e) &&
                  best_in[args.dst[e]] == rank_of(args, e);
}

etx_status etx_cuda_mutual_best(
    struct etx_stream *stream, const struct etx_mutual_best_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const size_t bytes = (size_t)args->n_nodes * sizeof(unsigned long long);
    unsigned long long *best_out = NULL;
    unsigned long long *best_in = NULL;
    uint8_t *flag = NULL;

    ETX_TRY(scratch.alloc(&best_out, args->n_nodes, "best edges out of nodes"));
    ETX_TRY(scratch.alloc(&best_in, args->n_nodes, "best edges into nodes"));
    ETX_TRY(scratch.alloc(&flag, args->n_edges, "best edges"));
    ETX_CUDA(cudaMemsetAsync(best_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(best_in, 0, bytes, queue));
    ETX_TRY(etx_launch(
        stream, args->n_edges, best_kernel, best_out, best_in, *args));
    ETX_TRY(etx_launch(stream, args->n_edges, flag_kernel, flag,
        (const unsigned long long *)best_out,
        (const unsigned long long *)best_in, *args));
    return etx_cuda_compact(
        stream, args->selected, args->n_selected, flag, args->n_edges);
}
