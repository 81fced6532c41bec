/* op/simd/amx/gemm.c -- the products of bfloat16 in tile registers (AMX).
 *
 * A tile is 16 rows of 64 bytes. One instruction multiplies 16 rows of 16 pairs
 * of bfloat16 by 16 pairs of 16 columns, as they lie in a packed panel, and
 * adds the products to 16 x 16 floats. Four of the eight tiles are sums, of two
 * tiles of rows by two of columns:
 *
 *                               | B0 | B1 |   16 pairs each
 *     rows  i ..       A0       | S0 | S1 |
 *     rows  i + 16 ..  A1       | S2 | S3 |
 *
 * An element is start[j] plus, for each 16 pairs of the inner index, the sum of
 * the first values' products and that of the second ones'. So bits differ from
 * AVX512_BF16, but depend on the row and column only. Denormals count as zero.
 *
 * Tiles belong to the thread. Every product configures and releases them, so
 * that the operating system has nothing to save between products.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/gemm.h"

#include "base/cpu.h"

#define TILE       16 /* rows; columns; pairs of the inner index */
#define TILE_BYTES 64 /* of a row */

#if ETX_TILES

#define TILES  __attribute__((target("amx-tile,amx-bf16")))
#define INLINE static inline __attribute__((always_inline)) TILES

/* What ldtilecfg reads: bytes of a row and rows of each tile. */
struct shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

_Static_assert(sizeof(struct shapes) == 64, "as ldtilecfg reads it");

/* Tiles by number: sums 0 .. 3, rows 4 and 5, columns 6 and 7. */
#define N_TILES      8
#define IS_COLUMN(t) ((t) >= 6)
#define IS_BELOW(t)  ((t) == 2 || (t) == 3 || (t) == 5)

/* How sums begin. */
enum start {
    START_ZERO,
    START_VECTOR, /* every row with start[] */
    START_RESULT  /* with what c holds */
};

/* A product: rows of pairs times packed columns. */
struct product {
    float *c;
    ptrdiff_t c_row;
    const float *a;
    ptrdiff_t a_row;
    const float *packed;
    const float *start;
    int32_t n_inner, n_vectors;
};

/* Configure for n_rows rows, at most two tiles of them. */
static TILES void open_tiles(const int32_t n_rows)
{
    const int32_t above = n_rows < TILE ? n_rows : TILE;
    struct shapes shapes = {.palette = 1};

    for (int t = 0; t < N_TILES; t++) {
        const int32_t n = IS_COLUMN(t)  ? TILE
                          : IS_BELOW(t) ? n_rows - above
                                        : above;
        shapes.rows[t] = (uint8_t)n;
        shapes.row_bytes[t] = n > 0 ? TILE_BYTES : 0;
    }
    /* Or gcc would not know that all of it is read. */
    __asm__ volatile("" : : "r"(&shapes) : "memory");
    _tile_loadconfig(&shapes);
}

/* Load the sums from c on, or from one row that stands for all: step 0. */
INLINE void load_sums(const int n_down, const int n_across, const float *c,
    const ptrdiff_t step, const ptrdiff_t bytes)
{
    _tile_loadd(0, c, bytes);
    if (n_across > 1)
        _tile_loadd(1, c + TILE, bytes);
    if (n_down > 1)
        _tile_loadd(2, c + TILE * step, bytes);
    if (n_down > 1 && n_across > 1)
        _tile_loadd(3, c + TILE * step + TILE, bytes);
}

INLINE void clear_sums(const int n_down, const int n_across)
{
    _tile_zero(0);
    if (n_across > 1)
        _tile_zero(1);
    if (n_down > 1)
        _tile_zero(2);
    if (n_down > 1 && n_across > 1)
        _tile_zero(3);
}

INLINE void store_sums(
    const int n_down, const int n_across, float *c, const ptrdiff_t step)
{
    const ptrdiff_t bytes = step * (ptrdiff_t)sizeof *c;

    _tile_stored(0, c, bytes);
    if (n_across > 1)
        _tile_stored(1, c + TILE, bytes);
    if (n_down > 1)
        _tile_stored(2, c + TILE * step, bytes);
    if (n_down > 1 && n_across > 1)
        _tile_stored(3, c + TILE * step + TILE, bytes);
}

