/* op/simd/kernels/mlp_pack.c -- folds and packs the weights of a perceptron.
 *
 * Folding: consecutive linears are multiplied to one, W2 (W1 x + b1) + b2, and
 * weights before a layer norm are centred over the outputs. Packing: panels of
 * columns as gemm.c reads them. Forms are in the weight cache if the parameters
 * are frozen, else in scratch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/mlp_block.h"

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/int16.h"
#include "op/simd/operators.h"
#include "op/simd/vector.h"

#include <string.h>

/* From this width on rows are an odd number of cache lines. */
#define WIDE       128
#define CACHE_LINE 16 /* floats */

int32_t ETX_ISA_NAME(scratch_row)(int32_t width)
{
    const int32_t lines = (width + CACHE_LINE - 1) / CACHE_LINE;

    return CACHE_LINE * (width < WIDE ? lines : lines | 1);
}

int32_t ETX_ISA_NAME(has_batch_norm)(const struct etx_mlp_args *args)
{
    for (int32_t l = 0; l < args->n_layers; l++)
        if (args->layer[l].norm == ETX_NORM_BATCH)
            return 1;
    return 0;
}

/* --------------------------------------------------------------- forms -- */

/* The form of key, in the cache or in scratch. */
static etx_status open_form(struct etx_weights *form, struct etx_stream *stream,
    const struct etx_weight_key *key, const char *what)
{
    return etx_weights_open(
        form, stream->weight_cache, stream->arena, key, sizeof(float), what);
}

/* Versions of a form: its columns have mean 0; in bfloat16; in int16. */
#define CENTRED  1
#define BFLOAT16 2
#define INT16    4

/* ------------------------------------------------------------- packing -- */

/* mean [n_columns] = that of the columns of w [n_rows, n_columns]. */
static void measure_columns(
    double *mean, const float *w, int32_t n_rows, int32_t n_columns)
{
    memset(mean, 0, (size_t)n_columns * sizeof *mean);
    for (int32_t o = 0; o < n_rows; o++)
        for (int32_t k = 0; k < n_columns; k++)
            mean[k] += (double)w[(int64_t)o * n_columns + k];
    for (int32_t k = 0; k < n_columns; k++)
        mean[k] /= n_rows;
}

/* *out = a copy of w [n_rows, n_columns] in scratch with the mean of every
 * column subtracted. */
static etx_status centre_columns(const float **out, struct etx_stream *stream,
    const float *w, int32_t n_rows, int32_t n_columns)
{
    double *mean = NULL;
    float *copy = NULL;
    etx_status status = ETX_OK;

    ETX_SCRATCH(
        copy, stream->arena, (int64_t)n_rows * n_columns, "centred weights");
    ETX_SCRATCH(mean, stream->arena, n_columns, "mean of the weights");
    measure_columns(mean, w, n_rows, n_columns);
    for (int32_t o = 0; o < n_rows; o++)
        for (int32_t k = 0; k < n_columns; k++) {
            const int64_t at = (int64_t)o * n_columns + k;
            copy[at] = (float)((double)w[at] - mean[k]);
        }
    *out = copy;
done:
    return status;
}

/* out [padded n] = x [n] in whole vectors, zeros beyond; centred: without its
 * mean. NULL for NULL. */
static etx_status pad(const float **out, struct etx_stream *stream,
    const float *x, int32_t n, int32_t is_centred)
{
    const struct etx_weight_key key = {.source = x,
        .form = ETX_WEIGHTS_PADDED | (is_centred ? CENTRED : 0),
        .n = etx_padded(n)};
    struct etx_weights form;
    float *copy;
    etx_status status = ETX_OK;

    *out = NULL;
    if (x == NULL)
        return ETX_OK;
    ETX_CHECK(open_form(&form, stream, &key, "a vector of a layer"));
    copy = form.value;
    *out = copy;
    if (form.is_ready)
        return ETX_OK;
    if (is_centred)
        ETX_CHECK(centre_columns(&x, stream, x, n, 1));
    memcpy(copy, x, (size_t)n * sizeof *x);
    memset(copy + n, 0, (size_t)(key.n - n) * sizeof *x);
    etx_weights_close(stream->weight_cache, &form);
done:
    return status;
}

/* *out = w [n_rows, n_columns] in scratch as pairs of bfloat16 along its rows,
 * [n_rows, etx_pairs(n_columns)]; a last odd one with a zero. With scale
 * [n_rows] of int16, and the scales of the rows. */
