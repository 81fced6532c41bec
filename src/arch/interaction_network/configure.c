/* arch/interaction_network/configure.c -- options into layers.
 *
 * The defaults are the network that ships with the project; README.md lists
 * the settings that give the networks of other codebases.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#define MAX_HIDDEN     4096
#define MAX_ITERATIONS 64

static const char *const update_names[] = {"first", "old", "new", NULL};
static const char *const reduce_names[] = {"sum", "mean", "max", "std", NULL};
static const char *const at_names[] = {"target", "both", "both_summed", NULL};
static const char *const edge_input_names[] = {
    "nodes_edge", "edge_nodes", NULL};
static const char *const decoder_input_names[] = {"nodes_edge", "edge", NULL};
static const char *const node_input_names[] = {
    "node_messages", "messages_node", NULL};
static const char *const direction_names[] = {
    "directed", "doubled_first_half", "doubled_mean", NULL};

static etx_status read_options(struct etx_interaction *state, const char *owner,
    const struct etx_json *options)
{
    struct etx_interaction *s = state;
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_int("hidden", &s->hidden, 1, MAX_HIDDEN),
        etx_option_int("n_iterations", &s->n_iterations, 0, MAX_ITERATIONS),
        etx_option_int("encoder_layers", &s->encoder_layers, 1, ETX_MAX_LAYERS),
        etx_option_int(
            "edge_encoder_layers", &s->edge_encoder_layers, 1, ETX_MAX_LAYERS),
        etx_option_int("node_layers", &s->node_layers, 1, ETX_MAX_LAYERS),
        etx_option_int("edge_layers", &s->edge_layers, 1, ETX_MAX_LAYERS),
        etx_option_int(
            "decoder_layers", &s->decoder_layers, 1, ETX_MAX_LAYERS / 2),
        etx_option_int(
            "transform_layers", &s->transform_layers, 0, ETX_MAX_LAYERS / 2),
        etx_option_int("pt_layers", &s->pt_layers, 0, ETX_MAX_LAYERS / 2),
        etx_option_style(style, &s->style, ETX_STYLE_ALL),
        etx_option_choice("edge_update", &s->edge_update, update_names),
        etx_option_choices("aggregation", s->aggregate, &s->n_aggregates,
            ETX_INTERACTION_MAX_AGGREGATES, reduce_names),
        etx_option_choice("aggregate_at", &s->aggregate_at, at_names),
        etx_option_bool("node_residual", &s->node_residual),
        etx_option_bool("edge_residual", &s->edge_residual),
        etx_option_bool("node_recurrent", &s->node_networks.is_recurrent),
        etx_option_bool("edge_recurrent", &s->edge_networks.is_recurrent),
        etx_option_bool("concat_initial", &s->concat_initial),
        etx_option_bool("edge_from_latents", &s->edge_from_latents),
        etx_option_bool("edge_from_nodes", &s->edge_from_nodes),
        etx_option_bool("edge_from_features", &s->edge_from_features),
        etx_option_choice(
            "decoder_input", &s->decode_edge, decoder_input_names),
        etx_option_choice("edge_input", &s->edge_first, edge_input_names),
        etx_option_choice("node_input", &s->messages_first, node_input_names),
        etx_option_choice("order", &s->order, etx_edge_order_names),
        etx_option_choice("direction", &s->direction, direction_names),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

/* n_layers - 1 hidden layers. */
static struct etx_widths hidden_layers(
    const struct etx_interaction *state, int32_t n_layers)
{
    struct etx_widths hidden = {.n = n_layers - 1};

    for (int32_t k = 0; k < hidden.n; k++)
        hidden.width[k] = state->hidden;
    return hidden;
}

/* A block of n_layers layers of the hidden width. */
static etx_status declare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers)
{
    const struct etx_interaction *state = network->state;
    const struct etx_widths hidden = hidden_layers(state, n_layers);

    return etx_mlp_block_declare(
        block, network, prefix, n_in, &hidden, state->hidden, &state->style);
}

/* The same for every iteration, or for all of them. */
static etx_status declare_iterations(struct etx_mlp_blocks *blocks,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers)
{
    const struct etx_interaction *state = network->state;
    const struct etx_widths hidden = hidden_layers(state, n_layers);

    return etx_mlp_blocks_declare(blocks, network, prefix, state->n_iterations,
        n_in, n_in, &hidden, state->hidden, &state->style);
}

