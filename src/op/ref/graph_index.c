/* op/ref/graph_index.c -- where the edges of every node are.
 *
 * A counting sort by source; the edges are sorted by target already.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include <string.h>

/* offset [n_nodes + 1] = how many of ends [n_edges] are below each node. */
static void find_offsets(
    int64_t *offset, int64_t n_nodes, int64_t n_edges, const int32_t *ends)
{
    memset(offset, 0, (size_t)(n_nodes + 1) * sizeof *offset);
    for (int64_t e = 0; e < n_edges; e++)
        offset[ends[e] + 1]++;
    for (int64_t i = 0; i < n_nodes; i++)
        offset[i + 1] += offset[i];
}

etx_status etx_ref_graph_index(
    struct etx_stream *stream, const struct etx_graph_index_args *args)
{
    int64_t *const out = args->out_offset;

    (void)stream;
    find_offsets(args->in_offset, args->n_nodes, args->n_edges, args->dst);
    find_offsets(out, args->n_nodes, args->n_edges, args->src);
    for (int64_t e = 0; e < args->n_edges; e++)
        args->out_edge[out[args->src[e]]++] = (int32_t)e;
    /* Each offset has moved on to where the next node begins. */
    for (int64_t i = args->n_nodes; i > 0; i--)
        out[i] = out[i - 1];
    out[0] = 0;
    return ETX_OK;
}
