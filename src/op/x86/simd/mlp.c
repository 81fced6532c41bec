/* op/x86/simd/mlp.c -- multi-layer perceptron, a block of rows at a time.
 *
 * A block of rows goes through gather, every layer and the residual while it
 * stays in the second-level cache of one core. The size of a block depends on
 * the shape alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "backend/backend.h"
#include "base/check.h"
#include "op/x86/mlp_block.h"
#include "op/x86/vector.h"

#include <string.h>

#define CACHE_FLOATS 131072 /* of scratch that a block may use */
#define ROW_STEP     24    /* rows come in multiples of the gemm's tiles */

struct job {
    const struct etx_mlp_args *args;
    const struct etx_block_layer *layer;
    float *scratch; /* [workers, scratch_size] */
    int64_t scratch_size;
    int32_t block_rows;
    int32_t widest; /* scratch row of the widest layer */
    int32_t writes_out; /* the last layer writes to out, not to scratch */
};

/* A bare last layer of whole vectors may; a single layer may not, as its
 * input may be out itself. */
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

static etx_status run_block(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const struct etx_mlp_args *args = job->args;
    const int64_t first = block * job->block_rows;
    const int64_t left = args->n_rows - first;
    const int32_t n_rows =
        left < job->block_rows ? (int32_t)left : job->block_rows;
    const int32_t last = args->n_layers - 1;
    float *scratch[2];
    struct etx_block_rows x;

    scratch[0] = job->scratch + worker * job->scratch_size;
    scratch[1] = scratch[0] + (int64_t)job->block_rows * job->widest;
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
        ETX_ISA_NAME(apply_linear)(y, y_row, layer, x, &terms, n_rows);
        x = (struct etx_block_rows){y, y_row};
        if (args->linear != NULL && !etx_is_bare(layer))
            keep_linear(args, l, x, first, n_rows);
        ETX_ISA_NAME(finish_layer)(y, NULL, layer, n_rows);
    }
    if (!job->writes_out)
        write_rows(args, x.data, x.row, first, n_rows);
    return ETX_OK;
}

/* Rows of a block: as many as fit the cache, never more than there are. */
static int32_t rows_of_block(int64_t n_rows, int64_t floats_per_row)
{
    int64_t rows = CACHE_FLOATS / floats_per_row;
    const int64_t needed = (n_rows + ROW_STEP - 1) / ROW_STEP * ROW_STEP;

    rows = rows > ETX_BLOCK_ROWS ? ETX_BLOCK_ROWS : rows / ROW_STEP * ROW_STEP;
    rows = rows < ROW_STEP ? ROW_STEP : rows;
    return (int32_t)(rows < needed ? rows : needed);
}

/* Run with layers that are prepared. */
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
    ETX_CHECK(etx_arena_take(&job.scratch, stream->arena,
        etx_pool_n_threads(stream->pool) * job.scratch_size,
        sizeof *job.scratch, "blocks of an mlp"));
    ETX_CHECK(etx_parallel_for(stream->pool,
        (args->n_rows + job.block_rows - 1) / job.block_rows, run_block, &job));
done:
    return status;
}

etx_status ETX_ISA_NAME(mlp)(
    struct etx_stream *stream, const struct etx_mlp_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct etx_layer layer[ETX_MAX_LAYERS];
    struct etx_mlp_args prepared = *args;
    const struct etx_mlp_prepare_args prepare = {
        .forward = args, .layer = layer, .n_layers = &prepared.n_layers};
    etx_status status;

    if (args->n_rows == 0)
        return ETX_OK;
    if (ETX_ISA_NAME(has_batch_norm)(args))
        return etx_op_ref.mlp(stream, args);
    ETX_CHECK(etx_check_cancelled(stream));
    if (args->linear == NULL) {
        ETX_CHECK(ETX_ISA_NAME(mlp_prepare)(stream, &prepare));
        prepared.layer = layer;
    }
    stream->flop += etx_mlp_flop(&prepared);
    ETX_CHECK(run(stream, &prepared));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