/* A block of n_layers layers whose last is bare, of width 1. */
static etx_status declare_bare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers)
{
    const struct etx_interaction *state = network->state;
    const struct etx_widths hidden = hidden_layers(state, n_layers);
    struct etx_mlp_style style = state->style;

    style.last_activation = ETX_ACTIVATION_NONE;
    style.last_norm = ETX_NORM_NONE;
    return etx_mlp_block_declare(
        block, network, prefix, n_in, &hidden, 1, &style);
}

/* The decoder ends with a bare layer of width 1; with a transform it is a block
 * like the others, and the transform that follows ends so. */
static etx_status declare_decoder(
    struct etx_interaction *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t n_in = state->hidden * (state->decode_edge ? 1 : 3);
    struct etx_mlp_block transform;

    if (state->transform_layers == 0)
        return declare_bare(
            &state->decoder, network, "decoder", n_in, state->decoder_layers);
    ETX_CHECK(declare(
        &state->decoder, network, "decoder", n_in, state->decoder_layers));
    ETX_CHECK(declare_bare(&transform, network, "transform", state->hidden,
        state->transform_layers));
    etx_mlp_block_append(&state->decoder, &transform);
done:
    return status;
}

static etx_status declare_all(
    struct etx_interaction *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t hidden = state->hidden;
    const int32_t latents = state->concat_initial ? 2 : 1;
    const int32_t messages =
        state->n_aggregates * (state->aggregate_at == ETX_AT_BOTH ? 2 : 1);
    int32_t edge_in = 0;

    if (state->edge_from_latents)
        edge_in += 2 * hidden;
    if (state->edge_from_nodes)
        edge_in += 2 * network->n_node_features;
    if (state->edge_from_features)
        edge_in += network->edge_features.n_features;
    ETX_CHECK(declare(&state->node_encoder, network, "node_encoder",
        network->n_node_features, state->encoder_layers));
    ETX_CHECK(declare(&state->edge_encoder, network, "edge_encoder", edge_in,
        state->edge_encoder_layers));
    ETX_CHECK(declare_iterations(&state->node_networks, network, "node_network",
        (latents + messages) * hidden, state->node_layers));
    ETX_CHECK(declare_iterations(&state->edge_networks, network, "edge_network",
        3 * latents * hidden, state->edge_layers));
    ETX_CHECK(declare_decoder(state, network));
    if (state->pt_layers > 0)
        ETX_CHECK(declare_bare(
            &state->pt_head, network, "pt_head", hidden, state->pt_layers));
    network->has_pt_head = state->pt_layers > 0;
done:
    return status;
}

static etx_status check_options(
    const struct etx_interaction *state, const struct etx_network *network)
{
    const char *name = network->arch->name;

    if (state->n_aggregates == 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option 'aggregation' is empty, expected 1 to %d entries", name,
            ETX_INTERACTION_MAX_AGGREGATES);
    }
    if (!state->edge_from_features && network->edge_features.n_features > 0) {
        return etx_fail(ETX_ERR_FORMAT,
            "%s: option 'edge_from_features' is false, but %d edge features "
            "are given",
            name, (int)network->edge_features.n_features);
    }
    return ETX_OK;
}

etx_status etx_interaction_configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct etx_interaction *state = NULL;

    ETX_NEW(state, 1, "interaction network options");
    network->state = state;
    *state = (struct etx_interaction){
        .hidden = 32,
        .n_iterations = 6,
        .encoder_layers = 2,
        .edge_encoder_layers = 2,
        .node_layers = 2,
        .edge_layers = 2,
        .decoder_layers = 2,
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
        .edge_update = ETX_UPDATE_FIRST,
        .n_aggregates = 1,
        .aggregate = {ETX_REDUCE_SUM},
        .aggregate_at = ETX_AT_BOTH,
        .node_residual = 1,
        .edge_residual = 1,
        .edge_from_nodes = 1,
        .edge_from_features = 1,
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    ETX_CHECK(check_options(state, network));
    network->n_out = 1;
    ETX_CHECK(declare_all(state, network));
done:
    return status;
}
