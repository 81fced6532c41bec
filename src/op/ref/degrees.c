/* op/ref/degrees.c -- edges of nodes, and the weights of Kipf and Welling,
 * arXiv:1609.02907, equation 2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include <math.h>

etx_status etx_ref_degrees(
    struct etx_stream *stream, const struct etx_degrees_args *args)
{
    const int64_t *in = args->in_offset;
    const int64_t *out = args->out_offset;

    (void)stream;
    for (int64_t i = 0; i < args->n_nodes; i++)
        args->degree[i] = (float)(1 + in[i + 1] - in[i] + out[i + 1] - out[i]);
    return ETX_OK;
}

etx_status etx_ref_degree_weights(
    struct etx_stream *stream, const struct etx_degree_weights_args *args)
{
    const float *degree = args->degree;

    (void)stream;
    for (int64_t e = 0; e < args->n_edges; e++)
        args->edge_weight[e] =
            (float)(1.0 / sqrt((double)degree[args->src[e]] *
                               (double)degree[args->dst[e]]));
    for (int64_t i = 0; i < args->n_nodes; i++) {
        args->loop_weight[i] = (float)(1.0 / (double)degree[i]);
        args->loop_offset[i] = i;
    }
    args->loop_offset[args->n_nodes] = args->n_nodes;
    return ETX_OK;
}
