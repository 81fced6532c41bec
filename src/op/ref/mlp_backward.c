/* op/ref/mlp_backward.c -- gradients of the multi-layer perceptron.
 *
 * The forward is computed again with every intermediate kept, then the
 * backward operators run from the last layer to the first. Blocks of rows as
 * in mlp.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"

#include <string.h>

#define BLOCK_ROWS 4096

/* What the backward of one layer reads, all [n_rows, width]. */
struct layer_values {
    float *x;      /* input */
    float *linear; /* after the linear */
    float *middle; /* between norm and activation */
    float *y;      /* output, the next layer's x */
};

static etx_status alloc_rows(
    float **out, struct etx_stream *stream, int64_t n_rows, int32_t width)
{
    return etx_arena_alloc(out, stream->arena, n_rows,
        (size_t)width * sizeof **out, "values of an mlp layer");
}

static etx_status forward_norm(struct etx_stream *stream,
    const struct etx_layer *layer, int64_t n_rows, const float *x, float *y)
{
    const struct etx_norm_args norm = {.n_rows = n_rows,
        .width = layer->n_out,
        .norm = layer->norm,
        .eps = layer->eps,
        .x = x,
        .gain = layer->gain,
        .shift = layer->shift,
        .y = y};

    return etx_ref_norm(stream, &norm);
}

static etx_status forward_activation(struct etx_stream *stream,
    const struct etx_layer *layer, int64_t n_rows, const float *x, float *y)
{
    const struct etx_activation_args activation = {.n = n_rows * layer->n_out,
        .activation = layer->activation,
        .x = x,
        .y = y};

    return etx_ref_activation(stream, &activation);
}

/* Allocate and fill linear, middle and y of layer l; x is set. As the forward
 * pass, in float32 only: bfloat16 is for inference. */
static etx_status forward_layer(struct etx_stream *stream,
    const struct etx_mlp_args *args, int32_t l, struct layer_values *values)
{
    const struct etx_layer *layer = &args->layer[l];
    const int64_t n_rows = args->n_rows;
    etx_status status;

    ETX_CHECK(alloc_rows(&values->linear, stream, n_rows, layer->n_out));
    ETX_CHECK(alloc_rows(&values->middle, stream, n_rows, layer->n_out));
    ETX_CHECK(alloc_rows(&values->y, stream, n_rows, layer->n_out));
    const struct etx_linear_args linear = {.n_rows = n_rows,
        .n_in = layer->n_in,
        .n_out = layer->n_out,
        .x = values->x,
        .weight = layer->weight,
        .bias = layer->bias,
        .y = values->linear};
    ETX_CHECK(etx_ref_linear(stream, &linear));
    if (l == 0)
        etx_ref_mlp_add_rows(values->linear, args);
    if (layer->norm_last) {
        ETX_CHECK(forward_activation(
            stream, layer, n_rows, values->linear, values->middle));
        ETX_CHECK(
            forward_norm(stream, layer, n_rows, values->middle, values->y));
    } else {
        ETX_CHECK(forward_norm(
            stream, layer, n_rows, values->linear, values->middle));
        ETX_CHECK(forward_activation(
            stream, layer, n_rows, values->middle, values->y));
    }
done:
    return status;
}

/* d [n_rows, n_out]: in the gradient of the norm's output, out that of its
 * input x. */
static etx_status backward_norm(struct etx_stream *stream,
    const struct etx_layer *layer, const struct etx_layer_gradient *gradient,
    int64_t n_rows, const float *x, float *d)
{
    const struct etx_norm_backward_args norm = {.forward = {.n_rows = n_rows,
                                                    .width = layer->n_out,
                                                    .norm = layer->norm,
                                                    .eps = layer->eps,
                                                    .x = x,
                                                    .gain = layer->gain,
                                                    .shift = layer->shift},
        .d_y = d,
        .d_x = d,
        .d_gain = gradient->gain,
        .d_shift = gradient->shift};

    return etx_ref_norm_backward(stream, &norm);
}

static etx_status backward_activation(struct etx_stream *stream,
    const struct etx_layer *layer, int64_t n_rows, const float *x, float *d)
{
    const struct etx_activation_backward_args activation = {
        .n = n_rows * layer->n_out,
        .activation = layer->activation,
        .x = x,
        .d_y = d,
        .d_x = d};

    return etx_ref_activation_backward(stream, &activation);
}

