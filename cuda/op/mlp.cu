/* cuda/op/mlp.cu -- multi-layer perceptron over blocks of rows.
 *
 * A block is gathered and concatenated, then every layer is a product and one
 * kernel for all that follows it: bias, added rows, norm, activation and, at
 * the end, the residual. Blocks bound the scratch, and what a layer writes is
 * still in the cache when the next one reads it; batch norm needs all rows.
 * On a stream that is_half what lies between layers is float16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/mlp.cuh"

#include "cuda/backend/mma.cuh"
#include "cuda/op/layers.h"
#include "cuda/op/operators.h"
#include "cuda/op/row_math.cuh"

/* Of both arrays of a block: the level 2 cache of an H100 has 50 MB. */
#define BLOCK_BYTES     ((int64_t)32 << 20)
#define BLOCK_ALIGNMENT 128 /* rows */
#define WARPS           (ETX_CUDA_BLOCK / ETX_CUDA_WARP)
#define WIDE_ROW_BLOCKS 2 /* on a multiprocessor at the same time */
/* The widest row of which shared memory has one for each warp, without
 * opt-in. */
#define MAX_ROW ((48 << 10) / (WARPS * (int32_t)sizeof(float)))

__device__ static float value_of(float x)
{
    return x;
}

__device__ static float value_of(uint16_t x)
{
    return etx_unhalf(x);
}

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
    const struct terms &terms, float y, int64_t i, int32_t k)
{
    float sum = terms.has_product ? y : 0.0f;

    if (terms.bias != NULL)
        sum += terms.bias[k];
    for (int32_t p = 0; p < terms.added.n; p++) {
        const struct etx_rows &rows = terms.added.rows[p];

        sum += etx_source_value(rows, etx_source_row(rows, i) * rows.width + k);
    }
    return sum;
}

/* The terms and the activation of a layer without norm, then the end of the
 * perceptron: thread by thread an element of y [n_rows, width], which may be
 * the end. */
template <typename T>
__global__ static void elements_kernel(struct etx_cuda_end end, const T *y,
    struct terms terms, int32_t activation, int64_t n_rows, int32_t width)
{
    for (int64_t t = etx_first_item(); t < n_rows * width; t += etx_item_step())
        etx_write_end(end, t,
            etx_activate(activation, with_terms(terms, value_of(y[t]),
                                         t / width, (int32_t)(t % width))));
}

/* The same, and the norm, one warp per row. A row is read and written once: it
 * is kept in shared memory, where each lane has its own columns. */
template <typename T>
__global__ static void rows_kernel(struct etx_cuda_end end, const T *y,
    struct terms terms, struct etx_layer layer, int64_t n_rows)
{
    const int32_t width = layer.n_out;
    float *const row = reinterpret_cast<float *>(etx_shared_memory()) +
                       (int32_t)threadIdx.x / ETX_CUDA_WARP * width;

    for (int64_t i = etx_first_warp_item(); i < n_rows;
         i += etx_warp_item_step()) {
        for (int32_t k = etx_lane(); k < width; k += ETX_CUDA_WARP)
            row[k] = with_terms(terms, value_of(y[i * width + k]), i, k);
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

/* ------------------------------------------------------- rows in registers --
 */

/* A row of 32 COLUMNS, of which lane l has the columns l, l + 32, ... as above,
 * in registers, as are bias, gain and shift of all rows of the warp. */
template <int COLUMNS> struct held {
    float bias[COLUMNS], gain[COLUMNS], shift[COLUMNS];
    float row[COLUMNS];

    __device__ held(const struct terms &terms, const struct etx_layer &layer)
    {
        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            const int32_t k = etx_lane() + j * ETX_CUDA_WARP;

            bias[j] = terms.bias != NULL ? terms.bias[k] : 0.0f;
            gain[j] = layer.gain != NULL ? layer.gain[k] : 1.0f;
            shift[j] = layer.shift != NULL ? layer.shift[k] : 0.0f;
        }
    }

    __device__ void normalise(float eps)
    {
        const float width = (float)(COLUMNS * ETX_CUDA_WARP);
        float sum = 0.0f;
        float squares = 0.0f;

        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            sum += row[j];
        const float mean = etx_warp_sum(sum) / width;
        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++) {
            row[j] -= mean;
            squares = fmaf(row[j], row[j], squares);
        }
        const float variance = etx_warp_sum(squares) / width + eps;
        const float inverse = variance > 0.0f ? 1.0f / sqrtf(variance) : 0.0f;

        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            row[j] = row[j] * inverse * gain[j] + shift[j];
    }

