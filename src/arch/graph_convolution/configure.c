/* arch/graph_convolution/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/graph_convolution/network.h"

#include "arch/edge_steps.h"
#include "arch/options.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <stdio.h>

#define MAX_HIDDEN     4096
#define MAX_ITERATIONS 64

static etx_status read_options(
    struct etx_convolution *state, const char *owner, const json_t *options)
{
    struct etx_mlp_style *style = &state->style;
    const struct etx_option option[] = {
        etx_option_int("hidden", &state->hidden, 1, MAX_HIDDEN),
        etx_option_int("n_iterations", &state->n_iterations, 0, MAX_ITERATIONS),
        etx_option_ints("encoder_hidden", state->encoder_width,
            &state->n_encoder, ETX_MAX_LAYERS - 1, 1, MAX_HIDDEN),
        etx_option_ints("decoder_hidden", state->decoder_width,
            &state->n_decoder, ETX_MAX_LAYERS - 1, 1, MAX_HIDDEN),
        etx_option_choice(
            "activation", &style->activation, etx_activation_names),
        etx_option_choice("norm", &style->norm, etx_norm_names),
        etx_option_bool("norm_affine", &style->norm_affine),
        etx_option_bool("norm_last", &style->norm_last),
        etx_option_float("norm_eps", &style->norm_eps, 1e-12, 1.0),
        etx_option_bool("encoder", &state->has_encoder),
        etx_option_bool("residual", &state->residual),
        etx_option_bool("recurrent", &state->recurrent),
        etx_option_choice("order", &state->order, etx_edge_order_names),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

int32_t etx_convolution_width(const struct etx_network *network, int32_t k)
{
    const struct etx_convolution *state = network->state;

    return k == 0 && !state->has_encoder ? network->n_node_features
                                         : state->hidden;
}

const struct etx_mlp_block *etx_convolution_block(
    const struct etx_convolution *state, int32_t k)
{
    return &state->convolution[state->recurrent ? 0 : k];
}

int32_t etx_convolution_is_residual(
    const struct etx_network *network, int32_t k)
{
    const struct etx_convolution *state = network->state;

    return state->residual &&
           etx_convolution_width(network, k) == state->hidden;
}

/* One linear with norm and activation for every iteration, or for all. */
static etx_status declare_convolutions(
    struct etx_convolution *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t n = state->recurrent ? 1 : state->n_iterations;
    struct etx_mlp_style style = state->style;

    style.last_norm = style.norm;
    style.last_activation = style.activation;
    ETX_CHECK(etx_alloc(&state->convolution, n, sizeof *state->convolution,
        "graph convolution layers"));
    for (int32_t k = 0; k < n; k++) {
        char name[32] = "convolution";

        if (!state->recurrent)
            (void)snprintf(name, sizeof name, "convolution.%d", (int)k);
        ETX_CHECK(etx_mlp_block_declare(&state->convolution[k], network, name,
            etx_convolution_width(network, k), 1, &state->hidden, &style));
    }
done:
    return status;
}

static etx_status declare_all(
    struct etx_convolution *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t n_in =
        2 * etx_convolution_width(network, state->n_iterations) +
        network->edge_features.n_features;
    struct etx_mlp_style encoder = state->style;

    encoder.last_norm = encoder.norm;
    encoder.last_activation = encoder.activation;
    state->encoder_width[state->n_encoder] = state->hidden;
    state->decoder_width[state->n_decoder] = 1;
    if (state->has_encoder) {
        ETX_CHECK(etx_mlp_block_declare(&state->encoder, network,
            "node_encoder", network->n_node_features, state->n_encoder + 1,
            state->encoder_width, &encoder));
    }
    ETX_CHECK(declare_convolutions(state, network));
    ETX_CHECK(etx_mlp_block_declare(&state->decoder, network, "decoder", n_in,
        state->n_decoder + 1, state->decoder_width, &state->style));
done:
    return status;
}

static etx_status check_options(
    const struct etx_convolution *state, const struct etx_network *network)
{
    if (!state->has_encoder && state->n_encoder > 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option 'encoder_hidden' has %d entries, but 'encoder' is "
            "false",
            network->arch->name, (int)state->n_encoder);
    }
    if (state->recurrent && !state->has_encoder &&
        network->n_node_features != state->hidden) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: 'recurrent' without 'encoder' needs as many node features "
            "(%d) as 'hidden' (%d)",
            network->arch->name, (int)network->n_node_features,
            (int)state->hidden);
    }
    return ETX_OK;
}

etx_status etx_convolution_configure(
    struct etx_network *network, const json_t *options)
{
    etx_status status = ETX_OK;
    struct etx_convolution *state = NULL;

    ETX_CHECK(etx_alloc(&state, 1, sizeof *state, "graph convolution options"));
    network->state = state;
    *state = (struct etx_convolution){
        .hidden = 64,
        .n_iterations = 4,
        .n_decoder = 2,
        .decoder_width = {64, 64},
        .style = {.activation = ETX_ACTIVATION_RELU,
            .norm = ETX_NORM_LAYER,
            .norm_affine = 1,
            .norm_eps = 1e-5f},
        .has_encoder = 1,
        .residual = 1,
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    ETX_CHECK(check_options(state, network));
    network->n_out = 1;
    ETX_CHECK(declare_all(state, network));
done:
    return status;
}

void etx_convolution_release(struct etx_network *network)
{
    struct etx_convolution *state = network->state;

    if (state != NULL)
        etx_free(state->convolution);
    etx_free(state);
    network->state = NULL;
}
