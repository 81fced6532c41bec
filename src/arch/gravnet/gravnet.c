/* arch/gravnet/gravnet.c -- the forward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_gravnet;

static etx_status encode(const struct etx_gravnet_run *run)
{
    struct etx_mlp_input parts;

    etx_gravnet_parts(&parts, run->n, run->input->node_features,
        run->network->n_node_features);
    parts.args.out = etx_gravnet_latent(run, 0);
    return etx_mlp_block_forward(
        run->context, &run->state->encoder, run->network->value, &parts);
}

/* Latents k + 1 from latents k. */
static etx_status iterate(const struct etx_gravnet_run *run, int32_t k)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_gravnet_step *step = &run->state->step[k];
    const float *h = etx_gravnet_latent(run, k);
    struct etx_gravnet_messages messages = {.graph = NULL};
    struct etx_mlp_input parts;
    etx_status status;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    ETX_CHECK(etx_gravnet_messages_make(&messages, run, step, h));
    etx_gravnet_update_parts(&parts, run, h, messages.message);
    parts.args.residual = h;
    parts.args.out = etx_gravnet_latent(run, k + 1);
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &step->update, run->network->value, &parts));
done:
    etx_gravnet_messages_release(&messages);
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status make_points(float *out, const struct etx_gravnet_run *run)
{
    struct etx_mlp_input parts;

    etx_gravnet_parts(&parts, run->n,
        etx_gravnet_latent(run, run->state->n_iterations), run->state->hidden);
    parts.args.out = out;
    return etx_mlp_block_forward(
        run->context, &run->state->output, run->network->value, &parts);
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_gravnet *state = network->state;
    struct etx_gravnet_run run = {.network = network,
        .state = state,
        .context = context,
        .input = input,
        .n = input->n_nodes};
    etx_status status = ETX_OK;

    if (tape != NULL)
        tape->state = NULL;
    if (run.n == 0)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&run.latents, arena,
        (state->n_iterations + (int64_t)1) * run.n * state->hidden,
        sizeof *run.latents, "latents of hits"));
    ETX_CHECK(encode(&run));
    for (int32_t k = 0; k < state->n_iterations; k++)
        ETX_CHECK(iterate(&run, k));
    ETX_CHECK(make_points(out, &run));
    if (tape != NULL)
        tape->state = run.latents;
done:
    if (tape == NULL || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_gravnet = {
    .name = "gravnet",
    .kind = ETX_NETWORK_POINT,
    .configure = etx_gravnet_configure,
    .release = etx_network_release_state,
    .forward = forward,
    .backward = etx_gravnet_backward,
    .is_host_only = 1,
};
