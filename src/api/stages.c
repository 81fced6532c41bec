/* api/stages.c -- the stages of the pipeline, one call each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <string.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/float_environment.h"
#include "base/options.h"
#include "base/status.h"
#include "data/device_copy.h"
#include "stage/stage.h"

#define ETX_MAX_DIMENSIONS 1024
#define FIRST_SIZE         ETX_SIZE_UP_TO(etx_graph_options, max_edges)

static const etx_graph_options graph_defaults = {
    .struct_size = sizeof(etx_graph_options),
    .radius = 0.1f,
    .max_edges = INT32_MAX};

/* What every stage needs. */
static etx_status check_call(const char *function, const etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(function, "context", context));
    ETX_CHECK(etx_check_given(function, "model", model));
    ETX_CHECK(etx_check_given(function, "event", event));
done:
    return status;
}

/* Embed into the caller's points [n_hits, columns]. */
static etx_status embed_into(float *points, int64_t columns,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_status status = ETX_OK;
    float *embedded = NULL;
    float *copy = NULL;
    fenv_t host;
    const int64_t n_values = event->n_hits * columns;
    struct etx_arena *host_arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    const struct etx_arena_mark host_mark = etx_arena_mark(host_arena);

    etx_float_environment_enter(&host);
    etx_stage_forget(context);
    ETX_CHECK(etx_stage_embed(&embedded, context, model, event));
    ETX_CHECK(
        etx_arena_alloc(&copy, host_arena, n_values, sizeof *copy, "points"));
    ETX_CHECK(etx_memory_to_host(
        context->stream->memory, copy, embedded, n_values, sizeof *copy));
    memcpy(points, copy, (size_t)n_values * sizeof *points);
done:
    etx_arena_reset(host_arena, host_mark);
    etx_arena_reset(context->stream->arena, mark);
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_embed(int64_t *n_dim, float *points, int64_t capacity,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_status status = check_call("etx_embed", context, model, event);
    int64_t columns = 0;

    if (status != ETX_OK)
        return status;
    status = etx_check_given("etx_embed", "n_dim", n_dim);
    if (status != ETX_OK)
        return status;
    if (model->embedding.network == NULL)
        return etx_fail(
            ETX_ERR_ARGUMENT, "etx_embed: the model has no embedding");
    columns = model->embedding.network->n_out;
    if (points != NULL && capacity < event->n_hits * columns)
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_embed: capacity %lld is below the %lld values of %lld points",
            (long long)capacity, (long long)(event->n_hits * columns),
            (long long)event->n_hits);
    if (points != NULL)
        status = embed_into(points, columns, context, model, event);
    if (status == ETX_OK)
        *n_dim = columns;
    return status;
}

etx_status etx_graph_build(etx_graph **out, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_status status = check_call("etx_graph_build", context, model, event);
    struct etx_graph *graph = NULL;
    fenv_t host;

    if (status == ETX_OK)
        status = etx_check_given("etx_graph_build", "out", out);
    if (status != ETX_OK)
        return status;
    etx_float_environment_enter(&host);
    etx_stage_forget(context);
    status = etx_stage_build_graph(&graph, context, model, event, 0);
    if (status == ETX_OK)
        status = etx_stage_hand_out(&graph, context);
    if (status == ETX_OK)
        *out = graph;
    etx_float_environment_leave(&host);
    return status;
}

/* From a graph of the host to one of the host. */
static etx_status filter(struct etx_graph **out, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph *graph,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const struct etx_graph *here = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph *kept = NULL;

    ETX_CHECK(etx_stage_enter(&here, &copy, context, graph));
    ETX_CHECK(etx_stage_filter(&kept, context, model, here, event));
    ETX_CHECK(etx_stage_hand_out(&kept, context));
    *out = kept;
    kept = NULL;
done:
    etx_graph_free(kept);
    etx_graph_free(copy);
    return status;
}

