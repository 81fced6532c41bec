/* op/simd/kernels/gemm.c -- small matrix products for one thread.
 *
 * Register blocking (Goto and van de Geijn, ACM TOMS 34(3), 2008, without the
 * outer blocking: the operands are in the second-level cache already). The
 * result is cut into tiles that fit the vector registers: tile_rows rows of
 * 1 .. MAX_VECTORS vectors. Per step of the inner index a tile loads its
 * vectors of b, broadcasts one element of a per row and adds the products.
 *
 *                  b, packed in panels:  | panel 0 | panel 1 | ...
 *                                   k -> | v0 v1 . |
 *     a   i -> | ... a[i][k] ... |       c[i] | v0 v1 . |   one tile: registers
 *
 * Panels of b are prefetched by software into the second-level cache while the
 * tiles before them are computed.
 *
 * The file is compiled once more for AVX512_BF16, where an element is a pair of
 * bfloat16 and a product with its sum is one instruction, too; and twice with
 * ETX_INT16, for AVX2 and AVX512_VNNI, where an element is a pair of int16 and
 * sums are integers until the tile is done.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/gemm.h"

#include "base/int16.h"

#include <float.h>
#include <math.h>
#include <string.h>

#ifndef ETX_INT16
#define ETX_INT16 0
#endif

#define MAX_ROWS    8
#define MAX_VECTORS ETX_PANEL_VECTORS

/* Steps of the inner index between two visits of the result. A packed panel
 * comes from the second-level cache as fast as it is needed, so that few visits
 * are best; a panel of rows side by side is read by short columns of the other
 * side, which are to stay in the first level. */
#define PACKED_BLOCK 512
#define TURNED_BLOCK 128

#define INLINE static inline __attribute__((always_inline))

#if ETX_INT16
typedef veci product; /* pairs, and sums */
#else
typedef vec product;
#endif

/* How a tile begins. */
enum start {
    START_ZERO,
    START_VECTOR, /* every row with start[] */
    START_ONE,    /* with start[] and the rows of one term */
    START_TWO,    /* with start[] and the rows of two terms */
    START_RESULT  /* with what c holds */
};

/* Software prefetch distance of gathered rows of terms. */
#define AHEAD        16
#define CACHE_LINE   16 /* floats */
#define SECOND_LEVEL 2  /* of the cache, to __builtin_prefetch */

/* Steps of the inner index per prefetched line. With less than 48 rows some
 * lines are not prefetched: waiting for them would take longer than the
 * product.
 */
#define STEPS 2

/* Floats of a matrix that does not stay in the second level by itself. */
#define MIN_WIDE 65536

struct tile {
    float *c;
    ptrdiff_t c_row;
    const float *a;
    ptrdiff_t a_row, a_step;
    const float *b; /* a panel: rows of whole vectors, one after the other */
    /* The next panel, or NULL: prefetched into the second-level cache,
     * next_step bytes per step, so that it arrives in time. */
    const char *next;
    ptrdiff_t next_step;
    const float *start;
    int32_t n_inner;
    int32_t block;       /* of the inner index */
    int32_t row, n_rows; /* the tile's first row, and rows in all */
    const struct etx_gemm_terms *terms;
    int32_t column; /* of the panel, in the terms */
#if ETX_INT16
    const float *row_scale;    /* of row i: row_scale[i * a_row] */
    const float *column_scale; /* of the panel */
#endif
};

/* Row i of term k, at the panel's first column. */
INLINE const float *term_row(const struct tile *t, const int k, const int32_t i)
{
    const struct etx_gemm_terms *terms = t->terms;
    const int64_t row = terms->index[k] != NULL ? terms->index[k][i] : i;

    return terms->data[k] + row * terms->row + t->column;
}

