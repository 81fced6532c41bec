/* cuda/op/point_tree.cuh -- a bounding volume hierarchy of two levels over
 * points in Morton order, for searches within a radius.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_POINT_TREE_CUH
#define ETX_CUDA_OP_POINT_TREE_CUH

#include "cuda/backend/launch.cuh"

#define ETX_LEAF_POINTS   32
#define ETX_BRANCH_LEAVES 32

/* Points sorted by Morton code; every 32 are a leaf, every 32 leaves a branch,
 * each with the smallest box around its points. */
struct etx_point_tree {
    int64_t n_points, n_leaves, n_branches;
    int32_t n_dim;
    const int32_t *order; /* [n_points] rows of the caller */
    const float *point;   /* [n_points, n_dim] in this order */
    const float *leaf;    /* [n_leaves, 2, n_dim] low and high corner */
    const float *branch;  /* [n_branches, 2, n_dim] */
};

/* Arrays of the tree come from scratch. */
etx_status etx_point_tree_build(struct etx_point_tree *out,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const float *point, int64_t n_points, int32_t n_dim);

/* 1: the box [2, n_dim] is further from point than the squared distance limit,
 * so no point in it has to be visited. Rounding may make the distance to the
 * box larger than that to a point in it: limit is raised by the bound of that
 * error. */
__device__ static inline int32_t etx_is_beyond(
    const float *box, const float *point, int32_t n_dim, float limit)
{
    const float allowed = limit * (1.0f + 1e-6f * (float)(n_dim + 4)) + 1e-36f;
    float s = 0.0f;

    for (int32_t k = 0; k < n_dim; k++) {
        const float below = box[k] - point[k];
        const float above = point[k] - box[n_dim + k];
        const float gap = fmaxf(fmaxf(below, above), 0.0f);

        s = fmaf(gap, gap, s);
    }
    return s > allowed;
}

#endif
