/* op/simd/gemm.h -- small matrix products for one thread.
 *
 * Columns of the right-hand side and of the result come in whole vectors:
 * their count is rounded up to VEC_WIDTH and what lies beyond is computed
 * too. An element of the result is one chain of fused multiply-adds over the
 * inner index from its start value, whatever the shape.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_GEMM_H
#define ETX_OP_SIMD_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include "op/simd/isa.h"
#include "op/simd/vector.h"

/* n rounded up to whole vectors. */
static inline int32_t etx_padded(int32_t n)
{
    return (n + VEC_WIDTH - 1) / VEC_WIDTH * VEC_WIDTH;
}

/* The left-hand side: element (i, k) is data[i * row + k]. */
struct etx_gemm_left {
    const float *data;
    ptrdiff_t row;
};

/* Floats that the packed form of b [n_inner, n_columns] needs. */
static inline int64_t etx_packed_size(int32_t n_inner, int32_t n_columns)
{
    return (int64_t)n_inner * etx_padded(n_columns);
}

/* Vectors of a panel at most. */
#define ETX_PANEL_VECTORS (VEC_REGISTERS == 32 ? 4 : 2)

static inline int32_t etx_panels(int32_t n_vectors)
{
    return (n_vectors + ETX_PANEL_VECTORS - 1) / ETX_PANEL_VECTORS;
}

/* The first vector of panel `panel` of n_panels. */
static inline int32_t etx_panel_begin(
    int32_t panel, int32_t n_panels, int32_t n_vectors)
{
    return (int32_t)((int64_t)panel * n_vectors / n_panels);
}

/* packed = b in panels of columns, zeros beyond n_columns; element (k, j) of
 * b is b[k * row + j * step]. */
void ETX_ISA_NAME(gemm_pack)(float *packed, int32_t n_inner, int32_t n_columns,
    const float *b, ptrdiff_t row, ptrdiff_t step);

/* Rows of matrices of whole vectors that are added to the result: row i of
 * term t is data[t] + index[t][i] * row, or + i * row without index. */
#define ETX_GEMM_TERMS 2
struct etx_gemm_terms {
    int32_t n; /* 1 .. ETX_GEMM_TERMS */
    ptrdiff_t row;
    const float *data[ETX_GEMM_TERMS];
    const int32_t *index[ETX_GEMM_TERMS]; /* or NULL */
};

/* The products with a packed right-hand side, of floats or of pairs of bfloat16
 * or int16: then an element of either side is the bits of two of them and the
 * inner index counts pairs. Sums are float32, of int16 int32 within a block of
 * the inner index. Rows of int16 have a scale (base/int16.h): it follows the
 * pairs of a row on the left, and the packed right-hand side has the scales
 * of its columns [etx_padded(n_columns)] at the end. */
struct etx_gemm {
    /* c[i * c_row + j] = start[j] + sum_k left(i, k) b(k, j); start
     * [etx_padded(n_columns)] or NULL for zeros. */
    void (*packed)(float *c, ptrdiff_t c_row, int32_t n_rows, int32_t n_columns,
        int32_t n_inner, struct etx_gemm_left left, const float *packed,
        const float *start);
    /* The same with the terms added to start. A term may be c itself. NULL:
     * the caller adds them to c beforehand. */
    void (*terms)(float *c, ptrdiff_t c_row, int32_t n_rows, int32_t n_columns,
        int32_t n_inner, struct etx_gemm_left left, const float *packed,
        const float *start, const struct etx_gemm_terms *terms);
    /* c[i * c_row + j] += sum_k left(i, k) b(k, j). */
    void (*add)(float *c, ptrdiff_t c_row, int32_t n_rows, int32_t n_columns,
        int32_t n_inner, struct etx_gemm_left left, const float *packed);
    /* out [n_rows, etx_left_row] = pairs of the n_inner floats of rows of x,
     * rounded to the nearest, ties to even; zeros beyond. NULL for floats. */
    void (*round)(
        float *out, struct etx_gemm_left x, int32_t n_rows, int32_t n_inner);
    int32_t step;       /* n_inner is a multiple of it */
    int32_t has_scales; /* of int16 */
};

extern const struct etx_gemm ETX_ISA_NAME(gemm); /* of floats */
extern const struct etx_gemm etx_gemm_avx512bf16;
extern const struct etx_gemm etx_gemm_amx; /* where etx_cpu_has_tiles() */
extern const struct etx_gemm etx_gemm_avx2int16;
extern const struct etx_gemm etx_gemm_avx512vnni; /* etx_cpu_has_vnni() */

/* etx_gemm.round of both products of bfloat16. */
void etx_gemm_round_rows(
    float *out, struct etx_gemm_left x, int32_t n_rows, int32_t n_inner);

/* Pairs that n values need. */
static inline int32_t etx_pairs(int32_t n)
{
    return n / 2 + n % 2;
}

/* Inner index of a product of n values. */
static inline int32_t etx_inner(const struct etx_gemm *gemm, int32_t n)
{
    const int32_t inner = gemm->round != NULL ? etx_pairs(n) : n;

    return (inner + gemm->step - 1) / gemm->step * gemm->step;
}

/* Floats from one row of n rounded values to the next. */
static inline int32_t etx_left_row(const struct etx_gemm *gemm, int32_t n)
{
    return etx_padded(etx_inner(gemm, n) + gemm->has_scales);
}

/* c[i * c_row + j] += sum_k a[k * a_row + i] b[k * b_row + j], for a long inner
 * index; packed: scratch of n_inner * etx_padded(n_columns) floats, of at most
 * 64 a step. */
void ETX_ISA_NAME(gemm_turned_add)(float *c, ptrdiff_t c_row, int32_t n_rows,
    int32_t n_columns, int32_t n_inner, const float *a, ptrdiff_t a_row,
    const float *b, ptrdiff_t b_row, float *packed);

#endif
