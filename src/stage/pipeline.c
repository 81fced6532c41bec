/* stage/pipeline.c -- hits to tracks: the pipeline for one event.
 *
 *   hits -> first pass -> candidate edges -> filter -> graph network -> labels
 *        -> completion, and from candidate edges on again where a model has
 *        several passes
 *
 * Candidate edges come from an embedding and a radius graph (Ju et al., Eur.
 * Phys. J. C 81, 876 (2021)) or from a module map. A model has some of these
 * stages: without a first pass the networks see all hits, without networks
 * of edges every candidate counts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"

/* The scored graph of an event; bad: of the graph network (etx_stage_score). */
static etx_status score_event(struct etx_graph **out, const int64_t **bad,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    struct etx_graph *graph = NULL;
    struct etx_graph *kept = NULL;

    ETX_CHECK(etx_stage_build_graph(
        &graph, context, model, event, model->filter.network != NULL));
    if (model->filter.network != NULL) {
        if (model->gnn.network != NULL)
            ETX_CHECK(etx_stage_cache_features(context, &model->filter, event));
        ETX_CHECK(etx_stage_filter(&kept, graph, context, model, event));
        etx_graph_free(graph);
        graph = kept;
        ETX_CHECK(etx_stage_check_joined(graph, context, model, event));
    }
    if (model->gnn.network != NULL)
        ETX_CHECK(etx_stage_score(
            graph, bad, context, &model->gnn, ETX_STAGE_GNN, event));
    ETX_CHECK(etx_stage_score_certain(graph, context));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_stage_run_networks(int32_t *label, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct etx_graph *graph = NULL;
    const int64_t *bad = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_cache_hits(context, model, event));
    ETX_CHECK(score_event(&graph, &bad, context, model, event));
    ETX_CHECK(etx_stage_label(label, context, graph, event, &model->label));
    /* The labels were waited for. */
    ETX_CHECK(etx_stage_check_logits(bad, graph, model->gnn.network));
done:
    etx_event_cache_clear(&context->event_cache);
    etx_graph_free(graph);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

static etx_status run_pass(struct etx_hits_left *left,
    struct etx_context *context, const struct etx_model *model)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    int32_t *label = NULL;
    etx_status status;

    ETX_SCRATCH(label, arena, left->rest->n_hits, "labels");
    ETX_CHECK(etx_stage_run_networks(label, context, model, left->rest));
    etx_stage_add_found(left, label);
done:
    return status;
}

etx_status etx_stage_more_passes(struct etx_hits_left *left,
    struct etx_context *context, const struct etx_model *model)
{
    etx_status status = ETX_OK;

    for (int32_t k = etx_stage_passes(model, left->event); k > 1; k--) {
        ETX_CHECK(etx_stage_next_pass(left, context, model));
        ETX_CHECK(run_pass(left, context, model));
    }
done:
    return status;
}

etx_status etx_stage_find_tracks(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_hits_left left = {.event = NULL};
    etx_status status;

    etx_stage_reset_timings(context);
    ETX_CHECK(etx_stage_begin_event(&left, context, model, event));
    ETX_CHECK(run_pass(&left, context, model));
    ETX_CHECK(etx_stage_more_passes(&left, context, model));
    ETX_CHECK(etx_stage_end_event(out, &left, context, model));
done:
    etx_hits_left_free(&left);
    etx_scratch_reset(context, mark);
    return status;
}
