/* backend/backend.h -- backends, and a context: operators, stream, caches,
 * timings.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BACKEND_BACKEND_H
#define ETX_BACKEND_BACKEND_H

#include "memory/arena.h"
#include "memory/event_cache.h"
#include "op/op.h"

struct etx_context;

/* A backend, and what it can do. */
struct etx_backend {
    /* Fill context (zeroed, options set) or fail leaving nothing behind. */
    etx_status (*open)(struct etx_context *context);
    void (*close)(struct etx_context *context);
    int32_t runs_host_networks; /* etx_arch.is_host_only */
    int32_t has_float16;        /* and TF32; precision, arithmetic.products */
    int32_t has_bfloat16;       /* and int16; precision */
    int32_t keeps_graphs;       /* keep_graphs: in memory of its own */
};

/* By ETX_DEVICE_ constant: the list of backends. */
extern const struct etx_backend etx_backends[];
extern const int32_t etx_n_backends;

/* The public etx_context. Operators are called as
 * context->ops->name(context->stream, &args). */
struct etx_context {
    const struct etx_backend *backend;
    const struct etx_op_table *ops;
    struct etx_stream *stream;
    etx_context_options options;
    /* With options.cancel_interval: the caller's callback, and when it was
     * polled last (seconds); options.cancel is ours. */
    int32_t (*cancel)(void *user);
    void *cancel_user;
    double last_poll;
    etx_stage_timing timing[ETX_N_STAGES]; /* read by etx_stage_timing_of */
    /* On a device: the stage whose times are marks 2 k and 2 k + 1, -1 while it
     * runs (stage/clock.c). */
    int32_t n_marked;
    int32_t marked[ETX_MAX_MARKS / 2];
    struct etx_op_table table;        /* what ops points to */
    struct etx_stream stream_storage; /* what stream points to */
    /* On a device: a context on the CPU for what runs on the host; else NULL.
     */
    struct etx_context *host;
    struct etx_event_cache event_cache; /* of the event in progress */
    /* [options.n_threads] contexts of one thread, for events side by side; each
     * NULL until it is needed, and so is the array */
    struct etx_context **worker;
    /* Graphs of the host with a mirror in the stream's memory, linked by
     * next_mirrored: data/graph_mirror.h */
    struct etx_graph *mirrored;
};

/* The context that computes on the host: context itself, or the one next to a
 * device. */
static inline struct etx_context *etx_host_of(struct etx_context *context)
{
    return context->host != NULL ? context->host : context;
}

/* The arenas of the host and of the context, the same on the CPU: what is
 * allocated after the mark is freed by the reset. */
struct etx_scratch_mark {
    struct etx_arena_mark host, device;
};

static inline struct etx_scratch_mark etx_scratch_mark(
    struct etx_context *context)
{
    return (struct etx_scratch_mark){
        .host = etx_arena_mark(etx_host_of(context)->stream->arena),
        .device = etx_arena_mark(context->stream->arena)};
}

static inline void etx_scratch_reset(
    struct etx_context *context, struct etx_scratch_mark mark)
{
    etx_arena_reset(context->stream->arena, mark.device);
    etx_arena_reset(etx_host_of(context)->stream->arena, mark.host);
}

/* *out [n] zeros in scratch of the context. */
etx_status etx_scratch_zeros(
    float **out, struct etx_context *context, int64_t n, const char *what);

/* Open and close a context (zeroed, options set) by the device of its options,
 * which has a backend. */
etx_status etx_backend_open(struct etx_context *context);
void etx_backend_close(struct etx_context *context);

/* etx_backend.open and .close of the CPU. */
etx_status etx_backend_cpu_open(struct etx_context *context);
void etx_backend_cpu_close(struct etx_context *context);

/* Of the CUDA backend, or its stub, which returns ETX_ERR_UNSUPPORTED. */
etx_status etx_backend_cuda_open(struct etx_context *context);
void etx_backend_cuda_close(struct etx_context *context);

#endif
