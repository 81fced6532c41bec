/* op/simd/kernels/mlp_block.c -- the layers of a perceptron over one block.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/mlp_block.h"

#include "op/simd/vector.h"
#include "op/simd/vector_math.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define CACHE_LINE 16 /* floats */

/* ----------------------------------------------------------- gathering -- */

/* Software prefetch distance, rows. */
#define AHEAD 8

/* One part to x [n_rows, x_row]; columns up to capacity may be overwritten. */
INLINE void gather_part(float *x, int32_t x_row, int32_t capacity,
    const struct etx_rows *part, int64_t first, int32_t n_rows)
{
    const int32_t width = part->width;
    const int32_t whole = width / VEC_WIDTH * VEC_WIDTH;
    const vmask some = v_first(width - whole);
    const int32_t may_spill = whole + VEC_WIDTH <= capacity;

    for (int32_t r = 0; r < n_rows; r++) {
        const int64_t i = first + r;
        const int64_t row = part->index != NULL ? part->index[i] : i;
        const float *from = part->data + row * width;
        float *to = x + (ptrdiff_t)r * x_row;
        if (part->index != NULL && r + AHEAD < n_rows) {
            const float *next =
                part->data + (int64_t)part->index[i + AHEAD] * width;
            for (int32_t k = 0; k < width; k += CACHE_LINE)
                __builtin_prefetch(next + k);
        }
        for (int32_t k = 0; k < whole; k += VEC_WIDTH)
            v_store(to + k, v_load(from + k));
        if (whole == width)
            continue;
        const vec last = v_load_mask(from + whole, some);
        if (may_spill)
            v_store(to + whole, last);
        else
            v_store_mask(to + whole, last, some);
    }
}

/* x [n_rows, x_row] = rows first .. of the parts side by side. */
static void gather_parts(float *x, int32_t x_row,
    const struct etx_mlp_args *args, int64_t first, int32_t n_rows)
{
    int32_t begin = 0;

    for (int32_t p = 0; p < args->n_parts; p++) {
        const struct etx_rows *part = &args->part[p];
        const int32_t capacity = x_row - begin;
        if (part->width == 2 * CACHE_LINE) {
            struct etx_rows known = *part;
            known.width = 2 * CACHE_LINE;
            gather_part(x + begin, x_row, capacity, &known, first, n_rows);
        } else {
            gather_part(x + begin, x_row, capacity, part, first, n_rows);
        }
        begin += part->width;
    }
}

struct etx_block_rows ETX_ISA_NAME(block_input)(float *x,
    const struct etx_block_layer *layer, const struct etx_mlp_args *args,
    int64_t first, int32_t n_rows, int32_t whole_vectors)
{
    const struct etx_rows *part = &args->part[0];

    if (args->n_parts == 1 && part->index == NULL &&
        (!whole_vectors || part->width % VEC_WIDTH == 0))
        return (struct etx_block_rows){
            part->data + first * part->width, part->width};
    gather_parts(x, layer->in_row, args, first, n_rows);
    return (struct etx_block_rows){x, layer->in_row};
}

struct etx_block_terms ETX_ISA_NAME(block_terms)(
    const struct etx_mlp_args *args, int32_t l, const float *residual,
    int64_t first)
{
    struct etx_block_terms terms = {.n = 0};

    for (int32_t p = 0; l == 0 && p < args->n_added; p++) {
        struct etx_rows rows = args->added[p];
        if (rows.index != NULL)
            rows.index += first;
        else
            rows.data += first * rows.width;
        terms.rows[terms.n++] = rows;
    }
    if (residual != NULL) {
        const int32_t width = args->layer[l].n_out;
        terms.rows[terms.n++] =
            (struct etx_rows){.data = residual + first * width, .width = width};
    }
    return terms;
}

/* Row r of a term; the row that follows some rows later is prefetched. */
INLINE const float *term_row(
    const struct etx_rows *rows, int32_t r, int32_t n_rows)
{
    if (rows->index == NULL)
        return rows->data + (int64_t)r * rows->width;
    if (r + AHEAD < n_rows) {
        const float *next =
            rows->data + (int64_t)rows->index[r + AHEAD] * rows->width;
        for (int32_t k = 0; k < rows->width; k += CACHE_LINE)
            __builtin_prefetch(next + k);
    }
    return rows->data + (int64_t)rows->index[r] * rows->width;
}

