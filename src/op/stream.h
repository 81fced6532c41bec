/* op/stream.h -- what an operator runs with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_STREAM_H
#define ETX_OP_STREAM_H

#include "base/check.h"
#include "base/threads.h"
#include "memory/arena.h"
#include "memory/weight_cache.h"

/* Execution resources of an operator: scratch and threads (CPU), or the queue
 * of a device. */
struct etx_stream {
    struct etx_arena *arena;       /* scratch; an operator leaves it as found */
    struct etx_pool *pool;         /* NULL: serial */
    int32_t (*cancel)(void *user); /* or NULL; see etx_context_options */
    void *cancel_user;
    double flop; /* mlp adds 2 n_in n_out per row and layer */
    /* 1, on a device only: stored arrays and the operands of products in mlp
     * and mlp_backward may be float16; sums are float32. */
    int32_t is_half;
    /* 1, on a device only: the operands of float32 products are rounded to
     * TF32, which has the 11 bits of float16 and the range of float32. */
    int32_t is_tf32;
    /* 1, on the CPU only, where etx_cpu_has_bfloat16() or with the reference:
     * mlp rounds the inputs and weights of its products to bfloat16; sums and
     * what is stored are float32. */
    int32_t is_bfloat16;
    int32_t has_tiles; /* 1, where etx_cpu_has_tiles(): they are in tiles */
    /* 1, on the CPU only: mlp rounds the inputs and weights of its products to
     * int16 with a scale for each row (base/int16.h); what is stored is
     * float32. */
    int32_t is_int16;
    const struct etx_memory *memory; /* where arrays live; NULL: the host */
    void *device;                    /* owned by the backend, NULL on the CPU */
    struct etx_weight_cache *weight_cache; /* NULL: weights are not cached */
};

/* ETX_ERR_CANCELLED when the callback of the caller says so. In a parallel loop
 * any thread may poll: the caller's calls the callback, others learn of it. */
etx_status etx_check_cancelled(const struct etx_stream *stream);

/* In a loop of cheap steps: after step k, one in 65 536. */
#define ETX_POLL_STREAM(stream, k)                                             \
    do {                                                                       \
        if (((k)&0xffff) == 0xffff)                                            \
            ETX_CHECK(etx_check_cancelled(stream));                            \
    } while (0)

#endif