/* Add the products of rows of a and columns of b to the sums. */
INLINE void multiply_steps(const int n_down, const int n_across,
    const struct product *p, const float *b, const ptrdiff_t b_row)
{
    const ptrdiff_t a_bytes = p->a_row * (ptrdiff_t)sizeof *p->a;
    const ptrdiff_t b_bytes = b_row * (ptrdiff_t)sizeof *b;
    const float *below = p->a + TILE * p->a_row;

    for (int32_t k = 0; k < p->n_inner; k += TILE) {
        _tile_loadd(6, b, b_bytes);
        _tile_loadd(4, p->a + k, a_bytes);
        _tile_dpbf16ps(0, 4, 6);
        if (n_across > 1) {
            _tile_loadd(7, b + TILE, b_bytes);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (n_down > 1) {
            _tile_loadd(5, below + k, a_bytes);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (n_down > 1 && n_across > 1)
            _tile_dpbf16ps(3, 5, 7);
        b += TILE * b_row;
    }
}

/* n_across tiles of columns from `column` on, of n_down tiles of rows. */
INLINE void multiply_tiles(const int n_down, const int n_across,
    const enum start from, const struct product *p, const int32_t column,
    const float *b, const ptrdiff_t b_row)
{
    float *c = p->c + column;

    if (from == START_ZERO)
        clear_sums(n_down, n_across);
    else if (from == START_VECTOR)
        load_sums(n_down, n_across, p->start + column, 0, 0);
    else
        load_sums(
            n_down, n_across, c, p->c_row, p->c_row * (ptrdiff_t)sizeof *c);
    multiply_steps(n_down, n_across, p, b, b_row);
    store_sums(n_down, n_across, c, p->c_row);
}

/* All columns of n_down tiles of rows. */
INLINE void multiply_columns(
    const int n_down, const enum start from, const struct product *p)
{
    const int32_t n_panels = etx_panels(p->n_vectors);

    for (int32_t panel = 0; panel < n_panels; panel++) {
        const int32_t begin = etx_panel_begin(panel, n_panels, p->n_vectors);
        const int32_t end = etx_panel_begin(panel + 1, n_panels, p->n_vectors);
        const ptrdiff_t b_row = (ptrdiff_t)(end - begin) * TILE;
        const float *b = p->packed + (ptrdiff_t)p->n_inner * begin * TILE;

        for (int32_t v = begin; v < end; v += 2, b += 2 * TILE)
            if (end - v > 1)
                multiply_tiles(n_down, 2, from, p, v * TILE, b, b_row);
            else
                multiply_tiles(n_down, 1, from, p, v * TILE, b, b_row);
    }
}

/* All rows, two tiles at a time. */
INLINE void multiply_rows(
    const enum start from, const struct product *whole, int32_t n_rows)
{
    const int32_t most = 2 * TILE;
    struct product p = *whole;

    open_tiles(n_rows < most ? n_rows : most);
    for (; n_rows > TILE; n_rows -= most) {
        if (n_rows < most && p.c != whole->c)
            open_tiles(n_rows);
        multiply_columns(2, from, &p);
        p.c += most * p.c_row;
        p.a += most * p.a_row;
    }
    if (n_rows > 0) {
        open_tiles(n_rows);
        multiply_columns(1, from, &p);
    }
    _tile_release();
}

static TILES void multiply_start(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const struct etx_gemm_left left, const float *packed, const float *start)
{
    const struct product p = {c, c_row, left.data, left.row, packed, start,
        n_inner, etx_padded(n_columns) / TILE};

    if (start == NULL)
        multiply_rows(START_ZERO, &p, n_rows);
    else
        multiply_rows(START_VECTOR, &p, n_rows);
}

static TILES void multiply_result(float *c, const ptrdiff_t c_row,
    const int32_t n_rows, const int32_t n_columns, const int32_t n_inner,
    const struct etx_gemm_left left, const float *packed)
{
    const struct product p = {c, c_row, left.data, left.row, packed, NULL,
        n_inner, etx_padded(n_columns) / TILE};

    multiply_rows(START_RESULT, &p, n_rows);
}

const struct etx_gemm etx_gemm_amx = {
    multiply_start, NULL, multiply_result, etx_gemm_round_rows, TILE, 0};

#else

const struct etx_gemm etx_gemm_amx = {NULL, NULL, NULL, NULL, TILE, 0};

#endif
