/* arch/attention_gnn/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/attention_gnn/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#define MAX_HIDDEN     4096
#define MAX_ITERATIONS 64

static const char *const node_input_names[] = {
    "node_messages", "messages_node", NULL};

static etx_status read_options(struct etx_attention *state, const char *owner,
    const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_int("hidden", &state->hidden, 1, MAX_HIDDEN),
        etx_option_int("n_iterations", &state->n_iterations, 0, MAX_ITERATIONS),
        etx_option_widths("encoder_hidden", &state->encoder_hidden, MAX_HIDDEN),
        etx_option_widths("edge_hidden", &state->edge_hidden, MAX_HIDDEN),
        etx_option_widths("node_hidden", &state->node_hidden, MAX_HIDDEN),
        etx_option_style(style, &state->style, ETX_STYLE_HIDDEN),
        etx_option_bool("input_shortcut", &state->shortcut),
        etx_option_bool("residual", &state->residual),
        etx_option_choice(
            "node_input", &state->messages_first, node_input_names),
        etx_option_choice("order", &state->order, etx_edge_order_names),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

static etx_status declare_all(
    struct etx_attention *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t n_features = network->n_node_features;
    const int32_t n_in =
        2 * (state->hidden + (state->shortcut ? n_features : 0));
    const struct etx_mlp_style encoder = etx_mlp_style_to_last(&state->style);

    ETX_CHECK(etx_mlp_block_declare(&state->encoder, network, "node_encoder",
        n_features, &state->encoder_hidden, state->hidden, &encoder));
    ETX_CHECK(etx_mlp_block_declare(&state->edge_network, network,
        "edge_network", n_in, &state->edge_hidden, 1, &state->style));
    ETX_CHECK(
        etx_mlp_block_declare(&state->node_network, network, "node_network",
            n_in, &state->node_hidden, state->hidden, &state->style));
done:
    return status;
}

etx_status etx_attention_configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_attention *state = NULL;

    if (network->edge_features.n_features > 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: %d edge features given, but this network reads none",
            network->arch->name, (int)network->edge_features.n_features);
    }
    ETX_NEW(state, 1, "attention GNN options");
    network->state = state;
    *state = (struct etx_attention){
        .hidden = 64,
        .n_iterations = 8,
        .edge_hidden = {.n = 2, .width = {64, 64}},
        .node_hidden = {.n = 1, .width = {64}},
        .style = etx_mlp_style_default(ETX_ACTIVATION_RELU),
        .shortcut = 1,
        .residual = 1,
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    network->n_out = 1;
    ETX_CHECK(declare_all(state, network));
done:
    return status;
}
