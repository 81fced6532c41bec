/* stage/edge_classification/filter.c -- drop the edges with a low filter score.
 *
 * Where the model has a cascade, a network a hundred times cheaper rejects the
 * worst candidates first, and the filter scores the rest (Viola and Jones, CVPR
 * 2001).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"

#include <math.h>

/* A network and which edges pass it. */
struct pass {
    const struct etx_network *network;
    const float *features; /* [n_hits, n_node_features] */
    float cut;
    int64_t max;          /* edges; 0: any */
    int32_t keeps_scores; /* the edges that pass get its scores */
};

/* The bound on edges in an event with n_hits; 0: none. */
static int64_t max_selected(const struct etx_model *model, int64_t n_hits)
{
    const double max = ceil((double)model->filter_max_edges * (double)n_hits);

    return max < (double)INT32_MAX ? (int64_t)max : 0;
}

/* The bound on edges of a pass over an event; joined events have one each. */
static int64_t max_of_pass(
    const struct etx_model *model, const struct etx_event *event)
{
    return (event->n_joined == 0) * max_selected(model, event->n_hits);
}

/* Ids of the edges above the cut, in scratch. */
static etx_status select_edges(int64_t *n_selected, int32_t **selected,
    struct etx_context *context, const struct pass *pass, int64_t n_edges,
    const float *score)
{
    etx_status status = ETX_OK;
    struct etx_edge_select_args args = {0};

    ETX_CHECK(etx_arena_alloc(selected, context->stream->arena, n_edges,
        sizeof **selected, "selected edges"));
    args.n_edges = n_edges;
    args.score = score;
    args.cut = pass->cut;
    args.max_selected = pass->max;
    args.selected = *selected;
    args.n_selected = n_selected;
    ETX_CHECK(context->ops->edge_select(context->stream, &args));
done:
    return status;
}

static etx_status run_pass(struct etx_graph **out, struct etx_context *context,
    const struct pass *pass, const struct etx_graph *graph,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    float *score = NULL;
    int32_t *selected = NULL;
    int64_t n_selected = 0;
    const int64_t *bad = NULL;
    struct etx_graph scored = *graph;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    ETX_SCRATCH(score, context->stream->arena, graph->n_edges, "filter scores");
    ETX_CHECK(etx_stage_edge_scores(
        score, &bad, context, pass->network, pass->features, graph, event));
    ETX_CHECK(select_edges(
        &n_selected, &selected, context, pass, graph->n_edges, score));
    /* The number that are selected was waited for. */
    ETX_CHECK(etx_stage_check_logits(bad, graph, pass->network));
    if (pass->keeps_scores)
        scored.score = score;
    ETX_CHECK(etx_graph_subset(out, context, &scored, n_selected, selected));
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

etx_status etx_stage_check_joined(const struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t *const first = event->first_hit;
    int64_t *offset = NULL;
    etx_status status;

    if (event->n_joined == 0 || model->filter_max_edges <= 0.0f)
        return ETX_OK;
    ETX_SCRATCH(offset, arena, graph->n_nodes + 1, "edges of joined events");
    ETX_CHECK(etx_memory_to_host(graph->memory, offset, graph->in_offset,
        graph->n_nodes + 1, sizeof *offset));
    for (int32_t e = 0; e < event->n_joined; e++) {
        const int64_t max = max_selected(model, first[e + 1] - first[e]);

        if (max > 0 && offset[first[e + 1]] - offset[first[e]] > max)
            ETX_FAIL(ETX_ERR_LIMIT,
                "joined events: one has more edges than its bound");
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_stage_filter(struct etx_graph **out,
    const struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    struct pass cascade = {
        .network = model->cascade.network, .cut = model->cascade_cut};
    struct pass filter = {.network = model->filter.network,
        .cut = model->filter_cut,
        .max = max_of_pass(model, event),
        .keeps_scores = 1};
    struct etx_graph *left = NULL;
    struct etx_graph *passed = NULL;
    struct etx_stage_clock clock = {.stage = ETX_STAGE_FILTER};
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    if (filter.network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no filter");
    ETX_CHECK(etx_stage_node_features(
        &filter.features, context, &model->filter, event));
    if (cascade.network != NULL)
        ETX_CHECK(etx_stage_node_features(
            &cascade.features, context, &model->cascade, event));
    clock = etx_stage_begin(context, ETX_STAGE_FILTER);
    if (cascade.network != NULL)
        ETX_CHECK(run_pass(&left, context, &cascade, graph, event));
    ETX_CHECK(run_pass(
        &passed, context, &filter, left != NULL ? left : graph, event));
    ETX_CHECK(etx_stage_end(context, &clock, passed->n_edges));
    *out = passed;
    passed = NULL;
done:
    etx_graph_free(passed);
    etx_graph_free(left);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
