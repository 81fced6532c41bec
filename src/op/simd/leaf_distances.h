/* op/simd/leaf_distances.h -- distances to the boxes and points of leaves.
 *
 * Inlined where they are used, once per instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_LEAF_DISTANCES_H
#define ETX_OP_SIMD_LEAF_DISTANCES_H

#include "op/simd/leaves.h"
#include "op/simd/vector.h"

#define ETX_LEAF_VECTORS (ETX_LEAF / VEC_WIDTH)
#define ETX_USUAL_DIM    8  /* coordinates of the embeddings of most models */
#define ETX_CHECK_DIMS   16 /* coordinates between two tests of the bound */

#define ETX_INLINE static inline __attribute__((always_inline))

/* Lanes where s <= bound. */
ETX_INLINE uint32_t leaf_within(const vec s[ETX_LEAF_VECTORS], float bound)
{
    uint32_t bits = 0;

    for (int32_t v = 0; v < ETX_LEAF_VECTORS; v++)
        bits |= v_bits(v_less_equal(s[v], v_set1(bound))) << (v * VEC_WIDTH);
    return bits;
}

/* Lanes of a group that are boxes. */
ETX_INLINE uint32_t leaf_boxes(const struct etx_boxes *boxes, int64_t group)
{
    const int64_t left = boxes->n_boxes - group * ETX_LEAF;

    return left >= ETX_LEAF ? (1u << ETX_LEAF) - 1u : (1u << left) - 1u;
}

/* Squared distances s from the box low .. high [ETX_AXES] to the boxes of a
 * group. */
ETX_INLINE void leaf_box_to_boxes(vec s[ETX_LEAF_VECTORS],
    const struct etx_boxes *boxes, int64_t group, const float *low,
    const float *high)
{
    const float *group_low = boxes->low + group * ETX_AXES * ETX_LEAF;
    const float *group_high = boxes->high + group * ETX_AXES * ETX_LEAF;

    for (int32_t v = 0; v < ETX_LEAF_VECTORS; v++) {
        vec sum = v_zero();
        for (int32_t c = 0; c < ETX_AXES; c++) {
            const int32_t at = c * ETX_LEAF + v * VEC_WIDTH;
            const vec above = v_load(group_low + at) - v_set1(high[c]);
            const vec below = v_set1(low[c]) - v_load(group_high + at);
            const vec gap = v_max(v_max(above, below), v_zero());
            sum = v_fma(gap, gap, sum);
        }
        s[v] = sum;
    }
}

/* Squared distances s from a point to the boxes of a group; x [ETX_AXES]: its
 * coordinates, each in every lane. */
ETX_INLINE void leaf_point_to_boxes(vec s[ETX_LEAF_VECTORS],
    const struct etx_boxes *boxes, int64_t group, const vec *x)
{
    const float *low = boxes->low + group * ETX_AXES * ETX_LEAF;
    const float *high = boxes->high + group * ETX_AXES * ETX_LEAF;

    for (int32_t v = 0; v < ETX_LEAF_VECTORS; v++) {
        vec sum = v_zero();
        for (int32_t c = 0; c < ETX_AXES; c++) {
            const int32_t at = c * ETX_LEAF + v * VEC_WIDTH;
            const vec nearest =
                v_min(v_max(x[c], v_load(low + at)), v_load(high + at));
            const vec gap = x[c] - nearest;
            sum = v_fma(gap, gap, sum);
        }
        s[v] = sum;
    }
}

/* Squared distances s from a query to the points of a leaf [n_dim, ETX_LEAF],
 * by the chain of fused multiply-adds of op/graph.h. The query's coordinates
 * are x[k * ETX_LEAF], or q[k] in every lane when q is not NULL. Returns the
 * lanes with s <= bound; s is complete for these only. n_dim is a constant
 * where it can be. */
ETX_INLINE uint32_t leaf_distances(vec s[ETX_LEAF_VECTORS], const float *x,
    const vec *q, const float *leaf, const int32_t n_dim, float bound)
{
    for (int32_t v = 0; v < ETX_LEAF_VECTORS; v++) {
        const float *y = leaf + v * VEC_WIDTH;
        vec d = (q != NULL ? q[0] : v_set1(x[0])) - v_load(y);
        vec sum = d * d;
        uint32_t some = 1;
        for (int32_t k = 1; k < n_dim && some != 0; k++) {
            d = (q != NULL ? q[k] : v_set1(x[k * ETX_LEAF])) -
                v_load(y + k * ETX_LEAF);
            sum = v_fma(d, d, sum);
            if (k % ETX_CHECK_DIMS == 0)
                some = v_bits(v_less_equal(sum, v_set1(bound)));
        }
        s[v] = sum;
    }
    return leaf_within(s, bound);
}

#endif
