/* cuda/op/mlp.cu -- multi-layer perceptron over blocks of rows.
 *
 * A block is gathered and concatenated, then every layer is a product and one
 * kernel for all that follows it: bias, added rows, norm, activation and, at
 * the end, the residual. Blocks bound the scratch; batch norm needs all rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/mlp.cuh"

#include "cuda/backend/gemm.h"
#include "cuda/op/layers.h"
#include "cuda/op/operators.h"
#include "cuda/op/product.h"
#include "cuda/op/row_math.cuh"

#define BLOCK_BYTES ((int64_t)256 << 20) /* of both arrays of a block */

__device__ static void write_input(float *x, float value)
{
    *x = value;
}

__device__ static void write_input(uint16_t *x, float value)
{
    *x = etx_half(value);
}

/* The parts of a row side by side; thread by thread an element of x. */
template <typename T>
__global__ static void concat_kernel(
    T *x, struct etx_cuda_rows parts, int64_t n_rows, int32_t n_in)
{
    for (int64_t t = etx_first_item(); t < n_rows * n_in;
         t += etx_item_step()) {
        const int64_t i = t / n_in;
        int32_t k = (int32_t)(t % n_in);
        int32_t p = 0;

        while (k >= parts.rows[p].width)
            k -= parts.rows[p++].width;
        const struct etx_rows part = parts.rows[p];

        write_input(x + t,
            etx_source_value(part, etx_source_row(part, i) * part.width + k));
    }
}

/* What a linear adds to its product, which is 0 without one. */
struct terms {
    int32_t has_product;
    const float *bias; /* [width] or NULL */
    struct etx_cuda_rows added;
};

/* y, column k of row i of the product, with bias and added rows. */
__device__ static float with_terms(
    const struct terms &terms, float y, int64_t i, int32_t k, int32_t width)
{
    float sum = terms.has_product ? y : 0.0f;

    if (terms.bias != NULL)
        sum += terms.bias[k];
    for (int32_t p = 0; p < terms.added.n; p++) {
        const struct etx_rows &rows = terms.added.rows[p];

        sum += etx_source_value(rows, etx_source_row(rows, i) * width + k);
    }
    return sum;
}

__global__ static void add_kernel(
    float *y, struct terms terms, int64_t n_rows, int32_t width)
{
    for (int64_t t = etx_first_item(); t < n_rows * width; t += etx_item_step())
        y[t] = with_terms(terms, y[t], t / width, (int32_t)(t % width), width);
}

/* The terms, norm and activation of a layer, then the end of the perceptron:
 * one warp per row of y [n_rows, n_out]. end.out may be y. */
__global__ static void finish_kernel(struct etx_cuda_end end, float *y,
    struct terms terms, struct etx_layer layer, int64_t n_rows)
{
    const int32_t width = layer.n_out;

    for (int64_t i = etx_first_warp_item(); i < n_rows;
         i += etx_warp_item_step()) {
        float *row = y + i * width;

        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            row[k] = with_terms(terms, row[k], i, k, width);
        if (!layer.norm_last && layer.norm != ETX_NORM_NONE)
            etx_normalise_row(row, row, width, layer.norm, layer.eps,
                layer.gain, layer.shift);
        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            row[k] = etx_activate(layer.activation, row[k]);
        if (layer.norm_last && layer.norm != ETX_NORM_NONE)
            etx_normalise_row(row, row, width, layer.norm, layer.eps,
                layer.gain, layer.shift);
        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            etx_write_end(end, i * width + k, row[k]);
    }
}

int32_t etx_cuda_mlp_widest(const struct etx_mlp_args *args)
{
    int32_t width = args->layer[0].n_in;

    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].n_out > width)
            width = args->layer[l].n_out;
    return width;
}

int64_t etx_cuda_mlp_block(const struct etx_mlp_args *args, int64_t row_bytes)
{
    const int64_t rows = BLOCK_BYTES / row_bytes;

    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].norm == ETX_NORM_BATCH)
            return args->n_rows;
    if (rows < 1)
        return args->n_rows < 1 ? args->n_rows : 1;
    return rows < args->n_rows ? rows : args->n_rows;
}

struct etx_cuda_rows etx_cuda_rows_from(
    const struct etx_rows *rows, int32_t n, int64_t first)
{
    struct etx_cuda_rows out = {};

    out.n = n;
    for (int32_t p = 0; p < n; p++) {
        out.rows[p] = rows[p];
        if (rows[p].index != NULL)
            out.rows[p].index += first;
        else if (rows[p].half != NULL)
            out.rows[p].half += first * rows[p].width;
        else
            out.rows[p].data += first * rows[p].width;
    }
    return out;
}

struct etx_cuda_end etx_cuda_mlp_end(
    const struct etx_mlp_args *args, int64_t first)
{
    const int64_t at = first * args->layer[args->n_layers - 1].n_out;
    struct etx_cuda_end end = {};

    if (args->residual != NULL)
        end.residual = args->residual + at;
    if (args->half_residual != NULL)
        end.half_residual = args->half_residual + at;
    if (args->half_out != NULL)
        end.half_out = args->half_out + at;
    else
        end.out = args->out + at;
    return end;
}

