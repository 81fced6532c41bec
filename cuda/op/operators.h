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

/* The operator whose kernel name_kernel takes n items of its arguments args,
 * one per thread. */
#define ETX_CUDA_PER_ITEM(name, n)                                             \
    etx_status etx_cuda_##name(                                                \
        struct etx_stream *stream, const struct etx_##name##_args *args)       \
    {                                                                          \
        return etx_launch(stream, n, name##_kernel, *args);                    \
    }

/* Fill the whole table. */
void etx_op_cuda(struct etx_op_table *table);

#endif
