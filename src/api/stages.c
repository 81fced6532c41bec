/* api/stages.c -- stages of the pipeline, and graphs without a model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <string.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/status.h"
#include "data/graph_mirror.h"
#include "stage/options.h"
#include "stage/stage.h"

#define MAX_DIMENSIONS 1024

/* The embedding, copied to points [n_values] once all of it succeeded. */
static etx_status embed(float *points, int64_t n_values, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_status status;
    float *embedded = NULL;
    float *copy = NULL;
    struct etx_arena *host_arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    const struct etx_arena_mark host_mark = etx_arena_mark(host_arena);

    etx_stage_reset_timings(context);
    ETX_CHECK(etx_stage_infer_points(&embedded, NULL, context, model, event));
    ETX_SCRATCH(copy, host_arena, n_values, "points");
    ETX_CHECK(etx_memory_to_host(
        context->stream->memory, copy, embedded, n_values, sizeof *copy));
    memcpy(points, copy, (size_t)n_values * sizeof *points);
done:
    etx_arena_reset(host_arena, host_mark);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

etx_status etx_embed(int64_t *n_dim, float *points, int64_t capacity,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    int64_t columns;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(n_dim),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    if (model->embedding.network == NULL)
        ETX_FAIL(ETX_ERR_ARGUMENT, "%s: the model has no embedding", __func__);
    columns = model->embedding.network->n_out;
    if (points != NULL && capacity < event->n_hits * columns)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "%s: capacity %lld is below the %lld values of %lld points",
            __func__, (long long)capacity, (long long)(event->n_hits * columns),
            (long long)event->n_hits);
    if (points != NULL)
        ETX_CHECK(
            embed(points, event->n_hits * columns, context, model, event));
    *n_dim = columns;
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_build(etx_graph **out, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    etx_stage_reset_timings(context);
    ETX_CHECK(etx_stage_build_graph(&graph, context, model, event, 0));
    ETX_CHECK(etx_stage_graph_to_caller(&graph, context));
    *out = graph;
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_filter(etx_graph **out, const etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    const struct etx_graph *local = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph *kept = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(graph),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_stage_graph_to_device(&local, &copy, context, graph));
    ETX_CHECK(etx_stage_filter(&kept, local, context, model, event));
    ETX_CHECK(etx_stage_graph_to_caller(&kept, context));
    *out = kept;
    kept = NULL;
done:
    etx_graph_free(kept);
    etx_graph_free(copy);
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_graph_score(etx_graph *graph, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    ETX_FORWARD(etx_call_settle(context,
                    etx_stage_score_host(graph, context, model, event)),
        ETX_GIVEN(graph), ETX_GIVEN(context), ETX_GIVEN(model),
        ETX_GIVEN(event));
}

etx_status etx_find_tracks(etx_tracks **out, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    ETX_FORWARD(etx_call_settle(
                    context, etx_stage_find_tracks(out, context, model, event)),
        ETX_GIVEN(out), ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event));
}

etx_status etx_find_tracks_begin(int32_t *labels, int64_t *n_tracks,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    struct etx_scratch_mark mark;
    struct etx_hits_left left = {.event = NULL};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(n_tracks),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(labels, event->n_hits, int32_t)));
    mark = etx_scratch_mark(context);
    etx_stage_reset_timings(context);
    status = etx_stage_begin_event(&left, context, model, event);
    if (status == ETX_OK && event->n_hits > 0)
        memcpy(labels, left.label, (size_t)event->n_hits * sizeof *labels);
    if (status == ETX_OK)
        *n_tracks = left.n_tracks;
    etx_hits_left_free(&left);
    etx_scratch_reset(context, mark);
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

/* Tracks of etx_find_tracks_begin, then of networks. */
static etx_status check_labels(const char *function, const int32_t *labels,
    int64_t n_hits, int64_t n_tracks)
{
    const struct etx_range range = {"n_tracks", n_tracks, 0, n_hits};
    etx_status status;

    ETX_CHECK(etx_check_ranges(function, &range, 1));
    ETX_CHECK(etx_check_array(function, ETX_ARRAY(labels, n_hits, int32_t)));
    for (int64_t i = 0; i < n_hits; i++)
        if (labels[i] < -1 || labels[i] >= n_hits)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: label %lld is %d and not in -1..%lld", function,
                (long long)i, labels[i], (long long)n_hits - 1);
