/* arch/gravnet/gravnet.c -- hits that exchange messages with their neighbours
 * in a learnt space.
 *
 * README.md has the equations. The tape is the latents; points, neighbours and
 * messages are computed again by the backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_gravnet;

/* Latents: h [n, hidden]. */
enum { H };

static etx_status open(struct etx_run *run)
{
    const struct etx_gravnet *state = etx_gravnet_state(run);
    const struct etx_latents_shape shape = {.n_rows = run->input.n_nodes,
        .width = state->hidden,
        .n_iterations = state->n_iterations,
        .n_slots = 2,
        .has_gradient = 1};

    etx_run_add_latents(run, &shape);
    return ETX_OK;
}

/* ------------------------------------------------------ inputs of blocks -- */

static struct etx_mlp_input latent_input(struct etx_run *run, int32_t k)
{
    struct etx_mlp_input input = etx_run_rows(run->input.n_nodes);

    etx_run_append(&input, run, H, k, NULL, &run->d_latents[H]);
    return input;
}

static struct etx_mlp_input update_input(
    struct etx_run *run, int32_t k, struct etx_gravnet_messages *messages)
{
    struct etx_mlp_input input = latent_input(run, k);

    etx_mlp_append_with_sum(&input, messages->message, NULL,
        etx_gravnet_state(run)->n_flow, &messages->d_message);
    return input;
}

/* --------------------------------------------------------------- forward -- */

/* The messages of iteration k. Always free. */
static etx_status send(
    struct etx_gravnet_messages *out, struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_gravnet *state = etx_gravnet_state(run);
    const int64_t n = run->input.n_nodes;
    struct etx_mlp_input h = latent_input(run, k);

    *out = (struct etx_gravnet_messages){.graph = NULL};
    ETX_SCRATCH(out->point, arena, n * state->n_space, "points of hits");
    ETX_SCRATCH(out->flow, arena, n * state->n_flow, "flow");
    ETX_CHECK(etx_run_block(run, &state->iteration[k].space, &h, out->point));
    ETX_CHECK(etx_run_block(run, &state->iteration[k].flow, &h, out->flow));
    ETX_CHECK(etx_gravnet_send(out, run));
done:
    return status;
}

static etx_status encode(struct etx_run *run)
{
    struct etx_mlp_input input = etx_run_node_features(run);

    return etx_run_update(
        run, H, 0, &etx_gravnet_state(run)->encoder, &input, NULL);
}

static etx_status iterate(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_gravnet_messages messages;
    struct etx_mlp_input input;

    ETX_CHECK(send(&messages, run, k));
    input = update_input(run, k, &messages);
    ETX_CHECK(etx_run_update(run, H, k + 1,
        &etx_gravnet_state(run)->iteration[k].update, &input,
        etx_run_latents(run, H, k)));
done:
    etx_gravnet_messages_free(&messages);
    return status;
}

static etx_status decode(struct etx_run *run, float *out)
{
    const struct etx_gravnet *state = etx_gravnet_state(run);
    struct etx_mlp_input input = latent_input(run, state->n_iterations);

    return etx_run_block(run, &state->output, &input, out);
}

/* -------------------------------------------------------------- backward -- */

static etx_status decode_backward(struct etx_run *run, const float *d_out)
{
    const struct etx_gravnet *state = etx_gravnet_state(run);
    const struct etx_mlp_input input = latent_input(run, state->n_iterations);

    return etx_run_block_backward(run, &state->output, &input, d_out);
}

/* From the gradients of the messages to gradients of space, flow and h. */
static etx_status send_backward(
    struct etx_run *run, int32_t k, const struct etx_gravnet_messages *messages)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_gravnet *state = etx_gravnet_state(run);
    const int64_t n = run->input.n_nodes;
    const struct etx_mlp_input h = latent_input(run, k);
    float *d_point = NULL;
    float *d_flow = NULL;

    ETX_SCRATCH(d_flow, arena, n * state->n_flow, "gradients of messages");
    ETX_SCRATCH(d_point, arena, n * state->n_space, "gradients of points");
    ETX_CHECK(etx_gravnet_send_backward(d_point, d_flow, run, messages));
    ETX_CHECK(
        etx_run_block_backward(run, &state->iteration[k].space, &h, d_point));
    ETX_CHECK(
        etx_run_block_backward(run, &state->iteration[k].flow, &h, d_flow));
done:
    return status;
}

/* d_latents[H] becomes that of k; the update adds to messages.d_message, which
 * send_backward reads. */
static etx_status iterate_backward(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_gravnet *state = etx_gravnet_state(run);
    struct etx_gravnet_messages messages;
    struct etx_mlp_input input;

    ETX_CHECK(send(&messages, run, k));
    ETX_CHECK(etx_sum_alloc(&messages.d_message, run->context,
        run->input.n_nodes * state->n_flow, "gradients of messages"));
    input = update_input(run, k, &messages);
    ETX_CHECK(etx_run_update_backward(
        run, H, &state->iteration[k].update, &input, 1));
    ETX_CHECK(send_backward(run, k, &messages));
done:
    etx_gravnet_messages_free(&messages);
    return status;
}

static etx_status encode_backward(struct etx_run *run)
{
    const struct etx_mlp_input input = etx_run_node_features(run);

    return etx_run_block_backward(
        run, &etx_gravnet_state(run)->encoder, &input, run->d_latents[H].data);
}

static const struct etx_steps steps = {
    .open = open,
    .encode = encode,
    .iterate = iterate,
    .decode = decode,
    .decode_backward = decode_backward,
    .iterate_backward = iterate_backward,
    .encode_backward = encode_backward,
};

const struct etx_arch etx_arch_gravnet = {
    .name = "gravnet",
    .kind = ETX_NETWORK_POINT,
    .configure = etx_gravnet_configure,
    .forward = etx_run_forward,
    .backward = etx_run_backward,
    .steps = &steps,
    .is_host_only = 1,
};