/* The start of row i of a tile. */
INLINE void begin_row(vec *sum, const int i, const int n_vectors,
    const enum start from, const struct tile *t)
{
    const int n_terms = from == START_ONE ? 1 : from == START_TWO ? 2 : 0;
    const float *term[2] = {NULL, NULL};

    if (from == START_TWO)
        for (int32_t k = 0; k < t->n_inner; k += CACHE_LINE)
            __builtin_prefetch(t->a + (i + AHEAD) * t->a_row + k);
    for (int k = 0; k < n_terms; k++) {
        term[k] = term_row(t, k, t->row + i);
        if (t->terms->index[k] != NULL && t->row + i + AHEAD < t->n_rows) {
            const float *next = term_row(t, k, t->row + i + AHEAD);
            for (int v = 0; v < n_vectors * VEC_WIDTH; v += CACHE_LINE)
                __builtin_prefetch(next + v);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++) {
        const int at = v * VEC_WIDTH;
        if (from == START_ZERO)
            sum[v] = v_zero();
        else if (from == START_RESULT)
            sum[v] = v_load(t->c + i * t->c_row + at);
        else
            sum[v] = t->start != NULL ? v_load(t->start + at) : v_zero();
        if (n_terms > 0)
            sum[v] = sum[v] + v_load(term[0] + at);
        if (n_terms > 1)
            sum[v] = sum[v] + v_load(term[1] + at);
    }
}

/* Prefetch the result of the tile below: its rows are too far apart for the
 * prefetcher of the processor. */
INLINE void prefetch_result(
    const int n_rows, const int n_vectors, const struct tile *t)
{
    const float *below = t->c + n_rows * t->c_row;

    for (int i = 0; i < n_rows; i++)
        for (int v = 0; v < n_vectors * VEC_WIDTH; v += CACHE_LINE)
            __builtin_prefetch(below + i * t->c_row + v);
}

/* The left-hand side of a tile at one step: rows i .. i + 2 from one address,
 * so that all rows are reached from few registers. */
struct column {
    const float *from[(MAX_ROWS + 2) / 3];
};

INLINE struct column first_column(const struct tile *t)
{
    struct column x = {{t->a, t->a + 3 * t->a_row, t->a + 6 * t->a_row}};

    /* Or gcc would go back to one address and as many distances as rows. */
    __asm__("" : "+r"(x.from[1]), "+r"(x.from[2]));
    return x;
}

INLINE void next_column(struct column *x, const ptrdiff_t a_step)
{
    for (int i = 0; i < 3; i++)
        x->from[i] += a_step;
}

/* a * b + c, or the same of both values of pairs. */
INLINE product multiply_add(product a, product b, product c)
{
#if defined(__AVX512BF16__)
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
#elif ETX_INT16
    return vi_add_products(c, a, b);
#else
    return v_fma(a, b, c);
#endif
}

INLINE product load_products(const float *b)
{
#if ETX_INT16
    return v_as_int(v_load(b));
#else
    return v_load(b);
#endif
}

INLINE product repeat_product(const float *a)
{
#if ETX_INT16
    return v_as_int(v_set1(*a));
#else
    return v_set1(*a);
#endif
}

/* One step of the inner index: a column of a times a row of b. */
INLINE void multiply_step(product (*sum)[MAX_VECTORS], const int n_rows,
    const int n_vectors, const struct column *x, const ptrdiff_t a_row,
    const float *b)
{
    product row[MAX_VECTORS];

#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++)
        row[v] = load_products(b + v * VEC_WIDTH);
#pragma GCC unroll 8
    for (int i = 0; i < n_rows; i++) {
        const product a = repeat_product(&x->from[i / 3][i % 3 * a_row]);
#pragma GCC unroll 4
        for (int v = 0; v < n_vectors; v++)
            sum[i][v] = multiply_add(a, row[v], sum[i][v]);
    }
}

/* All steps of the inner index; with prefetches, the next panel is prefetched
 * meanwhile. */
INLINE void multiply_steps(product (*sum)[MAX_VECTORS], const int n_rows,
    const int n_vectors, const enum start from, const int prefetches,
    const struct tile *t)
{
    const float *b = t->b;
    const ptrdiff_t a_row = t->a_row;
    const ptrdiff_t a_step = from == START_RESULT ? t->a_step : 1;
    const ptrdiff_t b_row = n_vectors * VEC_WIDTH;
    const char *next = t->next;
    struct column x = first_column(t);
    int32_t k = 0;

    for (; prefetches && k + STEPS <= t->n_inner; k += STEPS) {
        __builtin_prefetch(next, 0, SECOND_LEVEL);
        next += STEPS * t->next_step;
#pragma GCC unroll 2
        for (int i = 0; i < STEPS; i++) {
            multiply_step(sum, n_rows, n_vectors, &x, a_row, b);
            next_column(&x, a_step);
            b += b_row;
        }
    }
    for (; k < t->n_inner; k++) {
        multiply_step(sum, n_rows, n_vectors, &x, a_row, b);
        next_column(&x, a_step);
        b += b_row;
    }
}

INLINE void begin_sums(product *sum, const int i, const int n_vectors,
    const enum start from, const struct tile *t)
{
#if ETX_INT16
    (void)i;
    (void)from;
    (void)t;
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++)
        sum[v] = vi_set1(0);
#else
    begin_row(sum, i, n_vectors, from, t);
#endif
}

