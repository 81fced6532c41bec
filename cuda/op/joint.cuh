/* cuda/op/joint.cuh -- how smoothly two chains of hits join.
 *
 * The formulas are those of op/ref/joint.c, for the same bits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_JOINT_CUH
#define ETX_CUDA_OP_JOINT_CUH

#include "cuda/backend/launch.cuh"

extern "C" {
#include "op/ref/joint.h"
}

#include <math.h>

#define ETX_JOINT_HITS 3 /* on either side of the edge */

struct etx_joint_step {
    double x, y, z, transverse; /* mm */
};

__device__ static inline struct etx_joint_step etx_joint_step_between(
    const float *a, const float *b)
{
    struct etx_joint_step step = {(double)b[0] - (double)a[0],
        (double)b[1] - (double)a[1], (double)b[2] - (double)a[2], 0.0};

    step.transverse = sqrt(step.x * step.x + step.y * step.y);
    return step;
}

/* Signed, 1/m; 0 when two of the three hits are one point. */
__device__ static inline double etx_joint_curvature(
    const struct etx_joint_step &a, const struct etx_joint_step &b)
{
    const double x = a.x + b.x;
    const double y = a.y + b.y;
    const double product = a.transverse * b.transverse * sqrt(x * x + y * y);

    return product > 0.0 ? 1000.0 * 2.0 * (a.x * b.y - a.y * b.x) / product
                         : 0.0;
}

/* Squared sine of the change of polar angle, 1 from a right angle on. */
__device__ static inline double etx_joint_polar_change(
    const struct etx_joint_step &a, const struct etx_joint_step &b)
{
    const double along = a.transverse * b.transverse + a.z * b.z;
    const double across = a.transverse * b.z - a.z * b.transverse;

    if (across == 0.0)
        return along < 0.0 ? 1.0 : 0.0;
    return along > 0.0 ? across * across / (across * across + along * along)
                       : 1.0;
}

/* hits [2 * ETX_JOINT_HITS] around the edge, from inside out; returns how many,
 * and which of them is the edge's tail. */
__device__ static inline int etx_joint_hits_around(int32_t *hits, int *at_tail,
    const struct etx_chains &chains, int32_t tail, int32_t head)
{
    int32_t before[ETX_JOINT_HITS];
    int n_before = 0;
    int n = 0;

    for (int32_t hit = tail; hit >= 0 && n_before < ETX_JOINT_HITS;
         hit = chains.previous[hit])
        before[n_before++] = hit;
    while (n_before > 0)
        hits[n++] = before[--n_before];
    *at_tail = n - 1;
    for (int32_t hit = head; hit >= 0 && n < *at_tail + 1 + ETX_JOINT_HITS;
         hit = chains.next[hit])
        hits[n++] = hit;
    return n;
}

__device__ static inline double etx_joint_share(
    double value_squared, double limit)
{
    return limit > 0.0 ? value_squared / (limit * limit) : 0.0;
}

/* As etx_joint_roughness. */
__device__ static inline float etx_joint_roughness_of(
    const struct etx_chains &chains, int32_t tail, int32_t head,
    float max_curvature_change, float max_polar_change)
{
    int32_t hits[2 * ETX_JOINT_HITS];
    struct etx_joint_step step[2 * ETX_JOINT_HITS - 1];
    int at_tail;
    const int n_steps =
        etx_joint_hits_around(hits, &at_tail, chains, tail, head) - 1;
    double low = INFINITY;
    double high = -INFINITY;
    double polar = 0.0;

    for (int k = 0; k < n_steps; k++)
        step[k] = etx_joint_step_between(chains.position + 3 * (int64_t)hits[k],
            chains.position + 3 * (int64_t)hits[k + 1]);
    for (int k = 0; k + 1 < n_steps; k++) {
        const double c = etx_joint_curvature(step[k], step[k + 1]);

        low = c < low ? c : low;
        high = c > high ? c : high;
    }
    if (at_tail > 0)
        polar = etx_joint_polar_change(step[at_tail - 1], step[at_tail]);
    if (at_tail + 1 < n_steps)
        polar = fmax(
            polar, etx_joint_polar_change(step[at_tail], step[at_tail + 1]));
    return (
        float)(etx_joint_share(n_steps > 1 ? (high - low) * (high - low) : 0.0,
                   (double)max_curvature_change) +
               etx_joint_share(polar, (double)max_polar_change));
}

#endif
