/* dist/dist.h -- one rank's end of a group: what the public handle holds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_DIST_H
#define ETX_DIST_DIST_H

#include <exatrkx/dist.h>

#include "dist/comm.h"

/* The public etx_dist. */
struct etx_dist {
    struct etx_comm *comm;
    etx_dist_options options;
    int32_t is_apart; /* graph_parallel.c: this rank knows of a failure */
};

#endif
