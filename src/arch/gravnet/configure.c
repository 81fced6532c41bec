/* arch/gravnet/configure.c -- options into layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/gravnet/network.h"

#include "base/check.h"
#include "base/heap.h"

#include <stdio.h>

#define MAX_WIDTH      4096
#define MAX_SPACE      64
#define MAX_NEIGHBOURS 1024

static etx_status read_options(struct etx_gravnet *state, const char *owner,
    const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_int("hidden", &state->hidden, 1, MAX_WIDTH),
        etx_option_int("n_iterations", &state->n_iterations, 0,
            ETX_GRAVNET_MAX_ITERATIONS),
        etx_option_int("n_space", &state->n_space, 1, MAX_SPACE),
        etx_option_int("n_flow", &state->n_flow, 1, MAX_WIDTH),
        etx_option_int("n_neighbours", &state->n_neighbours, 1, MAX_NEIGHBOURS),
        etx_option_int("n_out", &state->n_out, 1, MAX_WIDTH),
        etx_option_style(style, &state->style, ETX_STYLE_ACTIVATION_NORM),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

/* Two layers: n_in -> hidden -> n_out. */
static etx_status declare_two(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_out)
{
    const struct etx_gravnet *state = network->state;
    const struct etx_widths hidden = {.n = 1, .width = {state->hidden}};

    return etx_mlp_block_declare(
        block, network, prefix, n_in, &hidden, n_out, &state->style);
}

static etx_status declare_iteration(
    struct etx_gravnet *state, struct etx_network *network, int32_t k)
{
    struct etx_gravnet_blocks *blocks = &state->iteration[k];
    char name[32];
    etx_status status;

    (void)snprintf(name, sizeof name, "space.%d", (int)k);
    ETX_CHECK(etx_mlp_block_declare(&blocks->space, network, name,
        state->hidden, NULL, state->n_space, &state->style));
    (void)snprintf(name, sizeof name, "flow.%d", (int)k);
    ETX_CHECK(etx_mlp_block_declare(&blocks->flow, network, name, state->hidden,
        NULL, state->n_flow, &state->style));
    (void)snprintf(name, sizeof name, "update.%d", (int)k);
    ETX_CHECK(declare_two(&blocks->update, network, name,
        state->hidden + state->n_flow, state->hidden));
done:
    return status;
}

etx_status etx_gravnet_configure(
    struct etx_network *network, const struct etx_json *options)
{
    struct etx_gravnet *state = NULL;
    etx_status status;

    ETX_NEW(state, 1, "gravnet options");
    network->state = state;
    *state = (struct etx_gravnet){
        .hidden = 32,
        .n_iterations = 3,
        .n_space = 4,
        .n_flow = 16,
        .n_neighbours = 16,
        .n_out = 8,
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    network->n_out = state->n_out;
    if (state->n_iterations > 0)
        network->needs_whole = "neighbours are searched among all hits";
    ETX_CHECK(declare_two(&state->encoder, network, "encoder",
        network->n_node_features, state->hidden));
    for (int32_t k = 0; k < state->n_iterations; k++)
        ETX_CHECK(declare_iteration(state, network, k));
    ETX_CHECK(declare_two(
        &state->output, network, "output", state->hidden, state->n_out));
done:
    return status;
}
