/* stage/graph_construction/triplets.c -- doublets to triplets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/line_graph.h"

etx_status etx_stage_triplets(struct etx_graph **out,
    const struct etx_graph *graph, struct etx_context *context,
    int64_t max_edges)
{
    etx_status status;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(etx_graph_line(
        out, context, graph, etx_stage_max_edges(context, max_edges)));
done:
    return status;
}
