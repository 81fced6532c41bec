/* op/ref/outward_edges.c -- the edges of tracks, inside first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

etx_status etx_ref_outward_edges(
    struct etx_stream *stream, const struct etx_outward_edges_args *args)
{
    const float *key = args->key;
    int64_t n = 0;

    (void)stream;
    for (int64_t e = 0; e < args->n_edges; e++) {
        const int32_t a = args->src[e];
        const int32_t b = args->dst[e];
        const int32_t is_outward =
            key[a] < key[b] || (a < b && key[a] == key[b]);

        if (!(args->edge_score[e] > args->cut) || a == b)
            continue;
        args->tail[n] = is_outward ? a : b;
        args->head[n] = is_outward ? b : a;
        args->score[n++] = args->edge_score[e];
    }
    *args->n = n;
    return ETX_OK;
}
