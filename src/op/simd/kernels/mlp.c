/* op/simd/kernels/mlp.c -- multi-layer perceptron, a block of rows at a time.
 *
 * A block of rows goes through gather, every layer and the residual while it
 * stays in the second-level cache of one core. The size of a block depends on
 * the shape only. A fused segment_reduce runs on the rows in cache, too.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/operators.h"

#include "base/check.h"
#include "op/simd/mlp_block.h"
#include "op/simd/vector.h"

#include <string.h>

#define CACHE_FLOATS 131072 /* of scratch that a block may use */
#define ROW_STEP     24     /* rows come in multiples of the gemm's tiles */
#define GROUP_BLOCKS 4      /* blocks of a group */
#define MIN_BLOCKS   8      /* or nearly, if each has ROW_STEP rows */
#define SUM_VECTORS  4      /* vectors of columns that are summed together */
#define SUMS_AHEAD   16     /* software prefetch distance, rows */

struct job {
    const struct etx_mlp_args *args;
    const struct etx_block_layer *layer;
    float *scratch; /* [workers, scratch_size] */
    int64_t scratch_size;
    int32_t block_rows;
    int32_t widest;     /* scratch row of the widest layer */
    int32_t writes_out; /* the last layer writes to out, not to scratch */
    int64_t n_groups;   /* of blocks, if the segment_reduce is fused */
    /* Another that is fused, or NULL. */
    const struct etx_segment_reduce_args *scattered;
};

/* May the last layer write to out? It does so in whole vectors, without norm or
 * activation; a single layer may not, as its input may be out itself. */
static int32_t can_write_out(const struct etx_mlp_args *args)
{
    const struct etx_layer *last = &args->layer[args->n_layers - 1];

    return args->n_layers > 1 && last->n_out % VEC_WIDTH == 0 &&
           last->norm == ETX_NORM_NONE &&
           last->activation == ETX_ACTIVATION_NONE;
}

/* out rows first .. = y + residual. */
static void write_rows(const struct etx_mlp_args *args, const float *y,
    int32_t y_row, int64_t first, int32_t n_rows)
{
    const int32_t width = args->layer[args->n_layers - 1].n_out;

    for (int32_t r = 0; r < n_rows; r++) {
        const int64_t at = (first + r) * width;
        const float *from = y + (ptrdiff_t)r * y_row;
        for (int32_t k = 0; k < width; k += VEC_WIDTH) {
            const vmask some = v_first(width - k);
            vec x = v_load(from + k);
            if (args->residual != NULL)
                x = x + v_load_mask(args->residual + at + k, some);
            v_store_mask(args->out + at + k, x, some);
        }
    }
}

/* The linear of layer l for the backward. */
static void keep_linear(const struct etx_mlp_args *args, int32_t l,
    struct etx_block_rows y, int64_t first, int32_t n_rows)
{
    const int32_t width = args->layer[l].n_out;
    float *to = etx_linear_rows(args, l, first);

    for (int32_t r = 0; r < n_rows; r++)
        memcpy(to + (int64_t)r * width, y.data + (ptrdiff_t)r * y.row,
            (size_t)width * sizeof *to);
}

static void run_rows(
    const struct job *job, int64_t first, int32_t n_rows, int32_t worker)
{
    const struct etx_mlp_args *args = job->args;
    const int32_t last = args->n_layers - 1;
    const int64_t size = (int64_t)job->block_rows * job->widest;
    float *scratch[3]; /* input and output of a layer, input rounded */
    struct etx_block_rows x;

    scratch[0] = job->scratch + worker * job->scratch_size;
    scratch[1] = scratch[0] + size;
    scratch[2] = scratch[1] + size;
    x = ETX_ISA_NAME(block_input)(
        scratch[0], &job->layer[0], args, first, n_rows, 0);
    for (int32_t l = 0; l <= last; l++) {
        const struct etx_block_layer *layer = &job->layer[l];
        const int32_t is_out = l == last && job->writes_out;
        const struct etx_block_terms terms = ETX_ISA_NAME(block_terms)(
            args, l, is_out ? args->residual : NULL, first);
        const int32_t y_row = is_out ? layer->n_out : layer->out_row;
        float *y =
            is_out ? args->out + first * layer->n_out : scratch[(l + 1) % 2];
        ETX_ISA_NAME(apply_linear)
        (y, y_row, layer, x, &terms, n_rows, scratch[2]);
        x = (struct etx_block_rows){y, y_row};
        if (args->linear != NULL && !etx_is_bare(layer))
            keep_linear(args, l, x, first, n_rows);
        ETX_ISA_NAME(finish_layer)(y, NULL, layer, n_rows);
    }
    if (!job->writes_out)
        write_rows(args, x.data, x.row, first, n_rows);
}

/* At most a block of the rows first .. end - 1. */
static int32_t rows_of_next(const struct job *job, int64_t first, int64_t end)
{
    const int64_t left = end - first;

    return left < job->block_rows ? (int32_t)left : job->block_rows;
}

