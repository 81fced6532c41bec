/* stage/edge_classification/filter.c -- drop the edges of low filter score.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"
#include "data/graph_place.h"

#include <math.h>

/* The bound on edges in an event of n_hits; 0: none. */
static int64_t max_selected(const struct etx_model *model, int64_t n_hits)
{
    const double most = ceil((double)model->filter_max_edges * (double)n_hits);

    return most < (double)INT32_MAX ? (int64_t)most : 0;
}

/* Ids of the edges above the cut, in scratch. */
static etx_status select_edges(int64_t *n_selected, int32_t **selected,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_graph *graph, const float *score)
{
    etx_status status = ETX_OK;
    struct etx_edge_select_args args = {0};

    ETX_CHECK(etx_arena_take(selected, context->stream->arena,
        graph->n_edges, sizeof **selected, "selected edges"));
    args.n_edges = graph->n_edges;
    args.score = score;
    args.cut = model->filter_cut;
    args.max_selected = max_selected(model, graph->n_nodes);
    args.selected = *selected;
    args.n_selected = n_selected;
    ETX_CHECK(context->ops->edge_select(context->stream, &args));
done:
    return status;
}

etx_status etx_stage_filter(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_graph *graph, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const float *features = NULL;
    float *score = NULL;
    int32_t *selected = NULL;
    int64_t n_selected = 0;
    struct etx_graph scored = *graph;
    struct etx_stage_clock clock = {0.0, 0.0, ETX_STAGE_FILTER};
    const struct etx_arena_mark mark =
        etx_arena_mark(context->stream->arena);

    if (model->filter.network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no filter");
    ETX_CHECK(
        etx_stage_node_features(&features, context, &model->filter, event));
    clock = etx_stage_begin(context, ETX_STAGE_FILTER);
    ETX_CHECK(etx_arena_take(&score, context->stream->arena, graph->n_edges,
        sizeof *score, "filter scores"));
    ETX_CHECK(etx_stage_edge_scores(score, context, model->filter.network,
        features, graph, event));
    ETX_CHECK(select_edges(
        &n_selected, &selected, context, model, graph, score));
    scored.score = score;
    ETX_CHECK(etx_graph_subset_at(
        out, context, &scored, n_selected, selected));
    etx_stage_end(context, &clock, n_selected);
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
