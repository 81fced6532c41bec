/* stage/pipeline.c -- hits to tracks: the pipeline for one event.
 *
 * Ju et al., Eur. Phys. J. C 81, 876 (2021):
 *
 *   hits -> embedding -> radius graph -> filter -> graph network -> labels
 *
 * A model without a filter or a graph neural network skips that stage; without
 * both all edges count. With a first pass, the hits of its tracks do not come
 * to the networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "stage/completion/completion.h"
#include "stage/first_pass/first_pass.h"
#include "stage/track_building/track_building.h"

/* Without an edge network every edge counts as certain. */
static etx_status score_all_one(
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
    ETX_CHECK(score_all_one(graph, context));
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_stage_complete(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_completion_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_COMPLETION);
    const struct etx_completion *const completion = model->completion;
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_grid *grid = NULL;
    etx_status status;

    ETX_CHECK(etx_grid_make(&grid, arena, completion, event));
    ETX_CHECK(
        etx_complete_labels(label, context, grid, completion, options, event));
    ETX_CHECK(etx_tracks_fill(
        label, n_filled, context, grid, completion, options, event));
    if (options->min_layers > 0)
        ETX_CHECK(etx_new_tracks_find(
            label, context, grid, completion, options, event));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Add missing hits to tracks and find new ones, where the layers of hits are
 * known. */
static etx_status complete_event(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    if (model->completion == NULL || event->layer_id == NULL)
        return ETX_OK;
    return etx_stage_complete(
        label, n_filled, context, model, event, &model->completion_options);
}

etx_status etx_stage_label(int32_t *label, struct etx_context *context,
    const struct etx_graph *graph, const struct etx_event *event,
    const etx_label_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_LABEL);
    const struct etx_graph *local = NULL;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_graph_to_device(&local, &copy, context, graph));
    ETX_CHECK(etx_build_tracks(label, local, context,
        event == NULL ? NULL : event->position, options));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    etx_graph_free(copy);
    return status;
}

/* label [n_hits], by the networks of the model. */
static etx_status run_networks(int32_t *label, struct etx_context *context,
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

/* ------------------------------------------------------------ first pass -- */

int32_t etx_stage_has_first_pass(
    const struct etx_model *model, const struct etx_event *event)
{
    return model->first_pass != NULL && event->layer_id != NULL &&
           event->n_hits >= model->first_pass_options.min_hits;
}

etx_status etx_stage_find_long(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_first_pass_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FIRST_PASS);
    etx_status status;

    ETX_CHECK(etx_first_pass_find(label, n_tracks, context, model->first_pass,
        model->completion, options, event));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    return status;
}

etx_status etx_stage_first_pass(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_completion_options options = model->completion_options;
    etx_status status;

    options.min_layers = 0; /* new tracks are for the networks to find */
    ETX_CHECK(etx_stage_find_long(
        label, n_tracks, context, model, event, &model->first_pass_options));
    ETX_CHECK(etx_stage_complete(label, 0, context, model, event, &options));
done:
    return status;
}

/* What the caller lent for the hits row [rest->n_hits] of an event, in scratch
 * of the device. */
static etx_status select_lent(struct etx_event *rest,
    struct etx_context *context, const struct etx_event *event,
    const int32_t *row)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_lent_array *const from[] = {
        &event->lent_position, &event->lent_features};
    struct etx_lent_array *const to[] = {
        &rest->lent_position, &rest->lent_features};
    const int64_t width[] = {3, event->n_features};
    const int32_t *index = NULL;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < 2; k++) {
        struct etx_gather_args args = {.n_rows = rest->n_hits,
            .width = (int32_t)width[k],
            .x = etx_stage_lent(context, from[k])};

        if (args.x == NULL)
            continue;
        if (index == NULL)
            ETX_CHECK(etx_arena_to_device(
                &index, arena, row, rest->n_hits, sizeof *row, "hits left"));
        ETX_SCRATCH(args.y, arena, rest->n_hits * width[k], "hits left");
        args.index = index;
        ETX_CHECK(context->ops->gather(context->stream, &args));
        *to[k] = (struct etx_lent_array){args.y, from[k]->device_index};
    }
done:
    return status;
}

/* An event on its way; arrays are scratch of the host. */
struct finding {
    const struct etx_event *event;
    int32_t *label;         /* [n_hits] */
    int32_t n_tracks;       /* of the first pass */
    int32_t *row;           /* hits left by the first pass, or NULL: all */
    struct etx_event *rest; /* these hits */
    struct etx_tracks *tracks;
};

