/* arch/graph_convolution/backward.c -- gradients of the parameters.
 *
 * The forward's steps in reverse, from the latents on the tape; what was
 * propagated is computed again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/graph_convolution/network.h"

#include "arch/edge_steps.h"
#include "arch/halo.h"

#include "base/check.h"

struct back {
    struct etx_convolution_run run;
    float *gradient; /* of all parameters */
    float *d_latent; /* [n_nodes, width] of the latents where the walk is */
};

static struct etx_arena *arena_of(const struct back *back)
{
    return back->run.context->stream->arena;
}

static etx_status take(
    float **out, const struct back *back, int32_t width, const char *what)
{
    return etx_arena_alloc(
        out, arena_of(back), back->run.n_nodes * width, sizeof(float), what);
}

/* Nothing reads the gradient of the caller's features. */
static int32_t is_read(const struct back *back, int32_t k)
{
    return k > 0 || back->run.state->has_encoder;
}

static etx_status decoder_backward(struct back *back, const float *d_logit)
{
    etx_status status = ETX_OK;
    const struct etx_convolution_run *run = &back->run;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    const int32_t last = run->state->n_iterations;
    const int32_t width = etx_convolution_width(run->network, last);
    float *d_part[ETX_MAX_PARTS] = {NULL};
    float *features = NULL;
    struct etx_mlp_input rows;

    ETX_CHECK(etx_convolution_features(&features, run));
    etx_convolution_decoder_parts(&rows, run, features);
    if (is_read(back, last)) {
        d_part[0] = back->d_latent;
        ETX_CHECK(take(&d_part[1], back, width, "gradients of latents"));
    }
    ETX_CHECK(etx_mlp_block_backward(run->context, &run->state->decoder,
        run->network->value, back->gradient, &rows, d_logit, d_part));
    if (is_read(back, last)) {
        ETX_CHECK(etx_add_values(
            run->context, back->d_latent, d_part[1], run->n_nodes * width));
    }
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

/* d_latent of k from that of k + 1, through what was propagated. */
static etx_status propagate_backward(
    struct back *back, int32_t k, const float *d_propagated)
{
    etx_status status = ETX_OK;
    const struct etx_convolution_run *run = &back->run;
    const int32_t width = etx_convolution_width(run->network, k);
    float *d_latent = NULL;

    if (!etx_convolution_is_residual(run->network, k))
        return etx_convolution_propagate(
            back->d_latent, run, d_propagated, width);
    ETX_CHECK(take(&d_latent, back, width, "gradients of latents"));
    ETX_CHECK(etx_convolution_propagate(d_latent, run, d_propagated, width));
    ETX_CHECK(etx_add_values(
        run->context, back->d_latent, d_latent, run->n_nodes * width));
done:
    return status;
}

static etx_status iteration_backward(struct back *back, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_convolution_run *run = &back->run;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    const int32_t width = etx_convolution_width(run->network, k);
    float *propagated = NULL;
    float *d_part[ETX_MAX_PARTS] = {NULL};
    struct etx_mlp_input rows;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    ETX_CHECK(etx_halo_return(
        run->context, run->input->graph, back->d_latent, run->state->hidden));
    ETX_CHECK(take(&propagated, back, width, "propagated latents"));
    ETX_CHECK(etx_convolution_propagate(
        propagated, run, etx_convolution_latent(run, k), width));
    etx_convolution_parts(&rows, run, propagated, width);
    if (is_read(back, k))
        ETX_CHECK(take(&d_part[0], back, width, "gradients of latents"));
    ETX_CHECK(etx_mlp_block_backward(run->context,
        etx_convolution_block(run->state, k), run->network->value,
        back->gradient, &rows, back->d_latent, d_part));
    if (is_read(back, k))
        ETX_CHECK(propagate_backward(back, k, d_part[0]));
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

etx_status etx_convolution_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_convolution *state = network->state;
    struct back back = {.gradient = gradient};
    struct etx_mlp_input rows;

    if (input->graph->n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    ETX_CHECK(etx_convolution_open(&back.run, network, context, input, 1));
    back.run.latents = tape->state;
    ETX_CHECK(
        take(&back.d_latent, &back, state->hidden, "gradients of latents"));
    ETX_CHECK(decoder_backward(&back, d_out));
    for (int32_t k = state->n_iterations - 1; k >= 0; k--)
        ETX_CHECK(iteration_backward(&back, k));
    if (state->has_encoder) {
        etx_convolution_encoder_parts(&rows, &back.run);
        ETX_CHECK(etx_mlp_block_backward(context, &state->encoder,
            network->value, gradient, &rows, back.d_latent, NULL));
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}
