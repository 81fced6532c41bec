/* arch/triplet_gnn/configure.c -- options into layers.
 *
 * The network of triplets is configured as a network of its own, whose
 * parameters then follow those of the doublet network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/triplet_gnn/network.h"

#include "arch/edge_steps.h"
#include "arch/options.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>

#define MOST_WIDTH   4096
#define TRIPLETS_KEY "triplets"

static etx_status read_options(
    struct etx_triplet *state, const char *owner, const json_t *options)
{
    struct etx_mlp_style *style = &state->style;
    const struct etx_option option[] = {
        {.key = "doublet_hidden",
            .kind = ETX_OPTION_INTS,
            .value = state->width,
            .low = 1,
            .high = MOST_WIDTH,
            .capacity = ETX_MAX_LAYERS - 1,
            .count = &state->n_hidden},
        {.key = "activation",
            .kind = ETX_OPTION_CHOICE,
            .value = &style->activation,
            .choices = etx_activation_names},
        {.key = "norm",
            .kind = ETX_OPTION_CHOICE,
            .value = &style->norm,
            .choices = etx_norm_names},
        {.key = "order",
            .kind = ETX_OPTION_CHOICE,
            .value = &state->order,
            .choices = etx_edge_order_names},
        {.key = "max_triplets",
            .kind = ETX_OPTION_INT,
            .value = &state->max_triplets,
            .low = 0,
            .high = INT32_MAX},
    };

    return etx_options_read(
        owner, options, option, (int32_t)(sizeof option / sizeof option[0]));
}

/* The options without those of the network of triplets. */
static etx_status read_own_options(
    struct etx_triplet *state, const char *owner, const json_t *options)
{
    /* Copying counts references and so takes a json_t that is not const. */
    json_t *own = json_copy((json_t *)(uintptr_t)options);
    etx_status status = ETX_OK;

    if (options != NULL && own == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory for JSON");
    if (json_is_object(own))
        (void)json_object_del(own, TRIPLETS_KEY);
    status = read_options(state, owner, own);
    json_decref(own);
    return status;
}

/* Append the parameters of the network of triplets. */
static etx_status declare_triplets(
    struct etx_triplet *state, struct etx_network *network)
{
    etx_status status = ETX_OK;

    state->offset = network->n_values;
    for (int32_t p = 0; p < state->triplets.n_parameters; p++) {
        struct etx_parameter parameter = state->triplets.parameter[p];
        int64_t offset = 0;

        (void)snprintf(parameter.name, sizeof parameter.name,
            TRIPLETS_KEY ".%.54s", state->triplets.parameter[p].name);
        ETX_CHECK(etx_network_declare(network, &offset, &parameter));
    }
done:
    return status;
}

static etx_status declare_all(struct etx_triplet *state,
    struct etx_network *network, const json_t *triplet_options)
{
    etx_status status = ETX_OK;

    state->n_row =
        2 * network->n_node_features + network->edge_features.n_features;
    state->width[state->n_hidden] = 1;
    ETX_CHECK(etx_mlp_block_declare(&state->doublets, network, "doublets",
        state->n_row, state->n_hidden + 1, state->width, &state->style));
    state->triplets = (struct etx_network){
        .arch = etx_arch_find("interaction_network"),
        .n_node_features = state->n_row,
    };
    ETX_CHECK(
        state->triplets.arch->configure(&state->triplets, triplet_options));
    ETX_CHECK(declare_triplets(state, network));
done:
    return status;
}

etx_status etx_triplet_configure(
    struct etx_network *network, const json_t *options)
{
    etx_status status = ETX_OK;
    struct etx_triplet *state = NULL;

    ETX_CHECK(etx_alloc(&state, 1, sizeof *state, "triplet GNN options"));
    network->state = state;
    *state = (struct etx_triplet){
        .n_hidden = 2,
        .width = {32, 32},
        .style = {.activation = ETX_ACTIVATION_SILU,
            .norm = ETX_NORM_LAYER,
            .norm_affine = 1,
            .norm_eps = 1e-5f},
        .max_triplets = 10000000,
    };
    ETX_CHECK(read_own_options(state, network->arch->name, options));
    network->n_out = 1;
    network->needs_whole = "a triplet joins edges that two parts may own";
    ETX_CHECK(declare_all(
        state, network, json_object_get(options, TRIPLETS_KEY)));
done:
    return status;
}

void etx_triplet_release(struct etx_network *network)
{
    struct etx_triplet *state = network->state;

    if (state != NULL && state->triplets.arch != NULL) {
        state->triplets.arch->release(&state->triplets);
        etx_release(state->triplets.parameter);
    }
    etx_release(state);
    network->state = NULL;
}
