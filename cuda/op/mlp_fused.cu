/* cuda/op/mlp_fused.cu -- a whole perceptron in one kernel on tensor cores.
 *
 * For a stream that is_half. A warp computes 16 rows at a time: it gathers them
 * into shared memory as float16 and multiplies by the first layer's weights.
 * From there on the rows stay in its registers, because the accumulator
 * fragment of one product is the operand fragment of the next
 * (cuda/backend/mma.cuh).
 *
 * Weights are packed into the order in which lanes read them: once if they are
 * frozen (memory/weight_cache.h), else at every call. Each block copies them to
 * shared memory once, with what a layer adds to or multiplies a column by.
 * Blocks are persistent: as many as fit the device, in a loop over the rows.
 * Sums, norms and activations are float32; a row's result depends on no other
 * row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/mlp.cuh"

#include "cuda/backend/launch.cuh"
#include "cuda/backend/mma.cuh"
#include "cuda/op/row_math.cuh"

#define TILE_ROWS     16 /* of a warp */
#define TILE_COLUMNS  8
#define TILE_DEPTH    16
#define TILE_WORDS    64 /* of a weight tile: two per lane */
#define WARPS         (ETX_CUDA_BLOCK / ETX_CUDA_WARP)
#define PITCH_PADDING 8 /* float16s that put rows into different banks */
#define MAX_WIDTH     128
#define VECTOR        8 /* float16s in 16 bytes */

/* A layer as the kernel sees it. */
struct fused_layer {
    const float *bias, *gain, *shift;
    int32_t n_out;
    int32_t n_depth;        /* tiles of its input */
    int32_t n_columns;      /* tiles of its output */
    int32_t first_word;     /* of its packed weights in shared memory */
    const uint32_t *packed; /* weights in global memory */
    float eps;
    int32_t norm, norm_last, activation;
};

__host__ __device__ static inline int32_t words_of(
    const struct fused_layer &layer)
{
    return layer.n_depth * layer.n_columns * TILE_WORDS;
}

/* Of a layer, in shared memory: 0 in the columns that pad it, whose values are
 * so 0 throughout. */
struct fused_columns {
    float bias[MAX_WIDTH], gain[MAX_WIDTH], shift[MAX_WIDTH];
};

/* Added rows; has_pairs: two columns can be read in one access. */
struct fused_rows {
    struct etx_rows rows;
    int32_t has_pairs;
};

struct fused {
    int64_t n_rows;
    int32_t n_layers, n_in;
    int32_t pitch;   /* float16s between rows in shared memory */
    int32_t n_words; /* of packed weights */
    struct etx_cuda_rows part;
    int32_t n_added;
    struct fused_rows added[ETX_MAX_ADDED];
    struct etx_cuda_end end;
    int32_t end_has_pairs; /* of float16s that one access can write */
    struct fused_layer layer[ETX_MAX_LAYERS];
};

/* Where in a tile a lane's values are. */
struct tile_position {
    int64_t row[2]; /* of the matrix: lane / 4 and 8 below */
    int32_t column; /* 2 (lane % 4) */
};

/* ------------------------------------------------------------- weights -- */

/* The packed words of a layer, in the order in which multiply() reads them:
 *
 *     | depth tile 0                                     | depth tile 1 ...
 *     | column tile 0                  | column tile 1 ...
 *     | lane 0: b[0] b[1] | lane 1 ... | lane 0 ...
 */
__global__ static void pack_kernel(uint32_t *packed, const float *weight,
    int32_t n_in, int32_t n_out, int32_t n_columns, int32_t n_words)
{
    for (int64_t w = etx_first_item(); w < n_words; w += etx_item_step()) {
        const int32_t tile = (int32_t)(w / TILE_WORDS);
        const int32_t lane = (int32_t)(w % TILE_WORDS) / 2;
        const int32_t n = tile % n_columns * TILE_COLUMNS + lane / 4;
        const int32_t k = tile / n_columns * TILE_DEPTH + lane % 4 * 2 +
                          (int32_t)(w % 2) * TILE_DEPTH / 2;
        const float *const row = weight + (int64_t)n * n_in;

        packed[w] = etx_half_pair(n < n_out && k < n_in ? row[k] : 0.0f,
            n < n_out && k + 1 < n_in ? row[k + 1] : 0.0f);
    }
}

