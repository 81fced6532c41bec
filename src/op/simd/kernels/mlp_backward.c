/* op/simd/kernels/mlp_backward.c -- gradients of the perceptron, by blocks.
 *
 * Every block of rows runs forward again, saving in scratch what the backward
 * reads, then backward: d_x = d_y W and dW += d_y^T x. Blocks form groups,
 * whose number depends on the shape only; a group adds its blocks in order to
 * its own gradients, and these are added in the order of the groups, so that
 * the result is the same bits for any number of threads.
 *
 *     rows       | block | block | block || block | block | ...
 *     sums       |        group 0        ||      group 1   ...
 *     gradient   +=  sums of group 0 + sums of group 1 + ...
 *
 *     scratch of a worker, per layer: x | normed rstd projection | slope
 *                          then:      output | d[0] | d[1]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "op/simd/gemm.h"
#include "op/simd/mlp_block.h"
#include "op/simd/vector.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define CACHE_FLOATS    98304 /* of scratch that a block may use */
#define ROW_STEP        24    /* rows come in multiples of the gemm's tiles */
#define MAX_ROWS        144
#define MAX_GROUPS      64
#define MIN_GROUPS      4
#define GRADIENT_FLOATS (INT64_C(1) << 25) /* of all groups together */

/* Gradients of one layer, of one group of blocks. */
struct sums {
    float *weight; /* [n_out, in_row], or NULL: not wanted */
    float *bias;   /* [out_row] */
    float *gain;   /* [out_row] */
    float *shift;  /* [out_row] */
};

/* Scratch of one worker. */
struct scratch {
    float *x[ETX_MAX_LAYERS + 1]; /* input of layer l, [rows, row] */
    struct etx_block_saved saved[ETX_MAX_LAYERS];
    float *d[2]; /* [rows, widest] */
};

struct job {
    const struct etx_mlp_backward_args *args;
    const struct etx_block_layer *layer;
    int32_t block_rows, widest;
    int64_t n_blocks, n_groups;
    float *scratch; /* [workers, scratch_size] */
    int64_t scratch_size;
    float *sums; /* [n_groups, sums_size], or NULL: not wanted */
    int64_t sums_size;
    int32_t reduced; /* the layer whose groups are being added */
};

/* ------------------------------------------------------------- scratch -- */

/* The next array of `size` floats after base + *next, in whole cache lines;
 * with base NULL *next only counts. */
static float *next_array(float *base, int64_t *next, int64_t size)
{
    float *slot = base == NULL ? NULL : base + *next;

    *next += (size + 15) / 16 * 16;
    return slot;
}

/* Lay scratch out for n rows from base on; returns its size in floats. */
static int64_t lay_out(
    struct scratch *scratch, float *base, const struct job *job, int32_t n)
{
    const int32_t n_layers = job->args->forward->n_layers;
    int64_t next = 0;

    for (int32_t l = 0; l < n_layers; l++) {
        const struct etx_block_layer *layer = &job->layer[l];
        struct etx_block_saved *saved = &scratch->saved[l];
        const int64_t in_size = (int64_t)n * layer->in_row;
        const int64_t size = (int64_t)n * layer->out_row;
        *saved = (struct etx_block_saved){0};
        /* One vector more for the last store of the gather. */
        scratch->x[l] = next_array(base, &next, in_size + 16);
        if (layer->norm != ETX_NORM_NONE) {
            saved->normed = next_array(base, &next, size);
            saved->rstd = next_array(base, &next, n);
            saved->projection = next_array(base, &next, n);
        }
        if (layer->activation != ETX_ACTIVATION_NONE)
            saved->slope = next_array(base, &next, size);
    }
    scratch->x[n_layers] =
        next_array(base, &next, (int64_t)n * job->layer[n_layers - 1].out_row);
    scratch->d[0] = next_array(base, &next, (int64_t)n * job->widest);
    scratch->d[1] = next_array(base, &next, (int64_t)n * job->widest);
    return next;
}

/* Lay the sums of a group out from base on; returns their size in floats. */
static int64_t lay_out_sums(
    struct sums sums[ETX_MAX_LAYERS], float *base, const struct job *job)
{
    int64_t next = 0;

