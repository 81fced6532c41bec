/* op/simd/pick.h -- the edges above a cut, a vector of scores at a time.
 *
 * Those that pass are compacted without a branch, which would be mispredicted
 * often. Inlined where it is used, once per instruction set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_PICK_H
#define ETX_OP_SIMD_PICK_H

#include "op/simd/vector.h"

#define ETX_PICK_BLOCK 4096 /* edges picked at a time, whole vectors */

/* Where the block that begins here ends. */
static inline int64_t etx_pick_end(int64_t begin, int64_t n_edges)
{
    return begin + ETX_PICK_BLOCK < n_edges ? begin + ETX_PICK_BLOCK : n_edges;
}

/* picked = the edges begin .. end - 1 with score > cut, their number returned;
 * all of them where score is NULL. picked [end - begin]. */
static inline int64_t etx_pick(
    int32_t *picked, const float *score, float cut, int64_t begin, int64_t end)
{
    int64_t n = 0;
    int64_t e = begin;

    for (; score != NULL && e + VEC_WIDTH <= end; e += VEC_WIDTH)
        n += v_pick(picked + n, (int32_t)e,
            v_bits(v_less(v_set1(cut), v_load(score + e))));
    for (; e < end; e++) {
        picked[n] = (int32_t)e;
        n += score == NULL || score[e] > cut;
    }
    return n;
}

#endif
