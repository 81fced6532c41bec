/* cuda/op/mlp_prepare.cu -- layers for many calls of mlp.
 *
 * The struct of a layer is the host's, its arrays are the device's: the layers
 * stay as they are.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/operators.h"

etx_status etx_cuda_mlp_prepare(
    struct etx_stream *stream, const struct etx_mlp_prepare_args *args)
{
    return etx_op_ref.mlp_prepare(stream, args);
}
