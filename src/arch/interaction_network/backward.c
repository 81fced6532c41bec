/* arch/interaction_network/backward.c -- gradients of the parameters.
 *
 * The forward's steps in reverse, from the latents on the tape; everything
 * inside a step is computed again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/steps.h"

#include "base/check.h"

/* --------------------------------------------------------------- latents -- */

static etx_status load_nodes(struct etx_run *run, int32_t k)
{
    return etx_latents_load(&run->latents[ETX_NODES], run->context, k);
}

/* Compute the edge latents of the segment of k again, all but the first. Nodes
 * are kept for every iteration, so that edges alone are computed. */
static etx_status recompute_edges(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_latents *edges = &run->latents[ETX_EDGES];
    const int32_t first = etx_latents_segment_begin(edges, k);
    const int32_t last = state->n_iterations;

    ETX_CHECK(etx_latents_load(edges, run->context, first));
    for (int32_t i = first;
         i < last && etx_latents_segment_begin(edges, i + 1) == first; i++) {
        ETX_CHECK(etx_check_cancelled(run->context->stream));
        ETX_CHECK(load_nodes(run, etx_interaction_ends_of(state, i)));
        ETX_CHECK(etx_interaction_update_edges(run, i, NULL));
    }
done:
    return status;
}

static etx_status load_edges(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_latents *edges = &run->latents[ETX_EDGES];

    if (!etx_latents_has(edges, k))
        ETX_CHECK(recompute_edges(run, k));
    ETX_CHECK(etx_latents_load(edges, run->context, k));
done:
    return status;
}

/* The edges first, as computing them may change the slots of nodes. */
static etx_status load(struct etx_run *run, int32_t k_nodes, int32_t k_edges)
{
    etx_status status = ETX_OK;

    ETX_CHECK(load_edges(run, k_edges));
    ETX_CHECK(load_nodes(run, k_nodes));
done:
    return status;
}

/* ---------------------------------------------------------------- decoder --
 */

/* A head backward, through the doubled edges if there are. */
static etx_status score_backward(struct etx_run *run,
    const struct etx_mlp_block *block, const struct etx_mlp_input *input,
    const float *d_out, int32_t is_mean)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_own *own = run->own;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    float *d_doubled = NULL;

    if (own->doubled == NULL)
        return etx_run_block_backward(run, block, input, d_out);
    ETX_SCRATCH(
        d_doubled, arena, own->doubled->n_edges, "gradients of doubled edges");
    ETX_CHECK(
        etx_interaction_undouble_backward(d_doubled, run, d_out, is_mean));
    ETX_CHECK(etx_run_block_backward(run, block, input, d_doubled));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_interaction_decode_backward(
    struct etx_run *run, const float *d_out)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    const float *d_pt = run->network->has_pt_head ? run->tape->d_pt : NULL;
    struct etx_mlp_input input;

    ETX_CHECK(load_edges(run, state->n_iterations));
    if (etx_interaction_reads_last_nodes(state))
        ETX_CHECK(load_nodes(run, state->n_iterations));
    input = etx_interaction_decoder_input(run);
    ETX_CHECK(score_backward(run, &state->decoder, &input, d_out,
        state->direction == ETX_DOUBLED_MEAN));
    if (d_pt != NULL) {
        input = etx_interaction_pt_input(run);
        ETX_CHECK(score_backward(run, &state->pt_head, &input, d_pt, 0));
    }
done:
    return status;
}

/* ------------------------------------------------------------- iterations --
 */

/* From the gradient of the edges k + 1 to that of the edges k and the nodes
 * that they were computed from. */
static etx_status edges_backward(struct etx_run *run, int32_t k)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    const struct etx_mlp_input input =
        etx_interaction_edge_input(run, k, etx_interaction_ends_of(state, k));

    return etx_run_update_backward(run, ETX_EDGES,
        etx_mlp_blocks_at(&state->edge_networks, k), &input,
        state->edge_residual);
}

/* From the gradient of the nodes k + 1 to that of the nodes k and of the
 * messages, the edge latents after k_edges iterations. Without a
 * gradient there are no messages. */
static etx_status nodes_backward(struct etx_interaction_messages *messages,
    struct etx_run *run, int32_t k, int32_t k_edges)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    const struct etx_sum *d_nodes = &run->d_latents[ETX_NODES];
    struct etx_mlp_input input;

    messages->n_parts = 0;
    if (!d_nodes->is_started)
        return ETX_OK;
    ETX_CHECK(etx_interaction_describe(
        messages, run, etx_run_latents(run, ETX_EDGES, k_edges)));
    ETX_CHECK(etx_interaction_aggregate(messages, run, 0));
    for (int32_t p = 0; p < messages->n_parts; p++)
        ETX_CHECK(etx_sum_alloc(&messages->d_part[p], run->context, d_nodes->n,
            "gradients of messages"));
    input = etx_interaction_node_input(run, k, messages);
    ETX_CHECK(etx_run_update_backward(run, ETX_NODES,
        etx_mlp_blocks_at(&state->node_networks, k), &input,
        state->node_residual));
done:
    return status;
}

/* From the gradient of the messages to that of the edges k_edges. */
static etx_status messages_backward(struct etx_run *run,
    const struct etx_interaction_messages *messages, int32_t k_edges)
{
    if (messages->n_parts == 0)
        return ETX_OK;
    return etx_interaction_aggregate_backward(
        run, messages, etx_run_latents(run, ETX_EDGES, k_edges));
}

etx_status etx_interaction_iterate_backward(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_interaction_messages messages;

    switch (
        (enum etx_interaction_update)etx_interaction_state(run)->edge_update) {
    case ETX_UPDATE_FIRST:
        ETX_CHECK(load(run, k, k + 1));
        ETX_CHECK(nodes_backward(&messages, run, k, k + 1));
        ETX_CHECK(messages_backward(run, &messages, k + 1));
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(edges_backward(run, k));
        break;
    case ETX_UPDATE_OLD:
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(nodes_backward(&messages, run, k, k));
        ETX_CHECK(edges_backward(run, k));
        ETX_CHECK(messages_backward(run, &messages, k));
        break;
    case ETX_UPDATE_NEW:
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(load_nodes(run, k + 1));
        ETX_CHECK(edges_backward(run, k));
        ETX_CHECK(nodes_backward(&messages, run, k, k));
        ETX_CHECK(messages_backward(run, &messages, k));
        break;
    }
done:
    return status;
}

/* --------------------------------------------------------------- encoders --
 */

etx_status etx_interaction_encode_backward(struct etx_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    const struct etx_interaction_own *own = run->own;
    struct etx_sum *d = run->d_latents;
    struct etx_mlp_input input;

    for (int32_t kind = ETX_NODES; kind <= ETX_EDGES; kind++)
        if (own->d_initial[kind].is_started)
            ETX_CHECK(
                etx_sum_add(&d[kind], run->context, own->d_initial[kind].data));
    ETX_CHECK(load_nodes(run, 0));
    ETX_CHECK(etx_interaction_edge_encoder_input(&input, run));
    ETX_CHECK(etx_run_block_backward(
        run, &state->edge_encoder, &input, d[ETX_EDGES].data));
    if (!d[ETX_NODES].is_started)
        goto done;
    input = etx_run_node_features(run);
    ETX_CHECK(etx_run_block_backward(
        run, &state->node_encoder, &input, d[ETX_NODES].data));
done:
    return status;
}
