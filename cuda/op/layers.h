/* cuda/op/layers.h -- the steps of mlp and mlp_backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_LAYERS_H
#define ETX_CUDA_OP_LAYERS_H

extern "C" {
#include "op/op.h"
#include "op/shared/layers.h"
}

ETX_OPERATOR_PROTOTYPE(linear_backward, etx_cuda_linear_backward)
ETX_OPERATOR_PROTOTYPE(norm, etx_cuda_norm)
ETX_OPERATOR_PROTOTYPE(norm_backward, etx_cuda_norm_backward)

#endif
