/* data/learned_table.h -- tables that a model has learned: arrays of numbers,
 * as in its file.
 *
 * A table is a struct that begins with its kind, and has counts of rows and
 * pointers to arrays. The kind says where, so that all tables are made, copied,
 * freed, read and written alike.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_LEARNED_TABLE_H
#define ETX_DATA_LEARNED_TABLE_H

#include <exatrkx/exatrkx.h>

#define ETX_TABLE_MAX_ARRAYS 5
#define ETX_TABLE_ONE_ROW    SIZE_MAX

/* An array [n_rows, n_columns] of a table. */
struct etx_table_array {
    const char *name; /* of the tensor in a model file */
    int32_t is_real;  /* float; else int64_t */
    int64_t n_columns;
    size_t values; /* offset in the struct of the pointer to the array */
    size_t n_rows; /* offset of its int64_t, or ETX_TABLE_ONE_ROW */
};

struct etx_table_kind {
    const char *name; /* in messages */
    size_t size;      /* of the struct */
    int32_t n_arrays;
    struct etx_table_array array[ETX_TABLE_MAX_ARRAYS];
};

/* *out: a table of this kind, n_rows [kind->n_arrays] of its arrays, zeroed. */
etx_status etx_table_create(
    void *out, const struct etx_table_kind *kind, const int64_t *n_rows);
etx_status etx_table_copy(void *out, const void *table);
/* NULL is fine. */
void etx_table_free(void *table);

const struct etx_table_kind *etx_table_kind_of(const void *table);
int64_t etx_table_n_rows(
    const void *table, const struct etx_table_array *array);
void *etx_table_values(const void *table, const struct etx_table_array *array);
/* Bytes of a value. */
size_t etx_table_value_size(const struct etx_table_array *array);

#endif
