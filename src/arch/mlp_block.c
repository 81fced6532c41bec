/* arch/mlp_block.c -- the multi-layer perceptron inside every network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/mlp_block.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char etx_batch_norm_needs_whole[] = "its batch norm is over all rows";

/* torch.nn.functional.normalize's. */
#define L2_EPS 1e-12f

struct etx_mlp_style etx_mlp_style_default(enum etx_activation activation)
{
    return (struct etx_mlp_style){.activation = (int32_t)activation,
        .norm = ETX_NORM_LAYER,
        .norm_affine = 1,
        .norm_eps = 1e-5f};
}

struct etx_mlp_style etx_mlp_style_to_last(const struct etx_mlp_style *style)
{
    struct etx_mlp_style same = *style;

    same.last_norm = style->norm;
    same.last_activation = style->activation;
    return same;
}

struct etx_option etx_option_style(
    struct etx_option *table, struct etx_mlp_style *style, int32_t n)
{
    const struct etx_option all[ETX_STYLE_ALL] = {
        etx_option_choice(
            "activation", &style->activation, etx_activation_names),
        etx_option_choice("norm", &style->norm, etx_norm_names),
        etx_option_bool("norm_affine", &style->norm_affine),
        etx_option_bool("norm_last", &style->norm_last),
        etx_option_float("norm_eps", &style->norm_eps, 1e-12, 1.0),
        etx_option_choice(
            "last_activation", &style->last_activation, etx_activation_names),
        etx_option_choice("last_norm", &style->last_norm, etx_norm_names),
    };

    memcpy(table, all, (size_t)n * sizeof *table);
    return etx_option_group(table, n);
}

struct etx_option etx_option_widths(
    const char *key, struct etx_widths *widths, int32_t max)
{
    return etx_option_ints(
        key, widths->width, &widths->n, ETX_MAX_LAYERS - 1, 1, max);
}

static void describe(struct etx_layer *shape, int32_t n_in, int32_t n_out,
    int32_t is_last, const struct etx_mlp_style *style)
{
    *shape = (struct etx_layer){.n_in = n_in, .n_out = n_out};
    shape->norm = is_last ? style->last_norm : style->norm;
    shape->activation = is_last ? style->last_activation : style->activation;
    shape->norm_last = style->norm_last;
    shape->eps = style->norm_eps;
    if (shape->norm == ETX_NORM_L2) {
        shape->norm_last = 1;
        shape->eps = L2_EPS;
    }
}

static etx_status declare_vector(int64_t *offset, struct etx_network *network,
    const char *prefix, int32_t k, const char *what, int32_t n,
    enum etx_init init, int32_t fan_in)
{
    struct etx_parameter parameter = {.n_rows = 1,
        .n_cols = n,
        .is_vector = 1,
        .init = (int32_t)init,
        .fan_in = fan_in};

    (void)snprintf(parameter.name, sizeof parameter.name, "%s.%d.%s", prefix,
        (int)k, what);
    return etx_network_declare(network, offset, &parameter);
}

static etx_status declare_layer(struct etx_mlp_layer_offsets *offsets,
    struct etx_network *network, const char *prefix, int32_t k, int32_t affine)
{
    etx_status status = ETX_OK;
    const struct etx_layer *shape = &offsets->shape;
    const int32_t n_in = shape->n_in;
    const int32_t n_out = shape->n_out;
    struct etx_parameter weight = {.n_rows = n_out,
        .n_cols = n_in,
        .decays = 1,
        .init = ETX_INIT_UNIFORM,
        .fan_in = n_in};

    offsets->gain = -1;
    offsets->shift = -1;
    (void)snprintf(
        weight.name, sizeof weight.name, "%s.%d.weight", prefix, (int)k);
    ETX_CHECK(etx_network_declare(network, &offsets->weight, &weight));
    ETX_CHECK(declare_vector(&offsets->bias, network, prefix, k, "bias", n_out,
        ETX_INIT_UNIFORM, n_in));
    if (!affine || shape->norm == ETX_NORM_NONE || shape->norm == ETX_NORM_L2)
        goto done;
    ETX_CHECK(declare_vector(
        &offsets->gain, network, prefix, k, "gain", n_out, ETX_INIT_ONE, 1));
    ETX_CHECK(declare_vector(
        &offsets->shift, network, prefix, k, "shift", n_out, ETX_INIT_ZERO, 1));
done:
    return status;
}

