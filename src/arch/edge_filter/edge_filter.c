/* arch/edge_filter/edge_filter.c -- a score for every edge from its two ends.
 *
 * A perceptron on the node features of both ends and the features of the
 * edge. It runs over blocks of edges, so no hidden layer of all edges is ever
 * in memory; only a batch norm needs all edges together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_steps.h"
#include "arch/mlp_block.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <string.h>

#define MAX_WIDTH 65536
/* Edges of a block. Gradients are sums over blocks, so theirs do not depend on
 * threads; of scores, the features of a block stay in second-level caches. A
 * block on a device starts a few kernels. */
#define BLOCK_EDGES        65536
#define SCORED_EDGES       8192 /* for every two threads */
#define DEVICE_BLOCK_EDGES (1 << 20)

enum style {
    STYLE_MLP,     /* linear, norm, activation */
    STYLE_PYRAMID, /* the same, by convention with halved widths */
    STYLE_VANILLA  /* Exa.TrkX: first layer linear, one shared norm */
};

static const char *const style_names[] = {"mlp", "pyramid", "vanilla", NULL};

extern const struct etx_arch etx_arch_edge_filter;

struct state {
    int32_t style; /* enum style */
    int32_t order; /* enum etx_edge_order */
    struct etx_widths hidden;
    struct etx_mlp_style layers;
    struct etx_mlp_block block;
};

static etx_status read_options(
    struct state *state, const char *owner, const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_widths("hidden", &state->hidden, MAX_WIDTH),
        etx_option_choice("style", &state->style, style_names),
        etx_option_choice("order", &state->order, etx_edge_order_names),
        etx_option_style(style, &state->layers, ETX_STYLE_HIDDEN),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

static etx_status declare_shared(int64_t *offset, struct etx_network *network,
    const char *name, int32_t width, enum etx_init init)
{
    struct etx_parameter parameter = {.n_rows = 1,
        .n_cols = width,
        .is_vector = 1,
        .init = (int32_t)init,
        .fan_in = 1};

    memcpy(parameter.name, name, strlen(name) + 1);
    return etx_network_declare(network, offset, &parameter);
}

/* Hidden layers after the first have the activation and one shared norm. */
static etx_status share_norm(struct state *state, struct etx_network *network)
{
    etx_status status = ETX_OK;
    const struct etx_mlp_style *style = &state->layers;
    int64_t gain = -1;
    int64_t shift = -1;

    if (style->norm_affine && state->hidden.n > 1 &&
        (style->norm == ETX_NORM_LAYER || style->norm == ETX_NORM_BATCH)) {
        ETX_CHECK(declare_shared(
            &gain, network, "norm.gain", state->hidden.width[0], ETX_INIT_ONE));
        ETX_CHECK(declare_shared(&shift, network, "norm.shift",
            state->hidden.width[0], ETX_INIT_ZERO));
    }
    if (style->norm == ETX_NORM_BATCH)
        network->needs_whole = etx_batch_norm_needs_whole;
    for (int32_t k = 1; k < state->hidden.n; k++) {
        struct etx_mlp_layer_offsets *offsets = &state->block.layer[k];

        offsets->shape.norm = style->norm;
        offsets->shape.norm_last = 1;
        offsets->shape.activation = style->activation;
        offsets->gain = gain;
        offsets->shift = shift;
    }
done:
    return status;
}

static etx_status configure_vanilla(
    struct state *state, struct etx_network *network, int32_t n_in)
{
    etx_status status = ETX_OK;
    const struct etx_mlp_style bare = {.norm_eps = state->layers.norm_eps};

    for (int32_t k = 1; k < state->hidden.n; k++) {
        if (state->hidden.width[k] != state->hidden.width[0]) {
            return etx_fail(ETX_ERR_FORMAT,
                "%s: option 'hidden' has widths %d and %d, but style vanilla "
                "shares one norm and needs equal widths",
                network->arch->name, (int)state->hidden.width[0],
                (int)state->hidden.width[k]);
        }
    }
    ETX_CHECK(etx_mlp_block_declare(
        &state->block, network, "layers", n_in, &state->hidden, 1, &bare));
    ETX_CHECK(share_norm(state, network));
done:
    return status;
}

static etx_status configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct state *state = NULL;
    const int32_t n_in =
        2 * network->n_node_features + network->edge_features.n_features;

    ETX_NEW(state, 1, "edge filter options");
    network->state = state;
    *state = (struct state){
        .hidden = {.n = 2, .width = {64, 64}},
        .layers = etx_mlp_style_default(ETX_ACTIVATION_SILU),
    };
    state->layers.activation = -1; /* by style, unless an option */
    ETX_CHECK(read_options(state, network->arch->name, options));
    network->n_out = 1;
    if (state->layers.activation < 0) {
        state->layers.activation = state->style == STYLE_VANILLA
                                       ? ETX_ACTIVATION_TANH
                                       : ETX_ACTIVATION_SILU;
    }
    if (state->style == STYLE_VANILLA) {
        ETX_CHECK(configure_vanilla(state, network, n_in));
    } else {
        ETX_CHECK(etx_mlp_block_declare(&state->block, network, "layers", n_in,
            &state->hidden, 1, &state->layers));
    }
done:
    return status;
}