/* ---------------------------------------------------------------- rows -- */

/* Part of 16 rows from `column` on, 16 bytes at a time. */
__device__ static void gather_vectors(uint16_t *x, int32_t pitch,
    const struct etx_rows &part, int64_t first, int64_t n_rows)
{
    const int32_t n_vectors = part.width / VECTOR;

    for (int32_t t = etx_lane(); t < TILE_ROWS * n_vectors;
         t += ETX_CUDA_WARP) {
        const int32_t r = t / n_vectors;
        const int64_t i = first + r < n_rows ? first + r : n_rows - 1;
        const uint4 *const from = reinterpret_cast<const uint4 *>(
            part.half + etx_source_row(part, i) * part.width);

        reinterpret_cast<uint4 *>(x + r * pitch)[t % n_vectors] =
            from[t % n_vectors];
    }
}

__device__ static void gather_values(uint16_t *x, int32_t pitch,
    const struct etx_rows &part, int64_t first, int64_t n_rows)
{
    for (int32_t t = etx_lane(); t < TILE_ROWS * part.width;
         t += ETX_CUDA_WARP) {
        const int32_t r = t / part.width;
        const int32_t k = t % part.width;
        const int64_t i = first + r < n_rows ? first + r : n_rows - 1;
        const int64_t at = etx_source_row(part, i) * part.width + k;

        x[r * pitch + k] =
            part.half != NULL ? part.half[at] : etx_half(part.data[at]);
    }
}

__device__ static bool has_vectors(
    const uint16_t *x, const struct etx_rows &part)
{
    const uintptr_t addresses =
        reinterpret_cast<uintptr_t>(x) | reinterpret_cast<uintptr_t>(part.half);

    return part.half != NULL && part.width % VECTOR == 0 &&
           addresses % sizeof(uint4) == 0;
}

/* x [16, pitch] = the parts of 16 rows, then zeros up to a whole tile. */
__device__ static void gather(
    uint16_t *x, const struct fused &net, int64_t first)
{
    const int32_t width = net.layer[0].n_depth * TILE_DEPTH;
    const int32_t n_left = width - net.n_in;
    int32_t column = 0;

    for (int32_t p = 0; p < net.part.n; p++) {
        const struct etx_rows &part = net.part.rows[p];

        if (has_vectors(x + column, part))
            gather_vectors(x + column, net.pitch, part, first, net.n_rows);
        else
            gather_values(x + column, net.pitch, part, first, net.n_rows);
        column += part.width;
    }
    for (int32_t t = etx_lane(); t < TILE_ROWS * n_left; t += ETX_CUDA_WARP)
        x[t / n_left * net.pitch + net.n_in + t % n_left] = 0;
}

/* -------------------------------------------------------------- layers -- */

/* The values of this lane's columns of tile j. */
__device__ static float2 read_columns(
    const float *values, int j, const struct tile_position &at)
{
    return *reinterpret_cast<const float2 *>(
        values + j * TILE_COLUMNS + at.column);
}

/* sum = bias, in every row. */
template <int TILES>
__device__ static void start(float (&sum)[TILES][4],
    const struct fused_columns &columns, const struct tile_position &at)
{
    ETX_UNROLL
    for (int j = 0; j < TILES; j++) {
        const float2 bias = read_columns(columns.bias, j, at);

        sum[j][0] = sum[j][2] = bias.x;
        sum[j][1] = sum[j][3] = bias.y;
    }
}

