/* stage/edge_classification/gnn.c -- score edges with the graph network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"

etx_status etx_stage_score(struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const float *features = NULL;
    float *score = NULL;
    struct etx_stage_clock clock = {0.0, 0.0, ETX_STAGE_GNN};
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    if (model->gnn.network == NULL)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the model has no graph neural network");
    ETX_CHECK(etx_stage_node_features(&features, context, &model->gnn, event));
    clock = etx_stage_begin(context, ETX_STAGE_GNN);
    ETX_CHECK(etx_memory_alloc(
        &score, graph->memory, graph->n_edges, sizeof *score, "edge scores"));
    ETX_CHECK(etx_stage_edge_scores(
        score, context, model->gnn.network, features, graph, event));
    ETX_CHECK(etx_stage_end(context, &clock, graph->n_edges));
    etx_memory_free(graph->memory, graph->score);
    graph->score = score;
    score = NULL;
done:
    etx_memory_free(graph->memory, score);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