done:
    return status;
}

etx_status etx_find_tracks_end(etx_tracks **out, const int32_t *labels,
    int64_t n_tracks, etx_context *context, const etx_model *model,
    const etx_event *event)
{
    struct etx_scratch_mark mark;
    struct etx_hits_left left = {.event = event, .rest = event};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(check_labels(__func__, labels, event->n_hits, n_tracks));
    mark = etx_scratch_mark(context);
    left.n_tracks = (int32_t)n_tracks;
    status = etx_arena_alloc(&left.label, etx_host_of(context)->stream->arena,
        event->n_hits, sizeof *left.label, "labels");
    if (status == ETX_OK && event->n_hits > 0)
        memcpy(left.label, labels, (size_t)event->n_hits * sizeof *labels);
    if (status == ETX_OK)
        status = etx_stage_more_passes(&left, context, model);
    if (status == ETX_OK)
        status = etx_stage_end_event(out, &left, context, model);
    etx_hits_left_free(&left);
    etx_scratch_reset(context, mark);
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

etx_status etx_find_tracks_batch(etx_tracks **out, etx_context *context,
    const etx_model *model, int64_t n_events, const etx_event *const *events)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(
        &host, __func__, ETX_GIVEN(context), ETX_GIVEN(model), ETX_END));
    ETX_CHECK(etx_check_count(__func__, "n_events", n_events));
    ETX_CHECK(
        etx_check_array(__func__, ETX_ARRAY(out, n_events, etx_tracks *)));
    if (n_events > 0)
        ETX_CHECK(etx_check_events(__func__, events, n_events));
    ETX_CHECK(
        etx_stage_find_tracks_batch(out, context, model, events, n_events));
done:
    return etx_call_end(&host, etx_call_settle(context, status));
}

/* ------------------------------------------------ graphs without a model -- */

/* The caller's options over the defaults, checked. knn reads no radius and
 * needs a number of neighbours. */
static etx_status read_options(etx_graph_options *out, const char *function,
    const etx_graph_options *options, int32_t is_knn)
{
    const struct etx_options_type *type = &etx_graph_options_type;
    etx_status status = ETX_OK;

    etx_options_preset(out, type);
    if (options != NULL)
        ETX_CHECK(etx_options_copy(out, sizeof *out, options,
            options->struct_size, type->first_size, type->name));
    if (is_knn)
        out->radius = FLT_MAX;
    ETX_CHECK(etx_options_check(function, out, type));
    const struct etx_range neighbours = {
        "max_neighbours", out->max_neighbours, is_knn, INT32_MAX};
    ETX_CHECK(etx_check_ranges(function, &neighbours, 1));
done:
    return status;
}

/* An event for ETX_ORIENT_OUTWARD, of as many hits as there are points. */
static etx_status check_event(const char *function, const etx_event *event,
    int64_t n_points, int32_t orientation)
{
    if (orientation == ETX_ORIENT_OUTWARD && event == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: outward orientation needs an event", function);
    if (event != NULL && event->n_hits != n_points)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %lld points and an event of %lld hits", function,
            (long long)n_points, (long long)event->n_hits);
    return ETX_OK;
}