/* Columns at, at + 1 of a row of which n columns are left. */
__device__ static float2 read_pair(
    const struct fused_rows &added, int64_t at, int32_t n)
{
    const struct etx_rows &rows = added.rows;

    if (added.has_pairs && rows.half == NULL)
        return *reinterpret_cast<const float2 *>(rows.data + at);
    if (added.has_pairs) {
        const uint32_t pair =
            *reinterpret_cast<const uint32_t *>(rows.half + at);

        return {etx_unhalf((uint16_t)pair), etx_unhalf((uint16_t)(pair >> 16))};
    }
    return {etx_source_value(rows, at),
        n > 1 ? etx_source_value(rows, at + 1) : 0.0f};
}

/* sum += the rows of the matrix at the position of this lane. */
template <int TILES>
__device__ static void add_rows(float (&sum)[TILES][4],
    const struct fused_rows &added, const struct tile_position &at,
    int32_t n_out)
{
    ETX_UNROLL
    for (int half = 0; half < 2; half++) {
        const int64_t from =
            etx_source_row(added.rows, at.row[half]) * added.rows.width;

        ETX_UNROLL
        for (int j = 0; j < TILES; j++) {
            const int32_t c = j * TILE_COLUMNS + at.column;

            if (c < n_out) {
                const float2 pair = read_pair(added, from + c, n_out - c);

                sum[j][2 * half] += pair.x;
                sum[j][2 * half + 1] += pair.y;
            }
        }
    }
}

/* sum += a times a tile of depth of the packed weights. */
template <int TILES>
__device__ static void multiply(float (&sum)[TILES][4], const uint32_t (&a)[4],
    const uint2 *weight, int32_t n_columns)
{
    ETX_UNROLL
    for (int j = 0; j < TILES; j++)
        if (j < n_columns) {
            const uint2 words = weight[j * ETX_CUDA_WARP + etx_lane()];
            const uint32_t b[2] = {words.x, words.y};

            etx_mma(sum[j], a, b);
        }
}

/* sum += the first layer's product with the gathered rows. */
template <int TILES>
__device__ static void multiply_input(float (&sum)[TILES][4], const uint16_t *x,
    int32_t pitch, const uint2 *weight, const struct fused_layer &layer)
{
    const uint16_t *const row = x + etx_lane() / 4 * pitch + etx_lane() % 4 * 2;
    const int32_t below = TILE_ROWS / 2 * pitch;

    for (int32_t k = 0; k < layer.n_depth; k++) {
        const uint16_t *const at = row + k * TILE_DEPTH;
        const uint32_t a[4] = {*reinterpret_cast<const uint32_t *>(at),
            *reinterpret_cast<const uint32_t *>(at + below),
            *reinterpret_cast<const uint32_t *>(at + TILE_DEPTH / 2),
            *reinterpret_cast<const uint32_t *>(at + below + TILE_DEPTH / 2)};

        multiply(sum, a, weight + k * layer.n_columns * ETX_CUDA_WARP,
            layer.n_columns);
    }
}

/* a = the output of a layer as float16, the operand of the next product. */
template <int TILES>
__device__ static void round_sums(
    uint32_t (&a)[TILES / 2][4], const float (&sum)[TILES][4])
{
    ETX_UNROLL
    for (int k = 0; k < TILES / 2; k++)
        ETX_UNROLL
    for (int r = 0; r < 4; r++) {
        const float *const pair = sum[2 * k + r / 2];

        a[k][r] = etx_half_pair(pair[r % 2 * 2], pair[r % 2 * 2 + 1]);
    }
}

template <int TILES>
__device__ static void multiply_sums(float (&sum)[TILES][4],
    const uint32_t (&a)[TILES / 2][4], const uint2 *weight,
    const struct fused_layer &layer)
{
    ETX_UNROLL
    for (int k = 0; k < TILES / 2; k++)
        if (k < layer.n_depth)
            multiply(sum, a[k], weight + k * layer.n_columns * ETX_CUDA_WARP,
                layer.n_columns);
}

/* The sum over the four lanes that share a row. */
__device__ static float row_sum(float value)
{
    value += __shfl_xor_sync(ETX_CUDA_ALL_LANES, value, 1);
    return value + __shfl_xor_sync(ETX_CUDA_ALL_LANES, value, 2);
}

