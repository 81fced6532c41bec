/* stage/edge_classification/filter.c -- drop the edges with a low filter score.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"

#include <math.h>

/* The bound on edges in an event with n_hits; 0: none. */
static int64_t max_selected(const struct etx_model *model, int64_t n_hits)
{
    const double max = ceil((double)model->filter_max_edges * (double)n_hits);

    return max < (double)INT32_MAX ? (int64_t)max : 0;
}

/* The ids of the edges above the cut, in scratch; the bound on their number
 * holds for an event alone. */
static etx_status select_edges(int64_t *n_selected, int32_t **selected,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const struct etx_graph *scored)
{
    struct etx_edge_select_args args = {.n_edges = scored->n_edges,
        .score = scored->score,
        .cut = model->filter_cut,
        .n_selected = n_selected};
    etx_status status;

    if (event->n_joined == 0)
        args.max_selected = max_selected(model, event->n_hits);
    ETX_SCRATCH(
        *selected, context->stream->arena, scored->n_edges, "selected edges");
    args.selected = *selected;
    ETX_CHECK(context->ops->edge_select(context->stream, &args));
done:
    return status;
}

/* The edges that pass, by their node features [n_hits, n]. */
static etx_status filter_edges(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const float *features, const struct etx_graph *graph,
    const struct etx_event *event)
{
    const struct etx_network *network = model->filter.network;
    struct etx_graph scored = *graph;
    int32_t *selected = NULL;
    int64_t n_selected = 0;
    const int64_t *bad = NULL;
    etx_status status;

    ETX_SCRATCH(
        scored.score, context->stream->arena, graph->n_edges, "filter scores");
    ETX_CHECK(etx_stage_edge_scores(
        scored.score, &bad, context, network, features, graph, event));
    ETX_CHECK(
        select_edges(&n_selected, &selected, context, model, event, &scored));
    /* The number that are selected was waited for. */
    ETX_CHECK(etx_stage_check_logits(bad, graph, network));
    ETX_CHECK(etx_graph_subset(out, context, &scored, n_selected, selected));
done:
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
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct etx_stage_clock clock;
    struct etx_graph *passed = NULL;
    const float *features;
    etx_status status;

    if (model->filter.network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no filter");
    ETX_CHECK(
        etx_stage_node_features(&features, context, &model->filter, event));
    clock = etx_stage_begin(context, ETX_STAGE_FILTER);
    ETX_CHECK(filter_edges(&passed, context, model, features, graph, event));
    ETX_CHECK(etx_stage_end(context, &clock, passed->n_edges));
    *out = passed;
    passed = NULL;
done:
    etx_graph_free(passed);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
