/* cuda_shim/parts.h -- what the parts of the CPU emulation of CUDA share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_PARTS_H
#define ETX_SHIM_PARTS_H

#include "shim.h"

#include <stddef.h>
#include <stdint.h>

#define SHIM_GRANULE                                                           \
    ((size_t)256)        /* a multiple of this lies between pieces             \
                          */
#define SHIM_PINNED 0xFF /* owner of memory of the host */

/* Whose the bytes of a granule are: its first n_used. */
struct shim_granule {
    uint16_t n_used;
    uint8_t owner; /* a device, or SHIM_PINNED */
};

/* Memory that kernels may touch: of the devices, then pinned. */
struct shim_heap {
    char *begin;
    size_t bytes;
    struct shim_granule *granule; /* [bytes / SHIM_GRANULE] */
};
const struct shim_heap *shim_heap(void);

/* The thread of a device that runs, and the launch that it is of. */
struct shim_position {
    uint32_t launch, block;
    uint16_t thread;
    uint16_t barrier;      /* barriers of the block that it has passed */
    uint16_t warp_barrier; /* __syncwarp that it has passed */
};
struct shim_position shim_position(void);

/* Whether the stream waits for other ranks of NCCL. */
int32_t shim_is_communicating(struct shim_stream *stream);

/* A range of addresses. */
struct shim_range {
    const char *begin;
    size_t bytes;
};
struct shim_range shim_stacks(void);         /* of threads of the device */
struct shim_range shim_dynamic_shared(void); /* of the launch */
/* A launch on a device begins or, with NULL, ends. */
void shim_check_launch(const struct shim_range *parameters, int device);

#endif
