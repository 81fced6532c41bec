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
 * each with the smallest box around its points. A point is n_quads float4: its
 * coordinates, then zeros. */
struct etx_point_tree {
    int64_t n_points, n_leaves, n_branches;
    int32_t n_quads;
    const int32_t *order; /* [n_points] rows of the caller */
    const float4 *point;  /* [n_points, n_quads] in this order */
    const float4 *leaf;   /* [n_leaves, 2, n_quads] low and high corner */
    const float4 *branch; /* [n_branches, 2, n_quads] */
};

/* Arrays of the tree come from scratch. */
etx_status etx_point_tree_build(struct etx_point_tree *out,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const float *point, int64_t n_points, int32_t n_dim);

/* The squared distance of points, as op/graph.h defines it: zeros at the end do
 * not change it. n_quads is known where QUADS > 0. */
template <int QUADS>
__device__ static inline float etx_squared_distance(
    const float4 *a, const float4 *b, int32_t n_quads)
{
    float s = 0.0f;

    for (int32_t q = 0; q < (QUADS > 0 ? QUADS : n_quads); q++) {
        const float4 x = a[q];
        const float4 y = b[q];

        s = fmaf(x.x - y.x, x.x - y.x, s);
        s = fmaf(x.y - y.y, x.y - y.y, s);
        s = fmaf(x.z - y.z, x.z - y.z, s);
        s = fmaf(x.w - y.w, x.w - y.w, s);
    }
    return s;
}

__device__ static inline float etx_gap(
    float low_a, float high_a, float low_b, float high_b)
{
    return fmaxf(fmaxf(low_a - high_b, low_b - high_a), 0.0f);
}

/* The squared distance of two boxes, by low and high corners. Each step rounds
 * as that of the distance of points does, which is never less, for points in
 * them. */
template <int QUADS>
__device__ static inline float etx_box_distance(const float4 *low_a,
    const float4 *high_a, const float4 *low_b, const float4 *high_b,
    int32_t n_quads)
{
    float s = 0.0f;

    for (int32_t q = 0; q < (QUADS > 0 ? QUADS : n_quads); q++) {
        const float4 a = low_a[q];
        const float4 c = high_a[q];
        const float4 b = low_b[q];
        const float4 d = high_b[q];
        const float x = etx_gap(a.x, c.x, b.x, d.x);
        const float y = etx_gap(a.y, c.y, b.y, d.y);
        const float z = etx_gap(a.z, c.z, b.z, d.z);
        const float w = etx_gap(a.w, c.w, b.w, d.w);

        s = fmaf(w, w, fmaf(z, z, fmaf(y, y, fmaf(x, x, s))));
    }
    return s;
}

#endif
