/* train/transfer.h -- copies between the host and where the context computes.
 *
 * Events and graphs of a training are on the host. On a device the network
 * runs on copies of what it reads; on the CPU nothing is copied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_TRANSFER_H
#define ETX_TRAIN_TRANSFER_H

#include "backend/backend.h"

/* Scratch and threads of the host, which sampling and bookkeeping use. */
static inline struct etx_stream *etx_train_host(struct etx_context *context)
{
    return etx_host_of(context)->stream;
}

/* *out: values [n] of the context on the host, themselves on the CPU, else a
 * copy in scratch. The other way is etx_arena_to_device. */
etx_status etx_train_to_host(float **out, struct etx_context *context,
    float *values, int64_t n, const char *what);

#endif