etx_status etx_graph_filter(etx_graph **out, const etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_status status = check_call("etx_graph_filter", context, model, event);
    fenv_t host;

    if (status == ETX_OK)
        status = etx_check_given("etx_graph_filter", "out", out);
    if (status == ETX_OK)
        status = etx_check_given("etx_graph_filter", "graph", graph);
    if (status != ETX_OK)
        return status;
    etx_float_environment_enter(&host);
    status = filter(out, context, model, graph, event);
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_graph_score(etx_graph *graph, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_status status = check_call("etx_graph_score", context, model, event);
    fenv_t host;

    if (status == ETX_OK)
        status = etx_check_given("etx_graph_score", "graph", graph);
    if (status != ETX_OK)
        return status;
    etx_float_environment_enter(&host);
    status = etx_stage_score_host(graph, context, model, event);
    etx_float_environment_leave(&host);
    return status;
}

etx_status etx_find_tracks(etx_tracks **out, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    etx_status status = check_call("etx_find_tracks", context, model, event);
    fenv_t host;

    if (status == ETX_OK)
        status = etx_check_given("etx_find_tracks", "out", out);
    if (status != ETX_OK)
        return status;
    etx_float_environment_enter(&host);
    status = etx_stage_find_tracks(out, context, model, event);
    etx_float_environment_leave(&host);
    return status;
}

/* ------------------------------------------------ graphs without a model -- */

etx_status etx_graph_options_init(
    etx_graph_options *options, size_t struct_size)
{
    return etx_options_init(options, struct_size, &graph_defaults,
        sizeof graph_defaults, FIRST_SIZE, "graph options");
}

static etx_status check_points(const char *function, const etx_context *context,
    int64_t n_points, int64_t n_dim, const float *points)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_given(function, "context", context));
    ETX_CHECK(etx_check_count(function, "n_points", n_points));
    if (n_dim < 1 || n_dim > ETX_MAX_DIMENSIONS)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: n_dim %lld is not in 1..%d",
            function, (long long)n_dim, ETX_MAX_DIMENSIONS);
    ETX_CHECK(etx_check_finite(function, "points", points, n_points, n_dim));
done:
    return status;
}

static etx_status check_max_edges(const char *function, int64_t max_edges)
{
    if (max_edges < 0 || max_edges > INT32_MAX)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: max_edges %lld is not in 0..2147483647", function,
            (long long)max_edges);
    return ETX_OK;
}

static etx_status check_graph_options(const char *function,
    const etx_graph_options *options, const etx_event *event, int64_t n_points)
{
    if (etx_find_not_finite(&options->radius, 1) >= 0 ||
        options->radius <= 0.0f)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: radius %.9g is not positive and finite", function,
            (double)options->radius);
    if (options->max_neighbours < 0)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: max_neighbours %d is negative",
            function, (int)options->max_neighbours);
    if (options->orientation < ETX_ORIENT_INDEX ||
        options->orientation > ETX_ORIENT_BOTH)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: orientation %d is not in 0..2",
            function, (int)options->orientation);
    if (options->orientation == ETX_ORIENT_OUTWARD && event == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: outward orientation needs an event", function);
    if (event != NULL && event->n_hits != n_points)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %lld points and an event of %lld hits", function,
            (long long)n_points, (long long)event->n_hits);
    return check_max_edges(function, options->max_edges);
}

/* Both builders: knn is a radius graph with no bound on the distance. */
static etx_status build_neighbours(const char *function, etx_graph **out,
    etx_context *context, const struct etx_neighbours *points,
    const etx_event *event, const etx_graph_options *options, int32_t is_knn)
{
    etx_status status = ETX_OK;
    etx_graph_options known = graph_defaults;
    struct etx_neighbours neighbours = *points;
    struct etx_graph *graph = NULL;
    fenv_t host;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);

    ETX_CHECK(etx_check_given(function, "out", out));
    if (options != NULL)
        ETX_CHECK(etx_options_copy(&known, sizeof known, options,
            options->struct_size, FIRST_SIZE, "graph options"));
    if (is_knn)
        known.radius = FLT_MAX;
    ETX_CHECK(check_graph_options(function, &known, event, points->n_points));
    if (is_knn && known.max_neighbours < 1)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: max_neighbours %d is below 1",
            function, (int)known.max_neighbours);
    neighbours.max_neighbours = known.max_neighbours;
    neighbours.orientation = known.orientation;
    neighbours.radius = known.radius;
    neighbours.position = event != NULL ? event->position : NULL;
    neighbours.max_edges = known.max_edges;
    etx_float_environment_enter(&host);
    status = etx_stage_bring(&neighbours.point, context, points->point,
        points->n_points * points->n_dim, "points");
    if (status == ETX_OK)
        status = etx_stage_neighbours(&graph, context, &neighbours);
    if (status == ETX_OK)
        status = etx_stage_hand_out(&graph, context);
    if (status == ETX_OK)
        *out = graph;
    etx_float_environment_leave(&host);
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