/* Mean, and 1 / sqrt(variance + eps), of one row. A lane has columns of two
 * rows of a tile (see struct tile_position): half chooses the row. */
template <int TILES>
__device__ static float2 statistics(const float (&sum)[TILES][4], int half,
    const struct fused_layer &layer, const struct tile_position &at)
{
    float total = 0.0f;
    float squares = 0.0f;

    ETX_UNROLL
    for (int j = 0; j < TILES; j++)
        ETX_UNROLL
    for (int s = 0; s < 2; s++)
        total += sum[j][2 * half + s];
    const float mean = row_sum(total) / (float)layer.n_out;

    ETX_UNROLL
    for (int j = 0; j < TILES; j++)
        ETX_UNROLL
    for (int s = 0; s < 2; s++) {
        const float d = sum[j][2 * half + s] - mean;

        if (j * TILE_COLUMNS + at.column + s < layer.n_out)
            squares = fmaf(d, d, squares);
    }
    const float variance = row_sum(squares) / (float)layer.n_out + layer.eps;

    return {mean, variance > 0.0f ? 1.0f / sqrtf(variance) : 0.0f};
}

/* Layer norm of both rows. Columns that pad a layer to whole tiles stay 0:
 * otherwise they may be infinite as float16, which times the next layer's 0 is
 * not a number. */
template <int TILES>
__device__ static void normalise(float (&sum)[TILES][4],
    const struct fused_layer &layer, const struct fused_columns &columns,
    const struct tile_position &at)
{
    if (layer.norm != ETX_NORM_LAYER)
        return;
    const float2 row[2] = {
        statistics(sum, 0, layer, at), statistics(sum, 1, layer, at)};

    ETX_UNROLL
    for (int j = 0; j < TILES; j++) {
        const float2 gain = read_columns(columns.gain, j, at);
        const float2 shift = read_columns(columns.shift, j, at);

        ETX_UNROLL
        for (int half = 0; half < 2; half++) {
            float *const pair = sum[j] + 2 * half;
            const float2 of = row[half];

            pair[0] = (pair[0] - of.x) * of.y * gain.x + shift.x;
            pair[1] = (pair[1] - of.x) * of.y * gain.y + shift.y;
        }
    }
}

/* With the approximate exponential and division of the device: a relative error
 * near 1e-6, before the result is rounded to 5e-4. */
template <int ACTIVATION> __device__ static float activate_value(float x)
{
    if (ACTIVATION == ETX_ACTIVATION_SILU)
        return __fdividef(x, 1.0f + __expf(-x));
    return etx_activate(ACTIVATION, x);
}

template <int ACTIVATION, int TILES>
__device__ static void apply(float (&sum)[TILES][4], int32_t n_columns)
{
    ETX_UNROLL
    for (int j = 0; j < TILES; j++)
        if (j < n_columns)
            ETX_UNROLL
    for (int s = 0; s < 4; s++)
        sum[j][s] = activate_value<ACTIVATION>(sum[j][s]);
}

/* The activation is chosen outside of the loops, whose bodies are small. Only
 * those that etx_cuda_layer_is_common() accepts get here. */
template <int TILES>
__device__ static void activate(
    float (&sum)[TILES][4], const struct fused_layer &layer)
{
    if (layer.activation == ETX_ACTIVATION_RELU)
        apply<ETX_ACTIVATION_RELU>(sum, layer.n_columns);
    else if (layer.activation == ETX_ACTIVATION_SILU)
        apply<ETX_ACTIVATION_SILU>(sum, layer.n_columns);
    else if (layer.activation == ETX_ACTIVATION_TANH)
        apply<ETX_ACTIVATION_TANH>(sum, layer.n_columns);
}

/* What follows the linear of a layer: norm and activation in the given order,
 * in a loop so that the code of each is generated once. */
