/* arch/edge_pooling/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/heap.h"

#define MAX_WIDTH  4096
#define COARSE_KEY "coarse"

/* Those of the network of clusters are left to that. */
static etx_status read_options(struct etx_pooling *state,
    const json_t **coarse_options, const char *owner, const json_t *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_widths("edge_hidden", &state->hidden, MAX_WIDTH),
        etx_option_style(style, &state->style, ETX_STYLE_ACTIVATION_NORM),
        etx_option_choice("order", &state->order, etx_edge_order_names),
        etx_option_float("contract_cut", &state->contract_cut, 0, 1),
        etx_option_json(COARSE_KEY, coarse_options),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

static etx_status declare_all(struct etx_pooling *state,
    struct etx_network *network, const json_t *coarse_options)
{
    etx_status status = ETX_OK;

    const int32_t n_row =
        2 * network->n_node_features + network->edge_features.n_features;

    ETX_CHECK(etx_mlp_block_declare(&state->edges, network, "edges", n_row,
        &state->hidden, 1, &state->style));
    ETX_CHECK(etx_inner_network_configure(&state->coarse, network, COARSE_KEY,
        etx_pooling_width(network), coarse_options));
done:
    return status;
}

int32_t etx_pooling_width(const struct etx_network *network)
{
    return network->n_node_features + 1;
}

etx_status etx_pooling_configure(
    struct etx_network *network, const json_t *options)
{
    etx_status status = ETX_OK;
    struct etx_pooling *state = NULL;
    const json_t *coarse_options = NULL;

    ETX_CHECK(etx_alloc(&state, 1, sizeof *state, "edge pooling options"));
    network->state = state;
    *state = (struct etx_pooling){
        .hidden = {.n = 2, .width = {32, 32}},
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
        .contract_cut = 0.5f,
    };
    ETX_CHECK(
        read_options(state, &coarse_options, network->arch->name, options));
    network->n_out = 1;
    network->needs_whole = "a cluster may have hits of two parts";
    ETX_CHECK(declare_all(state, network, coarse_options));
done:
    return status;
}

void etx_pooling_release(struct etx_network *network)
{
    struct etx_pooling *state = network->state;

    if (state != NULL)
        etx_inner_network_release(&state->coarse);
    etx_free(state);
    network->state = NULL;
}