etx_status etx_graph_build_radius(etx_graph **out, etx_context *context,
    int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options)
{
    const char *function = "etx_graph_build_radius";
    etx_status status =
        check_points(function, context, n_points, n_dim, points);
    const struct etx_neighbours neighbours = {
        .n_points = n_points, .n_dim = (int32_t)n_dim, .point = points};

    if (status != ETX_OK)
        return status;
    return build_neighbours(
        function, out, context, &neighbours, event, options, 0);
}

etx_status etx_graph_build_knn(etx_graph **out, etx_context *context,
    int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options)
{
    const char *function = "etx_graph_build_knn";
    etx_status status =
        check_points(function, context, n_points, n_dim, points);
    const struct etx_neighbours neighbours = {
        .n_points = n_points, .n_dim = (int32_t)n_dim, .point = points};

    if (status != ETX_OK)
        return status;
    return build_neighbours(
        function, out, context, &neighbours, event, options, 1);
}

etx_status etx_graph_to_triplets(etx_graph **out, const etx_graph *graph,
    etx_context *context, int64_t max_edges)
{
    etx_status status;
    const struct etx_graph *here = NULL;
    struct etx_graph *copy = NULL;
    struct etx_graph *triplets = NULL;
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(etx_check_given(__func__, "out", out));
    ETX_CHECK(etx_check_given(__func__, "graph", graph));
    ETX_CHECK(etx_check_given(__func__, "context", context));
    ETX_CHECK(check_max_edges(__func__, max_edges));
    ETX_CHECK(etx_stage_enter(&here, &copy, context, graph));
    ETX_CHECK(etx_stage_triplets(&triplets, context, here, max_edges));
    ETX_CHECK(etx_stage_hand_out(&triplets, context));
    *out = triplets;
    triplets = NULL;
done:
    etx_graph_free(triplets);
    etx_graph_free(copy);
    etx_float_environment_leave(&host);
    return status;
}

/* Does triplets look like what etx_graph_to_triplets makes of graph? */
static etx_status check_triplets(
    const etx_graph *triplets, const etx_graph *graph)
{
    const int64_t n = triplets->n_edges;

    if (triplets->n_nodes != graph->n_edges)
        return etx_fail(ETX_ERR_ARGUMENT,
            "etx_graph_score_triplets: triplets has %lld nodes and graph %lld "
            "edges",
            (long long)triplets->n_nodes, (long long)graph->n_edges);
    for (int64_t t = 0; t < n; t++)
        if (graph->dst[triplets->src[t]] != graph->src[triplets->dst[t]])
            return etx_fail(ETX_ERR_ARGUMENT,
                "etx_graph_score_triplets: triplet %lld joins the edges %d and "
                "%d of graph, which share no hit",
                (long long)t, (int)triplets->src[t], (int)triplets->dst[t]);
    return ETX_OK;
}

etx_status etx_graph_score_triplets(etx_graph *triplets, const etx_graph *graph,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_status status = check_call(__func__, context, model, event);
    fenv_t host;

    etx_float_environment_enter(&host);
    ETX_CHECK(status);
    ETX_CHECK(etx_check_given(__func__, "triplets", triplets));
    ETX_CHECK(etx_check_given(__func__, "graph", graph));
    ETX_CHECK(check_triplets(triplets, graph));
    ETX_CHECK(etx_stage_score_triplets(
        triplets, etx_host_of(context), model, graph, event));
    ETX_CHECK(etx_device_copy_scores(triplets));
done:
    etx_float_environment_leave(&host);
    return status;
}