    template <int ACTIVATION> __device__ void apply()
    {
        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            row[j] = etx_activate(ACTIVATION, row[j]);
    }

    __device__ void activate(int32_t activation)
    {
        if (activation == ETX_ACTIVATION_RELU)
            apply<ETX_ACTIVATION_RELU>();
        else if (activation == ETX_ACTIVATION_SILU)
            apply<ETX_ACTIVATION_SILU>();
        else if (activation == ETX_ACTIVATION_TANH)
            apply<ETX_ACTIVATION_TANH>();
    }
};

/* Has wide_row_kernel code for this layer? */
static int32_t is_wide_row(const struct etx_layer *layer)
{
    return (layer->n_out == 128 || layer->n_out == 256 ||
               layer->n_out == 512) &&
           etx_cuda_layer_is_common(layer);
}

/* What rows_kernel does. */
template <typename T, int COLUMNS>
__global__ static void __launch_bounds__(ETX_CUDA_BLOCK, WIDE_ROW_BLOCKS)
    wide_row_kernel(struct etx_cuda_end end, const T *y, struct terms terms,
        struct etx_layer layer, int64_t n_rows)
{
    const int32_t width = COLUMNS * ETX_CUDA_WARP;
    const bool is_plain_half = end.half_out != NULL && end.residual == NULL &&
                               end.half_residual == NULL;
    struct held<COLUMNS> held(terms, layer);

    for (int64_t i = etx_first_warp_item(); i < n_rows;
         i += etx_warp_item_step()) {
        const int64_t at = i * width + etx_lane();

        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            held.row[j] =
                terms.has_product ? value_of(y[at + j * ETX_CUDA_WARP]) : 0.0f;
        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            held.row[j] += held.bias[j];
        for (int32_t p = 0; p < terms.added.n; p++) {
            const struct etx_rows &rows = terms.added.rows[p];
            const int64_t from =
                etx_source_row(rows, i) * rows.width + etx_lane();

            ETX_UNROLL
            for (int j = 0; j < COLUMNS; j++)
                held.row[j] += etx_source_value(rows, from + j * ETX_CUDA_WARP);
        }
        ETX_KEEP_LOOP
        for (int32_t turn = 0; turn < 2; turn++)
            if (turn != (layer.norm_last != 0))
                held.activate(layer.activation);
            else if (layer.norm == ETX_NORM_LAYER)
                held.normalise(layer.eps);
        ETX_UNROLL
        for (int j = 0; j < COLUMNS; j++)
            if (is_plain_half)
                end.half_out[at + j * ETX_CUDA_WARP] = etx_half(held.row[j]);
            else
                etx_write_end(end, at + j * ETX_CUDA_WARP, held.row[j]);
    }
}

int32_t etx_cuda_mlp_widest(const struct etx_mlp_args *args, int32_t width)
{
    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].n_out > width)
            width = args->layer[l].n_out;
    return width;
}

