/* cuda_shim/device_edges.h -- contexts on an emulated device, and edges of a
 * caller to pass to them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_DEVICE_EDGES_H
#define ETX_SHIM_DEVICE_EDGES_H

#include "shim.h"
#include "support.h"

#define N_NODES 700
#define N_EDGES 5000

/* Networks compute in float32. */
etx_context *shim_context(int32_t index, int32_t keep_graphs);

/* In any order, some of them twice; index: as rows of 64-bit numbers. */
struct edges {
    int32_t src[N_EDGES];
    int32_t dst[N_EDGES];
    int64_t index[2 * N_EDGES];
    float score[N_EDGES];
};

/* To be freed. */
struct edges *make_edges(void);

#endif
