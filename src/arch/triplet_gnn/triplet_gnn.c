/* arch/triplet_gnn/triplet_gnn.c -- message passing between doublets.
 *
 * On the line graph the edges (doublets) are nodes, and two that follow each
 * other at a hit are joined by a triplet. A network on that graph scores
 * triplets; the logit of a doublet is that of its own features plus its best
 * continuations inward and outward. README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/nested.h"

#include "backend/backend.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "data/line_graph.h"

#include <string.h>

extern const struct etx_arch etx_arch_triplet_gnn;

struct state {
    struct etx_nested nested;
    int32_t max_triplets;
};

/* Columns of a doublet's features. */
static int32_t n_columns(const struct etx_network *network)
{
    return 2 * network->n_node_features + network->edge_features.n_features;
}

/* ---------------------------------------------------------- line graph -- */

static etx_status make_line_graph(struct etx_nested_run *run)
{
    const struct state *state = run->network->state;
    const etx_status status = etx_graph_line(
        &run->owned, run->context, run->input->graph, state->max_triplets);

    if (status == ETX_ERR_LIMIT)
        (void)etx_fail(status, "%s: option 'max_triplets' is %d: %s",
            run->network->arch->name, (int)state->max_triplets,
            etx_last_error());
    return status;
}

/* *out [n, n], in scratch where the context computes: the unit matrix. */
static etx_status make_unit(float **out, struct etx_context *context, int32_t n)
{
    etx_status status = ETX_OK;
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    const int64_t n_values = (int64_t)n * n;
    struct etx_arena_mark mark;
    float *host_unit = NULL;

    ETX_CHECK(etx_floats_alloc(out, context, n_values, "weights"));
    mark = etx_arena_mark(host);
    ETX_SCRATCH(host_unit, host, n_values, "weights");
    memset(host_unit, 0, (size_t)n_values * sizeof *host_unit);
    for (int32_t k = 0; k < n; k++)
        host_unit[(int64_t)k * n + k] = 1.0f;
    ETX_CHECK(etx_memory_to_device(
        context->stream->memory, *out, host_unit, n_values, sizeof *host_unit));
    etx_arena_reset(host, mark);
done:
    return status;
}

/* out [n_doublets, n_columns] = concat[x_first, x_second, edge features]: a
 * linear layer whose weight is the unit matrix. */
static etx_status concatenate(float *out, const struct etx_nested_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int32_t n = n_columns(run->network);
    const int32_t n_features = run->network->n_node_features;
    const float *x = run->input->node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->nested->order);
    struct etx_layer layer = {.n_in = n, .n_out = n};
    struct etx_mlp_input rows = {.args = {.n_rows = run->input->graph->n_edges,
                                     .n_layers = 1,
                                     .layer = &layer,
                                     .out = out}};
    float *features = NULL;
    float *weight = NULL;

    ETX_CHECK(
        etx_edge_features_make(&features, run->network, context, run->input));
    ETX_CHECK(make_unit(&weight, context, n));
    layer.weight = weight;
    etx_mlp_append(&rows, x, &ends.first, n_features);
    etx_mlp_append(&rows, x, &ends.second, n_features);
    etx_mlp_append(
        &rows, features, NULL, run->network->edge_features.n_features);
    ETX_CHECK(context->ops->mlp(context->stream, &rows.args));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status build(struct etx_nested_run *run)
{
    etx_status status = ETX_OK;
    const int64_t n_doublets = run->input->graph->n_edges;
    float *features = NULL;

    if (run->inner.graph == NULL) {
        ETX_CHECK(make_line_graph(run));
        run->inner.graph = run->owned;
    }
    run->inner.n_nodes = n_doublets;
    if (run->inner.node_features == NULL) {
        ETX_CHECK(etx_floats_alloc(&features, run->context,
            n_doublets * n_columns(run->network), "features of doublets"));
        ETX_CHECK(concatenate(features, run));
        run->inner.node_features = features;
    }
done:
    return status;
}

/* -------------------------------------------------------------- doublets -- */

static etx_status doublet_input(
    struct etx_mlp_input *out, const struct etx_nested_run *run)
{
    *out =
        (struct etx_mlp_input){.args = {.n_rows = run->input->graph->n_edges}};
    etx_mlp_append(
        out, run->inner.node_features, NULL, n_columns(run->network));
    return ETX_OK;
}