INLINE void store_sums(const product *sum, const int i, const int n_vectors,
    const enum start from, const struct tile *t)
{
    float *to = t->c + i * t->c_row;
#if ETX_INT16
    const vec scale = v_set1(t->row_scale[i * t->a_row]);
    vec begin[MAX_VECTORS];

    begin_row(begin, i, n_vectors, from, t);
#else
    (void)from;
#endif
#pragma GCC unroll 4
    for (int v = 0; v < n_vectors; v++)
#if ETX_INT16
        v_store(to + v * VEC_WIDTH,
            v_fma(v_to_float(sum[v]),
                scale * v_load(t->column_scale + v * VEC_WIDTH), begin[v]));
#else
        v_store(to + v * VEC_WIDTH, sum[v]);
#endif
}

INLINE void multiply_tile(const int n_rows, const int n_vectors,
    const enum start from, const int prefetches, const struct tile *t)
{
    product sum[MAX_ROWS][MAX_VECTORS];

#pragma GCC unroll 8
    for (int i = 0; i < n_rows; i++)
        begin_sums(sum[i], i, n_vectors, from, t);
    if (from == START_RESULT)
        prefetch_result(n_rows, n_vectors, t);
    multiply_steps(sum, n_rows, n_vectors, from, prefetches, t);
#pragma GCC unroll 8
    for (int i = 0; i < n_rows; i++)
        store_sums(sum[i], i, n_vectors, from, t);
}

/* Rows of a full tile of n_vectors vectors: as many as the registers hold. */
INLINE int tile_rows(const int n_vectors)
{
    return n_vectors == MAX_VECTORS ? 6 : 8;
}

/* n_rows rows further down. */
INLINE void step_down(struct tile *t, const int n_rows)
{
    t->a += n_rows * t->a_row;
    t->c += n_rows * t->c_row;
    t->row += n_rows;
#if ETX_INT16
    t->row_scale += n_rows * t->a_row;
#endif
}

/* One panel of n_vectors vectors, all rows. */
INLINE void multiply_panel(const int n_vectors, const enum start from,
    const struct tile *panel, int32_t n_rows)
{
    const int full = tile_rows(n_vectors);
    const ptrdiff_t bytes = n_vectors * VEC_WIDTH * (ptrdiff_t)sizeof *panel->b;
    struct tile t = *panel;

    if (t.next != NULL && n_rows >= full)
        /* Rounded down: the last few bytes are not prefetched. */
        t.next_step = bytes / (n_rows / full);
    for (; t.next_step > 0 && n_rows >= full; n_rows -= full) {
        multiply_tile(full, n_vectors, from, 1, &t);
        t.next += t.next_step * t.n_inner;
        step_down(&t, full);
    }
    for (; n_rows >= full; n_rows -= full) {
        multiply_tile(full, n_vectors, from, 0, &t);
        step_down(&t, full);
    }
    for (; n_rows >= 4; n_rows -= 4) {
        multiply_tile(4, n_vectors, from, 0, &t);
        step_down(&t, 4);
    }
    for (; n_rows > 0; n_rows--) {
        multiply_tile(1, n_vectors, from, 0, &t);
        step_down(&t, 1);
    }
}

INLINE void multiply_vectors(const int n_vectors, const enum start from,
    const struct tile *panel, const int32_t n_rows)
{
    switch (from) {
    case START_ZERO:
        multiply_panel(n_vectors, START_ZERO, panel, n_rows);
        break;
    case START_VECTOR:
        multiply_panel(n_vectors, START_VECTOR, panel, n_rows);
        break;
#if !ETX_INT16
    case START_ONE:
        multiply_panel(n_vectors, START_ONE, panel, n_rows);
        break;
    case START_TWO:
        multiply_panel(n_vectors, START_TWO, panel, n_rows);
        break;
#else
    case START_ONE: /* terms are added beforehand */
    case START_TWO:
        break;
#endif
    case START_RESULT:
        multiply_panel(n_vectors, START_RESULT, panel, n_rows);
        break;
    }
}

/* A panel of n_vectors vectors, the inner index in blocks. */
static void multiply(const int32_t n_vectors, const enum start from,
    const struct tile *whole, const int32_t n_rows)
{
    const ptrdiff_t b_row = (ptrdiff_t)n_vectors * VEC_WIDTH;
    struct tile t = *whole;
    enum start begin = from;

    for (int32_t left = whole->n_inner; left > 0 || begin != START_RESULT;
         left -= t.n_inner) {
        /* Two blocks of half the rest rather than a full and a tiny one. */
        t.n_inner = left <= t.block      ? left
                    : left < 2 * t.block ? left / 2
                                         : t.block;
        if (whole->next != NULL && left > t.n_inner)
            t.next = (const char *)(t.b + t.n_inner * b_row);
        else
            t.next = whole->next;
        if (n_vectors == 1)
            multiply_vectors(1, begin, &t, n_rows);
        else if (n_vectors == 2)
            multiply_vectors(2, begin, &t, n_rows);
#if ETX_PANEL_VECTORS == 4
        else if (n_vectors == 3)
            multiply_vectors(3, begin, &t, n_rows);
        else
            multiply_vectors(4, begin, &t, n_rows);
#endif
        t.a += t.n_inner * t.a_step;
        t.b += t.n_inner * b_row;
        begin = START_RESULT;
    }
}