etx_status etx_cuda_mlp_concat(struct etx_stream *stream, float *x,
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows)
{
    const int32_t n_in = args->layer[0].n_in;

    return etx_launch(stream, n_rows * n_in, concat_kernel<float>, x,
        etx_cuda_rows_from(args->part, args->n_parts, first), n_rows, n_in);
}

/* Of layer l for the rows from first on. */
static struct terms terms_of(
    const struct etx_mlp_args *args, int32_t l, int64_t first)
{
    const struct etx_layer *layer = &args->layer[l];

    return {layer->n_in > 0, layer->bias,
        etx_cuda_rows_from(args->added, l == 0 ? args->n_added : 0, first)};
}

static etx_status add_terms(struct etx_stream *stream, float *y,
    const struct terms &terms, int64_t n_rows, int32_t width)
{
    if (terms.has_product && terms.bias == NULL && terms.added.n == 0)
        return ETX_OK;
    return etx_launch(
        stream, n_rows * width, add_kernel, y, terms, n_rows, width);
}

/* y [n_rows, n_out] = the product of layer l with x [n_rows, n_in], if it has
 * one. */
static etx_status multiply(struct etx_stream *stream, float *y, const float *x,
    const struct etx_layer *layer, int64_t n_rows)
{
    struct etx_cuda_gemm gemm = {};

    gemm.m = n_rows;
    gemm.n = layer->n_out;
    gemm.k = layer->n_in;
    gemm.a = x;
    gemm.b = layer->weight;
    gemm.b_is_transposed = 1;
    gemm.c = y;
    return layer->n_in > 0 ? etx_cuda_product(stream, &gemm) : ETX_OK;
}

etx_status etx_cuda_mlp_linear(struct etx_stream *stream, float *y,
    const float *x, const struct etx_mlp_args *args, int32_t l, int64_t first,
    int64_t n_rows)
{
    const struct etx_layer *layer = &args->layer[l];

    ETX_TRY(multiply(stream, y, x, layer, n_rows));
    return add_terms(stream, y, terms_of(args, l, first), n_rows, layer->n_out);
}

/* Batch norm is of columns: the operators of norm and activation. */
static etx_status finish_by_columns(struct etx_stream *stream, float *y,
    const struct etx_layer *layer, int64_t n_rows)
{
    const struct etx_norm_args norm = {n_rows, layer->n_out, layer->norm,
        layer->eps, y, layer->gain, layer->shift, y};
    const struct etx_activation_args activation = {
        n_rows * layer->n_out, layer->activation, y, y};

    if (!layer->norm_last)
        ETX_TRY(etx_cuda_norm(stream, &norm));
    ETX_TRY(etx_cuda_activation(stream, &activation));
    return layer->norm_last ? etx_cuda_norm(stream, &norm) : ETX_OK;
}

/* All that follows the product y of layer l. */
static etx_status finish(struct etx_stream *stream,
    const struct etx_cuda_end *end, float *y, const struct etx_mlp_args *args,
    int32_t l, int64_t first, int64_t n_rows)
{
    struct etx_layer layer = args->layer[l];
    struct terms terms = terms_of(args, l, first);

    if (layer.norm == ETX_NORM_BATCH) {
        ETX_TRY(add_terms(stream, y, terms, n_rows, layer.n_out));
        ETX_TRY(finish_by_columns(stream, y, &layer, n_rows));
        terms = {1, NULL, {}};
        layer.norm = ETX_NORM_NONE;
        layer.activation = ETX_ACTIVATION_NONE;
    }
    return etx_launch_warps(
        stream, n_rows, finish_kernel, *end, y, terms, layer, n_rows);
}

/* One block; x and y [n_rows, widest] are scratch. */
static etx_status run_block(struct etx_stream *stream,
    const struct etx_mlp_args *args, float *x, float *y, int64_t first,
    int64_t n_rows)
{
    const int32_t last = args->n_layers - 1;

    ETX_TRY(etx_cuda_mlp_concat(stream, x, args, first, n_rows));
    for (int32_t l = 0; l <= last; l++) {
        struct etx_cuda_end end = {};
        float *const other = x;

        end.out = y;
        if (l == last)
            end = etx_cuda_mlp_end(args, first);
        ETX_TRY(multiply(stream, y, x, &args->layer[l], n_rows));
        ETX_TRY(finish(stream, &end, y, args, l, first, n_rows));
        x = y;
        y = other;
    }
    return ETX_OK;
}