/* A pass over the edges: the block it is at. */
struct pass {
    const struct etx_network *network;
    struct etx_context *context;
    const struct etx_network_input *input;
    int64_t n_block; /* edges a block */
    float *features; /* [n_block, n_edge_features] */
};

static etx_status start(struct pass *pass, const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    int64_t host_block)
{
    const struct state *state = network->state;
    const int64_t n_edges = input->graph->n_edges;
    const int32_t width = network->edge_features.n_features;
    const int64_t max_block =
        context->stream->memory == NULL ? host_block : DEVICE_BLOCK_EDGES;

    *pass = (struct pass){.network = network,
        .context = context,
        .input = input,
        .n_block = n_edges};
    if (state->layers.norm != ETX_NORM_BATCH && n_edges > max_block)
        pass->n_block = max_block;
    if (width == 0)
        return ETX_OK;
    return etx_floats_alloc(
        &pass->features, context, pass->n_block * width, "edge features");
}

/* The rows of edges first .. first + n - 1. */
static etx_status describe(
    struct etx_mlp_input *out, const struct pass *pass, int64_t first)
{
    const struct etx_network *network = pass->network;
    const struct state *state = network->state;
    const struct etx_network_input *input = pass->input;
    const struct etx_edge_ends ends = etx_edge_ends(input->graph, state->order);
    const int64_t left = input->graph->n_edges - first;

    const struct etx_edge_end one = {.index = ends.first.index + first};
    const struct etx_edge_end other = {.index = ends.second.index + first};

    *out = (struct etx_mlp_input){
        .args = {.n_rows = left < pass->n_block ? left : pass->n_block}};
    etx_mlp_append(out, input->node_features, &one, network->n_node_features);
    etx_mlp_append(out, input->node_features, &other, network->n_node_features);
    etx_mlp_append(
        out, pass->features, NULL, network->edge_features.n_features);
    return etx_edge_feature_rows(
        pass->features, network, pass->context, input, first, out->args.n_rows);
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    const struct state *state = network->state;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    const int64_t n_threads = etx_pool_n_threads(context->stream->pool);
    struct etx_mlp_layers layers;
    struct pass pass;

    if (tape != NULL)
        tape->state = NULL;
    ETX_CHECK(start(
        &pass, network, context, input, SCORED_EDGES * ((n_threads + 1) / 2)));
    ETX_CHECK(
        etx_mlp_block_fold(&layers, context, &state->block, network->value));
    for (int64_t first = 0; first < input->graph->n_edges;
         first += pass.n_block) {
        struct etx_mlp_input rows;

        ETX_CHECK(etx_check_cancelled(context->stream));
        ETX_CHECK(describe(&rows, &pass, first));
        rows.args.out = out + first;
        rows.args.n_layers = layers.n_layers;
        rows.args.layer = layers.layer;
        ETX_CHECK(context->ops->mlp(context->stream, &rows.args));
    }
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

static etx_status backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    const struct state *state = network->state;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct pass pass;

    (void)tape;
    ETX_CHECK(start(&pass, network, context, input, BLOCK_EDGES));
    for (int64_t first = 0; first < input->graph->n_edges;
         first += pass.n_block) {
        struct etx_mlp_input rows;

        ETX_CHECK(etx_check_cancelled(context->stream));
        ETX_CHECK(describe(&rows, &pass, first));
        ETX_CHECK(etx_mlp_block_backward(context, &state->block, network->value,
            gradient, &rows, d_out + first));
    }
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

const struct etx_arch etx_arch_edge_filter = {
    .name = "edge_filter",
    .kind = ETX_NETWORK_EDGE,
    .configure = configure,
    .forward = forward,
    .backward = backward,
    .reads_ends_only = 1,
};
