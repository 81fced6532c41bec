/* cuda/op/operators.h -- the operators of the CUDA backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_OPERATORS_H
#define ETX_CUDA_OP_OPERATORS_H

extern "C" {
#include "op/op.h"
}

#define ETX_CUDA_DECLARE(name) ETX_OPERATOR_PROTOTYPE(name, etx_cuda_##name)

/* The device is current. */
ETX_DEVICE_OPERATORS(ETX_CUDA_DECLARE)

/* Fill the whole table. */
void etx_op_cuda(struct etx_op_table *table);

#endif
