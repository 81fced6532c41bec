/* op/shared/kink.h -- how much the link of two chains of hits is kinked.
 *
 * A charged particle in a solenoid moves on a helix: a circle in the transverse
 * plane, and a constant polar angle. Hits are taken as points, so limits have
 * to allow for their resolution and for scattering.
 *
 *     chain   o--o--o           o--o--o   chain
 *                    \         /
 *                  tail ---- head
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_KINK_H
#define ETX_OP_SHARED_KINK_H

#include "op/shared/host_device.h"

#include <math.h>
#include <stdint.h>

#define ETX_MAX_KINK  1.0f /* of a link that is accepted */
#define ETX_LINK_HITS 3    /* on either side of a link that its kink sees */

/* Hits in chains: who follows whom, -1 at the ends. */
struct etx_chains {
    const float *position;    /* [n_nodes, 3] mm */
    int32_t *next, *previous; /* [n_nodes] */
};

/* Step between hits that follow each other. */
struct etx_link_step {
    double x, y, z, transverse; /* mm */
};

ETX_HOST_DEVICE struct etx_link_step etx_link_step_between(
    const float *a, const float *b)
{
    struct etx_link_step step = {(double)b[0] - (double)a[0],
        (double)b[1] - (double)a[1], (double)b[2] - (double)a[2], 0.0};

    step.transverse = sqrt(step.x * step.x + step.y * step.y);
    return step;
}

/* Signed, 1/m, of the circle through the three hits of two steps; 0 when two
 * of them are one point in the transverse plane. */
ETX_HOST_DEVICE double etx_link_curvature(
    const struct etx_link_step *a, const struct etx_link_step *b)
{
    const double x = a->x + b->x;
    const double y = a->y + b->y;
    const double product = a->transverse * b->transverse * sqrt(x * x + y * y);

    return product > 0.0 ? 1000.0 * 2.0 * (a->x * b->y - a->y * b->x) / product
                         : 0.0;
}

/* Squared sine of the change of polar angle, 1 from a right angle on. */
ETX_HOST_DEVICE double etx_link_polar_change(
    const struct etx_link_step *a, const struct etx_link_step *b)
{
    const double along = a->transverse * b->transverse + a->z * b->z;
    const double across = a->transverse * b->z - a->z * b->transverse;

    if (across == 0.0)
        return along < 0.0 ? 1.0 : 0.0;
    return along > 0.0 ? across * across / (across * across + along * along)
                       : 1.0;
}

/* hits [2 * ETX_LINK_HITS] in their order along the chains; returns how many,
 * and which of them is the link's tail. */
ETX_HOST_DEVICE int etx_link_hits(int32_t *hits, int *at_tail,
    const struct etx_chains *chains, int32_t tail, int32_t head)
{
    int32_t before[ETX_LINK_HITS];
    int n_before = 0;
    int n = 0;

    for (int32_t hit = tail; hit >= 0 && n_before < ETX_LINK_HITS;
         hit = chains->previous[hit])
        before[n_before++] = hit;
    while (n_before > 0)
        hits[n++] = before[--n_before];
    *at_tail = n - 1;
    for (int32_t hit = head; hit >= 0 && n < *at_tail + 1 + ETX_LINK_HITS;
         hit = chains->next[hit])
        hits[n++] = hit;
    return n;
}

/* The spread, 1/m, of the curvatures of neighbouring steps. */
ETX_HOST_DEVICE double etx_link_curvature_spread(
    const struct etx_link_step *step, int n_steps)
{
    double low = INFINITY;
    double high = -INFINITY;

    if (n_steps < 2)
        return 0.0;
    for (int k = 0; k + 1 < n_steps; k++) {
        const double c = etx_link_curvature(&step[k], &step[k + 1]);

        low = c < low ? c : low;
        high = c > high ? c : high;
    }
    return high - low;
}

ETX_HOST_DEVICE double etx_over_square(double value, double limit)
{
    return limit > 0.0 ? value / (limit * limit) : 0.0;
}

/* Kink of the link from the last hit of one chain to the first of another:
 * (dc / max_curvature_change)^2 + (dp / max_polar_change)^2. dc, 1/m, is the
 * spread of the signed curvatures in the transverse plane of the up to four
 * circles through three neighbours of the last three hits of one chain and the
 * first three of the other; dp the sine of the larger change of polar angle
 * between the link and the steps before and after it, 1 from a right angle on.
 * A limit of 0 leaves its term out; missing neighbours change nothing. */
ETX_HOST_DEVICE float etx_link_kink(const struct etx_chains *chains,
    int32_t tail, int32_t head, float max_curvature_change,
    float max_polar_change)
{
    int32_t hits[2 * ETX_LINK_HITS];
    struct etx_link_step step[2 * ETX_LINK_HITS - 1];
    int at_tail;
    const int n_steps = etx_link_hits(hits, &at_tail, chains, tail, head) - 1;
    double polar = 0.0;

    for (int k = 0; k < n_steps; k++)
        step[k] = etx_link_step_between(chains->position + 3 * (int64_t)hits[k],
            chains->position + 3 * (int64_t)hits[k + 1]);
    const double spread = etx_link_curvature_spread(step, n_steps);

    if (at_tail > 0)
        polar = etx_link_polar_change(&step[at_tail - 1], &step[at_tail]);
    if (at_tail + 1 < n_steps)
        polar = fmax(
            polar, etx_link_polar_change(&step[at_tail], &step[at_tail + 1]));
    return (
        float)(etx_over_square(spread * spread, (double)max_curvature_change) +
               etx_over_square(polar, (double)max_polar_change));
}

#endif