template <int TILES>
__device__ static void finish(float (&sum)[TILES][4],
    const struct fused_layer &layer, const struct fused_columns &columns,
    const struct tile_position &at)
{
    ETX_KEEP_LOOP
    for (int32_t turn = 0; turn < 2; turn++)
        if (turn == (layer.norm_last != 0))
            normalise(sum, layer, columns, at);
        else
            activate(sum, layer);
}

/* Two columns of a row of the last layer, as float16. */
__device__ static void write_pair(
    const struct etx_cuda_end &end, int64_t at, float first, float second)
{
    if (end.half_residual != NULL) {
        const uint32_t pair =
            *reinterpret_cast<const uint32_t *>(end.half_residual + at);

        first += etx_unhalf((uint16_t)pair);
        second += etx_unhalf((uint16_t)(pair >> 16));
    }
    *reinterpret_cast<uint32_t *>(end.half_out + at) =
        etx_half_pair(first, second);
}

template <int TILES>
__device__ static void write(const struct fused &net,
    const float (&sum)[TILES][4], const struct tile_position &at, int64_t first)
{
    const int32_t width = net.layer[net.n_layers - 1].n_out;

    ETX_UNROLL
    for (int j = 0; j < TILES; j++)
        ETX_UNROLL
    for (int half = 0; half < 2; half++) {
        const int32_t c = j * TILE_COLUMNS + at.column;
        const int64_t i = first + etx_lane() / 4 + half * TILE_ROWS / 2;
        const float *const pair = sum[j] + 2 * half;

        if (c >= width || i >= net.n_rows)
            continue;
        if (net.end_has_pairs) {
            write_pair(net.end, i * width + c, pair[0], pair[1]);
            continue;
        }
        etx_write_end(net.end, i * width + c, pair[0]);
        if (c + 1 < width)
            etx_write_end(net.end, i * width + c + 1, pair[1]);
    }
}

/* 16 rows through all layers. x [16, pitch] is the warp's. */
template <int TILES>
__device__ static void run_tile(const struct fused &net, uint16_t *x,
    const uint32_t *weight, const struct fused_columns *columns, int64_t first)
{
    const int64_t last_row = net.n_rows - 1;
    const int64_t row = first + etx_lane() / 4;
    const int64_t below = row + TILE_ROWS / 2;
    const struct tile_position at = {
        {row < last_row ? row : last_row, below < last_row ? below : last_row},
        etx_lane() % 4 * 2};
    float sum[TILES][4] = {};

    gather(x, net, first);
    __syncwarp();
    ETX_KEEP_LOOP
    for (int32_t l = 0; l < net.n_layers; l++) {
        const struct fused_layer &layer = net.layer[l];
        const uint2 *const packed =
            reinterpret_cast<const uint2 *>(weight + layer.first_word);
        uint32_t a[TILES / 2][4];

        round_sums<TILES>(a, sum);
        start(sum, columns[l], at);
        if (l == 0) {
            for (int32_t p = 0; p < net.n_added; p++)
                add_rows(sum, net.added[p], at, layer.n_out);
            /* add_rows may diverge; mma.sync is for a converged warp. */
            __syncwarp();
            multiply_input(sum, x, net.pitch, packed, layer);
        } else {
            multiply_sums<TILES>(sum, a, packed, layer);
        }
        finish(sum, layer, columns[l], at);
    }
    write(net, sum, at, first);
    /* The next rows overwrite x. */
    __syncwarp();
}

/* Blocks that run on a multiprocessor at the same time: with more, a kernel of
 * this many tiles would run out of registers. */
constexpr int blocks_of(int tiles)
{
    return tiles <= 8 ? 2 : 1;
}

__device__ static void copy_words(
    uint32_t *out, const uint32_t *words, int32_t n_words)
{
    for (int32_t w = (int32_t)threadIdx.x; w < n_words; w += ETX_CUDA_BLOCK)
        out[w] = words[w];
}

/* values[c], or what stands for them; 0 in a column that pads the layer. */
__device__ static float column_value(
    const float *values, int32_t c, int32_t n_out, float otherwise)
{
    if (c >= n_out)
        return 0.0f;
    return values != NULL ? values[c] : otherwise;
}

