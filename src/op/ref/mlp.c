/* op/ref/mlp.c -- multi-layer perceptron as a sequence of the operators.
 *
 * Layer by layer over whole arrays. Without batch norm rows do not depend on
 * each other, so blocks of rows bound the scratch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"
#include "base/int16.h"

#include <math.h>

#define BLOCK_ROWS 4096

static int32_t widest(const struct etx_mlp_args *args)
{
    int32_t width = args->layer[0].n_in;

    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].n_out > width)
            width = args->layer[l].n_out;
    return width;
}

static etx_status apply_norm(struct etx_stream *stream,
    const struct etx_layer *layer, int64_t n_rows, float *y)
{
    const struct etx_norm_args norm = {.n_rows = n_rows,
        .width = layer->n_out,
        .norm = layer->norm,
        .eps = layer->eps,
        .x = y,
        .gain = layer->gain,
        .shift = layer->shift,
        .y = y};

    if (layer->norm == ETX_NORM_NONE)
        return ETX_OK;
    return etx_ref_norm(stream, &norm);
}

static etx_status apply_activation(struct etx_stream *stream,
    const struct etx_layer *layer, int64_t n_rows, float *y)
{
    const struct etx_activation_args activation = {.n = n_rows * layer->n_out,
        .activation = layer->activation,
        .x = y,
        .y = y};

    if (layer->activation == ETX_ACTIVATION_NONE)
        return ETX_OK;
    return etx_ref_activation(stream, &activation);
}

/* x [n] rounded to bfloat16, in place. */
static void round_values(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;

        etx_bfloat16_from_floats(&half, x + i, 1);
        etx_bfloat16_to_floats(x + i, &half, 1);
    }
}

/* The linear of inputs and weights in int16: sums of integers are exact. */
static etx_status apply_int16(
    struct etx_stream *stream, const struct etx_linear_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_in = args->n_in;
    int16_t *weight = NULL;
    int16_t *x = NULL;
    float *scale = NULL;
    etx_status status;

    ETX_SCRATCH(weight, stream->arena, n_in * args->n_out, "weights in int16");
    ETX_SCRATCH(scale, stream->arena, args->n_out, "scales of weights");
    ETX_SCRATCH(x, stream->arena, n_in, "a row in int16");
    for (int32_t o = 0; o < args->n_out; o++)
        scale[o] = etx_int16_from_weights(
            weight + o * n_in, args->weight + o * n_in, n_in);
    for (int64_t r = 0; r < args->n_rows; r++) {
        const float own = etx_int16_from_inputs(x, args->x + r * n_in, n_in);

        for (int32_t o = 0; o < args->n_out; o++) {
            const float start = args->bias != NULL ? args->bias[o] : 0.0f;
            int32_t sum = 0;

            for (int64_t k = 0; k < n_in; k++)
                sum += x[k] * weight[o * n_in + k];
            args->y[r * args->n_out + o] =
                fmaf((float)sum, own * scale[o], start);
        }
    }
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

/* The linear of inputs and weights in bfloat16; x is overwritten. */
static etx_status apply_rounded(
    struct etx_stream *stream, const struct etx_linear_args *args, float *x)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t n_weights = (int64_t)args->n_in * args->n_out;
    struct etx_linear_args rounded = *args;
    float *weight = NULL;
    etx_status status;

    ETX_SCRATCH(weight, stream->arena, n_weights, "weights in bfloat16");
    for (int64_t k = 0; k < n_weights; k++)
        weight[k] = args->weight[k];
    round_values(weight, n_weights);
    round_values(x, args->n_rows * args->n_in);
    rounded.weight = weight;
    ETX_CHECK(etx_ref_linear(stream, &rounded));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

static etx_status apply_layer(struct etx_stream *stream,
    const struct etx_mlp_args *args, int32_t l, float *x, float *y)
{
    const struct etx_layer *layer = &args->layer[l];
    const int64_t n_rows = args->n_rows;
    const struct etx_linear_args linear = {.n_rows = n_rows,
        .n_in = layer->n_in,
        .n_out = layer->n_out,
        .x = x,
        .weight = layer->weight,
        .bias = layer->bias,
        .y = y};
    etx_status status;

    if (stream->is_int16 && etx_layer_is_int16(layer))
        ETX_CHECK(apply_int16(stream, &linear));
    else if (stream->is_bfloat16 && etx_layer_is_bfloat16(layer))
        ETX_CHECK(apply_rounded(stream, &linear, x));
    else
        ETX_CHECK(etx_ref_linear(stream, &linear));
    if (l == 0)
        etx_ref_mlp_add_rows(y, args);
    if (!layer->norm_last)
        ETX_CHECK(apply_norm(stream, layer, n_rows, y));
    ETX_CHECK(apply_activation(stream, layer, n_rows, y));
    if (layer->norm_last)
        ETX_CHECK(apply_norm(stream, layer, n_rows, y));
done:
    return status;
}

/* y of the last layer and the residual, as floats or float16. */
static void write_out(const struct etx_mlp_args *args, const float *y)
{
    const int64_t n_values =
        args->n_rows * args->layer[args->n_layers - 1].n_out;

    for (int64_t t = 0; t < n_values; t++) {
        float value = y[t];

        if (args->residual != NULL)
            value += args->residual[t];
        if (args->half_residual != NULL)
            value += etx_float16_to_float(args->half_residual[t]);
        if (args->half_out != NULL)
            args->half_out[t] = etx_float16_from_float(value);
        else
            args->out[t] = value;
    }
}

/* All rows of args in one pass; x and y [n_rows, widest] are scratch. */
static etx_status apply_layers(struct etx_stream *stream,
    const struct etx_mlp_args *args, float *x, float *y)
{
    etx_status status = ETX_OK;

    etx_ref_mlp_concat(x, args);
    for (int32_t l = 0; l < args->n_layers; l++) {
        float *const other = x;
        ETX_CHECK(apply_layer(stream, args, l, x, y));
        x = y;
        y = other;
    }
    write_out(args, x);
done:
    return status;
}

int32_t etx_ref_mlp_has_batch_norm(const struct etx_mlp_args *args)
{
    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].norm == ETX_NORM_BATCH)
            return 1;
    return 0;
}

