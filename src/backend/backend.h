/* backend/backend.h -- a device to run on: operators, stream, accounting.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BACKEND_BACKEND_H
#define ETX_BACKEND_BACKEND_H

#include "op/op.h"

struct etx_device_copy;

struct etx_feature_list;

/* What a search for tracks has in scratch until it ends: values of the host on
 * a device, and features of the hits. */
struct etx_held {
    const float *values; /* [n] on the host; NULL: none */
    const float *here;   /* [n] on the device */
    int64_t n;
    const struct etx_feature_list *list; /* of the features; NULL: none */
    const float *features;               /* where the context computes */
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
    struct etx_held held; /* stage/resident.c, stage/node_features.c */
    /* Of graphs that a caller has; NULL: none. data/device_copy.h */
    struct etx_device_copy *device_copies;
};

/* The context that computes on the host: context itself, or the one next to a
 * device. */
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

#endif
