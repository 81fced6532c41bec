/* op/shared/edge_index.h -- one edge of a 64-bit edge index: the reference and
 * CUDA.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_EDGE_INDEX_H
#define ETX_OP_SHARED_EDGE_INDEX_H

#include "op/array.h"
#include "op/shared/host_device.h"

#include <stdbool.h>

/* Edge e; whether it is one. */
ETX_HOST_DEVICE bool etx_read_edge(
    const struct etx_read_edge_index_args *args, int64_t e)
{
    const int64_t src = args->index[e];
    const int64_t dst = args->index[args->n_edges + e];
    const float score = args->score != NULL ? args->score[e] : 0.0f;
    const bool is_edge = src >= 0 && src < args->n_nodes && dst >= 0 &&
                         dst < args->n_nodes && score >= 0.0f && score <= 1.0f;

    args->src[e] = is_edge ? (int32_t)src : 0;
    args->dst[e] = is_edge ? (int32_t)dst : 0;
    return is_edge;
}

ETX_HOST_DEVICE void etx_write_edge(
    const struct etx_write_edge_index_args *args, int64_t k)
{
    const int64_t e = args->selected != NULL ? args->selected[k] : k;

    args->index[k] = args->src[e];
    args->index[args->n + k] = args->dst[e];
    if (args->score != NULL)
        args->score_out[k] = args->score[e];
}

#endif
