/* cuda/op/mlp_backward.cu -- gradients of a perceptron, block by block.
 *
 * A block is computed forward again, saving the input of every step, then
 * backward by the steps of cuda/op/layers.h. Every
 * block adds its gradient of the parameters to the caller's, in order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/layers.h"
#include "cuda/op/mlp.cuh"
#include "cuda/op/operators.h"

/* Of all arrays of a block, which keep every layer: no cache would do. */
#define BLOCK_BYTES ((int64_t)256 << 20)

/* Of a block of rows: x of layer l [n_rows, n_in], its linear and what stands
 * between norm and activation [n_rows, n_out], and two gradients as wide as
 * the widest. */
struct saved {
    float *x[ETX_MAX_LAYERS];
    float *linear[ETX_MAX_LAYERS];
    float *middle[ETX_MAX_LAYERS];
    float *d_y, *d_x;
};

static int64_t floats_a_row(const struct etx_mlp_args *args)
{
    int64_t sum = 2 * (int64_t)etx_cuda_mlp_widest(args, args->layer[0].n_in);

    for (int32_t l = 0; l < args->n_layers; l++)
        sum += args->layer[l].n_in + 2 * (int64_t)args->layer[l].n_out;
    return sum;
}

static etx_status alloc_saved(struct saved *out,
    struct etx_cuda_scratch *scratch, const struct etx_mlp_args *args,
    int64_t n_rows)
{
    const int64_t widest = etx_cuda_mlp_widest(args, args->layer[0].n_in);

    for (int32_t l = 0; l < args->n_layers; l++) {
        const struct etx_layer *layer = &args->layer[l];

        ETX_TRY(scratch->alloc(
            &out->x[l], n_rows * layer->n_in, "inputs of layers"));
        ETX_TRY(scratch->alloc(
            &out->linear[l], n_rows * layer->n_out, "linears of layers"));
        ETX_TRY(scratch->alloc(
            &out->middle[l], n_rows * layer->n_out, "norms of layers"));
    }
    ETX_TRY(scratch->alloc(&out->d_y, n_rows * widest, "gradients of layers"));
    return scratch->alloc(&out->d_x, n_rows * widest, "gradients of layers");
}

static etx_status run_norm(struct etx_stream *stream, float *y, const float *x,
    const struct etx_layer *layer, int64_t n_rows)
{
    const struct etx_norm_args args = {n_rows, layer->n_out, layer->norm,
        layer->eps, x, layer->gain, layer->shift, y};

    return etx_cuda_norm(stream, &args);
}

static etx_status run_activation(struct etx_stream *stream, float *y,
    const float *x, const struct etx_layer *layer, int64_t n_rows)
{
    const struct etx_activation_args args = {
        n_rows * layer->n_out, layer->activation, x, y, NULL};

    return etx_cuda_activation(stream, &args);
}

/* Everything that the backward reads. */
static etx_status forward_block(struct etx_stream *stream,
    const struct saved *saved, const struct etx_mlp_args *args, int64_t first,
    int64_t n_rows)
{
    ETX_TRY(etx_cuda_mlp_concat(stream, saved->x[0], args, first, n_rows));
    for (int32_t l = 0; l < args->n_layers; l++) {
        const struct etx_layer *layer = &args->layer[l];
        const int32_t is_last = l == args->n_layers - 1;

        ETX_TRY(etx_cuda_mlp_linear(
            stream, saved->linear[l], saved->x[l], args, l, first, n_rows));
        ETX_TRY((layer->norm_last ? run_activation : run_norm)(
            stream, saved->middle[l], saved->linear[l], layer, n_rows));
        if (!is_last)
            ETX_TRY((layer->norm_last ? run_norm : run_activation)(
                stream, saved->x[l + 1], saved->middle[l], layer, n_rows));
    }
    return ETX_OK;
}

/* d becomes the gradient of x, what the norm read. */
static etx_status norm_backward(struct etx_stream *stream, float *d,
    const float *x, const struct etx_layer *layer,
    const struct etx_layer_gradient *gradient, int64_t n_rows)
{
    struct etx_norm_backward_args args = {};

    if (layer->norm == ETX_NORM_NONE)
        return ETX_OK;
    args.forward = {n_rows, layer->n_out, layer->norm, layer->eps, x,
        layer->gain, layer->shift, NULL};
    args.d_y = d;
    args.d_x = d;
    args.d_gain = gradient != NULL ? gradient->gain : NULL;
    args.d_shift = gradient != NULL ? gradient->shift : NULL;
    return etx_cuda_norm_backward(stream, &args);
}