#if !ETX_INT16

void ETX_ISA_NAME(gemm_pack)(float *packed, const int32_t n_inner,
    const int32_t n_columns, const float *b, const ptrdiff_t row,
    const ptrdiff_t step)
{
    const int32_t n_vectors = etx_padded(n_columns) / VEC_WIDTH;
    const int32_t n_panels = etx_panels(n_vectors);

    for (int32_t p = 0; p < n_panels; p++) {
        const int32_t begin =
            etx_panel_begin(p, n_panels, n_vectors) * VEC_WIDTH;
        const int32_t end =
            etx_panel_begin(p + 1, n_panels, n_vectors) * VEC_WIDTH;
        for (int32_t k = 0; k < n_inner; k++)
            for (int32_t j = begin; j < end; j++)
                *packed++ = j < n_columns ? b[k * row + j * step] : 0.0f;
    }
}

#endif

/* All panels of a packed right-hand side. */
INLINE void multiply_packed(const enum start from, float *c,
    const ptrdiff_t c_row, const int32_t n_rows, const int32_t n_columns,
    const int32_t n_inner, const struct etx_gemm_left left, const float *packed,
    const float *start, const struct etx_gemm_terms *terms)
{
    const int32_t n_vectors = etx_padded(n_columns) / VEC_WIDTH;
    const int32_t n_panels = etx_panels(n_vectors);
    const int32_t is_wide = etx_packed_size(n_inner, n_columns) > MIN_WIDE;

    for (int32_t p = 0; p < n_panels; p++) {
        const int32_t begin = etx_panel_begin(p, n_panels, n_vectors);
        const int32_t width =
            etx_panel_begin(p + 1, n_panels, n_vectors) - begin;
        const ptrdiff_t end = (ptrdiff_t)(begin + width) * VEC_WIDTH;
        const ptrdiff_t next = p + 1 < n_panels ? end : 0;
        const struct tile t = {
            .c = c + begin * VEC_WIDTH,
            .c_row = c_row,
            .a = left.data,
            .a_row = left.row,
            .a_step = 1,
            .b = packed + (ptrdiff_t)n_inner * begin * VEC_WIDTH,
            .next = is_wide ? (const char *)(packed + next * n_inner) : NULL,
            .start = start == NULL ? NULL : start + begin * VEC_WIDTH,
            .n_inner = n_inner,
            .block = PACKED_BLOCK,
            .n_rows = n_rows,
            .terms = terms,
            .column = begin * VEC_WIDTH,
#if ETX_INT16
            .row_scale = left.data + n_inner,
            .column_scale = packed + etx_packed_size(n_inner, n_columns) +
                            (ptrdiff_t)begin * VEC_WIDTH,
#endif
        };
        multiply(width, from, &t, n_rows);
    }
}

static void multiply_start(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const struct etx_gemm_left left, const float *packed, const float *start)
{
    multiply_packed(start == NULL ? START_ZERO : START_VECTOR, c, c_row, n_rows,
        n_columns, n_inner, left, packed, start, NULL);
}

#if ETX_INT16
#define TERMS NULL /* fewer forms of the tile to compile */
#else

static void multiply_terms(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const struct etx_gemm_left left, const float *packed, const float *start,
    const struct etx_gemm_terms *terms)
{
    multiply_packed(terms->n == 1 ? START_ONE : START_TWO, c, c_row, n_rows,
        n_columns, n_inner, left, packed, start, terms);
}

#define TERMS multiply_terms
#endif

static void multiply_result(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const struct etx_gemm_left left, const float *packed)
{
    multiply_packed(START_RESULT, c, c_row, n_rows, n_columns, n_inner, left,
        packed, NULL, NULL);
}

#ifdef __AVX512BF16__