    for (int32_t l = 0; l < job->args->forward->n_layers; l++) {
        const struct etx_block_layer *layer = &job->layer[l];
        sums[l] = (struct sums){0};
        if (job->args->gradient[l].weight != NULL)
            sums[l].weight =
                next_array(base, &next, (int64_t)layer->n_out * layer->in_row);
        sums[l].bias = next_array(base, &next, layer->out_row);
        sums[l].gain = next_array(base, &next, layer->out_row);
        sums[l].shift = next_array(base, &next, layer->out_row);
    }
    return next;
}

/* ------------------------------------------------ backward of a layer -- */

/* d [n_rows, out_row]: in the gradient of the layer's output, out that of its
 * linear. With g the gradient of the row `normed`, the norm gives
 *
 *     rstd * (g - mean(g) - normed * projection * sum(g * normed)),
 *
 * where an L2 norm has no mean(g). The flags are constants where this is
 * inlined. */
INLINE void backward_rows(float *d, const struct sums *sums,
    const struct etx_block_layer *layer, const struct etx_block_saved *saved,
    int32_t n_rows, const int has_norm, const int has_slope,
    const int norm_last)
{
    const int32_t width = layer->n_out;
    const float inverse =
        layer->norm == ETX_NORM_LAYER ? 1.0f / (float)width : 0.0f;

    for (int32_t r = 0; r < n_rows; r++) {
        const ptrdiff_t at = (ptrdiff_t)r * layer->out_row;
        float *row = d + at;
        const float *normed = has_norm ? saved->normed + at : NULL;
        const float *slope = has_slope ? saved->slope + at : NULL;
        vec sum = v_zero();
        vec product = v_zero();

        for (int32_t k = 0; has_norm && k < width; k += VEC_WIDTH) {
            vec g = v_load(row + k);
            const vec x = v_load(normed + k);
            if (has_slope && !norm_last)
                g = g * v_load(slope + k);
            if (sums != NULL) {
                v_store(sums->shift + k, v_load(sums->shift + k) + g);
                v_store(sums->gain + k, v_fma(g, x, v_load(sums->gain + k)));
            }
            if (layer->gain != NULL)
                g = g * v_load(layer->gain + k);
            sum = sum + g;
            product = v_fma(g, x, product);
            v_store(row + k, g);
        }
        const vec mean = v_set1(has_norm ? v_sum(sum) * inverse : 0.0f);
        const vec along =
            v_set1(has_norm ? v_sum(product) * saved->projection[r] : 0.0f);
        const vec scale = v_set1(has_norm ? saved->rstd[r] : 1.0f);
        for (int32_t k = 0; k < width; k += VEC_WIDTH) {
            vec g = v_load(row + k);
            if (has_norm)
                g = v_fnma(v_load(normed + k), along, g - mean) * scale;
            if (has_slope && (norm_last || !has_norm))
                g = g * v_load(slope + k);
            if (sums != NULL)
                v_store(sums->bias + k, v_load(sums->bias + k) + g);
            v_store(row + k, g);
        }
    }
}

static void backward_norm_and_slope(float *d, const struct sums *sums,
    const struct etx_block_layer *layer, const struct etx_block_saved *saved,
    int32_t n_rows)
{
    const int has_norm = layer->norm != ETX_NORM_NONE;
    const int has_slope = layer->activation != ETX_ACTIVATION_NONE;

    if (has_norm && has_slope && layer->norm_last)
        backward_rows(d, sums, layer, saved, n_rows, 1, 1, 1);
    else if (has_norm && has_slope)
        backward_rows(d, sums, layer, saved, n_rows, 1, 1, 0);
    else if (has_norm)
        backward_rows(d, sums, layer, saved, n_rows, 1, 0, 0);
    else if (has_slope)
        backward_rows(d, sums, layer, saved, n_rows, 0, 1, 0);
    else if (sums != NULL)
        backward_rows(d, sums, layer, saved, n_rows, 0, 0, 0);
}

/* ------------------------------------------------------------- a block -- */

/* y [n_rows, out_row] = the linear of layer l that the forward saved, zeros
 * beyond its width. */
