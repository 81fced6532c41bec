/* test/golden/arrays.h -- matrices of NumPy files and of plain CSV, as float64.
 *
 * Of little-endian float32, float64, int32 or int64. Test code on trusted
 * files: anything else fails the test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_GOLDEN_ARRAYS_H
#define ETX_TEST_GOLDEN_ARRAYS_H

#include <stdint.h>

struct golden_array {
    int64_t n_rows; /* 1 for vectors */
    int64_t n_cols;
    double *value; /* [n_rows, n_cols] */
};

/* The array `name` of the npz file at path. */
struct golden_array golden_npz(const char *path, const char *name);

/* Lines of as many numbers each, separated by commas. */
struct golden_array golden_csv(const char *path);

void golden_free(struct golden_array *array);

/* The values as float and as int32_t; freed with free. */
float *golden_floats(const struct golden_array *array);
int32_t *golden_ints(const struct golden_array *array);

#endif