__device__ static void copy_columns(
    struct fused_columns *out, const struct fused_layer &layer)
{
    for (int32_t c = (int32_t)threadIdx.x; c < MAX_WIDTH; c += ETX_CUDA_BLOCK) {
        out->bias[c] = column_value(layer.bias, c, layer.n_out, 0.0f);
        out->gain[c] = column_value(layer.gain, c, layer.n_out, 1.0f);
        out->shift[c] = column_value(layer.shift, c, layer.n_out, 0.0f);
    }
}

/* TILES: of the columns of the widest layer. */
template <int TILES>
__global__ static void __launch_bounds__(ETX_CUDA_BLOCK, blocks_of(TILES))
    mlp_fused_kernel(const __grid_constant__ struct fused net)
{
    uint32_t *const weight = reinterpret_cast<uint32_t *>(etx_shared_memory());
    struct fused_columns *const columns =
        reinterpret_cast<struct fused_columns *>(weight + net.n_words);
    const int32_t warp = (int32_t)threadIdx.x / ETX_CUDA_WARP;
    uint16_t *const x = reinterpret_cast<uint16_t *>(columns + net.n_layers) +
                        warp * TILE_ROWS * net.pitch;

    for (int32_t l = 0; l < net.n_layers; l++) {
        copy_words(weight + net.layer[l].first_word, net.layer[l].packed,
            words_of(net.layer[l]));
        copy_columns(columns + l, net.layer[l]);
    }
    __syncthreads();
    for (int64_t tile = (int64_t)blockIdx.x * WARPS + warp;
         tile * TILE_ROWS < net.n_rows; tile += (int64_t)gridDim.x * WARPS)
        run_tile<TILES>(net, x, weight, columns, tile * TILE_ROWS);
}

/* ---------------------------------------------------------------- host -- */

static int32_t tiles_of(int32_t width, int32_t size)
{
    return (width + size - 1) / size;
}

/* Whether pairs of values of `bytes` each lie where one access can read them:
 * rows of this width from this address on. */
static int32_t has_pairs(const void *address, int32_t width, size_t bytes)
{
    return width % 2 == 0 &&
           reinterpret_cast<uintptr_t>(address) % (2 * bytes) == 0;
}

static struct fused_rows describe_rows(
    const struct etx_rows *rows, int32_t n_out)
{
    if (n_out % 2 != 0)
        return {*rows, 0};
    if (rows->half != NULL)
        return {*rows, has_pairs(rows->half, rows->width, sizeof *rows->half)};
    return {*rows, has_pairs(rows->data, rows->width, sizeof *rows->data)};
}

static int32_t end_has_pairs(const struct etx_cuda_end *end, int32_t width)
{
    return end->half_out != NULL && end->residual == NULL &&
           has_pairs(end->half_out, width, sizeof *end->half_out) &&
           has_pairs(end->half_residual, width, sizeof *end->half_residual);
}

/* Layers and how their weights lie when packed: tiles, hence what follows
 * them is aligned to 16 bytes. */
static void describe_layers(struct fused *net, const struct etx_mlp_args *args)
{
    const int32_t last = args->n_layers - 1;

    for (int32_t l = 0; l <= last; l++) {
        const struct etx_layer *from = &args->layer[l];
        struct fused_layer *layer = &net->layer[l];

        *layer = {from->bias, from->gain, from->shift, from->n_out,
            tiles_of(from->n_in, TILE_DEPTH),
            tiles_of(from->n_out, TILE_COLUMNS), net->n_words, NULL, from->eps,
            from->norm, from->norm_last, from->activation};
        /* Two tiles of columns are one of the next layer's depth. */
        if (l < last)
            layer->n_columns += layer->n_columns % 2;
        net->n_words += words_of(*layer);
    }
}

