/* arch/triplet_gnn/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/triplet_gnn/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/heap.h"

#define MAX_WIDTH    4096
#define TRIPLETS_KEY "triplets"

/* Those of the network of triplets are left to that. */
static etx_status read_options(struct etx_triplet *state,
    const json_t **triplet_options, const char *owner, const json_t *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_widths("doublet_hidden", &state->hidden, MAX_WIDTH),
        etx_option_style(style, &state->style, ETX_STYLE_ACTIVATION_NORM),
        etx_option_choice("order", &state->order, etx_edge_order_names),
        etx_option_int("max_triplets", &state->max_triplets, 0, INT32_MAX),
        etx_option_json(TRIPLETS_KEY, triplet_options),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

static etx_status declare_all(struct etx_triplet *state,
    struct etx_network *network, const json_t *triplet_options)
{
    etx_status status = ETX_OK;

    state->n_row =
        2 * network->n_node_features + network->edge_features.n_features;
    ETX_CHECK(etx_mlp_block_declare(&state->doublets, network, "doublets",
        state->n_row, &state->hidden, 1, &state->style));
    ETX_CHECK(etx_inner_network_configure(&state->triplets, network,
        TRIPLETS_KEY, state->n_row, triplet_options));
done:
    return status;
}

etx_status etx_triplet_configure(
    struct etx_network *network, const json_t *options)
{
    etx_status status = ETX_OK;
    struct etx_triplet *state = NULL;
    const json_t *triplet_options = NULL;

    ETX_CHECK(etx_alloc(&state, 1, sizeof *state, "triplet GNN options"));
    network->state = state;
    *state = (struct etx_triplet){
        .hidden = {.n = 2, .width = {32, 32}},
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
        .max_triplets = 10000000,
    };
    ETX_CHECK(
        read_options(state, &triplet_options, network->arch->name, options));
    network->n_out = 1;
    network->needs_whole = "a triplet joins edges that two parts may own";
    ETX_CHECK(declare_all(state, network, triplet_options));
done:
    return status;
}

void etx_triplet_release(struct etx_network *network)
{
    struct etx_triplet *state = network->state;

    if (state != NULL)
        etx_inner_network_release(&state->triplets);
    etx_free(state);
    network->state = NULL;
}
