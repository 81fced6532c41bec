/* cuda/op/table.cu -- the complete table of the operators on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/device.cuh"
#include "cuda/op/operators.h"

/* The operator, with the context's device as the current one. */
template <typename Arguments,
    etx_status (*run)(struct etx_stream *, const Arguments *)>
static etx_status on_device(struct etx_stream *stream, const Arguments *args)
{
    ETX_TRY(etx_check_cancelled(stream));
    const struct etx_cuda_current current(etx_cuda_of(stream));

    ETX_TRY(current.status);
    return run(stream, args);
}

#define ENTRY(name)                                                            \
    table->name = on_device<struct etx_##name##_args, etx_cuda_##name>;

void etx_op_cuda(struct etx_op_table *table)
{
    *table = etx_op_ref; /* for operators on host memory */
    ETX_DEVICE_OPERATORS(ENTRY)
}
