/* op/ref/ref.h -- the reference operators, one prototype each.
 *
 * Plain C that says what every operator computes, serial but for graph_index
 * and module_map, which have no faster version. Sums are float64
 * unless the contract prescribes float32. The contracts are next to the
 * arguments, in the headers that op.h includes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_REF_REF_H
#define ETX_OP_REF_REF_H

#include "op/op.h"
#include "op/shared/layers.h"

#define ETX_REF_DECLARE(name) ETX_OPERATOR_PROTOTYPE(name, etx_ref_##name)

ETX_OPERATORS(ETX_REF_DECLARE)

/* What mlp and mlp_backward share. */

ETX_OPERATOR_PROTOTYPE(linear, etx_ref_linear)
ETX_OPERATOR_PROTOTYPE(linear_backward, etx_ref_linear_backward)
ETX_OPERATOR_PROTOTYPE(norm, etx_ref_norm)
ETX_OPERATOR_PROTOTYPE(norm_backward, etx_ref_norm_backward)

/* 1 when some layer normalises over the rows of the batch. */
int32_t etx_ref_mlp_has_batch_norm(const struct etx_mlp_args *args);

/* The arguments of rows first .. first + n_rows - 1 alone. */
struct etx_mlp_args etx_ref_mlp_rows(
    const struct etx_mlp_args *args, int64_t first, int64_t n_rows);

/* x [n_rows, layer[0].n_in] = the parts side by side. */
void etx_ref_mlp_concat(float *x, const struct etx_mlp_args *args);

/* y [n_rows, layer[0].n_out] += the added rows. */
void etx_ref_mlp_add_rows(float *y, const struct etx_mlp_args *args);

#endif