/* y [n_rows, y_row] = bias and terms, of any width and number. */
static void begin_rows(float *y, int32_t y_row,
    const struct etx_block_layer *layer, const struct etx_block_terms *terms,
    int32_t n_rows)
{
    const float *from[ETX_MAX_ADDED + 1];

    for (int32_t r = 0; r < n_rows; r++) {
        for (int32_t t = 0; t < terms->n; t++)
            from[t] = term_row(&terms->rows[t], r, n_rows);
        for (int32_t k = 0; k < layer->n_out; k += VEC_WIDTH) {
            const vmask some = v_first(layer->n_out - k);
            vec sum = layer->start ? v_load(layer->start + k) : v_zero();
            for (int32_t t = 0; t < terms->n; t++)
                sum = sum + v_load_mask(from[t] + k, some);
            v_store(y + (ptrdiff_t)r * y_row + k, sum);
        }
    }
}

/* ------------------------------------------------- norm and activation -- */

/* Rows that are finished together: they stay in the first-level cache from
 * their sums to the last write, as the block does not. */
#define GROUP VEC_WIDTH

/* The partial sums of a row: of its values, or of (x - mean)^2. */
INLINE vec partial_sum(const float *x, int32_t width)
{
    vec sum = v_zero();
    int32_t k = 0;

    for (; k + VEC_WIDTH <= width; k += VEC_WIDTH)
        sum = sum + v_load(x + k);
    if (k < width)
        sum = sum + v_select(v_first(width - k), v_load(x + k), v_zero());
    return sum;
}

INLINE vec partial_squares(const float *x, int32_t width, vec mean)
{
    vec sum = v_zero();
    int32_t k = 0;

    for (; k + VEC_WIDTH <= width; k += VEC_WIDTH) {
        const vec d = v_load(x + k) - mean;
        sum = v_fma(d, d, sum);
    }
    if (k < width) {
        const vmask rest = v_first(width - k);
        const vec d = v_select(rest, v_load(x + k) - mean, v_zero());
        sum = v_fma(d, d, sum);
    }
    return sum;
}

/* out [GROUP]: per row of y the sum of its values or, with squares, of
 * (y - mean[r])^2, where mean NULL is 0. The last row fills up a group of fewer
 * than GROUP rows. A row's sum does not depend on the other rows. */
INLINE void sum_rows(float *out, const struct etx_block_layer *layer,
    const float *y, int32_t n_rows, const float *mean, const int squares)
{
    vec sum[GROUP];

    for (int32_t i = 0; i < GROUP; i++) {
        const int32_t r = i < n_rows ? i : n_rows - 1;
        const float *row = y + (ptrdiff_t)r * layer->out_row;
        sum[i] = !squares ? partial_sum(row, layer->n_out)
                          : partial_squares(row, layer->n_out,
                                mean ? v_set1(mean[r]) : v_zero());
    }
    v_store(out, v_sum_rows(sum));
}

/* What the norm does to each row of a group: (x - mean) * scale. */
struct row_norm {
    float mean[GROUP];
    float scale[GROUP];
    float projection[GROUP];
};

static void measure_layer(struct row_norm *norm,
    const struct etx_block_layer *layer, const float *y, int32_t n_rows)
{
    const float inverse = 1.0f / (float)layer->n_out;

    if (layer->has_mean) {
        sum_rows(norm->mean, layer, y, n_rows, NULL, 0);
        v_store(norm->mean, v_load(norm->mean) * v_set1(inverse));
        sum_rows(norm->scale, layer, y, n_rows, norm->mean, 1);
    } else {
        sum_rows(norm->scale, layer, y, n_rows, NULL, 1);
    }
    v_store(
        norm->scale, v_set1(1.0f) / v_sqrt(v_fma(v_load(norm->scale),
                                        v_set1(inverse), v_set1(layer->eps))));
    v_store(norm->projection, v_set1(inverse));
}

static void measure_l2(struct row_norm *norm,
    const struct etx_block_layer *layer, const float *y, int32_t n_rows)
{
    const vec eps = v_set1(layer->eps);
    vec length;

    sum_rows(norm->scale, layer, y, n_rows, NULL, 1);
    length = v_sqrt(v_load(norm->scale));
    v_store(norm->scale, v_set1(1.0f) / v_max(length, eps));
    v_store(norm->projection,
        v_select(v_less(eps, length), v_set1(1.0f), v_zero()));
}

/* One vector of columns from k on, all rows: y = f(norm(y) * gain + shift).
 * The flags are constants where this is inlined; norm NULL: none. */