static struct etx_rows rows_from(const struct etx_rows *rows, int64_t first)
{
    struct etx_rows out = *rows;

    if (rows->index != NULL)
        out.index += first;
    else if (rows->half != NULL)
        out.half += first * rows->width;
    else
        out.data += first * rows->width;
    return out;
}

/* Column k of row i. */
static float value_of(const struct etx_rows *rows, int64_t i, int32_t k)
{
    const int64_t row = rows->index ? rows->index[i] : i;
    const int64_t at = row * rows->width + k;

    return rows->half != NULL ? etx_float16_to_float(rows->half[at])
                              : rows->data[at];
}

struct etx_mlp_args etx_ref_mlp_rows(
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows)
{
    struct etx_mlp_args rows = *args;
    const int32_t n_out = args->layer[args->n_layers - 1].n_out;

    rows.n_rows = n_rows;
    for (int32_t p = 0; p < args->n_parts; p++)
        rows.part[p] = rows_from(&args->part[p], first);
    for (int32_t p = 0; p < args->n_added; p++)
        rows.added[p] = rows_from(&args->added[p], first);
    if (args->residual != NULL)
        rows.residual += first * n_out;
    if (args->half_residual != NULL)
        rows.half_residual += first * n_out;
    if (args->out != NULL)
        rows.out += first * n_out;
    if (args->half_out != NULL)
        rows.half_out += first * n_out;
    return rows;
}

void etx_ref_mlp_concat(float *x, const struct etx_mlp_args *args)
{
    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t p = 0; p < args->n_parts; p++) {
            const struct etx_rows *part = &args->part[p];

            for (int32_t k = 0; k < part->width; k++)
                *x++ = value_of(part, i, k);
        }
}

void etx_ref_mlp_add_rows(float *y, const struct etx_mlp_args *args)
{
    const int32_t width = args->layer[0].n_out;

    for (int64_t i = 0; i < args->n_rows; i++)
        for (int32_t k = 0; k < width; k++) {
            double sum = (double)y[i * width + k];
            for (int32_t p = 0; p < args->n_added; p++)
                sum += (double)value_of(&args->added[p], i, k);
            y[i * width + k] = (float)sum;
        }
}

etx_status etx_ref_mlp(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int64_t block =
        etx_ref_mlp_has_batch_norm(args) || args->n_rows < BLOCK_ROWS
            ? args->n_rows
            : BLOCK_ROWS;
    const size_t row_bytes = (size_t)widest(args) * sizeof(float);
    float *x = NULL;
    float *y = NULL;
    etx_status status;

    stream->flop += etx_mlp_flop(args);
    ETX_CHECK(etx_arena_alloc(
        &x, stream->arena, block, row_bytes, "input of an mlp layer"));
    ETX_CHECK(etx_arena_alloc(
        &y, stream->arena, block, row_bytes, "output of an mlp layer"));
    for (int64_t first = 0; first < args->n_rows; first += block) {
        const int64_t left = args->n_rows - first;
        const struct etx_mlp_args rows =
            etx_ref_mlp_rows(args, first, left < block ? left : block);
        ETX_CHECK(etx_check_cancelled(stream));
        ETX_CHECK(apply_layers(stream, &rows, x, y));
    }
    if (args->reduce != NULL)
        ETX_CHECK(etx_ref_segment_reduce(stream, args->reduce));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

etx_status etx_ref_mlp_prepare(
    struct etx_stream *stream, const struct etx_mlp_prepare_args *args)
{
    (void)stream;
    for (int32_t l = 0; l < args->forward->n_layers; l++)
        args->layer[l] = args->forward->layer[l];
    *args->n_layers = args->forward->n_layers;
    return ETX_OK;
}