/* The hits of an event that are left to the networks. */
static const struct etx_event *rest_of(const struct finding *finding)
{
    return finding->rest != NULL ? finding->rest : finding->event;
}

/* The first pass of an event, if it has one, and what it leaves. */
static etx_status begin_event(struct finding *finding,
    struct etx_context *context, const struct etx_model *model)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_event *const event = finding->event;
    int64_t n = 0;
    etx_status status;

    ETX_SCRATCH(finding->label, arena, event->n_hits, "labels");
    if (!etx_stage_has_first_pass(model, event))
        return ETX_OK;
    ETX_CHECK(etx_stage_first_pass(
        finding->label, &finding->n_tracks, context, model, event));
    ETX_SCRATCH(finding->row, arena, event->n_hits, "hits left");
    for (int64_t i = 0; i < event->n_hits; i++)
        if (finding->label[i] < 0)
            finding->row[n++] = (int32_t)i;
    ETX_CHECK(etx_event_select(&finding->rest, event, finding->row, n));
    ETX_CHECK(select_lent(finding->rest, context, event, finding->row));
done:
    return status;
}

/* Complete the tracks of an event: what the first pass found, then what the
 * networks found, numbered from base on. */
static etx_status end_event(struct finding *finding,
    struct etx_context *context, const struct etx_model *model,
    const int32_t *found, int32_t base)
{
    const struct etx_event *const event = finding->event;
    const int32_t shift = finding->n_tracks - base;
    etx_status status;

    for (int64_t k = 0; k < rest_of(finding)->n_hits; k++)
        finding->label[finding->row != NULL ? finding->row[k] : k] =
            found[k] < 0 ? -1 : found[k] + shift;
    ETX_CHECK(complete_event(
        finding->label, finding->n_tracks, context, model, event));
    ETX_CHECK(
        etx_tracks_group(&finding->tracks, event->n_hits, finding->label, 1));
done:
    return status;
}

/* found: of the hits left of the events [n], one event after the other. */
static etx_status find_rest(int32_t **found, const struct finding *finding,
    struct etx_context *context, const struct etx_model *model, int32_t n)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_event **rest = NULL;
    struct etx_event *joined = NULL;
    const struct etx_event *all = rest_of(&finding[0]);
    etx_status status;

    if (n > 1) {
        ETX_SCRATCH(rest, arena, n, "hits of events");
        for (int32_t e = 0; e < n; e++)
            rest[e] = rest_of(&finding[e]);
        ETX_CHECK(etx_event_join(&joined, rest, n));
        all = joined;
    }
    ETX_CHECK(
        etx_arena_alloc(found, arena, all->n_hits, sizeof **found, "labels"));
    ETX_CHECK(run_networks(*found, context, model, all));
done:
    etx_event_free(joined);
    return status;
}

/* Tracks are numbered by their first hits: an event continues the numbers of
 * the events before. */
static etx_status end_events(struct finding *finding,
    struct etx_context *context, const struct etx_model *model,
    const int32_t *found, int32_t n)
{
    int32_t base = 0;
    etx_status status = ETX_OK;

    for (int32_t e = 0; e < n; e++) {
        const int64_t n_hits = rest_of(&finding[e])->n_hits;
        int32_t next = base;

        ETX_CHECK(end_event(&finding[e], context, model, found, base));
        for (int64_t k = 0; k < n_hits; k++)
            next = found[k] >= next ? found[k] + 1 : next;
        found += n_hits;
        base = next;
    }
done:
    return status;
}

etx_status etx_stage_find_tracks(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *const *event, int32_t n)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct finding *finding = NULL;
    int32_t *found = NULL;
    etx_status status;

    etx_stage_reset_timings(context);
    ETX_NEW(finding, n, "events");
    for (int32_t e = 0; e < n; e++) {
        finding[e].event = event[e];
        ETX_CHECK(begin_event(&finding[e], context, model));
    }
    ETX_CHECK(find_rest(&found, finding, context, model, n));
    ETX_CHECK(end_events(finding, context, model, found, n));
    for (int32_t e = 0; e < n; e++) {
        out[e] = finding[e].tracks;
        finding[e].tracks = NULL;
    }
done:
    for (int32_t e = 0; finding != NULL && e < n; e++) {
        etx_event_free(finding[e].rest);
        etx_tracks_free(finding[e].tracks);
    }
    etx_free(finding);
    etx_scratch_reset(context, mark);
    return status;
}
