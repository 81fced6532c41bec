/* arch/edge_pooling/configure.c -- options into layers.
 *
 * The network of clusters is configured as a network of its own, whose
 * parameters then follow those of the edge network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "arch/edge_steps.h"
#include "arch/options.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/status.h"

#include <stdio.h>

#define MOST_WIDTH 4096
#define COARSE_KEY "coarse"

static etx_status read_options(
    struct etx_pooling *state, const char *owner, const json_t *options)
{
    struct etx_mlp_style *style = &state->style;
    const struct etx_option option[] = {
        {.key = "edge_hidden",
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
        {.key = "contract_cut",
            .kind = ETX_OPTION_FLOAT,
            .value = &state->contract_cut,
            .low = 0,
            .high = 1},
    };

    return etx_options_read(
        owner, options, option, (int32_t)(sizeof option / sizeof option[0]));
}

/* The options without those of the network of clusters. */
static etx_status read_own_options(
    struct etx_pooling *state, const char *owner, const json_t *options)
{
    /* Copying counts references and so takes a json_t that is not const. */
    json_t *own = json_copy((json_t *)(uintptr_t)options);
    etx_status status = ETX_OK;

    if (options != NULL && own == NULL)
        return etx_fail(ETX_ERR_MEMORY, "no memory for JSON");
    if (json_is_object(own))
        (void)json_object_del(own, COARSE_KEY);
    status = read_options(state, owner, own);
    json_decref(own);
    return status;
}

/* Append the parameters of the network of clusters. */
static etx_status declare_coarse(
    struct etx_pooling *state, struct etx_network *network)
{
    etx_status status = ETX_OK;

    state->offset = network->n_values;
    for (int32_t p = 0; p < state->coarse.n_parameters; p++) {
        struct etx_parameter parameter = state->coarse.parameter[p];
        int64_t offset = 0;

        (void)snprintf(parameter.name, sizeof parameter.name,
            COARSE_KEY ".%.54s", state->coarse.parameter[p].name);
        ETX_CHECK(etx_network_declare(network, &offset, &parameter));
    }
done:
    return status;
}

static etx_status declare_all(struct etx_pooling *state,
    struct etx_network *network, const json_t *coarse_options)
{
    etx_status status = ETX_OK;

    const int32_t n_row =
        2 * network->n_node_features + network->edge_features.n_features;

    state->width[state->n_hidden] = 1;
    ETX_CHECK(etx_mlp_block_declare(&state->edges, network, "edges", n_row,
        state->n_hidden + 1, state->width, &state->style));
    state->coarse = (struct etx_network){
        .arch = etx_arch_find("interaction_network"),
        .n_node_features = etx_pooling_width(network),
    };
    ETX_CHECK(
        state->coarse.arch->configure(&state->coarse, coarse_options));
    ETX_CHECK(declare_coarse(state, network));
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

    ETX_CHECK(etx_alloc(&state, 1, sizeof *state, "edge pooling options"));
    network->state = state;
    *state = (struct etx_pooling){
        .n_hidden = 2,
        .width = {32, 32},
        .style = {.activation = ETX_ACTIVATION_SILU,
            .norm = ETX_NORM_LAYER,
            .norm_affine = 1,
            .norm_eps = 1e-5f},
        .contract_cut = 0.5f,
    };
    ETX_CHECK(read_own_options(state, network->arch->name, options));
    network->n_out = 1;
    network->needs_whole = "a cluster may have hits of two parts";
    ETX_CHECK(declare_all(
        state, network, json_object_get(options, COARSE_KEY)));
done:
    return status;
}

void etx_pooling_release(struct etx_network *network)
{
    struct etx_pooling *state = network->state;

    if (state != NULL && state->coarse.arch != NULL) {
        state->coarse.arch->release(&state->coarse);
        etx_release(state->coarse.parameter);
    }
    etx_release(state);
    network->state = NULL;
}