etx_status etx_mlp_block_declare(struct etx_mlp_block *block,
    struct etx_network *network, const char *prefix, int32_t n_in,
    const struct etx_widths *hidden, int32_t n_out,
    const struct etx_mlp_style *style)
{
    etx_status status = ETX_OK;
    const int32_t n_hidden = hidden == NULL ? 0 : hidden->n;

    if (n_in < 1) {
        return etx_fail(
            ETX_ERR_FORMAT, "%s: %s has no input", network->arch->name, prefix);
    }
    block->n_layers = n_hidden + 1;
    if (style->norm == ETX_NORM_BATCH || style->last_norm == ETX_NORM_BATCH)
        network->needs_whole = etx_batch_norm_needs_whole;
    for (int32_t k = 0; k <= n_hidden; k++) {
        const int32_t width = k < n_hidden ? hidden->width[k] : n_out;

        describe(&block->layer[k].shape, n_in, width, k == n_hidden, style);
        ETX_CHECK(declare_layer(
            &block->layer[k], network, prefix, k, style->norm_affine));
        n_in = width;
    }
done:
    return status;
}

etx_status etx_mlp_blocks_declare(struct etx_mlp_blocks *blocks,
    struct etx_network *network, const char *prefix, int32_t n_iterations,
    int32_t n_in_first, int32_t n_in, const struct etx_widths *hidden,
    int32_t n_out, const struct etx_mlp_style *style)
{
    etx_status status = ETX_OK;
    const int32_t n = blocks->is_recurrent ? 1 : n_iterations;

    assert(network->n_blocks < ETX_NETWORK_MAX_BLOCKS);
    ETX_NEW(blocks->block, n, "layers of iterations");
    network->blocks[network->n_blocks++] = blocks->block;
    for (int32_t k = 0; k < n; k++) {
        char name[32];

        if (blocks->is_recurrent)
            (void)snprintf(name, sizeof name, "%s", prefix);
        else
            (void)snprintf(name, sizeof name, "%s.%d", prefix, (int)k);
        ETX_CHECK(etx_mlp_block_declare(&blocks->block[k], network, name,
            k == 0 ? n_in_first : n_in, hidden, n_out, style));
    }
done:
    return status;
}

const struct etx_mlp_block *etx_mlp_blocks_at(
    const struct etx_mlp_blocks *blocks, int32_t k)
{
    return &blocks->block[blocks->is_recurrent ? 0 : k];
}

void etx_mlp_block_append(
    struct etx_mlp_block *block, const struct etx_mlp_block *tail)
{
    assert(block->n_layers + tail->n_layers <= ETX_MAX_LAYERS);
    memcpy(block->layer + block->n_layers, tail->layer,
        (size_t)tail->n_layers * sizeof *tail->layer);
    block->n_layers += tail->n_layers;
}

static const float *at(const float *values, int64_t offset)
{
    return offset < 0 ? NULL : values + offset;
}

void etx_mlp_block_layers(struct etx_layer *layer,
    const struct etx_mlp_block *block, const float *values)
{
    for (int32_t k = 0; k < block->n_layers; k++) {
        const struct etx_mlp_layer_offsets *offsets = &block->layer[k];

        layer[k] = offsets->shape;
        layer[k].weight = at(values, offsets->weight);
        layer[k].bias = at(values, offsets->bias);
        layer[k].gain = at(values, offsets->gain);
        layer[k].shift = at(values, offsets->shift);
    }
}

static float *gradient_at(float *gradients, int64_t offset)
{
    return offset < 0 ? NULL : gradients + offset;
}

etx_status etx_mlp_block_fold(struct etx_mlp_layers *out,
    struct etx_context *context, const struct etx_mlp_block *block,
    const float *values)
{
    struct etx_layer layer[ETX_MAX_LAYERS];
    const struct etx_mlp_args forward = {
        .n_layers = block->n_layers, .layer = layer};
    const struct etx_mlp_prepare_args args = {
        .forward = &forward, .layer = out->layer, .n_layers = &out->n_layers};

    etx_mlp_block_layers(layer, block, values);
    return context->ops->mlp_prepare(context->stream, &args);
}

void etx_mlp_block_gradients(struct etx_layer_gradient *gradient,
    const struct etx_mlp_block *block, float *gradients)
{
    for (int32_t k = 0; k < block->n_layers; k++) {
        const struct etx_mlp_layer_offsets *offsets = &block->layer[k];

        gradient[k].weight = gradient_at(gradients, offsets->weight);
        gradient[k].bias = gradient_at(gradients, offsets->bias);
        gradient[k].gain = gradient_at(gradients, offsets->gain);
        gradient[k].shift = gradient_at(gradients, offsets->shift);
    }
}
