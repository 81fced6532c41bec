/* arch/lorentz_network/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/lorentz_network/network.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#define MAX_HIDDEN     4096
#define MAX_ITERATIONS 64
#define MAX_LAYERS     8

static etx_status read_options(struct etx_lorentz *state, const char *owner,
    const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_int("hidden", &state->hidden, 1, MAX_HIDDEN),
        etx_option_int("n_iterations", &state->n_iterations, 0, MAX_ITERATIONS),
        etx_option_int("layers", &state->layers, 1, MAX_LAYERS),
        etx_option_style(style, &state->style, ETX_STYLE_HIDDEN),
        etx_option_float("step", &state->step, 0.0, 1.0),
        etx_option_float("ratio", &state->ratio, 1.0, 1e4),
        etx_option_choice("order", &state->order, etx_edge_order_names),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

/* Hidden layers of a perceptron. */
static struct etx_widths widths_of(const struct etx_lorentz *state)
{
    struct etx_widths widths = {.n = state->layers - 1};

    for (int32_t l = 0; l < widths.n; l++)
        widths.width[l] = state->hidden;
    return widths;
}

static etx_status declare_iterations(struct etx_lorentz *state,
    struct etx_network *network, const struct etx_widths *hidden, int32_t n_in)
{
    etx_status status = ETX_OK;
    const int32_t n = state->n_iterations;
    const int32_t width = state->hidden;
    const struct etx_mlp_style messages = etx_mlp_style_to_last(&state->style);

    ETX_CHECK(etx_mlp_blocks_declare(&state->messages, network, "message", n,
        n_in, n_in, hidden, width, &messages));
    ETX_CHECK(etx_mlp_blocks_declare(&state->steps, network, "step", n, width,
        width, hidden, 1, &state->style));
    ETX_CHECK(etx_mlp_blocks_declare(&state->nodes, network, "node", n,
        3 * width, 3 * width, hidden, width, &state->style));
done:
    return status;
}

static etx_status declare_all(
    struct etx_lorentz *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const struct etx_widths hidden = widths_of(state);
    const int32_t n_scalars =
        network->n_node_features - ETX_LORENTZ_WIDTH + 1; /* and x . x */
    const int32_t n_in = 2 * state->hidden + ETX_LORENTZ_SCALARS +
                         network->edge_features.n_features;

    ETX_CHECK(etx_mlp_block_declare(&state->encoder, network, "node_encoder",
        n_scalars, &hidden, state->hidden, &state->style));
    ETX_CHECK(declare_iterations(state, network, &hidden, n_in));
    ETX_CHECK(etx_mlp_block_declare(
        &state->decoder, network, "decoder", n_in, &hidden, 1, &state->style));
done:
    return status;
}

etx_status etx_lorentz_configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_lorentz *state = NULL;

    if (network->n_node_features < ETX_LORENTZ_WIDTH)
        return etx_fail(ETX_ERR_FORMAT,
            "lorentz_network: %d node features, but the first %d are the "
            "four-vector of a hit",
            (int)network->n_node_features, ETX_LORENTZ_WIDTH);
    ETX_NEW(state, 1, "Lorentz network options");
    network->state = state;
    *state = (struct etx_lorentz){
        .hidden = 32,
        .n_iterations = 6,
        .layers = 2,
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
        .step = 0.001f,
        .ratio = 100.0f,
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    network->n_out = 1;
    ETX_CHECK(declare_all(state, network));
done:
    return status;
}
