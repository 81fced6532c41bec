/* op/simd/leaves.h -- a k-d tree with leaves of one vector of points.
 *
 * Points are cut at medians (kernels/cuts.c) into leaves of ETX_LEAF points.
 * Boxes are in the axes of axes.h. ETX_LEAF consecutive boxes share a box one
 * level up, as in a bounding volume hierarchy:
 *
 *     level 1  |        box 0        |        box 1        |
 *     level 0  | b0 | b1 | ... | b15 | b16 | ...
 *     leaves   | 16 points | 16 points | ...   [n_dim, ETX_LEAF] each:
 *              one coordinate of all points of a leaf is contiguous
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_LEAVES_H
#define ETX_OP_SIMD_LEAVES_H

#include "op/op.h"
#include "op/simd/axes.h"
#include "op/simd/isa.h"

#define ETX_LEAF       16
#define ETX_MAX_LEVELS 8

/* Boxes of one level in groups of ETX_LEAF. */
struct etx_boxes {
    int64_t n_boxes;
    float *low;     /* [n_groups, ETX_AXES, ETX_LEAF] */
    float *high;    /* the same; lanes beyond n_boxes hold anything finite */
    int32_t *first; /* [n_boxes] smallest index of a point in the box */
};

struct etx_leaves {
    int64_t n_points, n_leaves;
    int32_t n_dim;
    float *point;   /* [n_leaves, n_dim, ETX_LEAF], NaN where there is none */
    float *axis;    /* [n_leaves, ETX_AXES, ETX_LEAF] the same in the axes */
    int32_t *id;    /* [n_leaves, ETX_LEAF] index of the point, -1: none */
    uint64_t *rank; /* [n_leaves, ETX_LEAF] an edge runs to the larger rank;
                     * its low half is the id */
    int32_t n_levels;
    struct etx_boxes level[ETX_MAX_LEVELS]; /* [0] the leaves */
    double relative, absolute; /* error of a distance between boxes */
};

/* order [n_points] = the points such that every ETX_LEAF of them are a leaf,
 * and ETX_LEAF leaves a group; axis [n_points, ETX_AXES]. */
etx_status ETX_ISA_NAME(cut_points)(int32_t *order, struct etx_stream *stream,
    const float *axis, int64_t n_points);

/* Build from point [n_points, n_dim] and key [n_points] or NULL, for searches
 * within radius; memory from the arena. n_points > 0. */
etx_status ETX_ISA_NAME(leaves_build)(struct etx_leaves *out,
    struct etx_stream *stream, const struct etx_radius_graph_args *args);

/* The bound on squared distances between boxes that loses no pair of points
 * with s <= bound. */
float ETX_ISA_NAME(leaves_limit)(const struct etx_leaves *leaves, float bound);

#endif
