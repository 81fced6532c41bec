/* io/table_tensors.h -- learned tables of a model file: matrices by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TABLE_TENSORS_H
#define ETX_IO_TABLE_TENSORS_H

#include "io/safetensors.h"

/* A matrix of a table, whatever its number of rows. */
struct etx_table_tensor {
    const char *name;
    enum etx_tensor_type type;
    int64_t n_columns;
};

/* The tensor that borrows data [n_rows, n_columns]. */
struct etx_tensor etx_table_describe(
    const struct etx_table_tensor *tensor, int64_t n_rows, const void *data);

/* found [n]: the tensors of the file, with the right type and columns;
 * ETX_ERR_FORMAT when one is missing or different. */
etx_status etx_table_find(const struct etx_tensor **found,
    const struct etx_table_tensor *tensors, int32_t n,
    const struct etx_tensor_file *file);

/* 1: one of tensors [n] has this name. */
int32_t etx_table_has(
    const struct etx_table_tensor *tensors, int32_t n, const char *name);

#endif
