/* arch/gravnet/messages.c -- messages of neighbours.
 *
 * Neighbours are the nearest hits in a space that every iteration computes
 * again; messages are weighted by distance, and through the weights the space
 * is trained. Which hits are neighbours has no gradient.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A point that is not finite has no neighbours. */
static etx_status check_points(const struct etx_run *run, const float *point)
{
    const int32_t width = etx_gravnet_state(run)->n_space;
    int64_t bad = -1;
    const struct etx_find_not_finite_args args = {
        .n = run->input.n_nodes * width, .x = point, .index = &bad};
    etx_status status;

    ETX_CHECK(run->context->ops->find_not_finite(run->context->stream, &args));
    if (bad >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "%s: hit row %lld has a point that is not finite",
            run->network->arch->name, (long long)(bad / width));
done:
    return status;
}

static etx_status find_neighbours(
    struct etx_gravnet_messages *out, const struct etx_run *run)
{
    struct etx_edge_list edges = {0};
    const struct etx_radius_graph_args args = {.n_points = run->input.n_nodes,
        .n_dim = etx_gravnet_state(run)->n_space,
        .max_neighbours = etx_gravnet_state(run)->n_neighbours,
        .both = 1,
        .radius = FLT_MAX,
        .point = out->point,
        .max_edges = run->input.n_nodes * etx_gravnet_state(run)->n_neighbours,
        .out = &edges};
    etx_status status;

    ETX_CHECK(check_points(run, out->point));
    ETX_CHECK(run->context->ops->radius_graph(run->context->stream, &args));
    ETX_CHECK(etx_graph_adopt(&out->graph, run->context, run->input.n_nodes,
        edges.n_edges, edges.src, edges.dst, NULL));
    edges = (struct etx_edge_list){0};
done:
    etx_free(edges.src);
    etx_free(edges.dst);
    return status;
}

/* exp(-distance^2) / n_neighbours of every edge. */
static void weight_edges(
    struct etx_gravnet_messages *out, const struct etx_run *run)
{
    const int32_t width = etx_gravnet_state(run)->n_space;
    const float scale = 1.0f / (float)etx_gravnet_state(run)->n_neighbours;

    for (int64_t e = 0; e < out->graph->n_edges; e++) {
        const float *a = out->point + (int64_t)out->graph->src[e] * width;
        const float *b = out->point + (int64_t)out->graph->dst[e] * width;
        float square = 0.0f;

        for (int32_t k = 0; k < width; k++)
            square += (a[k] - b[k]) * (a[k] - b[k]);
        out->weight[e] = scale * expf(-square);
    }
}

static etx_status sum_messages(
    struct etx_gravnet_messages *out, const struct etx_run *run)
{
    const struct etx_segment_reduce_args args = {
        .n_segments = run->input.n_nodes,
        .width = etx_gravnet_state(run)->n_flow,
        .reduce = ETX_REDUCE_SUM,
        .offset = out->graph->out_offset,
        .order = out->graph->out_edge,
        .gather = out->graph->dst,
        .weight = out->weight,
        .x = out->flow,
        .out = out->message};

    return run->context->ops->segment_reduce(run->context->stream, &args);
}

etx_status etx_gravnet_send(
    struct etx_gravnet_messages *messages, const struct etx_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    etx_status status;

    ETX_CHECK(find_neighbours(messages, run));
    ETX_SCRATCH(messages->message, arena,
        run->input.n_nodes * etx_gravnet_state(run)->n_flow, "messages");
    ETX_SCRATCH(messages->weight, arena, messages->graph->n_edges,
        "weights of neighbours");
    weight_edges(messages, run);
    ETX_CHECK(sum_messages(messages, run));
done:
    return status;
}

void etx_gravnet_messages_free(struct etx_gravnet_messages *messages)
{
    etx_graph_free(messages->graph);
    messages->graph = NULL;
}

/* d_point [n, n_space] += d_weight dw/dpoint of edge e at both ends: with
 * w = c exp(-|a - b|^2), dw/da = -2 w (a - b) = -dw/db. */
static void distance_backward(float *d_point, const struct etx_run *run,
    const struct etx_gravnet_messages *messages, int64_t e, float d_weight)
{
    const int32_t width = etx_gravnet_state(run)->n_space;
    const int64_t a = (int64_t)messages->graph->src[e] * width;
    const int64_t b = (int64_t)messages->graph->dst[e] * width;
    const float factor = -2.0f * d_weight * messages->weight[e];

    for (int32_t k = 0; k < width; k++) {
        const float term =
            factor * (messages->point[a + k] - messages->point[b + k]);

        d_point[a + k] += term;
        d_point[b + k] -= term;
    }
}

static float dot(const float *a, const float *b, int32_t n)
{
    float sum = 0.0f;

    for (int32_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

etx_status etx_gravnet_send_backward(float *d_point, float *d_flow,
    const struct etx_run *run, const struct etx_gravnet_messages *messages)
{
    const float *d_message = messages->d_message.data;
    const struct etx_graph *graph = messages->graph;
    const int32_t width = etx_gravnet_state(run)->n_flow;
    const struct etx_segment_reduce_args args = {
        .n_segments = run->input.n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .offset = graph->in_offset,
        .gather = graph->src,
        .weight = messages->weight,
        .x = d_message,
        .out = d_flow};

    memset(d_point, 0,
        (size_t)(run->input.n_nodes * etx_gravnet_state(run)->n_space) *
            sizeof *d_point);
    for (int64_t e = 0; e < graph->n_edges; e++)
        distance_backward(d_point, run, messages, e,
            dot(d_message + (int64_t)graph->src[e] * width,
                messages->flow + (int64_t)graph->dst[e] * width, width));
    return run->context->ops->segment_reduce(run->context->stream, &args);
}
