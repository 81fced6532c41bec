/* backend/backend.h -- a device to run on: operators, stream, accounting.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BACKEND_BACKEND_H
#define ETX_BACKEND_BACKEND_H

#include "op/op.h"

struct etx_device_copy;

#define ETX_MOST_RESIDENT 8 /* networks: those of two models */

/* Parameters that a device keeps from call to call, of the network with this
 * stamp (arch/arch.h). */
struct etx_resident {
    uint64_t stamp; /* 0: unused */
    float *value;   /* at the place of the stream, owned */
};

/* The public etx_context. Operators are called as
 * context->ops->name(context->stream, &args). */
struct etx_context {
    const struct etx_op_table *ops;
    struct etx_stream *stream;
    etx_context_options options;
    etx_stage_timing timing[ETX_N_STAGES];
    struct etx_op_table table;        /* what ops points to */
    struct etx_stream stream_storage; /* what stream points to */
    /* Of a device: a context on the CPU for what runs there; else NULL. */
    struct etx_context *host;
    int32_t next_resident; /* the one that makes room */
    struct etx_resident resident[ETX_MOST_RESIDENT];
    /* Of graphs that a caller has; NULL: none. data/device_copy.h */
    struct etx_device_copy *device_copies;
};

/* Where work of the host runs for a context: on itself, or beside a device. */
static inline struct etx_context *etx_host_of(struct etx_context *context)
{
    return context->host != NULL ? context->host : context;
}

/* Fill context (zeroed, options set) or fail leaving nothing behind. */
etx_status etx_backend_cpu_open(struct etx_context *context);
void etx_backend_cpu_close(struct etx_context *context);

/* The CUDA backend, or its twin that answers ETX_ERR_UNSUPPORTED. */
etx_status etx_backend_cuda_open(struct etx_context *context);
void etx_backend_cuda_close(struct etx_context *context);

/* ETX_ERR_CANCELLED when the host's callback says so. */
etx_status etx_check_cancelled(const struct etx_stream *stream);

#endif