int64_t etx_cuda_mlp_block(
    const struct etx_mlp_args *args, int64_t bytes, int64_t row_bytes)
{
    int64_t rows = bytes / row_bytes;

    /* Blocks begin at addresses aligned alike, as products are planned by. */
    if (rows >= BLOCK_ALIGNMENT)
        rows -= rows % BLOCK_ALIGNMENT;
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

static struct etx_cuda_end end_at(float *y)
{
    return {NULL, NULL, y, NULL};
}

static struct etx_cuda_end end_at(uint16_t *y)
{
    return {NULL, NULL, NULL, y};
}

static etx_status add_terms(struct etx_stream *stream, float *y,
    const struct terms &terms, int64_t n_rows, int32_t width)
{
    if (terms.has_product && terms.bias == NULL && terms.added.n == 0)
        return ETX_OK;
    return etx_launch(stream, n_rows * width, elements_kernel<float>, end_at(y),
        y, terms, ETX_ACTIVATION_NONE, n_rows, width);
}

/* y [n_rows, n_out] = x [n_rows, n_in] times the weights of a layer, if it has
 * a product. */
template <typename T>
static etx_status multiply(struct etx_stream *stream, T *y, const T *x,
    const T *weight, const struct etx_layer *layer, int64_t n_rows)
{
    struct etx_cuda_gemm gemm = {};

    gemm.m = n_rows;
    gemm.n = layer->n_out;
    gemm.k = layer->n_in;
    gemm.a = x;
    gemm.b = weight;
    gemm.b_is_transposed = 1;
    gemm.c = y;
    gemm.is_half = gemm.c_is_half = sizeof(T) == sizeof(uint16_t);
    return layer->n_in > 0 ? etx_cuda_product(stream, &gemm) : ETX_OK;
}

etx_status etx_cuda_mlp_linear(struct etx_stream *stream, float *y,
    const float *x, const struct etx_mlp_args *args, int32_t l, int64_t first,
    int64_t n_rows)
{
    const struct etx_layer *layer = &args->layer[l];

    ETX_TRY(multiply(stream, y, x, layer->weight, layer, n_rows));
    return add_terms(stream, y, terms_of(args, l, first), n_rows, layer->n_out);
}

/* The norm of a layer as an operator: of columns, or of rows too wide for
 * rows_kernel. */
static etx_status finish_by_operators(struct etx_stream *stream, float *y,
    const struct etx_layer *layer, int64_t n_rows)
{
    const struct etx_norm_args norm = {n_rows, layer->n_out, layer->norm,
        layer->eps, y, layer->gain, layer->shift, y};
    const struct etx_activation_args activation = {
        n_rows * layer->n_out, layer->activation, y, y, NULL};

    if (!layer->norm_last)
        ETX_TRY(etx_cuda_norm(stream, &norm));
    ETX_TRY(etx_cuda_activation(stream, &activation));
    return layer->norm_last ? etx_cuda_norm(stream, &norm) : ETX_OK;
}

static int32_t has_operators(const struct etx_layer *layer)
{
    return layer->norm == ETX_NORM_BATCH ||
           (layer->norm != ETX_NORM_NONE && layer->n_out > MAX_ROW);
}

/* All that follows the product y of layer l. */
template <typename T>
static etx_status finish(struct etx_stream *stream,
    const struct etx_cuda_end *end, T *y, const struct etx_mlp_args *args,
    int32_t l, int64_t first, int64_t n_rows)
{
    const struct etx_layer *layer = &args->layer[l];
    const int32_t width = layer->n_out;
    struct terms terms = terms_of(args, l, first);
    int32_t activation = layer->activation;

    if (is_wide_row(layer)) {
        const int64_t wanted = (n_rows + WARPS - 1) / WARPS;
        const int64_t max =
            (int64_t)etx_cuda_of(stream)->n_multiprocessors * WIDE_ROW_BLOCKS;

        return etx_launch_grid(stream, wanted < max ? wanted : max,
            ETX_CUDA_BLOCK, 0,
            width == 128   ? wide_row_kernel<T, 4>
            : width == 256 ? wide_row_kernel<T, 8>
                           : wide_row_kernel<T, 16>,
            *end, y, terms, *layer, n_rows);
    }

    if (!has_operators(layer) &&
        (layer->norm != ETX_NORM_NONE ||
            (width >= ETX_CUDA_WARP && width <= MAX_ROW)))
        return etx_launch_threads(stream, n_rows * ETX_CUDA_WARP,
            WARPS * (size_t)width * sizeof(float), rows_kernel<T>, *end, y,
            terms, *layer, n_rows);
    if constexpr (sizeof(T) == sizeof(float))
        if (has_operators(layer)) {
            ETX_TRY(add_terms(stream, y, terms, n_rows, width));
            ETX_TRY(finish_by_operators(stream, y, layer, n_rows));
            terms = {1, NULL, {}};
            activation = ETX_ACTIVATION_NONE;
        }
    return etx_launch(stream, n_rows * width, elements_kernel<T>, *end, y,
        terms, activation, n_rows, width);
}

/* ---------------------------------------------------- weights, by type -- */

__global__ static void round_kernel(uint16_t *y, const float *x, int64_t n)
{
    for (int64_t i = etx_first_item(); i < n; i += etx_item_step())
        y[i] = etx_half(x[i]);
}

/* *out = the weights of a layer as float16: cached, or in scratch. */
static etx_status weights_of(const uint16_t **out, struct etx_stream *stream,
    const struct etx_layer *layer)
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
    ETX_TRY(etx_launch(stream, n, round_kernel,
        static_cast<uint16_t *>(half.value), layer->weight, n));
    etx_weights_close(stream->weight_cache, &half);
    return ETX_OK;
}

