/* arch/interaction_network/interaction_network.c -- the forward.
 *
 * Nodes and edges carry latent vectors that update each other (Battaglia et
 * al., arXiv:1612.00222); a decoder turns the last ones into a logit for
 * every edge. README.md has the equations and the options that give the
 * networks of Exa.TrkX and acorn. In inference one latent of the edges is
 * alive, updated in place, two with the initial ones concatenated.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/run.h"

#include "arch/edge_steps.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_interaction_network;

static etx_status keep(struct etx_interaction_run *run, int32_t k)
{
    etx_status status = ETX_OK;

    if (k < run->state->n_iterations ||
        etx_interaction_reads_last_nodes(run->state))
        ETX_CHECK(etx_latents_keep(&run->nodes, run->context, k));
    ETX_CHECK(etx_latents_keep(&run->edges, run->context, k));
done:
    return status;
}

static etx_status encode(struct etx_interaction_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = run->state;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_interaction_parts parts;
    float *features = NULL;

    etx_interaction_node_encoder_parts(&parts, run);
    ETX_CHECK(etx_interaction_make_latents(
        run, &state->node_encoder, &parts, NULL, etx_interaction_node(run, 0)));
    ETX_CHECK(etx_interaction_features(&features, run));
    etx_interaction_edge_encoder_parts(&parts, run, features);
    ETX_CHECK(etx_interaction_make_latents(
        run, &state->edge_encoder, &parts, NULL, etx_interaction_edge(run, 0)));
    ETX_CHECK(keep(run, 0));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Nothing reads the nodes after iteration k. */
static int32_t are_nodes_done(const struct etx_interaction *state, int32_t k)
{
    return k == state->n_iterations - 1 &&
           !etx_interaction_reads_last_nodes(state);
}

/* Node latents k + 1 from those of k and the aggregates of edges, the first of
 * which may be there already. */
static etx_status update_nodes(const struct etx_interaction_run *run, int32_t k,
    const void *edges, float *first)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = run->state;
    const void *nodes = etx_interaction_node(run, k);
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_interaction_messages messages;
    struct etx_interaction_parts parts;

    if (are_nodes_done(state, k))
        return ETX_OK;
    ETX_CHECK(etx_interaction_aggregate(&messages, run, edges, first));
    etx_interaction_node_parts(&parts, run, nodes, &messages);
    ETX_CHECK(etx_interaction_make_latents(run,
        etx_mlp_blocks_at(&state->node_networks, k), &parts,
        state->node_residual ? nodes : NULL, etx_interaction_node(run, k + 1)));
    ETX_CHECK(etx_halo_update(run->context, run->input.graph,
        etx_interaction_node(run, k + 1), state->hidden));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Edges, and nodes from the new ones, which are aggregated where they are made,
 * while they are in cache. */
static etx_status update_both(const struct etx_interaction_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const void *edges = etx_interaction_edge(run, k + 1);
    struct etx_segment_reduce_args first;

    if (are_nodes_done(run->state, k))
        return etx_interaction_update_edges(run, k, NULL);
    ETX_CHECK(etx_interaction_first_aggregate(&first, run, edges));
    ETX_CHECK(etx_interaction_update_edges(run, k, &first));
    ETX_CHECK(update_nodes(run, k, edges, first.out));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status iterate(struct etx_interaction_run *run, int32_t k)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    switch ((enum etx_interaction_update)run->state->edge_update) {
    case ETX_UPDATE_FIRST:
        ETX_CHECK(update_both(run, k));
        break;
    case ETX_UPDATE_OLD:
    case ETX_UPDATE_NEW:
        ETX_CHECK(update_nodes(run, k, etx_interaction_edge(run, k), NULL));
        ETX_CHECK(etx_interaction_update_edges(run, k, NULL));
        break;
    }
    ETX_CHECK(keep(run, k + 1));
done:
    return status;
}

/* The logits of the caller's edges from those of the doubled graph; logit is
 * then used as scratch. */
static etx_status undouble(
    const struct etx_interaction_run *run, float *logit, float *out)
{
    etx_status status = ETX_OK;
    const int64_t n = run->n_edges_out;
    const struct etx_op_table *ops = run->context->ops;
    struct etx_stream *stream = run->context->stream;
    struct etx_gather_args args = {
        .n_rows = n, .width = 1, .x = logit, .index = run->slot, .y = out};
    const struct etx_add_args halve = {
        .n = n, .alpha = -0.5f, .x = logit, .y = out};

    ETX_CHECK(ops->gather(stream, &args));
    if (run->state->direction == ETX_DOUBLED_FIRST_HALF)
        goto done;
    args.add = 1;
    args.index = run->slot + n;
    ETX_CHECK(ops->gather(stream, &args));
    ETX_CHECK(etx_copy_values(run->context, logit, out, n));
    ETX_CHECK(ops->add(stream, &halve));
done:
    return status;
}

static etx_status decode(const struct etx_interaction_run *run, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_interaction_parts parts;
    float *logit = out;

    if (run->doubled != NULL) {
        ETX_CHECK(etx_arena_alloc(&logit, arena, run->n_edges, sizeof *logit,
            "logits of doubled edges"));
    }
    etx_interaction_decoder_parts(&parts, run);
    ETX_CHECK(
        etx_interaction_run_block(run, &run->state->decoder, &parts, logit));
    if (run->doubled != NULL)
        ETX_CHECK(undouble(run, logit, out));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* What the head says of the caller's edges, as they run. */
static etx_status predict_pt(const struct etx_interaction_run *run, float *out)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_gather_args first_half = {
        .n_rows = run->n_edges_out, .width = 1, .index = run->slot, .y = out};
    struct etx_interaction_parts parts;
    float *pt = out;

    if (run->doubled != NULL) {
        ETX_CHECK(etx_arena_alloc(
            &pt, arena, run->n_edges, sizeof *pt, "momenta of doubled edges"));
    }
    etx_interaction_pt_parts(&parts, run);
    ETX_CHECK(etx_interaction_run_block(run, &run->state->pt_head, &parts, pt));
    first_half.x = pt;
    if (run->doubled != NULL)
        ETX_CHECK(context->ops->gather(context->stream, &first_half));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_interaction_run run = {.doubled = NULL};
    void *latents = NULL;

    if (tape != NULL)
        tape->state = NULL;
    if (input->graph->n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    ETX_CHECK(etx_interaction_open(&run, network, context, input, tape));
    ETX_CHECK(etx_arena_alloc(
        &latents, arena, etx_interaction_latent_bytes(&run), 1, "latents"));
    etx_interaction_place(&run, latents);
    ETX_CHECK(encode(&run));
    for (int32_t k = 0; k < run.state->n_iterations; k++)
        ETX_CHECK(iterate(&run, k));
    ETX_CHECK(decode(&run, out));
    if (tape != NULL && tape->pt != NULL && network->has_pt_head)
        ETX_CHECK(predict_pt(&run, tape->pt));
    if (tape != NULL)
        tape->state = latents;
done:
    etx_interaction_close(&run);
    if (tape == NULL || tape->is_forward_only || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_interaction_network = {
    .name = "interaction_network",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_interaction_configure,
    .release = etx_interaction_release,
    .forward = forward,
    .backward = etx_interaction_backward,
    .saves_memory = 1,
};
