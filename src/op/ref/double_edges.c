/* op/ref/double_edges.c -- the edges of a graph in both directions.
 *
 * Edges into a node and the reverses of those out of it both come by ascending
 * other end, so the doubled edges into it are a merge of two lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

/* Of equal ones the edge comes before the reverse. */
static void merge_directions(const struct etx_double_edges_args *args)
{
    const int64_t *in_end = args->in_offset + 1;
    const int64_t *out_end = args->out_offset + 1;
    int32_t next = 0;

    for (int64_t i = 0; i < args->n_nodes; i++) {
        int64_t in = args->in_offset[i];
        int64_t out = args->out_offset[i];

        while (in < in_end[i] || out < out_end[i]) {
            const int32_t reverse = out < out_end[i] ? args->out_edge[out] : -1;

            if (reverse < 0 ||
                (in < in_end[i] && args->src[in] <= args->dst[reverse])) {
                args->slot[in++] = next++;
            } else {
                args->slot[args->n_edges + reverse] = next++;
                out++;
            }
        }
    }
}

etx_status etx_ref_double_edges(
    struct etx_stream *stream, const struct etx_double_edges_args *args)
{
    (void)stream;
    merge_directions(args);
    for (int64_t e = 0; e < args->n_edges; e++) {
        const int32_t forward = args->slot[e];
        const int32_t reverse = args->slot[args->n_edges + e];

        args->both_src[forward] = args->both_dst[reverse] = args->src[e];
        args->both_dst[forward] = args->both_src[reverse] = args->dst[e];
    }
    return ETX_OK;
}
