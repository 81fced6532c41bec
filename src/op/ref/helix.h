/* op/ref/helix.h -- the helix through the beam line and both hits of an edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_REF_HELIX_H
#define ETX_OP_REF_HELIX_H

#include "op/op.h"

/* Leaving the beam line; see op.h. */
struct etx_helix {
    double curvature; /* 1 / mm, positive counter-clockwise */
    double phi0;      /* rad, in [-pi, pi] */
    double z0;        /* mm */
    double cot_theta; /* dz / d(arc in the transverse plane) */
};

/* s and d [3] in mm, in any order. */
struct etx_helix etx_helix_of(const float *s, const float *d);

/* One of the features from ETX_EDGE_HELIX_CURVATURE to ETX_EDGE_HELIX_ETA. */
double etx_helix_feature(
    const float *s, const float *d, enum etx_edge_feature feature);

#endif
