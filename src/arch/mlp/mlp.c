/* arch/mlp/mlp.c -- points from node features: the metric-learning network.
 *
 * A perceptron applied to every hit; hits of one track should come out close
 * to each other (Exa.TrkX, arXiv:2103.06995, section 3.1).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/mlp_block.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#define MAX_WIDTH 65536

/* Scratch up to which linears are kept for the backward. */
#define MAX_SCRATCH (INT64_C(1) << 30) /* bytes */

extern const struct etx_arch etx_arch_mlp;

struct state {
    struct etx_widths hidden;
    int32_t n_out;
    int32_t normalize_output;
    struct etx_mlp_style style;
    struct etx_mlp_block block;
};

static etx_status read_options(
    struct state *state, const char *owner, const struct etx_json *options)
{
    struct etx_option style[ETX_STYLE_ALL];
    const struct etx_option option[] = {
        etx_option_widths("hidden", &state->hidden, MAX_WIDTH),
        etx_option_int("n_out", &state->n_out, 1, 1024),
        etx_option_style(style, &state->style, ETX_STYLE_LAST_ACTIVATION),
        etx_option_bool("normalize_output", &state->normalize_output),
    };

    return etx_options_read(owner, options, option, ETX_N_OPTIONS(option));
}

static etx_status configure(
    struct etx_network *network, const struct etx_json *options)
{
    etx_status status = ETX_OK;
    struct state *state = NULL;

    ETX_NEW(state, 1, "mlp options");
    network->state = state;
    *state = (struct state){
        .hidden = {.n = 3, .width = {256, 256, 256}},
        .n_out = 8,
        .style = etx_mlp_style_default(ETX_ACTIVATION_SILU),
    };
    ETX_CHECK(read_options(state, network->arch->name, options));
    if (state->normalize_output)
        state->style.last_norm = ETX_NORM_L2;
    network->n_out = state->n_out;
    ETX_CHECK(etx_mlp_block_declare(&state->block, network, "layers",
        network->n_node_features, &state->hidden, state->n_out, &state->style));
done:
    return status;
}

static struct etx_mlp_input describe(
    const struct etx_network *network, const struct etx_network_input *input)
{
    struct etx_mlp_input rows = {.args = {.n_rows = input->n_nodes}};

    etx_mlp_append(&rows, input->node_features, NULL, network->n_node_features);
    return rows;
}

/* Consecutive linear layers are folded into one unless their outputs are kept,
 * which rounds differently. */
static int32_t has_bare_linear(const struct etx_mlp_style *style)
{
    return style->norm == ETX_NORM_NONE &&
           style->activation == ETX_ACTIVATION_NONE;
}

/* Memory for the outputs of the linears of n_rows, or NULL to compute them
 * again in the backward: when memory is limited, and on a device, where
 * products are cheap. */
static etx_status alloc_linears(float **out, const struct state *state,
    const struct etx_context *context, int64_t n_rows)
{
    struct etx_arena *arena = context->stream->arena;
    int64_t width = 0;
    etx_status status = ETX_OK;

    *out = NULL;
    for (int32_t l = 0; l < state->block.n_layers; l++)
        width += state->block.layer[l].shape.n_out;
    if (context->stream->memory != NULL || etx_arena_has_limit(arena) ||
        has_bare_linear(&state->style) ||
        n_rows > (MAX_SCRATCH - etx_arena_in_use(arena)) /
                     (width * (int64_t)sizeof(float)))
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(
        out, arena, n_rows * width, sizeof **out, "linears of an mlp"));
done:
    return status;
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    const struct state *state = network->state;
    struct etx_mlp_input rows = describe(network, input);

    if (tape != NULL) {
        ETX_CHECK(
            alloc_linears(&rows.args.linear, state, context, rows.args.n_rows));
        tape->state = rows.args.linear;
    }
    rows.args.out = out;
    ETX_CHECK(
        etx_mlp_block_forward(context, &state->block, network->value, &rows));
done:
    return status;
}

static etx_status backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    const struct state *state = network->state;
    struct etx_mlp_input rows = describe(network, input);

    rows.args.linear = tape->state;
    return etx_mlp_block_backward(
        context, &state->block, network->value, gradient, &rows, d_out);
}

const struct etx_arch etx_arch_mlp = {
    .name = "mlp",
    .kind = ETX_NETWORK_POINT,
    .configure = configure,
    .forward = forward,
    .backward = backward,
};