INLINE void finish_columns(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, const struct row_norm *norm,
    const int32_t k, const int32_t n_rows, const enum etx_activation kind,
    const int has_norm, const int has_mean, const int is_saved)
{
    const ptrdiff_t row = layer->out_row;
    const int save_slope = is_saved && kind != ETX_ACTIVATION_NONE;
    const vec gain = layer->gain ? v_load(layer->gain + k) : v_set1(1.0f);
    const vec shift = layer->shift ? v_load(layer->shift + k) : v_zero();

    for (int32_t r = 0; r < n_rows; r++) {
        const ptrdiff_t at = r * row + k;
        vec x = v_load(y + at);
        vec slope;
        if (has_mean)
            x = x - v_set1(norm->mean[r]);
        if (has_norm) {
            x = x * v_set1(norm->scale[r]);
            if (is_saved)
                v_store(saved->normed + at, x);
            x = v_fma(x, gain, shift);
        }
        x = v_activation(&slope, kind, x);
        v_store(y + at, x);
        if (save_slope) /* never without saved */
            /* cppcheck-suppress nullPointer */
            v_store(saved->slope + at, slope);
    }
}

INLINE void finish_rows(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, const enum etx_activation kind,
    const int32_t n_rows)
{
    const int32_t is_centred = !layer->has_mean;
    struct row_norm norm;

    if (layer->norm == ETX_NORM_LAYER)
        measure_layer(&norm, layer, y, n_rows);
    else if (layer->norm == ETX_NORM_L2)
        measure_l2(&norm, layer, y, n_rows);
    if (saved != NULL && layer->norm != ETX_NORM_NONE) {
        memcpy(saved->rstd, norm.scale, (size_t)n_rows * sizeof *norm.scale);
        memcpy(saved->projection, norm.projection,
            (size_t)n_rows * sizeof *norm.projection);
    }
    for (int32_t k = 0; k < layer->n_out; k += VEC_WIDTH)
        if (layer->norm == ETX_NORM_NONE && saved != NULL)
            finish_columns(y, saved, layer, NULL, k, n_rows, kind, 0, 0, 1);
        else if (layer->norm == ETX_NORM_NONE)
            finish_columns(y, NULL, layer, NULL, k, n_rows, kind, 0, 0, 0);
        else if (saved != NULL && is_centred)
            finish_columns(y, saved, layer, &norm, k, n_rows, kind, 1, 0, 1);
        else if (is_centred)
            finish_columns(y, NULL, layer, &norm, k, n_rows, kind, 1, 0, 0);
        else if (saved != NULL)
            finish_columns(y, saved, layer, &norm, k, n_rows, kind, 1, 1, 1);
        else
            finish_columns(y, NULL, layer, &norm, k, n_rows, kind, 1, 1, 0);
}

/* A group of rows: norm and then the activation `kind`, where the norm may
 * be NONE. */
static void finish_group(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, const enum etx_activation kind,
    const int32_t n_rows)
{
    switch (kind) {
    case ETX_ACTIVATION_RELU:
        finish_rows(y, saved, layer, ETX_ACTIVATION_RELU, n_rows);
        break;
    case ETX_ACTIVATION_SILU:
        finish_rows(y, saved, layer, ETX_ACTIVATION_SILU, n_rows);
        break;
    case ETX_ACTIVATION_TANH:
        finish_rows(y, saved, layer, ETX_ACTIVATION_TANH, n_rows);
        break;
    case ETX_ACTIVATION_GELU:
        finish_rows(y, saved, layer, ETX_ACTIVATION_GELU, n_rows);
        break;
    case ETX_ACTIVATION_ELU:
        finish_rows(y, saved, layer, ETX_ACTIVATION_ELU, n_rows);
        break;
    case ETX_ACTIVATION_SIGMOID:
        finish_rows(y, saved, layer, ETX_ACTIVATION_SIGMOID, n_rows);
        break;
    case ETX_ACTIVATION_NONE:
    case ETX_N_ACTIVATIONS:
        if (layer->norm != ETX_NORM_NONE)
            finish_rows(y, saved, layer, ETX_ACTIVATION_NONE, n_rows);
        break;
    }
}

/* y [n_rows, out_row] = the only output, zeros beyond it. */
static void apply_single(float *y, const struct etx_block_layer *layer,
    struct etx_block_rows x, int32_t n_rows)
{
    const int32_t whole = layer->n_in / VEC_WIDTH * VEC_WIDTH;
    const vmask some = v_first(layer->n_in - whole);
    const float start = layer->start != NULL ? layer->start[0] : 0.0f;

