/* op/simd/axes.h -- the axes in which points are pruned.
 *
 * The leading principal components where their rounding is small against the
 * radius, otherwise the coordinates of largest variance, which need no margin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_AXES_H
#define ETX_OP_SIMD_AXES_H

#include "op/op.h"
#include "op/simd/isa.h"

#define ETX_AXES 8

struct etx_axes {
    double *mean;  /* [n_dim], subtracted first */
    double *basis; /* [n_dim, ETX_AXES] columns orthonormal or zero */
    double relative, absolute; /* error of a distance in the axes */
};

/* Choose them for searches within args->radius; memory from the arena. */
etx_status ETX_ISA_NAME(axes_choose)(struct etx_axes *out,
    struct etx_stream *stream, const struct etx_radius_graph_args *args);

/* out [n_points, ETX_AXES] = the points in their axes. */
etx_status ETX_ISA_NAME(axes_project)(float *out, struct etx_stream *stream,
    const struct etx_axes *axes, const struct etx_radius_graph_args *args);

#endif
