/* cuda/op/degrees.cu -- edges of nodes, and the weights that follow from them.
 *
 * The formulas are in op/ref/degrees.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void degrees_kernel(struct etx_degrees_args args)
{
    const int64_t *in = args.in_offset;
    const int64_t *out = args.out_offset;

    for (int64_t i = etx_first_item(); i < args.n_nodes; i += etx_item_step())
        args.degree[i] = (float)(1 + in[i + 1] - in[i] + out[i + 1] - out[i]);
}

__global__ static void edge_weights_kernel(struct etx_degree_weights_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step())
        args.edge_weight[e] =
            (float)(1.0 / sqrt((double)args.degree[args.src[e]] *
                               (double)args.degree[args.dst[e]]));
}

__global__ static void loops_kernel(struct etx_degree_weights_args args)
{
    for (int64_t i = etx_first_item(); i <= args.n_nodes;
         i += etx_item_step()) {
        args.loop_offset[i] = i;
        if (i < args.n_nodes)
            args.loop_weight[i] = (float)(1.0 / (double)args.degree[i]);
    }
}

etx_status etx_cuda_degrees(
    struct etx_stream *stream, const struct etx_degrees_args *args)
{
    return etx_launch(stream, args->n_nodes, degrees_kernel, *args);
}

etx_status etx_cuda_degree_weights(
    struct etx_stream *stream, const struct etx_degree_weights_args *args)
{
    ETX_TRY(etx_launch(stream, args->n_edges, edge_weights_kernel, *args));
    return etx_launch(stream, args->n_nodes + 1, loops_kernel, *args);
}