/* The largest logit of the triplets out of each doublet, or into it:
 * best [n_doublets], 0 where there is none. */
static struct etx_segment_reduce_args best_triplets(
    const struct etx_nested_run *run, int32_t is_out, float *best)
{
    const struct etx_graph *line = run->inner.graph;

    return (struct etx_segment_reduce_args){.n_segments = run->inner.n_nodes,
        .width = 1,
        .reduce = ETX_REDUCE_MAX,
        .offset = is_out ? line->out_offset : line->in_offset,
        .order = is_out ? line->out_edge : NULL,
        .x = run->logit,
        .out = best};
}

static etx_status add_best(float *out, const struct etx_nested_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    float *best = NULL;

    ETX_CHECK(
        etx_floats_alloc(&best, context, run->inner.n_nodes, "best triplets"));
    for (int32_t is_out = 0; is_out < 2; is_out++) {
        const struct etx_segment_reduce_args args =
            best_triplets(run, is_out, best);

        ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
        ETX_CHECK(etx_add_values(context, out, best, run->inner.n_nodes));
    }
done:
    return status;
}

/* d_logit [n_triplets]: the gradients of the doublets that have them as best.
 */
static etx_status best_backward(
    float *d_logit, const struct etx_nested_run *run, const float *d_out)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    float *best = NULL;

    ETX_CHECK(
        etx_floats_alloc(&best, context, run->inner.n_nodes, "best triplets"));
    for (int32_t is_out = 0; is_out < 2; is_out++) {
        const struct etx_segment_reduce_backward_args args = {
            .forward = best_triplets(run, is_out, best),
            .d_out = d_out,
            .d_x = d_logit,
            .add = is_out};

        ETX_CHECK(context->ops->segment_reduce(context->stream, &args.forward));
        ETX_CHECK(
            context->ops->segment_reduce_backward(context->stream, &args));
    }
done:
    return status;
}

/* -------------------------------------------------------------- triplets -- */

/* The logit of a triplet: its own, plus the logits of its two doublets. */
static etx_status forward_triplets(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_graph *triplets, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network_input line = {.graph = triplets};
    struct etx_gather_args gather = {
        .n_rows = triplets->n_edges, .width = 1, .add = 1, .y = out};
    struct etx_nested_run run;
    float *doublet = NULL;

    if (triplets->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_nested_open(&run, network, context, input, &line));
    ETX_CHECK(etx_nested_score_inner(&run, NULL));
    ETX_SCRATCH(doublet, arena, run.inner.n_nodes, "logits of doublets");
    ETX_CHECK(etx_nested_score_edges(doublet, &run));
    ETX_CHECK(etx_copy_values(context, out, run.logit, triplets->n_edges));
    gather.x = doublet;
    gather.index = triplets->src;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
    gather.index = triplets->dst;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
done:
    etx_nested_close(&run);
    etx_arena_reset(arena, mark);
    return status;
}

/* ------------------------------------------------------------- configure -- */

static const struct etx_nested_steps steps = {
    .edge_hidden = "doublet_hidden",
    .edge_prefix = "doublets",
    .inner = "triplets",
    .needs_whole = "a triplet joins edges that two partitions may own",
    .build = build,
    .edge_input = doublet_input,
    .combine = add_best,
    .combine_backward = best_backward,
};

static etx_status configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct state *state = NULL;

    ETX_NEW(state, 1, "triplet GNN options");
    network->state = state;
    state->max_triplets = 10000000;
    const struct etx_option own =
        etx_option_int("max_triplets", &state->max_triplets, 0, INT32_MAX);

    ETX_CHECK(etx_nested_configure(network, &steps, &own, n_columns(network),
        n_columns(network), options));
done:
    return status;
}

const struct etx_arch etx_arch_triplet_gnn = {
    .name = "triplet_gnn",
    .kind = ETX_NETWORK_EDGE,
    .configure = configure,
    .release = etx_nested_release,
    .forward = etx_nested_forward,
    .backward = etx_nested_backward,
    .forward_triplets = forward_triplets,
    .saves_memory = 1,
};
