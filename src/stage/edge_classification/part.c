/* stage/edge_classification/part.c -- score the edges of a part of a graph.
 *
 * Positions and features of the hits are small and every part has them of the
 * whole event; latents of nodes and edges, which are large, are those of the
 * part.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "arch/halo.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/status.h"

static etx_status check_finite(const float *logit,
    const struct etx_graph_part *part, const struct etx_network *network)
{
    const int64_t e = etx_find_not_finite(logit, part->graph->n_edges);

    if (e < 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: the logit of edge %d (row %d to %d) is not finite",
        network->arch->name, (int)part->edge[e],
        (int)part->node[part->graph->src[e]],
        (int)part->node[part->graph->dst[e]]);
}

etx_status etx_stage_score_part(float *score, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph_part *part,
    const struct etx_event *event, const struct etx_part_exchange *exchange)
{
    etx_status status = ETX_OK;
    const struct etx_network *network = model->gnn.network;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_halo halo = {.part = part,
        .exchange = exchange,
        .whole_nodes = part->whole_nodes,
        .whole_edges = part->whole_edges};
    struct etx_graph graph = *part->graph;
    struct etx_network_input input = {
        .n_nodes = graph.n_nodes, .graph = &graph};
    const struct etx_activation_args sigmoid = {.n = graph.n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = score,
        .y = score};
    struct etx_stage_clock clock;
    const float *features = NULL;

    graph.halo = &halo;
    ETX_CHECK(
        etx_stage_node_features(&features, context, &model->gnn, event));
    clock = etx_stage_begin(context, ETX_STAGE_GNN);
    ETX_CHECK(etx_part_arena_rows(&input.node_features, arena, part, features,
        model->gnn.node_features.n_features));
    ETX_CHECK(etx_part_arena_rows(
        &input.position, arena, part, event->position, 3));
    ETX_CHECK(network->arch->forward(network, context, &input, NULL, score));
    ETX_CHECK(check_finite(score, part, network));
    ETX_CHECK(context->ops->activation(context->stream, &sigmoid));
    ETX_CHECK(etx_stage_end(context, &clock, part->n_own_edges));
done:
    etx_arena_reset(arena, mark);
    return status;
}
