/* stage/edge_classification/triplets.c -- scores of triplets.
 *
 * By a network that scores triplets; otherwise the score of a triplet is the
 * product of the scores of its two doublets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "stage/precision.h"

static etx_status multiply_scores(float *out, const struct etx_stream *stream,
    const struct etx_graph *triplets, const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    if (graph->score == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "triplets get the scores of their doublets, but the graph has no "
            "scores");
    for (int64_t t = 0; t < triplets->n_edges; t++) {
        ETX_POLL_STREAM(stream, t);
        out[t] =
            graph->score[triplets->src[t]] * graph->score[triplets->dst[t]];
    }
done:
    return status;
}

static etx_status run_network(float *out, const struct etx_graph *triplets,
    const struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const struct etx_network *network = model->gnn.network;
    struct etx_network_input input = {
        .n_nodes = graph->n_nodes, .position = event->position, .graph = graph};
    const int64_t *bad = NULL;

    if (graph->n_nodes != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "the graph has %lld nodes and the event %lld hits",
            (long long)graph->n_nodes, (long long)event->n_hits);
    ETX_CHECK(etx_stage_node_features(
        &input.node_features, context, &model->gnn, event));
    ETX_CHECK(etx_network_votes(&input.votes, network, context, &input));
    etx_stage_precision_begin(context, 0);
    status = network->arch->forward_triplets(
        network, context, &input, triplets, out);
    etx_stage_precision_end(context);
    ETX_CHECK(status);
    ETX_CHECK(etx_stage_find_not_finite(
        &bad, NULL, context, out, triplets->n_edges, out));
    if (bad != NULL && *bad >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "%s: the logit of triplet %lld is not finite", network->arch->name,
            (long long)*bad);
done:
    return status;
}

etx_status etx_stage_score_triplets(struct etx_graph *triplets,
    const struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    const struct etx_network *network = model->gnn.network;
    float *score = NULL;

    ETX_NEW(score, triplets->n_edges, "scores of triplets");
    if (network != NULL && network->arch->forward_triplets != NULL)
        ETX_CHECK(run_network(score, triplets, graph, context, model, event));
    else
        ETX_CHECK(multiply_scores(score, context->stream, triplets, graph));
    etx_free(triplets->score);
    triplets->score = score;
    score = NULL;
done:
    etx_free(score);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
