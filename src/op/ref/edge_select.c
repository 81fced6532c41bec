/* op/ref/edge_select.c -- the edges above a cut.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

etx_status etx_ref_edge_select(
    struct etx_stream *stream, const struct etx_edge_select_args *args)
{
    int64_t count = 0;

    (void)stream;
    for (int64_t e = 0; e < args->n_edges; e++)
        if (args->score[e] > args->cut)
            args->selected[count++] = (int32_t)e;
    *args->n_selected = count;
    return ETX_OK;
}
