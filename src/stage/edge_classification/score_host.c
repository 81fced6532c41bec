/* stage/edge_classification/score_host.c -- scores of a graph on the host,
 * computed in the memory of the context.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "data/graph_mirror.h"

/* Score device, which has the edges of graph in the memory of the context, and
 * copy the scores to graph; those of graph are unchanged on error. */
static etx_status score_device(struct etx_graph *graph,
    struct etx_graph *device, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    float *scores = NULL;

    ETX_CHECK(etx_alloc_uncleared(
        &scores, graph->n_edges, sizeof *scores, "edge scores"));
    ETX_CHECK(etx_stage_score(device, context, model, event));
    ETX_CHECK(etx_memory_to_host(
        device->memory, scores, device->score, graph->n_edges, sizeof *scores));
    etx_free(graph->score);
    graph->score = scores;
    scores = NULL;
done:
    etx_free(scores);
    return status;
}

/* On a copy on the device, which becomes the mirror if the context keeps
 * graphs; else a mirror in another context gets the new scores. */
static etx_status score_copy(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    struct etx_graph *copy = NULL;

    ETX_CHECK(etx_graph_to_device(&copy, context, graph));
    ETX_CHECK(score_device(graph, copy, context, model, event));
    if (!context->options.keep_graphs) {
        ETX_CHECK(etx_graph_mirror_scores(graph));
        goto done;
    }
    etx_graph_mirror_set(graph, context, copy);
    copy = NULL;
done:
    etx_graph_free(copy);
    return status;
}

/* After a failure a mirror might have other scores than the graph: it is
 * dropped. */
etx_status etx_stage_score_host(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    struct etx_graph *device = etx_graph_mirror_of(graph, context);

    if (device != NULL) {
        ETX_CHECK(score_device(graph, device, context, model, event));
    } else if (context->stream->memory != NULL) {
        ETX_CHECK(score_copy(graph, context, model, event));
    } else {
        ETX_CHECK(etx_stage_score(graph, context, model, event));
        ETX_CHECK(etx_graph_mirror_scores(graph));
    }
done:
    if (status != ETX_OK)
        etx_graph_drop_mirror(graph);
    return status;
}