static etx_status activation_backward(struct etx_stream *stream, float *d,
    const float *x, const struct etx_layer *layer, int64_t n_rows)
{
    const struct etx_activation_backward_args args = {
        n_rows * layer->n_out, layer->activation, x, d, d};

    if (layer->activation == ETX_ACTIVATION_NONE)
        return ETX_OK;
    return etx_cuda_activation_backward(stream, &args);
}

/* d: the gradient of the layer's result, then of its linear; d_x, unless it is
 * NULL, that of its input. */
static etx_status layer_backward(struct etx_stream *stream,
    const struct saved *saved, float *d, float *d_x, int32_t l,
    const struct etx_mlp_backward_args *args, int64_t n_rows)
{
    const struct etx_layer *layer = &args->forward->layer[l];
    const struct etx_layer_gradient *gradient =
        args->gradient != NULL ? &args->gradient[l] : NULL;
    struct etx_linear_backward_args linear = {};

    if (layer->norm_last)
        ETX_TRY(norm_backward(
            stream, d, saved->middle[l], layer, gradient, n_rows));
    ETX_TRY(activation_backward(stream, d,
        layer->norm_last ? saved->linear[l] : saved->middle[l], layer, n_rows));
    if (!layer->norm_last)
        ETX_TRY(norm_backward(
            stream, d, saved->linear[l], layer, gradient, n_rows));
    linear.n_rows = n_rows;
    linear.n_in = layer->n_in;
    linear.n_out = layer->n_out;
    linear.x = saved->x[l];
    linear.weight = layer->weight;
    linear.d_y = d;
    linear.d_x = d_x;
    linear.d_weight = gradient != NULL ? gradient->weight : NULL;
    linear.d_bias = gradient != NULL ? gradient->bias : NULL;
    return etx_cuda_linear_backward(stream, &linear);
}

static etx_status copy(struct etx_stream *stream, float *y, int64_t y_stride,
    const float *x, int64_t x_stride, int64_t n_rows, int32_t width)
{
    const struct etx_columns_args args = {
        n_rows, width, 0, x_stride, y_stride, x, y, 0};

    return etx_cuda_columns(stream, &args);
}

/* The gradients of the parts from that of the first input. */
static etx_status split_parts(struct etx_stream *stream, const float *d_x,
    const struct etx_mlp_backward_args *args, int64_t first, int64_t n_rows)
{
    const struct etx_mlp_args *forward = args->forward;
    const int32_t n_in = forward->layer[0].n_in;
    int32_t column = 0;

    for (int32_t p = 0; p < forward->n_parts; p++) {
        const int32_t width = forward->part[p].width;

        if (args->d_part[p] != NULL)
            ETX_TRY(copy(stream, args->d_part[p] + first * width, width,
                d_x + column, n_in, n_rows, width));
        column += width;
    }
    return ETX_OK;
}

static etx_status backward_block(struct etx_stream *stream,
    const struct saved *saved, const struct etx_mlp_backward_args *args,
    int64_t first, int64_t n_rows)
{
    const struct etx_mlp_args *forward = args->forward;
    const int32_t last = forward->n_layers - 1;
    const int32_t n_out = forward->layer[last].n_out;
    const int32_t n_first = forward->layer[0].n_out;
    float *d = saved->d_y;
    float *d_x = saved->d_x;

    ETX_TRY(copy(
        stream, d, n_out, args->d_out + first * n_out, n_out, n_rows, n_out));
    for (int32_t l = last; l >= 0; l--) {
        float *const other = d;

        ETX_TRY(layer_backward(stream, saved, d, d_x, l, args, n_rows));
        if (l == 0 && args->d_added != NULL)
            ETX_TRY(copy(stream, args->d_added + first * n_first, n_first, d,
                n_first, n_rows, n_first));
        d = d_x;
        d_x = other;
    }
    return split_parts(stream, d, args, first, n_rows);
}

etx_status etx_cuda_mlp_backward(
    struct etx_stream *stream, const struct etx_mlp_backward_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const struct etx_mlp_args *forward = args->forward;
    const int64_t block = etx_cuda_mlp_block(
        forward, BLOCK_BYTES, floats_a_row(forward) * (int64_t)sizeof(float));
    struct saved saved = {};

    stream->flop += 3.0 * etx_mlp_flop(forward);
    ETX_TRY(alloc_saved(&saved, &scratch, forward, block));
    for (int64_t first = 0; first < forward->n_rows; first += block) {
        const int64_t left = forward->n_rows - first;
        const int64_t n_rows = left < block ? left : block;

        ETX_TRY(etx_cuda_check_cancelled(stream));
        ETX_TRY(forward_block(stream, &saved, forward, first, n_rows));
        ETX_TRY(backward_block(stream, &saved, args, first, n_rows));
    }
    return ETX_OK;
}
