/* arch/triplet_gnn/triplet_gnn.c -- the forward.
 *
 * Message passing on the line graph: the edges (doublets) are its nodes, and
 * two that follow each other at a hit are joined by a triplet. A network on
 * that graph scores triplets, and a doublet is as good as its own features and
 * its best continuations inward and outward say. README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/triplet_gnn/network.h"

#include "arch/edge_steps.h"

#include "backend/backend.h"
#include "base/check.h"
#include "base/status.h"
#include "data/line_graph.h"

#include <string.h>

extern const struct etx_arch etx_arch_triplet_gnn;

static etx_status make_line(struct etx_triplet_run *run)
{
    const int32_t max = run->state->max_triplets;
    const etx_status status =
        etx_graph_line(&run->owned, run->context, run->input->graph, max);

    if (status == ETX_ERR_LIMIT)
        (void)etx_fail(status, "%s: option 'max_triplets' is %d: %s",
            run->network->arch->name, (int)max, etx_last_error());
    if (status != ETX_OK)
        return status;
    run->line = run->owned;
    run->n_triplets = run->line->n_edges;
    return ETX_OK;
}

etx_status etx_triplet_open(struct etx_triplet_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, const struct etx_graph *line)
{
    const struct etx_triplet *state = network->state;

    *run = (struct etx_triplet_run){
        .network = network,
        .state = state,
        .context = context,
        .input = input,
        .n_doublets = input->graph->n_edges,
        .line = line,
        .triplets = etx_inner_network_view(&state->triplets, network),
    };
    if (line == NULL)
        return make_line(run);
    run->n_triplets = line->n_edges;
    return ETX_OK;
}

void etx_triplet_close(struct etx_triplet_run *run)
{
    etx_graph_free(run->owned);
}

struct etx_network_input etx_triplet_input(
    const struct etx_triplet_run *run, const float *rows)
{
    return (struct etx_network_input){
        .n_nodes = run->n_doublets, .node_features = rows, .graph = run->line};
}

void etx_triplet_doublet_parts(struct etx_mlp_input *out,
    const struct etx_triplet_run *run, const float *rows)
{
    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_doublets}};
    etx_mlp_part(out, rows, NULL, run->state->n_row);
}

struct etx_segment_reduce_args etx_triplet_best_in(
    const struct etx_triplet_run *run, const float *logit, float *out)
{
    return (struct etx_segment_reduce_args){.n_segments = run->n_doublets,
        .width = 1,
        .reduce = ETX_REDUCE_MAX,
        .offset = run->line->in_offset,
        .x = logit,
        .out = out};
}

struct etx_segment_reduce_args etx_triplet_best_out(
    const struct etx_triplet_run *run, const float *logit, float *out)
{
    struct etx_segment_reduce_args args = etx_triplet_best_in(run, logit, out);

    args.offset = run->line->out_offset;
    args.order = run->line->out_edge;
    return args;
}

/* *out [n, n], in scratch where the context computes: one on the diagonal. */
static etx_status make_unit(float **out, struct etx_context *context, int32_t n)
{
    etx_status status = ETX_OK;
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    const int64_t n_values = (int64_t)n * n;
    const struct etx_memory *memory = context->stream->memory;
    struct etx_arena_mark mark;
    float *here = NULL;

    ETX_CHECK(etx_arena_alloc(
        out, context->stream->arena, n_values, sizeof **out, "weights"));
    mark = etx_arena_mark(host);
    ETX_CHECK(etx_arena_alloc(&here, host, n_values, sizeof *here, "weights"));
    memset(here, 0, (size_t)n_values * sizeof *here);
    for (int32_t k = 0; k < n; k++)
        here[(int64_t)k * n + k] = 1.0f;
    ETX_CHECK(etx_memory_to_device(memory, *out, here, n_values, sizeof *here));
    etx_arena_reset(host, mark);
done:
    return status;
}

/* out [n_doublets, n_row] = concat[x_first, x_second, edge features]: a
 * layer whose weight is one on the diagonal. */
static etx_status concatenate(
    float *out, const struct etx_triplet_run *run, const float *features)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int32_t n = run->state->n_row;
    const int32_t n_features = run->network->n_node_features;
    const float *x = run->input->node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->state->order);
    struct etx_layer layer = {.n_in = n, .n_out = n};
    struct etx_mlp_input rows = {
        .args = {.n_rows = run->n_doublets, .n_layers = 1, .out = out}};
    float *weight = NULL;

    ETX_CHECK(make_unit(&weight, context, n));
    layer.weight = weight;
    rows.args.layer = &layer;
    etx_mlp_part(&rows, x, &ends.first, n_features);
    etx_mlp_part(&rows, x, &ends.second, n_features);
    etx_mlp_part(&rows, features, NULL, run->network->edge_features.n_features);
    ETX_CHECK(context->ops->mlp(context->stream, &rows.args));