    for (int32_t r = 0; r < n_rows; r++) {
        const float *from = x.data + (ptrdiff_t)r * x.row;
        vec sum = v_zero();
        for (int32_t k = 0; k < whole; k += VEC_WIDTH)
            sum = v_fma(v_load(from + k), v_load(layer->row + k), sum);
        if (whole < layer->n_in)
            sum = v_fma(v_load_mask(from + whole, some),
                v_load(layer->row + whole), sum);
        v_store(y + (ptrdiff_t)r * layer->out_row,
            v_select(v_first(1), v_set1(v_sum(sum) + start), v_zero()));
    }
}

/* y = x W^T + bias + terms; x and W as the layer's product reads them. */
static void multiply_layer(float *y, int32_t y_row,
    const struct etx_block_layer *layer, struct etx_gemm_left x, int32_t n_in,
    const struct etx_block_terms *terms, int32_t n_rows)
{
    const struct etx_gemm *gemm = layer->gemm;
    struct etx_gemm_terms known = {.n = terms->n, .row = layer->n_out};
    int32_t is_known = gemm->terms != NULL && terms->n <= ETX_GEMM_TERMS &&
                       layer->n_out % VEC_WIDTH == 0;

    for (int32_t t = 0; t < terms->n; t++)
        is_known &= terms->rows[t].width == layer->n_out;
    if (terms->n == 0) {
        gemm->packed(y, y_row, n_rows, layer->n_out, n_in, x, layer->forward,
            layer->start);
        return;
    }
    if (!is_known) {
        begin_rows(y, y_row, layer, terms, n_rows);
        gemm->add(y, y_row, n_rows, layer->n_out, n_in, x, layer->forward);
        return;
    }
    for (int32_t t = 0; t < terms->n; t++) {
        known.data[t] = terms->rows[t].data;
        known.index[t] = terms->rows[t].index;
    }
    gemm->terms(y, y_row, n_rows, layer->n_out, n_in, x, layer->forward,
        layer->start, &known);
}

/* What is saved of the rows from `first` on. */
static struct etx_block_saved saved_from(const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, int32_t first)
{
    const ptrdiff_t at = (ptrdiff_t)first * layer->out_row;

    return (struct etx_block_saved){
        .normed = saved->normed != NULL ? saved->normed + at : NULL,
        .slope = saved->slope != NULL ? saved->slope + at : NULL,
        .rstd = saved->rstd != NULL ? saved->rstd + first : NULL,
        .projection =
            saved->projection != NULL ? saved->projection + first : NULL,
    };
}

/* Norm and activation in the order of the layer. */
static void finish(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, int32_t n_rows)
{
    const enum etx_activation kind = (enum etx_activation)layer->activation;
    const int32_t is_norm_last =
        layer->norm != ETX_NORM_NONE && layer->norm_last;
    struct etx_block_layer linear = *layer;

    linear.norm = ETX_NORM_NONE;
    for (int32_t first = 0; first < n_rows; first += GROUP) {
        const int32_t n = n_rows - first < GROUP ? n_rows - first : GROUP;
        float *rows = y + (ptrdiff_t)first * layer->out_row;
        struct etx_block_saved rest;
        const struct etx_block_saved *group_saved = NULL;
        if (saved != NULL) {
            rest = saved_from(saved, layer, first);
            group_saved = &rest;
        }
        if (is_norm_last) {
            finish_group(rows, group_saved, &linear, kind, n);
            finish_group(rows, group_saved, layer, ETX_ACTIVATION_NONE, n);
        } else {
            finish_group(rows, group_saved, layer, kind, n);
        }
    }
}

void ETX_ISA_NAME(apply_linear)(float *y, int32_t y_row,
    const struct etx_block_layer *layer, struct etx_block_rows x,
    const struct etx_block_terms *terms, int32_t n_rows, float *pairs)
{
    struct etx_gemm_left left = {x.data, x.row};
    int32_t n_in = layer->n_in;

    if (layer->row != NULL) {
        apply_single(y, layer, x, n_rows);
        return;
    }
    if (layer->gemm->round != NULL) {
        layer->gemm->round(pairs, left, n_rows, n_in);
        left = (struct etx_gemm_left){pairs, etx_left_row(layer->gemm, n_in)};
        n_in = etx_inner(layer->gemm, n_in);
    }
    multiply_layer(y, y_row, layer, left, n_in, terms, n_rows);
}

void ETX_ISA_NAME(finish_layer)(float *y, const struct etx_block_saved *saved,
    const struct etx_block_layer *layer, int32_t n_rows)
{
    if (!etx_is_bare(layer))
        finish(y, saved, layer, n_rows);
}