static void read_linear(
    float *y, const struct job *job, int32_t l, int64_t first, int32_t n_rows)
{
    const struct etx_block_layer *layer = &job->layer[l];
    const float *from = etx_linear_rows(job->args->forward, l, first);

    for (int32_t r = 0; r < n_rows; r++)
        for (int32_t k = 0; k < layer->n_out; k += VEC_WIDTH)
            v_store(y + (ptrdiff_t)r * layer->out_row + k,
                v_load_mask(from + (int64_t)r * layer->n_out + k,
                    v_first(layer->n_out - k)));
}

/* Returns the input of the first layer. The output of a bare last layer is not
 * computed, as the backward does not read it. */
static struct etx_block_rows forward_block(struct scratch *scratch,
    const struct job *job, int64_t first, int32_t n_rows)
{
    const struct etx_mlp_args *forward = job->args->forward;
    const struct etx_block_rows input = ETX_ISA_NAME(block_input)(
        scratch->x[0], &job->layer[0], forward, first, n_rows, 1);
    struct etx_block_rows x = input;

    for (int32_t l = 0; l < forward->n_layers; l++) {
        const struct etx_block_layer *layer = &job->layer[l];
        const struct etx_block_terms terms =
            ETX_ISA_NAME(block_terms)(forward, l, NULL, first);
        float *y = scratch->x[l + 1];
        if (l == forward->n_layers - 1 && etx_is_bare(layer))
            break;
        if (forward->linear != NULL && !etx_is_bare(layer))
            read_linear(y, job, l, first, n_rows);
        else
            ETX_ISA_NAME(apply_linear)
        (y, layer->out_row, layer, x, &terms, n_rows, NULL);
        ETX_ISA_NAME(finish_layer)(y, &scratch->saved[l], layer, n_rows);
        x = (struct etx_block_rows){y, layer->out_row};
    }
    return input;
}

/* d [n_rows, d_row] = rows first .. of d_out, zeros beyond its width. */
static void read_d_out(float *d, int32_t d_row,
    const struct etx_mlp_backward_args *args, int64_t first, int32_t n_rows)
{
    const struct etx_mlp_args *forward = args->forward;
    const int32_t width = forward->layer[forward->n_layers - 1].n_out;

    for (int32_t r = 0; r < n_rows; r++)
        for (int32_t k = 0; k < width; k += VEC_WIDTH)
            v_store(d + (ptrdiff_t)r * d_row + k,
                v_load_mask(
                    args->d_out + (first + r) * width + k, v_first(width - k)));
}

/* Columns of d [n_rows, d_row] to rows first .. of every d_part that is not
 * NULL. */
static void write_d_parts(const struct etx_mlp_backward_args *args,
    const float *d, int32_t d_row, int64_t first, int32_t n_rows)
{
    int32_t begin = 0;

    for (int32_t p = 0; p < args->forward->n_parts; p++) {
        const int32_t width = args->forward->part[p].width;
        float *to = args->d_part[p];
        for (int32_t r = 0; to != NULL && r < n_rows; r++)
            memcpy(to + (first + r) * width, d + (ptrdiff_t)r * d_row + begin,
                (size_t)width * sizeof *to);
        begin += width;
    }
}

static int32_t wants_parts(const struct etx_mlp_backward_args *args)
{
    for (int32_t p = 0; p < args->forward->n_parts; p++)
        if (args->d_part[p] != NULL)
            return 1;
    return 0;
}

/* d_added rows first .. = d, the gradient of the first linear. */
static void write_d_added(const struct etx_mlp_backward_args *args,
    const float *d, int32_t d_row, int64_t first, int32_t n_rows)
{
    const int32_t width = args->forward->layer[0].n_out;

    for (int32_t r = 0; args->d_added != NULL && r < n_rows; r++)
        for (int32_t k = 0; k < width; k += VEC_WIDTH)
            v_store_mask(args->d_added + (first + r) * width + k,
                v_load(d + (ptrdiff_t)r * d_row + k), v_first(width - k));
}

/* From d = gradient of the output to the gradients of everything. input: of
 * the first layer. */