/* d_y [n_rows, n_out] is overwritten; d_x [n_rows, n_in] may be NULL. */
static etx_status backward_layer(struct etx_stream *stream,
    const struct etx_layer *layer, const struct etx_layer_gradient *gradient,
    int64_t n_rows, const struct layer_values *values, float *d_y, float *d_x)
{
    etx_status status;

    if (layer->norm_last) {
        ETX_CHECK(backward_norm(
            stream, layer, gradient, n_rows, values->middle, d_y));
        ETX_CHECK(
            backward_activation(stream, layer, n_rows, values->linear, d_y));
    } else {
        ETX_CHECK(
            backward_activation(stream, layer, n_rows, values->middle, d_y));
        ETX_CHECK(backward_norm(
            stream, layer, gradient, n_rows, values->linear, d_y));
    }
    const struct etx_linear_backward_args linear = {.n_rows = n_rows,
        .n_in = layer->n_in,
        .n_out = layer->n_out,
        .x = values->x,
        .weight = layer->weight,
        .d_y = d_y,
        .d_x = d_x,
        .d_weight = gradient->weight,
        .d_bias = gradient->bias};
    ETX_CHECK(etx_ref_linear_backward(stream, &linear));
done:
    return status;
}

/* Columns of d_x [n_rows, layer[0].n_in] to their parts. */
static void split(const struct etx_mlp_backward_args *args, const float *d_x)
{
    const struct etx_mlp_args *forward = args->forward;

    for (int64_t i = 0; i < forward->n_rows; i++)
        for (int32_t p = 0; p < forward->n_parts; p++) {
            const int32_t width = forward->part[p].width;
            if (args->d_part[p] != NULL)
                memcpy(args->d_part[p] + i * width, d_x,
                    (size_t)width * sizeof *d_x);
            d_x += width;
        }
}

/* All rows of args in one pass. */
static etx_status backward_rows(
    struct etx_stream *stream, const struct etx_mlp_backward_args *args)
{
    static const struct etx_layer_gradient no_gradient = {0};
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const struct etx_mlp_args *forward = args->forward;
    const struct etx_layer *layer = forward->layer;
    const int64_t n_rows = forward->n_rows;
    const int32_t n_layers = forward->n_layers;
    struct layer_values values[ETX_MAX_LAYERS] = {{0}};
    float *d = NULL;
    float *d_x = NULL;
    etx_status status;

    ETX_CHECK(alloc_rows(&values[0].x, stream, n_rows, layer[0].n_in));
    etx_ref_mlp_concat(values[0].x, forward);
    for (int32_t l = 0; l < n_layers; l++) {
        ETX_CHECK(forward_layer(stream, forward, l, &values[l]));
        if (l + 1 < n_layers)
            values[l + 1].x = values[l].y;
    }
    ETX_CHECK(alloc_rows(&d, stream, n_rows, layer[n_layers - 1].n_out));
    memcpy(d, args->d_out,
        (size_t)n_rows * (size_t)layer[n_layers - 1].n_out * sizeof *d);
    for (int32_t l = n_layers - 1; l >= 0; l--) {
        ETX_CHECK(alloc_rows(&d_x, stream, n_rows, layer[l].n_in));
        ETX_CHECK(backward_layer(stream, &layer[l],
            args->gradient ? &args->gradient[l] : &no_gradient, n_rows,
            &values[l], d, d_x));
        if (l == 0 && args->d_added != NULL)
            memcpy(args->d_added, d,
                (size_t)n_rows * (size_t)layer[0].n_out * sizeof *d);
        d = d_x;
    }
    split(args, d);
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

etx_status etx_ref_mlp_backward(
    struct etx_stream *stream, const struct etx_mlp_backward_args *args)
{
    const struct etx_mlp_args *forward = args->forward;
    const int32_t n_out = forward->layer[forward->n_layers - 1].n_out;
    const int64_t block =
        etx_ref_mlp_has_batch_norm(forward) ? forward->n_rows : BLOCK_ROWS;
    etx_status status = ETX_OK;

    for (int64_t first = 0; first < forward->n_rows; first += block) {
        const int64_t left = forward->n_rows - first;
        const struct etx_mlp_args rows =
            etx_ref_mlp_rows(forward, first, left < block ? left : block);
        struct etx_mlp_backward_args backward = *args;
        backward.forward = &rows;
        backward.d_out += first * n_out;
        for (int32_t p = 0; p < forward->n_parts; p++)
            if (backward.d_part[p] != NULL)
                backward.d_part[p] += first * forward->part[p].width;
        if (backward.d_added != NULL)
            backward.d_added += first * forward->layer[0].n_out;
        ETX_CHECK(etx_check_cancelled(stream));
        ETX_CHECK(backward_rows(stream, &backward));
    }
done:
    return status;
}