/* All but the packed weights. */
static void describe(struct fused *net, const struct etx_mlp_args *args)
{
    const struct etx_layer *last = &args->layer[args->n_layers - 1];

    *net = {};
    net->n_rows = args->n_rows;
    net->n_layers = args->n_layers;
    net->n_in = args->layer[0].n_in;
    net->pitch = tiles_of(net->n_in, TILE_DEPTH) * TILE_DEPTH + PITCH_PADDING;
    describe_layers(net, args);
    net->part = etx_cuda_rows_from(args->part, args->n_parts, 0);
    net->n_added = args->n_added;
    for (int32_t p = 0; p < args->n_added; p++)
        net->added[p] = describe_rows(&args->added[p], args->layer[0].n_out);
    net->end = etx_cuda_mlp_end(args, 0);
    net->end_has_pairs = end_has_pairs(&net->end, last->n_out);
}

static size_t shared_bytes(const struct fused *net)
{
    return (size_t)net->n_words * sizeof(uint32_t) +
           (size_t)net->n_layers * sizeof(struct fused_columns) +
           (size_t)WARPS * TILE_ROWS * (size_t)net->pitch * sizeof(uint16_t);
}

int32_t etx_cuda_mlp_can_fuse(
    const struct etx_cuda *cuda, const struct etx_mlp_args *args)
{
    struct fused net;

    if (etx_cuda_mlp_widest(args, 0) > MAX_WIDTH)
        return 0;
    for (int32_t l = 0; l < args->n_layers; l++)
        if (!etx_cuda_layer_is_common(&args->layer[l]))
            return 0;
    describe(&net, args);
    return shared_bytes(&net) <= (size_t)cuda->shared_bytes;
}

/* Tiles of the weights of a layer: cached, or in scratch. */
static etx_status pack_layer(struct etx_stream *stream,
    struct fused_layer *layer, const struct etx_layer *from)
{
    const int32_t n_words = words_of(*layer);
    const struct etx_weight_key key = {
        from->weight, NULL, ETX_WEIGHTS_TILES, n_words};
    struct etx_weights tiles;

    ETX_TRY(etx_weights_open(&tiles, stream->weight_cache, stream->arena, &key,
        sizeof(uint32_t), "packed weights"));
    uint32_t *const packed = static_cast<uint32_t *>(tiles.value);

    layer->packed = packed;
    if (tiles.is_ready)
        return ETX_OK;
    ETX_TRY(etx_launch(stream, n_words, pack_kernel, packed, from->weight,
        from->n_in, from->n_out, layer->n_columns, n_words));
    etx_weights_close(stream->weight_cache, &tiles);
    return ETX_OK;
}

template <int TILES>
static etx_status launch(struct etx_stream *stream, const struct fused *net)
{
    const struct etx_cuda *cuda = etx_cuda_of(stream);
    const int64_t n_tiles = (net->n_rows + TILE_ROWS - 1) / TILE_ROWS;
    const int64_t wanted = (n_tiles + WARPS - 1) / WARPS;
    const int64_t max = (int64_t)cuda->n_multiprocessors * blocks_of(TILES);

    /* A bound of the kernel, not of this launch: another context may set it
     * at the same time, hence always the same. */
    ETX_CUDA(cudaFuncSetAttribute(mlp_fused_kernel<TILES>,
        cudaFuncAttributeMaxDynamicSharedMemorySize, cuda->shared_bytes));
    return etx_launch_grid(stream, wanted < max ? wanted : max, ETX_CUDA_BLOCK,
        shared_bytes(net), mlp_fused_kernel<TILES>, *net);
}

etx_status etx_cuda_mlp_fused(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const int32_t n_tiles =
        tiles_of(etx_cuda_mlp_widest(args, 0), TILE_COLUMNS);
    struct fused net;

    describe(&net, args);
    for (int32_t l = 0; l < args->n_layers; l++)
        ETX_TRY(pack_layer(stream, &net.layer[l], &args->layer[l]));
    if (n_tiles <= 4)
        return launch<4>(stream, &net);
    if (n_tiles <= 8)
        return launch<8>(stream, &net);
    return launch<16>(stream, &net);
}
