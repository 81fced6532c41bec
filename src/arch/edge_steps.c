/* arch/edge_steps.c -- edges as inputs of networks, and operators on arrays.
 *
 * Values are read and written by operators only, so that the same code runs on
 * every backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/status.h"
#include "data/part.h"

const char *const etx_edge_order_names[] = {
    "source_target", "target_source", NULL};

/* A partition runs as the whole graph would, or sums would have other bits. On
 * a device graphs of several events are one, and each runs as it would alone.
 */
static int32_t is_dense(const struct etx_graph *graph)
{
    const struct etx_halo *halo = graph->halo;

    if (graph->memory != NULL)
        return 1;
    return halo == NULL ? graph->n_nodes < graph->n_edges
                        : halo->whole_nodes < halo->whole_edges;
}

struct etx_edge_ends etx_edge_ends(const struct etx_graph *graph, int32_t order)
{
    const struct etx_edge_end src = {.index = graph->src,
        .n_nodes = graph->n_nodes,
        .offset = graph->out_offset,
        .order = graph->out_edge,
        .is_dense = is_dense(graph)};
    const struct etx_edge_end dst = {.index = graph->dst,
        .n_nodes = graph->n_nodes,
        .offset = graph->in_offset,
        .is_dense = is_dense(graph)};

    if (order == ETX_EDGE_SOURCE_TARGET)
        return (struct etx_edge_ends){.first = src, .second = dst};
    return (struct etx_edge_ends){.first = dst, .second = src};
}

int32_t etx_network_needs(
    const struct etx_network *network, enum etx_edge_feature feature)
{
    const struct etx_edge_feature_list *list = &network->edge_features;

    for (int32_t k = 0; k < list->n_features; k++) {
        if (list->feature[k] == (int32_t)feature)
            return 1;
    }
    return 0;
}

static etx_status check_own(
    const struct etx_network *network, const struct etx_graph *graph)
{
    const struct etx_edge_feature_list *list = &network->edge_features;

    for (int32_t k = 0; k < list->n_features; k++) {
        const int32_t own = list->feature[k] - ETX_EDGE_OWN_0;

        if (own >= graph->n_features)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: the edge feature own_%d is column %d of "
                "etx_graph_set_edge_features, which gave the graph %d",
                network->arch->name, (int)own, (int)own,
                (int)graph->n_features);
    }
    return ETX_OK;
}

static etx_status check_input(
    const struct etx_network *network, const struct etx_network_input *input)
{
    const char *name = network->arch->name;

    if (input->position == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: edge features need the positions of the hits", name);
    if (input->graph->score == NULL &&
        etx_network_needs(network, ETX_EDGE_SCORE_LOGIT))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the edge feature score_logit needs a graph with scores", name);
    if (input->votes == NULL &&
        etx_network_needs(network, ETX_EDGE_LOG_HOUGH_VOTES))
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the edge feature log_hough_votes needs votes", name);
    return check_own(network, input->graph);
}

etx_status etx_edge_feature_rows(float *out, const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    int64_t first, int64_t n)
{
    const struct etx_edge_feature_list *list = &network->edge_features;
    const struct etx_graph *graph = input->graph;
    const struct etx_edge_features_args args = {
        .n_edges = n,
        .n_features = list->n_features,
        .feature = list->feature,
        .scale = list->scale,
        .position = input->position,
        .src = graph->src + first,
        .dst = graph->dst + first,
        .score = graph->score == NULL ? NULL : graph->score + first,
        .votes = input->votes == NULL ? NULL : input->votes + first,
        .n_own = graph->n_features,
        .own = graph->features == NULL
                   ? NULL
                   : graph->features + first * graph->n_features,
        .out = out,
    };
    etx_status status;

    if (list->n_features == 0 || n == 0)
        return ETX_OK;
    ETX_CHECK(check_input(network, input));
    status = context->ops->edge_features(context->stream, &args);
done:
    return status;
}

etx_status etx_edge_features_make(float **out,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input)
{
    etx_status status = ETX_OK;
    const int64_t n_edges = input->graph->n_edges;
    const int32_t width = network->edge_features.n_features;

    *out = NULL;
    if (width == 0)
        return ETX_OK;
    ETX_CHECK(etx_floats_alloc(out, context, n_edges * width, "edge features"));
    ETX_CHECK(etx_edge_feature_rows(*out, network, context, input, 0, n_edges));
done:
    return status;
}

etx_status etx_floats_alloc(
    float **out, struct etx_context *context, int64_t n, const char *what)
{
    return etx_arena_alloc(out, context->stream->arena, n, sizeof **out, what);
}

etx_status etx_propagate(float *out, int32_t add, struct etx_context *context,
    const struct etx_graph *graph, const float *weight, const float *x,
    int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_segment_reduce_args args = {
        .n_segments = graph->n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .add = add,
        .offset = graph->in_offset,
        .gather = graph->src,
        .weight = weight,
        .x = x,
        .out = out,
    };

    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    args.add = 1;
    args.offset = graph->out_offset;
    args.order = graph->out_edge;
    args.gather = graph->dst;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
done:
    return status;
}

etx_status etx_propagate_weights_backward(float *d_weight, int32_t add,
    struct etx_context *context, const struct etx_graph *graph,
    const float *d_out, const float *x, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct etx_row_dot_args dot = {
        .n_rows = graph->n_edges, .width = width, .a = d_out, .b = x};
    float *term = NULL;

    ETX_CHECK(etx_floats_alloc(
        &term, context, graph->n_edges, "gradients of edge weights"));
    for (int32_t reverse = 0; reverse < 2; reverse++) {
        dot.a_index = reverse ? graph->src : graph->dst;
        dot.b_index = reverse ? graph->dst : graph->src;
        dot.out = add || reverse ? term : d_weight;
        ETX_CHECK(context->ops->row_dot(context->stream, &dot));
        if (dot.out == term)
            ETX_CHECK(etx_add_values(context, d_weight, term, graph->n_edges));
    }
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

etx_status etx_copy_values(
    struct etx_context *context, float *y, const float *x, int64_t n)
{
    const struct etx_activation_args args = {
        .n = n, .activation = ETX_ACTIVATION_NONE, .x = x, .y = y};

    return context->ops->activation(context->stream, &args);
}

etx_status etx_add_values(
    struct etx_context *context, float *y, const float *x, int64_t n)
{
    const struct etx_add_args args = {.n = n, .alpha = 1.0f, .x = x, .y = y};

    return context->ops->add(context->stream, &args);
}