static etx_status weights_of(
    const float **out, struct etx_stream *stream, const struct etx_layer *layer)
{
    (void)stream;
    *out = layer->weight;
    return ETX_OK;
}

/* -------------------------------------------------------------- blocks -- */

/* What the layers of a block lie in. */
template <typename T> struct block {
    const T *weight[ETX_MAX_LAYERS]; /* [n_out, n_in] */
    T *x, *y; /* [n_rows, widest] in and out of a layer */
};

/* *out [n_rows, n_in] = the input of the first layer: the only part as it lies,
 * or the parts side by side in block.x. */
template <typename T>
static etx_status find_input(const T **out, struct etx_stream *stream,
    const struct etx_mlp_args *args, const struct block<T> &block,
    int64_t first, int64_t n_rows)
{
    const struct etx_cuda_rows parts =
        etx_cuda_rows_from(args->part, args->n_parts, first);

    const void *const only = sizeof(T) == sizeof(float)
                                 ? static_cast<const void *>(parts.rows[0].data)
                                 : parts.rows[0].half;

    if (parts.n == 1 && parts.rows[0].index == NULL && only != NULL) {
        *out = static_cast<const T *>(only);
        return ETX_OK;
    }
    *out = block.x;
    return etx_launch(stream, n_rows * args->layer[0].n_in, concat_kernel<T>,
        block.x, parts, n_rows, args->layer[0].n_in);
}

template <typename T>
static etx_status run_block(struct etx_stream *stream,
    const struct etx_mlp_args *args, struct block<T> block, int64_t first,
    int64_t n_rows)
{
    const int32_t last = args->n_layers - 1;
    const T *in = NULL;

    ETX_TRY(find_input(&in, stream, args, block, first, n_rows));
    for (int32_t l = 0; l <= last; l++) {
        const struct etx_cuda_end end =
            l < last ? end_at(block.y) : etx_cuda_mlp_end(args, first);
        T *const other = block.x;

        ETX_TRY(multiply<T>(
            stream, block.y, in, block.weight[l], &args->layer[l], n_rows));
        ETX_TRY(finish(stream, &end, block.y, args, l, first, n_rows));
        in = block.x = block.y;
        block.y = other;
    }
    return ETX_OK;
}

template <typename T>
static etx_status run_blocks(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t width = etx_cuda_mlp_widest(args, args->layer[0].n_in);
    const int64_t n_block =
        etx_cuda_mlp_block(args, BLOCK_BYTES, 2 * width * (int64_t)sizeof(T));
    struct block<T> block = {
    };

    ETX_TRY(scratch.alloc_all(
        n_block * width, "rows of an mlp layer", &block.x, &block.y));
    for (int32_t l = 0; l < args->n_layers; l++)
        ETX_TRY(weights_of(&block.weight[l], stream, &args->layer[l]));
    for (int64_t first = 0; first < args->n_rows; first += n_block) {
        const int64_t left = args->n_rows - first;

        ETX_TRY(etx_cuda_check_cancelled(stream));
        ETX_TRY(run_block(
            stream, args, block, first, left < n_block ? left : n_block));
    }
    return ETX_OK;
}

static etx_status run(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    int32_t is_half = stream->is_half;

    stream->flop += etx_mlp_flop(args);
    if (is_half && etx_cuda_mlp_can_fuse(etx_cuda_of(stream), args))
        return etx_cuda_mlp_fused(stream, args);
    /* Operators of norms take float32. */
    for (int32_t l = 0; l < args->n_layers; l++)
        is_half &= !has_operators(&args->layer[l]);
    return is_half ? run_blocks<uint16_t>(stream, args)
                   : run_blocks<float>(stream, args);
}

etx_status etx_cuda_mlp(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    if (args->n_rows > 0)
        ETX_TRY(run(stream, args));
    return etx_cuda_segment_reduce(stream, args->reduce);
}