static void backward_block(struct scratch *scratch, const struct sums *sums,
    const struct job *job, struct etx_block_rows input, int64_t first,
    int32_t n_rows)
{
    const int32_t n_layers = job->args->forward->n_layers;
    float *d = scratch->d[0];
    float *d_x = scratch->d[1];

    read_d_out(d, job->layer[n_layers - 1].out_row, job->args, first, n_rows);
    for (int32_t l = n_layers - 1; l >= 0; l--) {
        const struct etx_block_layer *layer = &job->layer[l];
        const struct etx_gemm_left left = {d, layer->out_row};
        const struct etx_block_rows x =
            l == 0 ? input
                   : (struct etx_block_rows){scratch->x[l], layer->in_row};
        float *const other = d;
        backward_norm_and_slope(d, sums != NULL ? &sums[l] : NULL, layer,
            &scratch->saved[l], n_rows);
        if (sums != NULL && sums[l].weight != NULL)
            ETX_ISA_NAME(gemm_turned_add)
        (sums[l].weight, layer->in_row, layer->n_out, layer->n_in, n_rows, d,
            layer->out_row, x.data, x.row, d_x);
        if (l == 0)
            write_d_added(job->args, d, layer->out_row, first, n_rows);
        if (l == 0 && !wants_parts(job->args))
            return;
        ETX_ISA_NAME(gemm).packed(d_x, layer->in_row, n_rows, layer->n_in,
            layer->n_out, left, layer->backward, NULL);
        d = d_x;
        d_x = other;
    }
    write_d_parts(job->args, d, job->layer[0].in_row, first, n_rows);
}

static etx_status run_group(void *argument, int64_t group, int32_t worker)
{
    const struct job *job = argument;
    const int64_t n_rows = job->args->forward->n_rows;
    const int64_t begin = group * job->n_blocks / job->n_groups;
    const int64_t end = (group + 1) * job->n_blocks / job->n_groups;
    struct sums sums[ETX_MAX_LAYERS];
    struct scratch scratch;

    (void)lay_out(&scratch, job->scratch + worker * job->scratch_size, job,
        job->block_rows);
    if (job->sums != NULL) {
        float *base = job->sums + group * job->sums_size;
        memset(base, 0, (size_t)job->sums_size * sizeof *base);
        (void)lay_out_sums(sums, base, job);
    }
    for (int64_t block = begin; block < end; block++) {
        const int64_t first = block * job->block_rows;
        const int64_t left = n_rows - first;
        const int32_t n =
            left < job->block_rows ? (int32_t)left : job->block_rows;
        const struct etx_block_rows input =
            forward_block(&scratch, job, first, n);
        backward_block(
            &scratch, job->sums != NULL ? sums : NULL, job, input, first, n);
    }
    return ETX_OK;
}

/* ------------------------------------------------- the sums of groups -- */

/* to [width] += the groups' rows at `from`, in order. */
static void add_groups(
    float *to, const struct job *job, const float *from, int32_t width)
{
    if (to == NULL)
        return;
    for (int32_t k = 0; k < width; k += VEC_WIDTH) {
        const vmask some = v_first(width - k);
        vec sum = v_zero();
        for (int64_t g = 0; g < job->n_groups; g++)
            sum = sum + v_load(from + g * job->sums_size + k);
        v_store_mask(to + k, v_load_mask(to + k, some) + sum, some);
    }
}

/* Row `block` of the weight of layer job->reduced; after the last row bias,
 * gain and shift. */
static etx_status add_row(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_block_layer *layer = &job->layer[job->reduced];
    const struct etx_layer_gradient *gradient =
        &job->args->gradient[job->reduced];
    struct sums sums[ETX_MAX_LAYERS];
    const struct sums *from = &sums[job->reduced];

    (void)worker;
    (void)lay_out_sums(sums, job->sums, job);
    if (block < layer->n_out) {
        if (gradient->weight != NULL)
            add_groups(gradient->weight + block * layer->n_in, job,
                from->weight + block * layer->in_row, layer->n_in);
        return ETX_OK;
    }
    add_groups(gradient->bias, job, from->bias, layer->n_out);
    if (layer->norm == ETX_NORM_LAYER) {
        add_groups(gradient->gain, job, from->gain, layer->n_out);
        add_groups(gradient->shift, job, from->shift, layer->n_out);
    }
    return ETX_OK;
}

