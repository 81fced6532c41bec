/* stage/edge_classification/score_part.c -- scores of one partition of a graph.
 *
 * Positions and features of the hits are small: every process has them
 * for the whole event. Latents of nodes and edges are large: a process has them
 * for its partition and halo only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "arch/halo.h"
#include "base/check.h"
#include "base/status.h"
#include "stage/precision.h"

/* The logit of edge e is not finite: names it by ids of the whole graph. */
static etx_status fail_at(const struct etx_graph_part *part, int64_t e,
    const struct etx_network *network)
{
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: the logit of edge %d (row %d to %d) is not finite",
        network->arch->name, (int)part->edge[e],
        (int)part->node[part->graph->src[e]],
        (int)part->node[part->graph->dst[e]]);
}

/* score [n_edges], in the memory of the context. */
static etx_status run_network(float *score, struct etx_context *context,
    const struct etx_network *network, const struct etx_graph_part *part,
    const struct etx_network_input *input)
{
    struct etx_network device_network;
    const int64_t *bad = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_network_to_device(&device_network, context, network));
    /* Halo rows are exchanged as float32. */
    etx_stage_precision_begin(context, 0);
    status =
        network->arch->forward(&device_network, context, input, NULL, score);
    etx_stage_precision_end(context);
    ETX_CHECK(status);
    ETX_CHECK(etx_stage_find_not_finite(
        &bad, NULL, context, score, part->graph->n_edges, score));
    if (bad != NULL && *bad >= 0)
        status = fail_at(part, *bad, network);
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
    const struct etx_graph *device_graph = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph graph;
    float *device_score = NULL;
    etx_status status;

    ETX_CHECK(
        etx_stage_graph_to_device(&device_graph, &copy, context, part->graph));
    graph = *device_graph;
    graph.halo = halo;
    input.graph = &graph;
    ETX_SCRATCH(device_score, context->stream->arena, n, "edge scores");
    ETX_CHECK(
        run_network(device_score, context, model->gnn.network, part, &input));
    ETX_CHECK(
        etx_memory_to_host(memory, score, device_score, n, sizeof *score));
done:
    etx_graph_free(copy);
    return status;
}

etx_status etx_stage_score_part(float *score, const struct etx_graph_part *part,
    struct etx_context *context, const struct etx_model *model,
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
    const float *features = NULL;
    struct etx_stage_clock clock;

    ETX_CHECK(etx_stage_node_features(
        &features, etx_host_of(context), &model->gnn, event));
    ETX_CHECK(etx_stage_part_nodes_to_device(&input, context, part, features,
        model->gnn.node_features.n_features, event->position));
    clock = etx_stage_begin(context, ETX_STAGE_GNN);
    ETX_CHECK(score_part(score, context, model, part, &input, &halo));
    ETX_CHECK(etx_stage_end(context, &clock, part->n_own_edges));
done:
    etx_arena_reset(arena, mark);
    etx_arena_reset(host, host_mark);
    return status;
}