/* Both builders: knn is a radius graph without a bound on the distance. */
static etx_status build(etx_graph **out, const char *function,
    etx_context *context, int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options, int32_t is_knn)
{
    const struct etx_range n_dim_range = {"n_dim", n_dim, 1, MAX_DIMENSIONS};
    etx_graph_options used;
    struct etx_neighbours neighbours = {.n_points = n_points};
    struct etx_graph *graph = NULL;
    struct etx_arena_mark mark;
    etx_status status;

    ETX_CHECK(etx_check_count(function, "n_points", n_points));
    ETX_CHECK(etx_check_ranges(function, &n_dim_range, 1));
    ETX_CHECK(etx_check_finite(function, "points", points, n_points, n_dim));
    ETX_CHECK(read_options(&used, function, options, is_knn));
    ETX_CHECK(check_event(function, event, n_points, used.orientation));
    neighbours.n_dim = (int32_t)n_dim;
    neighbours.max_neighbours = used.max_neighbours;
    neighbours.orientation = used.orientation;
    neighbours.radius = used.radius;
    neighbours.position = event != NULL ? event->position : NULL;
    neighbours.max_edges = used.max_edges;
    mark = etx_arena_mark(context->stream->arena);
    status = etx_stage_to_device(
        &neighbours.point, context, points, n_points * n_dim, "points");
    if (status == ETX_OK)
        status = etx_stage_neighbours(&graph, context, &neighbours);
    if (status == ETX_OK)
        status = etx_stage_graph_to_caller(&graph, context);
    if (status == ETX_OK)
        *out = graph;
    etx_arena_reset(context->stream->arena, mark);
done:
    return status;
}

etx_status etx_graph_build_radius(etx_graph **out, etx_context *context,
    int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options)
{
    ETX_FORWARD(build(out, __func__, context, n_points, n_dim, points, event,
                    options, 0),
        ETX_GIVEN(out), ETX_GIVEN(context));
}

etx_status etx_graph_build_knn(etx_graph **out, etx_context *context,
    int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options)
{
    ETX_FORWARD(build(out, __func__, context, n_points, n_dim, points, event,
                    options, 1),
        ETX_GIVEN(out), ETX_GIVEN(context));
}

etx_status etx_graph_to_triplets(etx_graph **out, const etx_graph *graph,
    etx_context *context, int64_t max_edges)
{
    const struct etx_range range = {"max_edges", max_edges, 0, INT32_MAX};
    const struct etx_graph *local = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph *triplets = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(graph),
        ETX_GIVEN(context), ETX_END));
    ETX_CHECK(etx_check_ranges(__func__, &range, 1));
    ETX_CHECK(etx_stage_graph_to_device(&local, &copy, context, graph));
    ETX_CHECK(etx_stage_triplets(&triplets, local, context, max_edges));
    ETX_CHECK(etx_stage_graph_to_caller(&triplets, context));
    *out = triplets;
    triplets = NULL;
done:
    etx_graph_free(triplets);
    etx_graph_free(copy);
    return etx_call_end(&host, etx_call_settle(context, status));
}

/* triplets is the line graph of graph: as many nodes as graph has edges, and
 * the two edges of a triplet share a hit. */
static etx_status check_triplets(const char *function,
    const struct etx_stream *stream, const etx_graph *triplets,
    const etx_graph *graph)
{
    etx_status status = ETX_OK;

    if (triplets->n_nodes != graph->n_edges)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: triplets has %lld nodes and graph %lld edges", function,
            (long long)triplets->n_nodes, (long long)graph->n_edges);
    for (int64_t t = 0; t < triplets->n_edges; t++) {
        ETX_POLL_STREAM(stream, t);
        if (graph->dst[triplets->src[t]] != graph->src[triplets->dst[t]])
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "%s: triplet %lld joins the edges %d and %d of graph, which "
                "share no hit",
                function, (long long)t, (int)triplets->src[t],
                (int)triplets->dst[t]);
    }
done:
    return status;
}

etx_status etx_graph_score_triplets(etx_graph *triplets, const etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_status status;
    fenv_t host;

    ETX_CHECK(
        etx_call_begin(&host, __func__, ETX_GIVEN(triplets), ETX_GIVEN(graph),
            ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_graph_check_on_host(triplets));
    ETX_CHECK(etx_graph_check_on_host(graph));
    ETX_CHECK(check_triplets(
        __func__, etx_host_of(context)->stream, triplets, graph));
    ETX_CHECK(etx_stage_score_triplets(
        triplets, graph, etx_host_of(context), model, event));
    etx_graph_mirror_scores(triplets);
done:
    return etx_call_end(&host, status);
}
