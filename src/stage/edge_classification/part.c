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
#include "base/status.h"

static etx_status check_finite(struct etx_context *context, const float *logit,
    const struct etx_graph_part *part, const struct etx_network *network)
{
    int64_t e = -1;
    const struct etx_find_not_finite_args args = {
        .n = part->graph->n_edges, .x = logit, .index = &e};
    etx_status status;

    ETX_CHECK(context->ops->find_not_finite(context->stream, &args));
    if (e < 0)
        return ETX_OK;
    status = etx_fail(ETX_ERR_ARGUMENT,
        "%s: the logit of edge %d (row %d to %d) is not finite",
        network->arch->name, (int)part->edge[e],
        (int)part->node[part->graph->src[e]],
        (int)part->node[part->graph->dst[e]]);
done:
    return status;
}

/* What the network reads of the part's nodes, where the context computes. */
static etx_status bring_nodes(struct etx_network_input *out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_graph_part *part, const struct etx_event *event)
{
    struct etx_context *host = etx_host_of(context);
    const int32_t n_features = model->gnn.node_features.n_features;
    const int64_t n_nodes = part->graph->n_nodes;
    const float *rows = NULL;
    const float *features = NULL;
    etx_status status;

    out->n_nodes = n_nodes;
    ETX_CHECK(etx_stage_node_features(&features, host, &model->gnn, event));
    ETX_CHECK(etx_part_arena_rows(
        &rows, host->stream->arena, part, features, n_features));
    ETX_CHECK(etx_stage_to_device(&out->node_features, context, rows,
        n_nodes * n_features, "node features"));
    ETX_CHECK(etx_part_arena_rows(
        &rows, host->stream->arena, part, event->position, 3));
    ETX_CHECK(etx_stage_to_device(
        &out->position, context, rows, 3 * n_nodes, "positions of hits"));
done:
    return status;
}

/* score [n_edges], where the context computes, of the part with its halo. */
static etx_status run_network(float *score, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph_part *part,
    const struct etx_network_input *input)
{
    const struct etx_network *network = model->gnn.network;
    const struct etx_activation_args sigmoid = {.n = part->graph->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = score,
        .y = score};
    struct etx_network here;
    etx_status status;

    ETX_CHECK(etx_stage_network_to_device(&here, context, network));
    ETX_CHECK(network->arch->forward(&here, context, input, NULL, score));
    ETX_CHECK(check_finite(context, score, part, network));
    ETX_CHECK(context->ops->activation(context->stream, &sigmoid));
done:
    return status;
}

static etx_status score_part(float *score, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph_part *part,
    const struct etx_network_input *given, const struct etx_halo *halo)
{
    struct etx_network_input input = *given;
    const struct etx_memory *memory = context->stream->memory;
    const int64_t n = part->graph->n_edges;
    const struct etx_graph *entered = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph graph;
    float *there = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_graph_to_device(&entered, &copy, context, part->graph));
    graph = *entered;
    graph.halo = halo;
    input.graph = &graph;
    ETX_CHECK(etx_arena_alloc(
        &there, context->stream->arena, n, sizeof *there, "edge scores"));
    ETX_CHECK(run_network(there, context, model, part, &input));
    ETX_CHECK(etx_memory_to_host(memory, score, there, n, sizeof *score));
done:
    etx_graph_free(copy);
    return status;
}

etx_status etx_stage_score_part(float *score, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph_part *part,
    const struct etx_event *event, const struct etx_part_exchange *exchange)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_arena_mark host_mark = etx_arena_mark(host);
    const struct etx_halo halo = {.part = part,
        .exchange = exchange,
        .whole_nodes = part->whole_nodes,
        .whole_edges = part->whole_edges};
    struct etx_network_input input = {0};
    struct etx_stage_clock clock;

    ETX_CHECK(bring_nodes(&input, context, model, part, event));
    clock = etx_stage_begin(context, ETX_STAGE_GNN);
    ETX_CHECK(score_part(score, context, model, part, &input, &halo));
    ETX_CHECK(etx_stage_end(context, &clock, part->n_own_edges));
done:
    etx_arena_reset(arena, mark);
    etx_arena_reset(host, host_mark);
    return status;
}
