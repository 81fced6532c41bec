/* arch/gravnet/backward.c -- gradients of the parameters.
 *
 * The tape is the latents; places, neighbours and messages are made again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"

/* A block of h [n, hidden] backward: d_h += its gradient. */
static etx_status block_backward(float *d_h, const struct etx_gravnet_run *run,
    const struct etx_mlp_block *block, const float *h, const float *d_out,
    float *gradient)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n_values = run->n * run->state->hidden;
    struct etx_mlp_input parts;
    float *d_part;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &d_part, arena, n_values, sizeof *d_part, "gradients of latents"));
    etx_gravnet_parts(&parts, run->n, h, run->state->hidden);
    ETX_CHECK(etx_mlp_block_backward(run->context, block, run->network->value,
        gradient, &parts, d_out, &d_part));
    ETX_CHECK(etx_add_values(run->context, d_h, d_part, n_values));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* The update of step k backward: d_h += its gradient, and that of the
 * messages [n, n_flow]. */
static etx_status update_backward(float *d_h, float *d_message,
    const struct etx_gravnet_run *run, int32_t k,
    const struct etx_gravnet_messages *messages, float *gradient)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n_values = run->n * run->state->hidden;
    struct etx_mlp_input parts;
    float *d_part[2] = {NULL, d_message};
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&d_part[0], arena, n_values, sizeof *d_part[0],
        "gradients of latents"));
    etx_gravnet_update_parts(
        &parts, run, etx_gravnet_latent(run, k), messages->message);
    ETX_CHECK(etx_mlp_block_backward(run->context, &run->state->step[k].update,
        run->network->value, gradient, &parts, d_h, d_part));
    ETX_CHECK(etx_add_values(run->context, d_h, d_part[0], n_values));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* d_h: of latents k + 1, then of latents k. */
static etx_status iterate_backward(
    float *d_h, const struct etx_gravnet_run *run, int32_t k, float *gradient)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_gravnet *state = run->state;
    const struct etx_gravnet_step *step = &state->step[k];
    const float *h = etx_gravnet_latent(run, k);
    struct etx_gravnet_messages messages = {.graph = NULL};
    float *d_message;
    float *d_place;
    float *d_told;
    etx_status status;

    ETX_CHECK(etx_gravnet_messages_make(&messages, run, step, h));
    ETX_CHECK(etx_arena_alloc(&d_message, arena, run->n * state->n_flow,
        sizeof *d_message, "gradients of messages"));
    ETX_CHECK(etx_arena_alloc(&d_told, arena, run->n * state->n_flow,
        sizeof *d_told, "gradients of messages"));
    ETX_CHECK(etx_arena_alloc(&d_place, arena, run->n * state->n_space,
        sizeof *d_place, "gradients of places"));
    ETX_CHECK(update_backward(d_h, d_message, run, k, &messages, gradient));
    ETX_CHECK(etx_gravnet_messages_backward(
        d_place, d_told, run, &messages, d_message));
    ETX_CHECK(block_backward(d_h, run, &step->space, h, d_place, gradient));
    ETX_CHECK(block_backward(d_h, run, &step->flow, h, d_told, gradient));
done:
    etx_gravnet_messages_release(&messages);
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status encoder_backward(
    const struct etx_gravnet_run *run, const float *d_h, float *gradient)
{
    struct etx_mlp_input parts;

    etx_gravnet_parts(&parts, run->n, run->input->node_features,
        run->network->n_node_features);
    return etx_mlp_block_backward(run->context, &run->state->encoder,
        run->network->value, gradient, &parts, d_h, NULL);
}

etx_status etx_gravnet_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_gravnet *state = network->state;
    const struct etx_gravnet_run run = {.network = network,
        .state = state,
        .context = context,
        .input = input,
        .n = input->n_nodes,
        .latents = tape->state};
    const int64_t n_values = run.n * state->hidden;
    float *d_h;
    etx_status status = ETX_OK;

    if (run.n == 0)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(
        &d_h, arena, n_values, sizeof *d_h, "gradients of latents"));
    const struct etx_fill_args none = {.n = n_values, .y = d_h};
    ETX_CHECK(context->ops->fill(context->stream, &none));
    ETX_CHECK(block_backward(d_h, &run, &state->output,
        etx_gravnet_latent(&run, state->n_iterations), d_out, gradient));
    for (int32_t k = state->n_iterations - 1; k >= 0; k--)
        ETX_CHECK(iterate_backward(d_h, &run, k, gradient));
    ETX_CHECK(encoder_backward(&run, d_h, gradient));
done:
    etx_arena_reset(arena, mark);
    return status;
}
