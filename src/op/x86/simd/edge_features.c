/* op/x86/simd/edge_features.c -- geometry of edges, in parallel.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#define BLOCK 1024 /* edges */

static etx_status run_block(void *argument, int64_t block, int32_t worker)
{
    const struct etx_edge_features_args *args = argument;
    const int64_t begin = block * BLOCK;
    struct etx_edge_features_args some = *args;

    (void)worker;
    some.n_edges =
        args->n_edges - begin < BLOCK ? args->n_edges - begin : BLOCK;
    some.src += begin;
    some.dst += begin;
    some.score = args->score != NULL ? args->score + begin : NULL;
    some.out += begin * args->n_features;
    return etx_op_ref.edge_features(NULL, &some);
}

etx_status ETX_ISA_NAME(edge_features)(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    struct etx_edge_features_args job = *args;

    return etx_parallel_for(
        stream->pool, (args->n_edges + BLOCK - 1) / BLOCK, run_block, &job);
}
