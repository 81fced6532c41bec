/* dist/dist.h -- one rank's end of a group: the struct of the
 * public handle.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DIST_DIST_H
#define ETX_DIST_DIST_H

#include <exatrkx/dist.h>

#include "dist/comm.h"

/* Memory that grows on demand and is freed when the rank leaves its group. */
struct etx_dist_buffer {
    void *data;
    size_t n_bytes;
};

/* The public etx_dist. */
struct etx_dist {
    struct etx_comm *comm;
    etx_dist_options options;
    int32_t has_failed; /* graph_parallel.c: this rank knows of a failure */
    struct etx_dist_buffer sent, received; /* pieces of gradients */
    struct etx_dist_buffer slices;         /* [n_slices] pointers to them */
    struct etx_dist_buffer counts;         /* [3, n_ranks] */
};

/* Copy values [size], a public struct, to the caller's out, as far as the
 * struct_size that the caller has set there goes, and zero beyond it; the
 * struct_size stays. first_size is the size at the struct's first release, name
 * stands in messages. */
etx_status etx_dist_fill(void *out, const void *values, size_t size,
    size_t first_size, const char *name);

#endif
