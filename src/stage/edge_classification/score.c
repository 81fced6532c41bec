/* stage/edge_classification/score.c -- scores of all edges of a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/graph_mirror.h"

etx_status etx_stage_score(struct etx_graph *graph, const int64_t **bad,
    struct etx_context *context, const struct etx_model_stage *stage,
    int32_t timing, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const float *features = NULL;
    float *score = NULL;
    struct etx_stage_clock clock;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    if (stage->network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no %s",
            timing == ETX_STAGE_GNN ? "graph neural network" : "filter");
    ETX_CHECK(etx_stage_node_features(&features, context, stage, event));
    clock = etx_stage_begin(context, timing);
    ETX_ALLOC(score, graph->memory, graph->n_edges, "edge scores");
    ETX_CHECK(etx_stage_edge_scores(
        score, bad, context, stage->network, features, graph, event));
    ETX_CHECK(etx_stage_end(context, &clock, graph->n_edges));
    etx_memory_free(graph->memory, graph->score);
    graph->score = score;
    score = NULL;
done:
    etx_memory_free(graph->memory, score);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

/* The scores of device, to graph on the host. */
static etx_status copy_scores(
    struct etx_graph *graph, const struct etx_graph *device)
{
    float *score = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &score, graph->n_edges, sizeof *score, "edge scores"));
    ETX_CHECK(etx_memory_to_host(
        device->memory, score, device->score, graph->n_edges, sizeof *score));
    etx_free(graph->score);
    graph->score = score;
    score = NULL;
done:
    etx_free(score);
    return status;
}

etx_status etx_stage_score_host(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    struct etx_graph *const mirror = etx_graph_mirror_of(graph, context);
    struct etx_graph *device = mirror;
    struct etx_graph *copy = NULL;
    etx_status status = ETX_OK;

    if (mirror == NULL)
        ETX_CHECK(etx_graph_check_on_host(graph));
    if (context->stream->memory == NULL) {
        device = graph;
    } else if (mirror == NULL) {
        ETX_CHECK(etx_graph_to_device(&copy, context, graph));
        device = copy;
    }
    ETX_CHECK(etx_stage_score(
        device, NULL, context, &model->gnn, ETX_STAGE_GNN, event));
    if (device != graph && graph->src != NULL)
        ETX_CHECK(copy_scores(graph, device));
    if (copy != NULL && context->options.keep_graphs) {
        etx_graph_mirror_set(graph, context, copy);
        copy = NULL;
    } else if (device != mirror) {
        etx_graph_mirror_scores(graph);
    }
done:
    etx_graph_free(copy);
    /* The mirror's scores may differ from the graph's, if it has any. */
    if (status != ETX_OK && graph->src != NULL)
        etx_graph_drop_mirror(graph);
    return status;
}

etx_status etx_stage_score_certain(
    struct etx_graph *graph, struct etx_context *context)
{
    etx_status status = ETX_OK;
    struct etx_fill_args args = {.n = graph->n_edges, .value = 1.0f};

    if (graph->score != NULL)
        return ETX_OK;
    ETX_ALLOC(graph->score, graph->memory, graph->n_edges, "edge scores");
    args.y = graph->score;
    ETX_CHECK(context->ops->fill(context->stream, &args));
done:
    return status;
}
