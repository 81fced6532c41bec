/* arch/interaction_network/configure.c -- options into layers.
 *
 * The defaults are the network that ships with the project; README.md lists
 * the settings that give the networks of other codebases.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/network.h"

#include "arch/edge_steps.h"
#include "arch/options.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <stdio.h>

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

static etx_status read_options(
    struct etx_interaction *state, const char *owner, const json_t *options)
{
    struct etx_interaction *s = state;
    struct etx_mlp_style *style = &state->style;
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
        etx_option_choice(
            "activation", &style->activation, etx_activation_names),
        etx_option_choice("norm", &style->norm, etx_norm_names),
        etx_option_bool("norm_affine", &style->norm_affine),
        etx_option_bool("norm_last", &style->norm_last),
        etx_option_float("norm_eps", &style->norm_eps, 1e-12, 1.0),
        etx_option_choice(
            "last_activation", &style->last_activation, etx_activation_names),
        etx_option_choice("last_norm", &style->last_norm, etx_norm_names),
        etx_option_choice("edge_update", &s->edge_update, update_names),
        etx_option_choices("aggregation", s->aggregate, &s->n_aggregates,
            ETX_INTERACTION_MAX_AGGREGATES, reduce_names),
        etx_option_choice("aggregate_at", &s->aggregate_at, at_names),
        etx_option_bool("node_residual", &s->node_residual),
        etx_option_bool("edge_residual", &s->edge_residual),
        etx_option_bool("node_recurrent", &s->node_recurrent),
        etx_option_bool("edge_recurrent", &s->edge_recurrent),
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

/* A block of n_layers layers of the hidden width. */
static etx_status declare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers)
{
    const struct etx_interaction *state = network->state;
    int32_t width[ETX_MAX_LAYERS];

    for (int32_t k = 0; k < n_layers; k++)
        width[k] = state->hidden;
    return etx_mlp_block_declare(
        block, network, prefix, n_in, n_layers, width, &state->style);
}

/* One block, or one for every iteration. */
static etx_status declare_iterations(struct etx_mlp_block **out,
    struct etx_network *network, const char *prefix, int32_t is_recurrent,
    int32_t n_in, int32_t n_layers)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = network->state;
    const int32_t n = is_recurrent ? 1 : state->n_iterations;

    ETX_CHECK(etx_alloc(out, n, sizeof **out, "interaction network layers"));
    for (int32_t k = 0; k < n; k++) {
        char name[32];

        if (is_recurrent)
            (void)snprintf(name, sizeof name, "%s", prefix);
        else
            (void)snprintf(name, sizeof name, "%s.%d", prefix, (int)k);
        ETX_CHECK(declare(&(*out)[k], network, name, n_in, n_layers));
    }
done:
    return status;
}

/* A block of n_layers layers that ends bare with one value. */
static etx_status declare_bare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    int32_t n_layers)
{
    const struct etx_interaction *state = network->state;
    struct etx_mlp_style style = state->style;
    int32_t width[ETX_MAX_LAYERS];

    style.last_activation = ETX_ACTIVATION_NONE;
    style.last_norm = ETX_NORM_NONE;
    for (int32_t k = 0; k < n_layers; k++)
        width[k] = k == n_layers - 1 ? 1 : state->hidden;
    return etx_mlp_block_declare(
        block, network, prefix, n_in, n_layers, width, &style);
}

/* The decoder ends bare with one value; with a transform it is a block like
 * the others, followed by the transform, which ends so. */
static etx_status declare_decoder(
    struct etx_interaction *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const int32_t n_in = state->hidden * (state->decode_edge ? 1 : 3);
    const int32_t n_last = state->transform_layers > 0 ? state->transform_layers
                                                       : state->decoder_layers;
    const char *name = state->transform_layers > 0 ? "transform" : "decoder";
    struct etx_mlp_block last;

    if (state->transform_layers > 0) {
        ETX_CHECK(declare(
            &state->decoder, network, "decoder", n_in, state->decoder_layers));
    }
    ETX_CHECK(declare_bare(&last, network, name,
        state->transform_layers > 0 ? state->hidden : n_in, n_last));
    etx_mlp_block_append(&state->decoder, &last);
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
    ETX_CHECK(declare_iterations(&state->node_network, network, "node_network",
        state->node_recurrent, (latents + messages) * hidden,
        state->node_layers));
    ETX_CHECK(declare_iterations(&state->edge_network, network, "edge_network",
        state->edge_recurrent, 3 * latents * hidden, state->edge_layers));
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
    struct etx_network *network, const json_t *options)
{
    etx_status status = ETX_OK;
    struct etx_interaction *state = NULL;

    ETX_CHECK(
        etx_alloc(&state, 1, sizeof *state, "interaction network options"));
    network->state = state;
    *state = (struct etx_interaction){
        .hidden = 32,
        .n_iterations = 6,
        .encoder_layers = 2,
        .edge_encoder_layers = 2,
        .node_layers = 2,
        .edge_layers = 2,
        .decoder_layers = 2,
        .style = {.activation = ETX_ACTIVATION_SILU,
            .norm = ETX_NORM_LAYER,
            .norm_affine = 1,
            .norm_eps = 1e-5f},
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

void etx_interaction_release(struct etx_network *network)
{
    struct etx_interaction *state = network->state;

    if (state == NULL)
        return;
    etx_free(state->node_network);
    etx_free(state->edge_network);
    etx_free(state);
    network->state = NULL;
}

const struct etx_mlp_block *etx_interaction_node_network(
    const struct etx_interaction *state, int32_t k)
{
    return &state->node_network[state->node_recurrent ? 0 : k];
}

const struct etx_mlp_block *etx_interaction_edge_network(
    const struct etx_interaction *state, int32_t k)
{
    return &state->edge_network[state->edge_recurrent ? 0 : k];
}