static etx_status run_block(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const int64_t first = block * job->block_rows;

    run_rows(job, first, rows_of_next(job, first, job->args->n_rows), worker);
    return ETX_OK;
}

/* ---------------------------------------------------- sums of segments -- */

/* The fused segment_reduce: rows are summed directly after their block, while
 * they are in cache. Groups of about GROUP_BLOCKS blocks begin and end with a
 * segment, so that one worker adds all rows of a segment, in their order, as
 * segment_reduce does.
 *
 *     segments | s0  | s1        | s2   | s3        | s4   | s5 ...
 *     group 0  | b0    | b1    | b2    | b3    | b4 |
 *     group 1                                       | b0    | b1 ... */

/* Add the rows from .. end - 1 to columns begin .. of the sum of segment s,
 * which starts at zero with the segment's first row. */
static void add_rows(const struct etx_segment_reduce_args *reduce, int64_t s,
    int32_t begin, int64_t from, int64_t end)
{
    const int32_t width = reduce->width;
    const int32_t is_begun = from > reduce->offset[s];
    float *to = reduce->out + s * width + begin;
    vmask some[SUM_VECTORS];
    vec sum[SUM_VECTORS];

    for (int v = 0; v < SUM_VECTORS; v++) {
        const int32_t left = width - begin - v * VEC_WIDTH;
        some[v] = v_first(left < 0 ? 0 : left);
        sum[v] = is_begun ? v_load_mask(to + v * VEC_WIDTH, some[v]) : v_zero();
    }
    for (int64_t row = from; row < end; row++) {
        const float *x = reduce->x + row * width + begin;
        for (int v = 0; v < SUM_VECTORS; v++)
            sum[v] = sum[v] + v_load_mask(x + v * VEC_WIDTH, some[v]);
    }
    for (int v = 0; v < SUM_VECTORS; v++)
        v_store_mask(to + v * VEC_WIDTH, sum[v], some[v]);
}

/* Add the rows first .. end - 1 to the sums of their segments. Row `first` is
 * in segment s or, after segments without rows, in a later one. Returns the s
 * of row `end`. */
static int64_t sum_block(const struct etx_segment_reduce_args *reduce,
    int64_t s, int64_t first, int64_t end)
{
    const int64_t *offset = reduce->offset;

    for (; s < reduce->n_segments && offset[s] < end; s++) {
        const int64_t from = offset[s] > first ? offset[s] : first;
        const int64_t to = offset[s + 1] < end ? offset[s + 1] : end;
        for (int32_t k = 0; k < reduce->width; k += SUM_VECTORS * VEC_WIDTH)
            add_rows(reduce, s, k, from, to);
        if (offset[s + 1] > end)
            break;
    }
    return s;
}

/* Add the rows first .. end - 1 to the sums of their segments, which are
 * anywhere and started at zero: the sums of segment_reduce, where no other
 * thread adds to them. */
static void scatter_block(
    const struct etx_segment_reduce_args *reduce, int64_t first, int64_t end)
{
    const int32_t width = reduce->width;

    for (int64_t row = first; row < end; row++) {
        const float *x = reduce->x + row * width;
        float *to = reduce->out + (int64_t)reduce->segment[row] * width;

        if (row + SUMS_AHEAD < end) {
            const float *next =
                reduce->out +
                (int64_t)reduce->segment[row + SUMS_AHEAD] * width;
            for (int32_t k = 0; k < width; k += VEC_WIDTH)
                __builtin_prefetch(next + k, 1);
        }
        for (int32_t k = 0; k < width; k += VEC_WIDTH) {
            const vmask some = v_first(width - k);
            v_store_mask(to + k,
                v_load_mask(to + k, some) + v_load_mask(x + k, some), some);
        }
    }
}