/* ------------------------------------------------------------ the whole -- */

/* Floats of the cache that a block may fill. Weights that do not fit come
 * from further away for every block, so that many rows must amortise them. */
static int64_t floats_of_block(const struct job *job)
{
    const struct etx_mlp_args *forward = job->args->forward;
    int64_t weights = 0;

    for (int32_t l = 0; l < forward->n_layers; l++)
        weights += (int64_t)job->layer[l].n_in * job->layer[l].n_out;
    return weights > CACHE_FLOATS ? INT64_MAX : CACHE_FLOATS;
}

/* Rows of a block: as many as fit the cache, never more than there are. */
static int32_t rows_of_block(const struct job *job)
{
    struct scratch scratch;
    const int64_t floats = floats_of_block(job);
    const int64_t n_rows = job->args->forward->n_rows;
    const int64_t needed = (n_rows + ROW_STEP - 1) / ROW_STEP * ROW_STEP;
    int64_t rows = ROW_STEP;

    while (rows + ROW_STEP <= MAX_ROWS && rows + ROW_STEP <= needed &&
           lay_out(&scratch, NULL, job, (int32_t)rows + ROW_STEP) <= floats)
        rows += ROW_STEP;
    return (int32_t)rows;
}

static int64_t count_groups(const struct job *job)
{
    int64_t groups = (job->n_blocks + 1) / 2;

    if (job->sums_size > 0 && groups > GRADIENT_FLOATS / job->sums_size)
        groups = GRADIENT_FLOATS / job->sums_size;
    groups = groups < MIN_GROUPS ? MIN_GROUPS : groups;
    groups = groups > MAX_GROUPS ? MAX_GROUPS : groups;
    return groups < job->n_blocks ? groups : job->n_blocks;
}

/* Sizes and memory of a job whose args and layer are set. */
static etx_status prepare(struct job *job, struct etx_stream *stream)
{
    const struct etx_mlp_args *forward = job->args->forward;
    struct scratch scratch;
    struct sums sums[ETX_MAX_LAYERS];
    etx_status status;

    job->widest = job->layer[0].in_row;
    for (int32_t l = 0; l < forward->n_layers; l++)
        if (job->layer[l].out_row > job->widest)
            job->widest = job->layer[l].out_row;
    job->block_rows = rows_of_block(job);
    job->n_blocks = (forward->n_rows + job->block_rows - 1) / job->block_rows;
    job->scratch_size = lay_out(&scratch, NULL, job, job->block_rows);
    ETX_SCRATCH(job->scratch, stream->arena,
        etx_pool_n_threads(stream->pool) * job->scratch_size,
        "blocks of an mlp");
    /* Scratch that a kernel reads beyond a width must be finite. */
    memset(job->scratch, 0,
        (size_t)(etx_pool_n_threads(stream->pool) * job->scratch_size) *
            sizeof *job->scratch);
    if (job->args->gradient != NULL)
        job->sums_size = lay_out_sums(sums, NULL, job);
    job->n_groups = count_groups(job);
    if (job->args->gradient != NULL)
        ETX_SCRATCH(job->sums, stream->arena, job->n_groups * job->sums_size,
            "gradients of groups of blocks");
done:
    return status;
}

etx_status ETX_ISA_NAME(mlp_backward)(
    struct etx_stream *stream, const struct etx_mlp_backward_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_block_layer layer[ETX_MAX_LAYERS];
    struct job job = {.args = args, .layer = layer};
    etx_status status;

    if (args->forward->n_rows == 0)
        return ETX_OK;
    if (ETX_ISA_NAME(has_batch_norm)(args->forward))
        return etx_op_ref.mlp_backward(stream, args);
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(ETX_ISA_NAME(pack_layers)(layer, stream, args->forward, 1));
    ETX_CHECK(prepare(&job, stream));
    ETX_CHECK(etx_parallel_for(stream->pool, job.n_groups, run_group, &job));
    if (args->gradient != NULL)
        /* One layer after the other: two may share arrays. */
        for (job.reduced = 0; job.reduced < args->forward->n_layers;
             job.reduced++)
            ETX_CHECK(etx_parallel_for(
                stream->pool, layer[job.reduced].n_out + 1, add_row, &job));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
