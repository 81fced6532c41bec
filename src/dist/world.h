/* dist/world.h -- whether the processes that joined are those that were started
 * together, and alike.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_WORLD_H
#define ETX_DIST_WORLD_H

#include <exatrkx/dist.h>

#include "dist/comm.h"

/* ETX_ERR_UNSUPPORTED when a launcher started more than these n_ranks. */
etx_status etx_dist_check_launched(int32_t n_ranks);

/* What all ranks must have in common before they exchange numbers. */
struct etx_dist_build {
    uint64_t order;   /* a number whose bytes differ */
    char library[16]; /* version of libexatrkx */
    int32_t version[3];
    int32_t reserved; /* 0 */
};

struct etx_dist_build etx_dist_this_build(void);

/* ETX_ERR_UNSUPPORTED on all ranks when a rank has another than rank 0. */
etx_status etx_dist_check_builds(
    struct etx_comm *comm, const struct etx_dist_build *build);

#endif
