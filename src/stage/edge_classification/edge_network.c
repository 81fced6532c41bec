/* stage/edge_classification/edge_network.c -- run an edge network on a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"
#include "stage/precision.h"

etx_status etx_stage_edge_logits(const struct etx_edge_output *out,
    struct etx_context *context, const struct etx_network *network,
    const float *node_features, const struct etx_graph *graph,
    const struct etx_event *event)
{
    etx_status status;
    struct etx_network device_network;
    struct etx_network_input input = {0};
    struct etx_tape tape = {.is_forward_only = 1, .pt = out->pt};
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    if (graph->n_nodes != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "the graph has %lld nodes and the event %lld hits",
            (long long)graph->n_nodes, (long long)event->n_hits);
    input.n_nodes = graph->n_nodes;
    input.node_features = node_features;
    input.graph = graph;
    ETX_CHECK(etx_stage_positions(&input.position, context, event));
    ETX_CHECK(etx_network_votes(&input.votes, network, context, &input));
    ETX_CHECK(etx_stage_network_to_device(&device_network, context, network));
    status = network->arch->forward(&device_network, context, &input,
        out->pt != NULL ? &tape : NULL, out->logit);
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

/* The logit of an edge is not finite: weights overflow, or features are far
 * from the training's. */
etx_status etx_stage_check_logits(const int64_t *bad,
    const struct etx_graph *graph, const struct etx_network *network)
{
    int32_t src = 0;
    int32_t dst = 0;
    etx_status status = ETX_OK;

    if (bad == NULL || *bad < 0)
        return ETX_OK;
    const int64_t e = *bad;

    ETX_CHECK(
        etx_memory_to_host(graph->memory, &src, graph->src + e, 1, sizeof src));
    ETX_CHECK(
        etx_memory_to_host(graph->memory, &dst, graph->dst + e, 1, sizeof dst));
    status = etx_fail(ETX_ERR_ARGUMENT,
        "%s: the logit of edge %lld (row %d to %d) is not finite",
        network->arch->name, (long long)e, (int)src, (int)dst);
done:
    return status;
}

/* Scores may be computed with fewer bits, by the context's option; logits for
 * the validation of a training have the precision of the training. */
static etx_status infer_logits(float *logits, struct etx_context *context,
    const struct etx_network *network, const float *node_features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    const struct etx_edge_output out = {.logit = logits};
    etx_status status;

    etx_stage_precision_begin(context, 1);
    status = etx_stage_edge_logits(
        &out, context, network, node_features, graph, event);
    etx_stage_precision_end(context);
    return status;
}

etx_status etx_stage_edge_scores(float *score, const int64_t **bad,
    struct etx_context *context, const struct etx_network *network,
    const float *node_features, const struct etx_graph *graph,
    const struct etx_event *event)
{
    const int64_t *found = NULL;
    etx_status status;

    ETX_CHECK(
        infer_logits(score, context, network, node_features, graph, event));
    ETX_CHECK(etx_stage_find_not_finite(
        &found, bad, context, score, graph->n_edges, score));
    ETX_CHECK(etx_stage_check_logits(found, graph, network));
done:
    return status;
}
