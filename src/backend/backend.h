/* backend/backend.h -- a device to run on: operators, stream, accounting.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BACKEND_BACKEND_H
#define ETX_BACKEND_BACKEND_H

#include "op/op.h"

struct etx_device_copy;

/* Networks: those of five models. When more take turns, the oldest goes, and
 * all of each is made again at every turn. */
#define ETX_MAX_RESIDENT 16

#define ETX_MAX_DERIVED 256 /* arrays from the parameters of a network */

/* How an array was made from parameters: the same source and form, the same
 * values. */
struct etx_derived_key {
    const float *from; /* the parameters, or what was derived from them */
    const float *with; /* others that it was made with, or NULL */
    uint32_t form; /* enum etx_derived_form, and its version below 1 << 16 */
    int64_t n;     /* floats */
};

/* What tells arrays of the same parameters apart. */
enum etx_derived_form {
    ETX_DERIVED_APART =
        1 << 16, /* a first layer, by the parts in the low bits */
    ETX_DERIVED_FOLDED = 2 << 16,
    ETX_DERIVED_PADDED = 3 << 16,
    ETX_DERIVED_PACKED = 4 << 16
};

struct etx_derived {
    struct etx_derived_key key;
    float *value; /* [key.n] behind the parameters */
};

/* Parameters that a context keeps from call to call, of the network with this
 * stamp (arch/arch.h), and what is derived from them. */
struct etx_resident {
    uint64_t stamp; /* 0: unused */
    float *value;   /* [n_values + n_room] at the stream's place, owned */
    int64_t n_values;
    int64_t n_room;  /* floats behind the values for what is derived */
    int64_t n_taken; /* floats behind the values */
    int32_t n_derived;
    struct etx_derived derived[ETX_MAX_DERIVED];
};

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
    struct etx_held held;  /* stage/resident.c, stage/node_features.c */
    int32_t next_resident; /* the one that makes room */
    struct etx_resident resident[ETX_MAX_RESIDENT];
    /* Of graphs that a caller has; NULL: none. data/device_copy.h */
    struct etx_device_copy *device_copies;
};

/* Where work of the host runs for a context: on itself, or beside a device. */
static inline struct etx_context *etx_host_of(struct etx_context *context)
{
    return context->host != NULL ? context->host : context;
}

/* derived.c: floats behind n_values parameters for what is derived. */
int64_t etx_derived_room(const struct etx_stream *stream, int64_t n_values);
/* What was derived from parameters in this way, or NULL. */
float *etx_derived_find(
    const struct etx_stream *stream, const struct etx_derived_key *key);
/* Room [key->n] for it, or NULL: the parameters are not kept, or there is none.
 * Once written in full it is closed with the same key and found from then on;
 * until then, it is nobody's. One is open at a time. */
float *etx_derived_open(
    const struct etx_stream *stream, const struct etx_derived_key *key);
void etx_derived_close(
    const struct etx_stream *stream, const struct etx_derived_key *key);

/* Fill context (zeroed, options set) or fail leaving nothing behind. */
etx_status etx_backend_cpu_open(struct etx_context *context);
void etx_backend_cpu_close(struct etx_context *context);

/* The CUDA backend, or its twin that answers ETX_ERR_UNSUPPORTED. */
etx_status etx_backend_cuda_open(struct etx_context *context);
void etx_backend_cuda_close(struct etx_context *context);

#endif