void etx_gemm_round_rows(float *out, const struct etx_gemm_left x,
    const int32_t n_rows, const int32_t n_inner)
{
    const int32_t n_pairs = etx_pairs(n_inner);

    /* Pairs of whole vectors need no mask. */
    const int32_t whole = n_inner / (2 * VEC_WIDTH) * VEC_WIDTH;
    const int32_t rest = n_inner - 2 * whole;
    const vmask low_mask = v_first(rest);
    const vmask high_mask = v_first(rest > VEC_WIDTH ? rest - VEC_WIDTH : 0);

    for (int32_t i = 0; i < n_rows; i++) {
        const float *from = x.data + i * x.row;
        for (int32_t k = 0; k < whole; k += VEC_WIDTH) {
            v_store(out + k, (vec)_mm512_cvtne2ps_pbh(
                                 v_load(from + VEC_WIDTH), v_load(from)));
            from += 2 * VEC_WIDTH;
        }
        if (rest > 0)
            v_store(out + whole, (vec)_mm512_cvtne2ps_pbh(
                                     v_load_mask(from + VEC_WIDTH, high_mask),
                                     v_load_mask(from, low_mask)));
        out += etx_padded(n_pairs);
    }
}

#define ROUND etx_gemm_round_rows
#elif ETX_INT16

/* The largest size of x [n], as integers, whose order is that of sizes: not
 * finite where one is not. */
static float largest_size(const float *x, const int32_t n)
{
    veci most = vi_set1(0);
    int32_t bits;
    float size;

    for (int32_t k = 0; k < n; k += VEC_WIDTH)
        most =
            vi_max(most, v_as_int(v_abs(v_load_mask(x + k, v_first(n - k)))));
    bits = vi_largest(most);
    memcpy(&size, &bits, sizeof size);
    return size;
}

/* The bits of etx_int16_from_inputs. */
static void round_rows(float *out, const struct etx_gemm_left x,
    const int32_t n_rows, const int32_t n_inner)
{
    const int32_t n_pairs = etx_pairs(n_inner);

    for (int32_t i = 0; i < n_rows; i++) {
        const float *from = x.data + i * x.row;
        const float most = largest_size(from, n_inner);
        const int is_finite = most <= FLT_MAX;
        const vec inverse = v_set1(is_finite && most >= ETX_INT16_TINY
                                       ? (float)ETX_INT16_INPUT / most
                                       : 0.0f);

        for (int32_t k = 0; k < n_pairs; k += VEC_WIDTH) {
            const int32_t left = n_inner - 2 * k;
            const vmask some = v_first(left);
            const vmask after =
                v_first(left > VEC_WIDTH ? left - VEC_WIDTH : 0);
            const vec low = v_load_mask(from + 2 * k, some);
            const vec high = v_load_mask(from + 2 * k + VEC_WIDTH, after);

            v_store(out + k, v_as_float(vi_narrow(v_to_int(low * inverse),
                                 v_to_int(high * inverse))));
        }
        out[n_pairs] = is_finite ? most / (float)ETX_INT16_INPUT : NAN;
        out += etx_padded(n_pairs + 1);
    }
}

#define ROUND round_rows
#else
#define ROUND NULL
#endif

const struct etx_gemm ETX_ISA_NAME(gemm) = {
    multiply_start, TERMS, multiply_result, ROUND, 1, ETX_INT16};

#if !ETX_INT16

/* packed [n_inner, width] = columns of b from its first one on, in whole
 * vectors. */
static void copy_panel(float *packed, const int32_t width, const float *b,
    const ptrdiff_t b_row, const int32_t n_inner)
{
    for (int32_t k = 0; k < n_inner; k++)
        for (int32_t j = 0; j < width; j += VEC_WIDTH)
            v_store(
                packed + (ptrdiff_t)k * width + j, v_load(b + k * b_row + j));
}

void ETX_ISA_NAME(gemm_turned_add)(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const float *a, const ptrdiff_t a_row, const float *b,
    const ptrdiff_t b_row, float *packed)
{
    const int32_t n_vectors = etx_padded(n_columns) / VEC_WIDTH;
    const int32_t n_panels = etx_panels(n_vectors);

    for (int32_t p = 0; p < n_panels; p++) {
        const int32_t begin = etx_panel_begin(p, n_panels, n_vectors);
        const int32_t width =
            etx_panel_begin(p + 1, n_panels, n_vectors) - begin;
        const struct tile t = {
            .c = c + begin * VEC_WIDTH,
            .c_row = c_row,
            .a = a,
            .a_row = 1,
            .a_step = a_row,
            .b = packed,
            .n_inner = n_inner,
            .block = TURNED_BLOCK,
        };
        copy_panel(
            packed, width * VEC_WIDTH, b + begin * VEC_WIDTH, b_row, n_inner);
        multiply(width, START_RESULT, &t, n_rows);
    }
}

#endif
