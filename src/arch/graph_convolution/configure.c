/* arch/graph_convolution/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/graph_convolution/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#define MAX_HIDDEN     4096
#define MAX_ITERATIONS 64

static etx_status read_options(struct etx_convolution *state, const char *owner,
    const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_int("hidden", &state->hidden, 1, MAX_HIDDEN),
        etx_option_int("n_iterations", &state->n_iterations, 0, MAX_ITERATIONS),
        etx_option_widths("encoder_hidden", &state->encoder_hidden, MAX_HIDDEN),
        etx_option_widths("decoder_hidden", &state->decoder_hidden, MAX_HIDDEN),
        etx_option_style(style, &state->style, ETX_STYLE_HIDDEN),
        etx_option_bool("encoder", &state->has_encoder),
        etx_option_bool("residual", &state->residual),
        etx_option_bool("recurrent", &state->convolutions.is_recurrent),
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

/* Every iteration is one linear with norm and activation. */
static etx_status declare_all(
    struct etx_convolution *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t width = state->hidden;
    const int32_t first = etx_convolution_width(network, 0);
    const int32_t last = etx_convolution_width(network, state->n_iterations);
    const int32_t n_in = 2 * last + network->edge_features.n_features;
    const struct etx_mlp_style style = etx_mlp_style_to_last(&state->style);

    if (state->has_encoder)
        ETX_CHECK(etx_mlp_block_declare(&state->encoder, network,
            "node_encoder", network->n_node_features, &state->encoder_hidden,
            width, &style));
    ETX_CHECK(etx_mlp_blocks_declare(&state->convolutions, network,
        "convolution", state->n_iterations, first, width, NULL, width, &style));
    ETX_CHECK(etx_mlp_block_declare(&state->decoder, network, "decoder", n_in,
        &state->decoder_hidden, 1, &state->style));
done:
    return status;
}

static etx_status check_options(
    const struct etx_convolution *state, const struct etx_network *network)
{
    if (!state->has_encoder && state->encoder_hidden.n > 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option 'encoder_hidden' has %d entries, but 'encoder' is "
            "false",
            network->arch->name, (int)state->encoder_hidden.n);
    }
    if (state->convolutions.is_recurrent && !state->has_encoder &&
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
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_convolution *state = NULL;

    ETX_NEW(state, 1, "graph convolution options");
    network->state = state;
    *state = (struct etx_convolution){
        .hidden = 64,
        .n_iterations = 4,
        .decoder_hidden = {.n = 2, .width = {64, 64}},
        .style = etx_mlp_style_default(ETX_ACTIVATION_RELU),
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
