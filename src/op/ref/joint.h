/* op/ref/joint.h -- how smoothly two chains of hits join.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_REF_JOINT_H
#define ETX_OP_REF_JOINT_H

#include <stdint.h>

#define ETX_ROUGHEST_JOINT 1.0f /* that is accepted */

/* Hits in chains: who follows whom, -1 at the ends. */
struct etx_chains {
    const float *position;    /* [n_nodes, 3] mm */
    int32_t *next, *previous; /* [n_nodes] */
};

/* How rough the chain would be around an edge from the last hit of one to the
 * first of another: (dc / max_curvature_change)^2 + (dp / max_polar_change)^2.
 * dc, 1/m, is the spread of the signed curvatures in the transverse plane of
 * the up to four circles through three neighbours of the last two hits before
 * the edge and the first two after it; dp the sine of the larger change of
 * polar angle between the edge and the steps before and after it, 1 from a
 * right angle on. A limit of 0 leaves its term out; missing neighbours change
 * nothing. */
float etx_joint_roughness(const struct etx_chains *chains, int32_t tail,
    int32_t head, float max_curvature_change, float max_polar_change);

#endif
