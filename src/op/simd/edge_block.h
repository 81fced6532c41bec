/* op/simd/edge_block.h -- the ends of a block of edges, one array per
 * coordinate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_EDGE_BLOCK_H
#define ETX_OP_SIMD_EDGE_BLOCK_H

#include "op/op.h"
#include "op/simd/isa.h"

#define ETX_EDGE_BLOCK 256 /* edges of one pass */

/* Beyond n edges the last one is repeated. */
struct etx_edge_block {
    float x_src[ETX_EDGE_BLOCK], y_src[ETX_EDGE_BLOCK], z_src[ETX_EDGE_BLOCK];
    float x_dst[ETX_EDGE_BLOCK], y_dst[ETX_EDGE_BLOCK], z_dst[ETX_EDGE_BLOCK];
    float r_src[ETX_EDGE_BLOCK], r_dst[ETX_EDGE_BLOCK];
    float score[ETX_EDGE_BLOCK]; /* 0.5 without scores */
};

/* No coordinate that float32 features are computed from is larger, in mm. */
#define ETX_EDGE_MAX_COORDINATE 1e5f

/* value [ETX_EDGE_BLOCK] = a feature before scaling, in float32, of edges
 * whose coordinates are within ETX_EDGE_MAX_COORDINATE. 0: this feature has no
 * vector version and the reference serves it. */
int32_t ETX_ISA_NAME(float32_edge_feature)(
    float *value, const struct etx_edge_block *block, int32_t feature);

#endif