static etx_status run_single(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t width = etx_cuda_mlp_widest(args);
    const int64_t block =
        etx_cuda_mlp_block(args, 2 * width * (int64_t)sizeof(float));
    float *x = NULL;
    float *y = NULL;

    ETX_TRY(scratch.alloc(&x, block * width, "input of an mlp layer"));
    ETX_TRY(scratch.alloc(&y, block * width, "output of an mlp layer"));
    for (int64_t first = 0; first < args->n_rows; first += block) {
        const int64_t left = args->n_rows - first;

        ETX_TRY(etx_check_cancelled(stream));
        ETX_TRY(
            run_block(stream, args, x, y, first, left < block ? left : block));
    }
    return ETX_OK;
}

/* ------------------------------------------------------------- float16 -- */

__global__ static void round_kernel(uint16_t *y, const float *x, int64_t n)
{
    for (int64_t i = etx_first_item(); i < n; i += etx_item_step())
        y[i] = etx_half(x[i]);
}

/* What a block of layers with float16 operands lies in. */
struct half_block {
    uint16_t *weight[ETX_MAX_LAYERS]; /* [n_out, n_in] */
    uint16_t *x;                      /* [n_rows, widest] input of a layer */
    float *y;                         /* [n_rows, widest] its sums */
};

/* *out = the weights of a layer as float16: cached, or in scratch. */
static etx_status round_weights(
    uint16_t **out, struct etx_stream *stream, const struct etx_layer *layer)
{
    const int64_t n = (int64_t)layer->n_out * layer->n_in;
    const struct etx_weight_key key = {
        layer->weight, NULL, ETX_WEIGHTS_HALF, n};
    struct etx_weights half;

    ETX_TRY(etx_weights_open(&half, stream->weight_cache, stream->arena, &key,
        sizeof **out, "weights as float16"));
    *out = static_cast<uint16_t *>(half.value);
    if (half.is_ready)
        return ETX_OK;
    ETX_TRY(etx_launch(stream, n, round_kernel, *out, layer->weight, n));
    etx_weights_close(stream->weight_cache, &half);
    return ETX_OK;
}

static etx_status open_half_block(struct half_block *out,
    struct etx_stream *stream, const struct etx_mlp_args *args,
    struct etx_cuda_scratch *scratch, int64_t n_values)
{
    ETX_TRY(scratch->alloc(&out->x, n_values, "input of an mlp layer"));
    ETX_TRY(scratch->alloc(&out->y, n_values, "output of an mlp layer"));
    for (int32_t l = 0; l < args->n_layers; l++)
        ETX_TRY(round_weights(&out->weight[l], stream, &args->layer[l]));
    return ETX_OK;
}

static etx_status run_half_block(struct etx_stream *stream,
    const struct etx_mlp_args *args, const struct half_block *block,
    int64_t first, int64_t n_rows)
{
    const int32_t last = args->n_layers - 1;
    const int32_t n_in = args->layer[0].n_in;

    ETX_TRY(etx_launch(stream, n_rows * n_in, concat_kernel<uint16_t>, block->x,
        etx_cuda_rows_from(args->part, args->n_parts, first), n_rows, n_in));
    for (int32_t l = 0; l <= last; l++) {
        const struct etx_layer *layer = &args->layer[l];
        struct etx_cuda_gemm gemm = {};
        struct etx_cuda_end end = {};

        gemm.m = n_rows;
        gemm.n = layer->n_out;
        gemm.k = layer->n_in;
        gemm.a = block->x;
        gemm.b = block->weight[l];
        gemm.b_is_transposed = 1;
        gemm.c = block->y;
        gemm.is_half = 1;
        end.half_out = block->x;
        if (l == last)
            end = etx_cuda_mlp_end(args, first);
        if (layer->n_in > 0)
            ETX_TRY(etx_cuda_gemm(stream, &gemm));
        ETX_TRY(finish(stream, &end, block->y, args, l, first, n_rows));
    }
    return ETX_OK;
}

static etx_status run_half(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t width = etx_cuda_mlp_widest(args);
    const int64_t block = etx_cuda_mlp_block(
        args, width * (int64_t)(sizeof(float) + sizeof(uint16_t)));
    struct half_block memory = {};

    ETX_TRY(open_half_block(&memory, stream, args, &scratch, block * width));
    for (int64_t first = 0; first < args->n_rows; first += block) {
        const int64_t left = args->n_rows - first;

        ETX_TRY(etx_check_cancelled(stream));
        ETX_TRY(run_half_block(
            stream, args, &memory, first, left < block ? left : block));
    }
    return ETX_OK;
}

static etx_status run(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    stream->flop += etx_mlp_flop(args);
    if (!stream->is_half)
        return run_single(stream, args);
    if (etx_cuda_mlp_can_fuse(etx_cuda_of(stream), args))
        return etx_cuda_mlp_fused(stream, args);
    return run_half(stream, args);
}

etx_status etx_cuda_mlp(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    if (args->n_rows > 0)
        ETX_TRY(run(stream, args));
    return args->reduce == NULL ? ETX_OK
                                : etx_cuda_segment_reduce(stream, args->reduce);
}
