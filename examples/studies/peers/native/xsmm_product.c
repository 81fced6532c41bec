/* native/xsmm_product.c -- a linear layer by the kernels of LIBXSMM.
 *
 * Rows go in blocks, the inner index in pieces, so that a piece of the weight
 * stays in the first-level cache (the use that its documentation describes).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <libxsmm.h>
#include <stdint.h>
#include <string.h>

#define ROWS  48
#define INNER 128
#define OUTER 64

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

int32_t xsmm_product(float *out, const float *x, const float *weight,
    const float *bias, int64_t n_rows, int32_t n_in, int32_t n_out);

/* out [n_rows, n_out] = bias + x [n_rows, n_in] weight [n_in, n_out]. Returns
 * 0, or 1 where no kernel can be made. */
int32_t xsmm_product(float *out, const float *x, const float *weight,
    const float *bias, int64_t n_rows, int32_t n_in, int32_t n_out)
{
    const float one = 1.0f;

    for (int64_t r = 0; r < n_rows; r += ROWS) {
        const int32_t rows =
            (int32_t)(n_rows - r < ROWS ? n_rows - r : (int64_t)ROWS);

        for (int32_t i = 0; i < rows; i++)
            memcpy(out + (r + i) * n_out, bias, (size_t)n_out * sizeof *out);
        for (int32_t k = 0; k < n_in; k += INNER)
            for (int32_t o = 0; o < n_out; o += OUTER) {
                /* Its matrices lie by columns: ours transposed. */
                const libxsmm_smmfunction kernel = libxsmm_smmdispatch(
                    smaller(OUTER, n_out - o), rows, smaller(INNER, n_in - k),
                    &n_out, &n_in, &n_out, &one, &one, NULL, NULL);

                if (kernel == NULL)
                    return 1;
                kernel(weight + (int64_t)k * n_out + o, x + r * n_in + k,
                    out + r * n_out + o);
            }
    }
    return 0;
}