/* The first segment that begins at row `row` or after it. */
static int64_t segment_from(
    const struct etx_segment_reduce_args *reduce, int64_t row)
{
    int64_t low = 0;
    int64_t high = reduce->n_segments;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (reduce->offset[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first segment of a group. */
static int64_t group_begin(const struct job *job, int64_t group)
{
    const struct etx_segment_reduce_args *reduce = job->args->reduce;

    return group == job->n_groups
               ? reduce->n_segments
               : segment_from(reduce, group * GROUP_BLOCKS * job->block_rows);
}

static etx_status run_group(void *argument, int64_t group, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_segment_reduce_args *reduce = job->args->reduce;
    const int64_t last = group_begin(job, group + 1);
    const int64_t end = reduce->offset[last];
    int64_t s = group_begin(job, group);
    int32_t n_rows;

    for (int64_t first = reduce->offset[s]; first < end; first += n_rows) {
        n_rows = rows_of_next(job, first, end);
        run_rows(job, first, n_rows, worker);
        s = sum_block(reduce, s, first, first + n_rows);
        if (job->scattered != NULL)
            scatter_block(job->scattered, first, first + n_rows);
    }
    /* Segments without rows at the end. */
    if (s < last)
        memset(reduce->out + s * reduce->width, 0,
            (size_t)((last - s) * reduce->width) * sizeof *reduce->out);
    return ETX_OK;
}

/* Can the segment_reduce be fused? A plain sum over the rows in order can. */
static int32_t can_sum(const struct etx_segment_reduce_args *reduce)
{
    return reduce != NULL && reduce->reduce == ETX_REDUCE_SUM && !reduce->add &&
           reduce->order == NULL && reduce->gather == NULL &&
           reduce->weight == NULL;
}

/* Can it be fused too? */
static int32_t can_scatter(
    const struct etx_segment_reduce_args *reduce, const struct job *job)
{
    return reduce != NULL && reduce->reduce == ETX_REDUCE_SUM && !reduce->add &&
           reduce->segment != NULL && reduce->gather == NULL &&
           reduce->weight == NULL && reduce->x == job->args->reduce->x;
}

/* ----------------------------------------------------------- the whole -- */

static etx_status run_blocks(struct etx_stream *stream, struct job *job)
{
    const int64_t n_blocks =
        (job->args->n_rows + job->block_rows - 1) / job->block_rows;
    const struct etx_segment_reduce_args *left = job->args->reduce;
    etx_status status;

    if (can_sum(left)) {
        job->n_groups = (n_blocks + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
        left = left->next;
        /* On more threads a sum would be shared. */
        if (etx_pool_n_threads(stream->pool) == 1 && can_scatter(left, job)) {
            memset(left->out, 0,
                (size_t)(left->n_segments * left->width) * sizeof *left->out);
            job->scattered = left;
            left = left->next;
        }
        ETX_CHECK(
            etx_parallel_for(stream->pool, job->n_groups, run_group, job));
    } else {
        ETX_CHECK(etx_parallel_for(stream->pool, n_blocks, run_block, job));
    }
    ETX_CHECK(ETX_ISA_NAME(segment_reduce)(stream, left));
done:
    return status;
}

/* Rows of a block: as many as fit the cache; fewer where there would be few
 * blocks to share, never more than there are. */
static int32_t rows_of_block(int64_t n_rows, int64_t floats_per_row)
{
    int64_t rows = CACHE_FLOATS / floats_per_row;
    const int64_t share = n_rows / MIN_BLOCKS + 1;
    const int64_t needed = (share + ROW_STEP - 1) / ROW_STEP * ROW_STEP;

    rows = rows > ETX_BLOCK_ROWS ? ETX_BLOCK_ROWS : rows / ROW_STEP * ROW_STEP;
    rows = rows < ROW_STEP ? ROW_STEP : rows;
    return (int32_t)(rows < needed ? rows : needed);
}

/* Run with folded layers. */
static etx_status run(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    struct etx_block_layer layer[ETX_MAX_LAYERS];
    struct job job = {.args = args, .layer = layer};
    etx_status status;

    ETX_CHECK(ETX_ISA_NAME(pack_layers)(layer, stream, args, 0));
    job.writes_out = can_write_out(args);
    job.widest = layer[0].in_row;
    for (int32_t l = 0; l < args->n_layers; l++)
        if (layer[l].out_row > job.widest)
            job.widest = layer[l].out_row;
    job.block_rows = rows_of_block(args->n_rows, 2 * job.widest);
    /* One vector more for the gather's last store. */
    job.scratch_size = 2 * (int64_t)job.block_rows * job.widest + 16;
    if (stream->is_bfloat16 || stream->is_int16)
        job.scratch_size +=
            job.block_rows * (int64_t)etx_padded(etx_pairs(job.widest) + 1);
    ETX_SCRATCH(job.scratch, stream->arena,
        etx_pool_n_threads(stream->pool) * job.scratch_size,
        "blocks of an mlp");
    ETX_CHECK(run_blocks(stream, &job));
done:
    return status;
}

etx_status ETX_ISA_NAME(mlp)(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_layer layer[ETX_MAX_LAYERS];
    struct etx_mlp_args folded = *args;
    const struct etx_mlp_prepare_args prepare = {
        .forward = args, .layer = layer, .n_layers = &folded.n_layers};
    etx_status status;

    if (args->n_rows == 0)
        return ETX_ISA_NAME(segment_reduce)(stream, args->reduce);
    if (ETX_ISA_NAME(has_batch_norm)(args))
        return etx_op_ref.mlp(stream, args);
    ETX_CHECK(etx_check_cancelled(stream));
    if (args->linear == NULL) {
        ETX_CHECK(ETX_ISA_NAME(mlp_prepare)(stream, &prepare));
        folded.layer = layer;
    }
    stream->flop += etx_mlp_flop(&folded);
    ETX_CHECK(run(stream, &folded));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
