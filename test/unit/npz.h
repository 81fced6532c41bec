/* npz.h -- read arrays of numpy's .npz files, for reference data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_NPZ_H
#define ETX_TEST_NPZ_H

#include <stdint.h>

#define NPZ_MAX_DIMENSIONS 4

/* A row-major array. */
struct etx_npz_array {
    char type[8]; /* as numpy writes it: "<f4", "<i8", ... */
    int32_t n_dimensions;
    int64_t shape[NPZ_MAX_DIMENSIONS];
    int64_t n_values;
    void *values; /* released by etx_npz_release */
};

/* The array `name` of the file at path, of this type or, where type is NULL,
 * of any; anything unexpected fails the running test. */
void etx_npz_read(struct etx_npz_array *out, const char *path, const char *name,
    const char *type);
void etx_npz_release(struct etx_npz_array *array);

#endif