done:
    return status;
}

static etx_status make_rows(float *out, const struct etx_triplet_run *run)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int32_t n = run->network->edge_features.n_features;
    float *features = NULL;

    if (n > 0) {
        ETX_CHECK(etx_arena_alloc(&features, arena, run->n_doublets * n,
            sizeof *features, "edge features"));
        ETX_CHECK(etx_edge_feature_rows(features, run->network, run->context,
            run->input, 0, run->n_doublets));
    }
    ETX_CHECK(concatenate(out, run, features));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* The doublets' rows and the triplets' logits, in the arena; with tape also
 * what the network of triplets keeps. */
static etx_status score_triplets(struct etx_triplet_tape *out,
    const struct etx_triplet_run *run, struct etx_tape *tape)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    struct etx_network_input input;

    ETX_CHECK(
        etx_arena_alloc(&out->rows, arena, run->n_doublets * run->state->n_row,
            sizeof *out->rows, "features of doublets"));
    ETX_CHECK(etx_arena_alloc(&out->logit, arena, run->n_triplets,
        sizeof *out->logit, "logits of triplets"));
    ETX_CHECK(make_rows(out->rows, run));
    input = etx_triplet_input(run, out->rows);
    ETX_CHECK(run->triplets.arch->forward(
        &run->triplets, run->context, &input, tape, out->logit));
done:
    return status;
}

/* out [n_doublets]: what the features alone say. */
static etx_status score_doublets(
    float *out, const struct etx_triplet_run *run, const float *rows)
{
    struct etx_mlp_input parts;

    etx_triplet_doublet_parts(&parts, run, rows);
    parts.args.out = out;
    return etx_mlp_block_forward(
        run->context, &run->state->doublets, run->network->value, &parts);
}

/* out [n_doublets] += the best triplet in and the best out. */
static etx_status add_best(
    float *out, const struct etx_triplet_run *run, const float *logit)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_segment_reduce_args args;
    float *best = NULL;

    ETX_CHECK(etx_arena_alloc(
        &best, arena, run->n_doublets, sizeof *best, "best triplets"));
    args = etx_triplet_best_in(run, logit, best);
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    ETX_CHECK(etx_add_values(context, out, best, run->n_doublets));
    args = etx_triplet_best_out(run, logit, best);
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    ETX_CHECK(etx_add_values(context, out, best, run->n_doublets));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* What lives on for the backward is on the host, its arrays where the context
 * computes. */
static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_triplet_run run = {.owned = NULL};
    struct etx_triplet_tape passing;
    struct etx_triplet_tape *kept = &passing;

    if (tape != NULL)
        tape->state = NULL;
    if (input->graph->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(etx_triplet_open(&run, network, context, input, NULL));
    if (tape != NULL)
        ETX_CHECK(etx_arena_alloc(&kept, etx_host_of(context)->stream->arena, 1,
            sizeof *kept, "tape"));
    *kept = (struct etx_triplet_tape){.rows = NULL};
    if (tape != NULL)
        kept->tape = *tape;
    ETX_CHECK(score_triplets(kept, &run, tape == NULL ? NULL : &kept->tape));
    ETX_CHECK(score_doublets(out, &run, kept->rows));
    ETX_CHECK(add_best(out, &run, kept->logit));
    if (tape != NULL)
        tape->state = kept;
done:
    etx_triplet_close(&run);
    if (tape == NULL || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

/* A triplet is as good as its two doublets and what joins them. */
static etx_status forward_triplets(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_graph *triplets, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_gather_args gather = {
        .n_rows = triplets->n_edges, .width = 1, .add = 1, .y = out};
    struct etx_triplet_tape kept = {.rows = NULL};
    struct etx_triplet_run run;
    float *doublet = NULL;

    if (triplets->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_triplet_open(&run, network, context, input, triplets));
    ETX_CHECK(score_triplets(&kept, &run, NULL));
    ETX_CHECK(etx_arena_alloc(&doublet, arena, run.n_doublets, sizeof *doublet,
        "logits of doublets"));
    ETX_CHECK(score_doublets(doublet, &run, kept.rows));
    ETX_CHECK(etx_copy_values(context, out, kept.logit, run.n_triplets));
    gather.x = doublet;
    gather.index = triplets->src;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
    gather.index = triplets->dst;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
done:
    etx_triplet_close(&run);
    etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_triplet_gnn = {
    .name = "triplet_gnn",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_triplet_configure,
    .release = etx_triplet_release,
    .forward = forward,
    .backward = etx_triplet_backward,
    .forward_triplets = forward_triplets,
    .saves_memory = 1,
};
