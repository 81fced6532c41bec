/* stage/edge_classification/logits.c -- run an edge network on a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/finite.h"
#include "base/status.h"

etx_status etx_stage_edge_logits(float *logits, struct etx_context *context,
    const struct etx_network *network, const float *node_features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    struct etx_network_input input = {0};

    if (graph->n_nodes != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "the graph has %lld nodes and the event %lld hits",
            (long long)graph->n_nodes, (long long)event->n_hits);
    input.n_nodes = graph->n_nodes;
    input.node_features = node_features;
    input.position = event->position;
    input.graph = graph;
    return network->arch->forward(network, context, &input, NULL, logits);
}

/* Weights that overflow, or features far from those it learned. */
static etx_status check_finite(const float *logits,
    const struct etx_graph *graph, const struct etx_network *network)
{
    const int64_t e = etx_find_not_finite(logits, graph->n_edges);

    if (e < 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "%s: the logit of edge %lld (row %d to %d) is not finite",
        network->arch->name, (long long)e, (int)graph->src[e],
        (int)graph->dst[e]);
}

etx_status etx_stage_edge_scores(float *score, struct etx_context *context,
    const struct etx_network *network, const float *node_features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    struct etx_activation_args args = {0};

    ETX_CHECK(etx_stage_edge_logits(
        score, context, network, node_features, graph, event));
    ETX_CHECK(check_finite(score, graph, network));
    args.n = graph->n_edges;
    args.activation = ETX_ACTIVATION_SIGMOID;
    args.x = score;
    args.y = score;
    ETX_CHECK(context->ops->activation(context->stream, &args));
done:
    return status;
}
