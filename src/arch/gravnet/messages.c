/* arch/gravnet/messages.c -- what a hit hears from its neighbours.
 *
 * Neighbours are the nearest in a space that the network makes anew in every
 * iteration; what they tell counts less with their distance, and through that
 * weight the space learns. Which hits are neighbours has no gradient.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

static etx_status run_block(float *out, const struct etx_gravnet_run *run,
    const struct etx_mlp_block *block, const float *h)
{
    struct etx_mlp_input parts;

    etx_gravnet_parts(&parts, run->n, h, run->state->hidden);
    parts.args.out = out;
    return etx_mlp_block_forward(
        run->context, block, run->network->value, &parts);
}

/* A place that is not a number has no neighbours. */
static etx_status check_places(
    const struct etx_gravnet_run *run, const float *point)
{
    int64_t bad = -1;
    const struct etx_find_not_finite_args args = {
        .n = run->n * run->state->n_space, .x = point, .index = &bad};
    etx_status status;

    ETX_CHECK(run->context->ops->find_not_finite(run->context->stream, &args));
    if (bad >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "%s: hit row %lld has a place that is not finite",
            run->network->arch->name, (long long)(bad / run->state->n_space));
done:
    return status;
}

static etx_status find_neighbours(
    struct etx_gravnet_messages *out, const struct etx_gravnet_run *run)
{
    struct etx_edge_list edges = {0};
    const struct etx_radius_graph_args args = {.n_points = run->n,
        .n_dim = run->state->n_space,
        .max_neighbours = run->state->n_neighbours,
        .both = 1,
        .radius = FLT_MAX,
        .point = out->point,
        .max_edges = run->n * run->state->n_neighbours,
        .out = &edges};
    etx_status status;

    ETX_CHECK(check_places(run, out->point));
    ETX_CHECK(run->context->ops->radius_graph(run->context->stream, &args));
    ETX_CHECK(etx_graph_adopt(&out->graph, run->context, run->n, edges.n_edges,
        edges.src, edges.dst, NULL));
    edges = (struct etx_edge_list){0};
done:
    etx_free(edges.src);
    etx_free(edges.dst);
    return status;
}

/* exp(-distance^2) / n_neighbours of every edge. */
static void weigh(
    struct etx_gravnet_messages *out, const struct etx_gravnet_run *run)
{
    const int32_t width = run->state->n_space;
    const float share = 1.0f / (float)run->state->n_neighbours;

    for (int64_t e = 0; e < out->graph->n_edges; e++) {
        const float *a = out->point + (int64_t)out->graph->src[e] * width;
        const float *b = out->point + (int64_t)out->graph->dst[e] * width;
        float square = 0.0f;

        for (int32_t k = 0; k < width; k++)
            square += (a[k] - b[k]) * (a[k] - b[k]);
        out->weight[e] = share * expf(-square);
    }
}

static etx_status add_up(
    struct etx_gravnet_messages *out, const struct etx_gravnet_run *run)
{
    const struct etx_segment_reduce_args args = {.n_segments = run->n,
        .width = run->state->n_flow,
        .reduce = ETX_REDUCE_SUM,
        .offset = out->graph->out_offset,
        .order = out->graph->out_edge,
        .gather = out->graph->dst,
        .weight = out->weight,
        .x = out->told,
        .out = out->message};

    return run->context->ops->segment_reduce(run->context->stream, &args);
}

etx_status etx_gravnet_messages_make(struct etx_gravnet_messages *out,
    const struct etx_gravnet_run *run, const struct etx_gravnet_step *step,
    const float *h)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_gravnet *state = run->state;
    etx_status status;

    *out = (struct etx_gravnet_messages){.graph = NULL};
    ETX_CHECK(etx_arena_alloc(&out->point, arena, run->n * state->n_space,
        sizeof *out->point, "places of hits"));
    ETX_CHECK(etx_arena_alloc(&out->told, arena, run->n * state->n_flow,
        sizeof *out->told, "what hits tell"));
    ETX_CHECK(etx_arena_alloc(&out->message, arena, run->n * state->n_flow,
        sizeof *out->message, "messages"));
    ETX_CHECK(run_block(out->point, run, &step->space, h));
    ETX_CHECK(run_block(out->told, run, &step->flow, h));
    ETX_CHECK(find_neighbours(out, run));
    ETX_CHECK(etx_arena_alloc(&out->weight, arena, out->graph->n_edges,
        sizeof *out->weight, "weights of neighbours"));
    weigh(out, run);
    ETX_CHECK(add_up(out, run));
done:
    return status;
}

void etx_gravnet_messages_release(struct etx_gravnet_messages *messages)
{
    etx_graph_free(messages->graph);
    messages->graph = NULL;
}

/* d_place [n, n_space] += the pull of edge e on both its ends: w = exp(-s)
 * falls by w with s, which grows by 2 (a - b) with a. */
static void pull(float *d_place, const struct etx_gravnet_run *run,
    const struct etx_gravnet_messages *messages, int64_t e, float d_weight)
{
    const int32_t width = run->state->n_space;
    const int64_t a = (int64_t)messages->graph->src[e] * width;
    const int64_t b = (int64_t)messages->graph->dst[e] * width;
    const float factor = -2.0f * d_weight * messages->weight[e];

    for (int32_t k = 0; k < width; k++) {
        const float force =
            factor * (messages->point[a + k] - messages->point[b + k]);

        d_place[a + k] += force;
        d_place[b + k] -= force;
    }
}

static float dot(const float *a, const float *b, int32_t n)
{
    float sum = 0.0f;

    for (int32_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

etx_status etx_gravnet_messages_backward(float *d_place, float *d_told,
    const struct etx_gravnet_run *run,
    const struct etx_gravnet_messages *messages, const float *d_message)
{
    const struct etx_graph *graph = messages->graph;
    const int32_t width = run->state->n_flow;
    const struct etx_segment_reduce_args args = {.n_segments = run->n,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .offset = graph->in_offset,
        .gather = graph->src,
        .weight = messages->weight,
        .x = d_message,
        .out = d_told};

    memset(
        d_place, 0, (size_t)(run->n * run->state->n_space) * sizeof *d_place);
    for (int64_t e = 0; e < graph->n_edges; e++)
        pull(d_place, run, messages, e,
            dot(d_message + (int64_t)graph->src[e] * width,
                messages->told + (int64_t)graph->dst[e] * width, width));
    return run->context->ops->segment_reduce(run->context->stream, &args);
}