static etx_status pair_columns(const float **out, float *scale,
    struct etx_stream *stream, const float *w, int32_t n_rows,
    int32_t n_columns, int32_t n_pairs)
{
    uint16_t *pairs = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_arena_alloc(&pairs, stream->arena, (int64_t)n_rows * n_pairs,
        2 * sizeof *pairs, "rounded weights"));
    *out = (const float *)(const void *)pairs;
    for (int32_t o = 0; o < n_rows; o++) {
        memset(pairs + n_columns, 0,
            (size_t)(2 * n_pairs - n_columns) * sizeof *pairs);
        if (scale != NULL)
            scale[o] = etx_int16_from_weights(
                (int16_t *)pairs, w + (int64_t)o * n_columns, n_columns);
        else
            etx_bfloat16_from_floats(
                pairs, w + (int64_t)o * n_columns, n_columns);
        pairs += 2 * n_pairs;
    }
done:
    return status;
}

/* The weight of a layer for its product; centred as above, by columns. */
static etx_status pack_weight(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_layer *from, int32_t is_centred)
{
    const int32_t has_scales = layer->gemm->has_scales;
    const int32_t is_rounded = layer->gemm->round != NULL;
    const int32_t n_in = etx_inner(layer->gemm, from->n_in);
    const int64_t size = etx_packed_size(n_in, from->n_out);
    const struct etx_weight_key key = {.source = from->weight,
        .form = ETX_WEIGHTS_PACKED | (is_centred ? CENTRED : 0) |
                (has_scales      ? INT16
                    : is_rounded ? BFLOAT16
                                 : 0),
        .n = size + (has_scales ? etx_padded(from->n_out) : 0)};
    const float *weight = from->weight;
    struct etx_weights form;
    float *scale = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(open_form(&form, stream, &key, "packed weights"));
    layer->forward = form.value;
    if (form.is_ready)
        return ETX_OK;
    if (is_centred)
        ETX_CHECK(
            centre_columns(&weight, stream, weight, from->n_out, from->n_in));
    if (has_scales) {
        scale = (float *)form.value + size;
        memset(scale, 0, (size_t)etx_padded(from->n_out) * sizeof *scale);
    }
    if (is_rounded)
        ETX_CHECK(pair_columns(
            &weight, scale, stream, weight, from->n_out, from->n_in, n_in));
    ETX_ISA_NAME(gemm_pack)
    (form.value, n_in, from->n_out, weight, 1, n_in);
    etx_weights_close(stream->weight_cache, &form);
done:
    return status;
}

/* The product that mlp computes with: rounded where the stream wants it and
 * nothing is differentiated. */
static const struct etx_gemm *choose_gemm(const struct etx_stream *stream,
    const struct etx_layer *layer, int32_t backward)
{
    const int32_t is_bfloat16 =
        stream->is_bfloat16 && etx_layer_is_bfloat16(layer) && !backward;
    const int32_t is_int16 =
        stream->is_int16 && etx_layer_is_int16(layer) && !backward;

#if defined(__AVX512F__)
    if (is_bfloat16)
        return stream->has_tiles ? &etx_gemm_amx : &etx_gemm_avx512bf16;
    if (is_int16)
        return &etx_gemm_avx512vnni;
#elif defined(__AVX2__)
    if (is_int16)
        return &etx_gemm_avx2int16;
    (void)is_bfloat16;
#else
    (void)is_bfloat16;
    (void)is_int16;
#endif
    return &ETX_ISA_NAME(gemm);
}

/* The same of W as it lies, for the backward: in training nothing is final. */
static etx_status pack_backward(
    const float **out, struct etx_stream *stream, const struct etx_layer *from)
{
    float *packed = NULL;
    etx_status status = ETX_OK;

    ETX_SCRATCH(packed, stream->arena, etx_packed_size(from->n_out, from->n_in),
        "packed weights");
    ETX_ISA_NAME(gemm_pack)
    (packed, from->n_out, from->n_in, from->weight, from->n_in, 1);
    *out = packed;
done:
    return status;
}

/* n_added rows are added to the linear, centred or not. */
static etx_status pack_layer(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_layer *from, int32_t n_added,
    int32_t added_is_centred, int32_t backward)
{
    const int32_t n_in = from->n_in;
    const int32_t n_out = from->n_out;
    const int32_t is_centred = from->norm == ETX_NORM_LAYER && !from->norm_last;
    etx_status status;

    *layer = (struct etx_block_layer){
        .n_in = n_in,
        .n_out = n_out,
        .in_row = ETX_ISA_NAME(scratch_row)(n_in),
        .out_row = ETX_ISA_NAME(scratch_row)(n_out),
        .norm = from->norm,
        .norm_last = from->norm_last,
        .activation = from->activation,
        .has_mean = from->norm == ETX_NORM_LAYER &&
                    (from->norm_last || (n_added > 0 && !added_is_centred)),
        .eps = from->eps,
        .gemm = choose_gemm(stream, from, backward),
    };
    ETX_CHECK(pad(&layer->start, stream, from->bias, n_out, is_centred));
    if (from->norm == ETX_NORM_LAYER) {
        ETX_CHECK(pad(&layer->gain, stream, from->gain, n_out, 0));
        ETX_CHECK(pad(&layer->shift, stream, from->shift, n_out, 0));
    }
    if (n_out == 1 && n_added == 0 && !is_centred)
        ETX_CHECK(pad(&layer->row, stream, from->weight, n_in, 0));
    else
        ETX_CHECK(pack_weight(layer, stream, from, is_centred));
    if (backward)
        ETX_CHECK(pack_backward(&layer->backward, stream, from));
done:
    return status;
}

