/* arch/interaction_network/interaction_network.c -- the forward.
 *
 * Nodes and edges carry latent vectors that update each other (Battaglia et
 * al., arXiv:1612.00222); a decoder turns the last ones into a logit for
 * every edge. README.md has the equations and the options that give the
 * networks of Exa.TrkX and acorn. In inference one latent of the edges is
 * stored, updated in place, two with the initial ones concatenated.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/steps.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_interaction_network;

static etx_status add_latents(struct etx_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_interaction_own *own = run->own;
    struct etx_latents_shape shape = {.n_rows = run->input.graph->n_nodes,
        .width = state->hidden,
        .n_iterations = state->n_iterations,
        .n_slots = 2,
        .has_first = state->concat_initial,
        .is_float16 = run->context->stream->is_half,
        .is_of_nodes = 1,
        .has_gradient = 1};

    etx_run_add_latents(run, &shape);
    shape.n_rows = run->input.graph->n_edges;
    shape.n_slots = 1;
    shape.can_recompute = 1;
    shape.is_of_nodes = 0;
    etx_run_add_latents(run, &shape);
    if (run->gradient != NULL && state->concat_initial)
        for (int32_t kind = 0; kind < 2; kind++)
            ETX_CHECK(etx_sum_alloc(&own->d_initial[kind], run->context,
                run->latents[kind].shape.n_rows * state->hidden,
                "gradients of latents"));
done:
    return status;
}

static etx_status open(struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_interaction_own *own = run->own;

    own->n_edges_out = run->input.graph->n_edges;
    if (etx_interaction_state(run)->direction != ETX_DIRECTED)
        ETX_CHECK(etx_interaction_double(run));
    ETX_CHECK(add_latents(run));
done:
    return status;
}

static etx_status encode(struct etx_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_mlp_input input = etx_run_node_features(run);

    ETX_CHECK(
        etx_run_update(run, ETX_NODES, 0, &state->node_encoder, &input, NULL));
    ETX_CHECK(etx_interaction_edge_encoder_input(&input, run));
    ETX_CHECK(
        etx_run_update(run, ETX_EDGES, 0, &state->edge_encoder, &input, NULL));
done:
    return status;
}

int32_t etx_interaction_ends_of(const struct etx_interaction *state, int32_t k)
{
    return state->edge_update == ETX_UPDATE_NEW ? k + 1 : k;
}

etx_status etx_interaction_update_edges(struct etx_run *run, int32_t k,
    const struct etx_segment_reduce_args *reduce)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_mlp_input input =
        etx_interaction_edge_input(run, k, etx_interaction_ends_of(state, k));

    input.args.reduce = reduce;
    return etx_run_update(run, ETX_EDGES, k + 1,
        etx_mlp_blocks_at(&state->edge_networks, k), &input,
        state->edge_residual ? etx_run_latents(run, ETX_EDGES, k) : NULL);
}

/* Nothing reads the nodes after iteration k. */
static int32_t are_nodes_done(const struct etx_interaction *state, int32_t k)
{
    return k == state->n_iterations - 1 &&
           !etx_interaction_reads_last_nodes(state);
}

/* Node latents k + 1 from node latents k and the aggregates of edges k_edges;
 * with_edges: of the new edges, by the block that computes them, while they are
 * in cache. */
static etx_status update_nodes(
    struct etx_run *run, int32_t k, int32_t k_edges, int32_t with_edges)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_interaction_messages messages;
    struct etx_mlp_input input;

    if (are_nodes_done(state, k))
        return with_edges ? etx_interaction_update_edges(run, k, NULL) : ETX_OK;
    ETX_CHECK(etx_interaction_describe(
        &messages, run, etx_run_latents(run, ETX_EDGES, k_edges)));
    if (with_edges)
        ETX_CHECK(etx_interaction_update_edges(run, k, messages.reduce));
    ETX_CHECK(etx_interaction_aggregate(&messages, run, with_edges));
    input = etx_interaction_node_input(run, k, &messages);
    ETX_CHECK(etx_run_update(run, ETX_NODES, k + 1,
        etx_mlp_blocks_at(&state->node_networks, k), &input,
        state->node_residual ? etx_run_latents(run, ETX_NODES, k) : NULL));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status iterate(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;

    switch (
        (enum etx_interaction_update)etx_interaction_state(run)->edge_update) {
    case ETX_UPDATE_FIRST:
        ETX_CHECK(update_nodes(run, k, k + 1, 1));
        break;
    case ETX_UPDATE_OLD:
    case ETX_UPDATE_NEW:
        ETX_CHECK(update_nodes(run, k, k, 0));
        ETX_CHECK(etx_interaction_update_edges(run, k, NULL));
        break;
    }
done:
    return status;
}

/* out [n_edges_out] = block(input), through the doubled edges if there are. */
static etx_status score(float *out, struct etx_run *run,
    const struct etx_mlp_block *block, struct etx_mlp_input *input,
    int32_t is_mean)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_own *own = run->own;
    float *doubled = NULL;

    if (own->doubled == NULL)
        return etx_run_block(run, block, input, out);
    ETX_CHECK(etx_floats_alloc(&doubled, run->context, own->doubled->n_edges,
        "logits of doubled edges"));
    ETX_CHECK(etx_run_block(run, block, input, doubled));
    ETX_CHECK(etx_interaction_undouble(out, run, doubled, is_mean));
done:
    return status;
}

static etx_status decode(struct etx_run *run, float *out)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    struct etx_mlp_input input = etx_interaction_decoder_input(run);

    ETX_CHECK(score(out, run, &state->decoder, &input,
        state->direction == ETX_DOUBLED_MEAN));
    if (run->tape != NULL && run->tape->pt != NULL &&
        run->network->has_pt_head) {
        input = etx_interaction_pt_input(run);
        ETX_CHECK(score(run->tape->pt, run, &state->pt_head, &input, 0));
    }
done:
    return status;
}

static const struct etx_steps steps = {
    .own_size = sizeof(struct etx_interaction_own),
    .open = open,
    .close = etx_interaction_double_free,
    .encode = encode,
    .iterate = iterate,
    .decode = decode,
    .decode_backward = etx_interaction_decode_backward,
    .iterate_backward = etx_interaction_iterate_backward,
    .encode_backward = etx_interaction_encode_backward,
};

const struct etx_arch etx_arch_interaction_network = {
    .name = "interaction_network",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_interaction_configure,
    .forward = etx_run_forward,
    .backward = etx_run_backward,
    .steps = &steps,
    .saves_memory = 1,
};
