/* io/table_tensors.h -- learned tables of a model file: matrices by name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_TABLE_TENSORS_H
#define ETX_IO_TABLE_TENSORS_H

#include "data/learned_table.h"
#include "io/safetensors.h"

/* out [kind->n_arrays]: the arrays of a table, borrowed. */
void etx_table_tensors(struct etx_tensor *out, const void *table);

/* *out: the table of a file; ETX_ERR_FORMAT when one of its tensors is missing
 * or has another type or shape. What the numbers say is not checked. */
etx_status etx_table_from_tensors(void *out, const struct etx_table_kind *kind,
    const struct etx_tensor_file *file);

/* 1: a tensor of this name belongs to tables of this kind. */
int32_t etx_table_has_tensor(
    const struct etx_table_kind *kind, const char *name);

#endif