etx_status ETX_ISA_NAME(pack_layers)(struct etx_block_layer *layer,
    struct etx_stream *stream, const struct etx_mlp_args *args,
    int32_t backward)
{
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < args->n_layers; l++)
        ETX_CHECK(pack_layer(&layer[l], stream, &args->layer[l],
            l == 0 ? args->n_added : 0, args->added_is_centred, backward));
done:
    return status;
}

/* ------------------------------------------------------------- folding -- */

/* Row o of the product of two linears, and the bias after it: row [n_in + 1].
 * Sums in float64, so that folding shows no more than rounding does. */
static void multiply_row(double *row, const struct etx_layer *first,
    const struct etx_layer *second, int32_t o)
{
    const int32_t n_in = first->n_in;

    for (int32_t k = 0; k < n_in; k++)
        row[k] = 0.0;
    row[n_in] = second->bias != NULL ? (double)second->bias[o] : 0.0;
    for (int32_t m = 0; m < first->n_out; m++) {
        const double w = (double)second->weight[(int64_t)o * first->n_out + m];
        const float *from = first->weight + (int64_t)m * n_in;
        for (int32_t k = 0; k < n_in; k++)
            row[k] += w * (double)from[k];
        if (first->bias != NULL)
            row[n_in] += w * (double)first->bias[m];
    }
}

/* weight [n_out, n_in] and bias [n_out] of both linears. */
static etx_status multiply_rows(float *weight, float *bias,
    struct etx_stream *stream, const struct etx_layer *first,
    const struct etx_layer *second)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    const int32_t n_in = first->n_in;
    double *row = NULL;
    etx_status status;

    ETX_SCRATCH(
        row, stream->arena, (int64_t)n_in + 1, "a row of a folded weight");
    for (int32_t o = 0; o < second->n_out; o++) {
        multiply_row(row, first, second, o);
        for (int32_t k = 0; k < n_in; k++)
            weight[(int64_t)o * n_in + k] = (float)row[k];
        bias[o] = (float)row[n_in];
    }
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}

/* *first = both as one. */
static etx_status multiply_linears(struct etx_layer *first,
    struct etx_stream *stream, const struct etx_layer *second)
{
    const int64_t n_weights = (int64_t)second->n_out * first->n_in;
    const struct etx_weight_key key = {.source = second->weight,
        .second = first->weight,
        .form = ETX_WEIGHTS_FOLDED,
        .n = n_weights + second->n_out};
    struct etx_layer product = *second;
    struct etx_weights form;
    float *weight;
    etx_status status;

    ETX_CHECK(open_form(&form, stream, &key, "a folded weight and its bias"));
    weight = form.value;
    if (!form.is_ready) {
        ETX_CHECK(
            multiply_rows(weight, weight + n_weights, stream, first, second));
        etx_weights_close(stream->weight_cache, &form);
    }
    product.n_in = first->n_in;
    product.weight = weight;
    product.bias = weight + n_weights;
    *first = product;
done:
    return status;
}

static int32_t can_fold(
    const struct etx_layer *first, const struct etx_layer *second)
{
    const int64_t n_in = first->n_in;
    const int64_t n_middle = first->n_out;
    const int64_t n_out = second->n_out;

    return first->norm == ETX_NORM_NONE &&
           first->activation == ETX_ACTIVATION_NONE &&
           n_in * n_out < n_in * n_middle + n_middle * n_out;
}

/* Linears that follow each other with nothing between become one where that
 * is less work. */
etx_status ETX_ISA_NAME(mlp_prepare)(
    struct etx_stream *stream, const struct etx_mlp_prepare_args *args)
{
    const struct etx_mlp_args *forward = args->forward;
    /* Rows are added to the first linear as it is. */
    const int32_t n_fixed = forward->n_added > 0 ? 1 : 0;
    int32_t n = 0;
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < forward->n_layers; l++) {
        const struct etx_layer next = forward->layer[l];
        if (n > n_fixed && can_fold(&args->layer[n - 1], &next))
            ETX_CHECK(multiply_linears(&args->layer[n - 1], stream, &next));
        else
            args->layer[n++] = next;
    }
    *args->n_layers = n;
done:
    return status;
}
