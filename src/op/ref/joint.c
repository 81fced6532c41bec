/* op/ref/joint.c -- how smoothly two chains of hits join.
 *
 * A charged particle in a solenoid moves on a helix: a circle in the transverse
 * plane, and a constant polar angle. Hits are taken as points, so limits have
 * to leave room for their resolution and for scattering.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/joint.h"

#include <math.h>

#define NONE     (-1)
#define MM_IN_M  1000.0
#define MAX_HITS 6 /* three before the edge, three after it */

/* Steps between hits that follow each other. */
struct step {
    double x, y, z, transverse; /* mm */
};

static struct step step_between(const float *a, const float *b)
{
    struct step step = {.x = (double)b[0] - (double)a[0],
        .y = (double)b[1] - (double)a[1],
        .z = (double)b[2] - (double)a[2]};

    step.transverse = sqrt(step.x * step.x + step.y * step.y);
    return step;
}

/* Signed, 1/m, of the circle through the three hits of two steps; 0 when two
 * of them are one point in the transverse plane. */
static double curvature(const struct step *a, const struct step *b)
{
    const double x = a->x + b->x;
    const double y = a->y + b->y;
    const double product = a->transverse * b->transverse * sqrt(x * x + y * y);

    return product > 0.0 ? MM_IN_M * 2.0 * (a->x * b->y - a->y * b->x) / product
                         : 0.0;
}

/* Squared sine of the change of polar angle, 1 from a right angle on. */
static double polar_change(const struct step *a, const struct step *b)
{
    const double along = a->transverse * b->transverse + a->z * b->z;
    const double across = a->transverse * b->z - a->z * b->transverse;

    if (across == 0.0)
        return along < 0.0 ? 1.0 : 0.0;
    return along > 0.0 ? across * across / (across * across + along * along)
                       : 1.0;
}

/* Up to three hits before the edge, and after it, from inside out; returns how
 * many, and which of them is the edge's tail. */
static int hits_around(int32_t *hits, int *at_tail,
    const struct etx_chains *chains, int32_t tail, int32_t head)
{
    int n = 0;
    int32_t before[MAX_HITS / 2];
    int n_before = 0;

    for (int32_t hit = tail; hit != NONE && n_before < MAX_HITS / 2;
         hit = chains->previous[hit])
        before[n_before++] = hit;
    while (n_before > 0)
        hits[n++] = before[--n_before];
    *at_tail = n - 1;
    for (int32_t hit = head; hit != NONE && n < *at_tail + 1 + MAX_HITS / 2;
         hit = chains->next[hit])
        hits[n++] = hit;
    return n;
}

static double squared_share(double value_squared, double limit)
{
    return limit > 0.0 ? value_squared / (limit * limit) : 0.0;
}

float etx_joint_roughness(const struct etx_chains *chains, int32_t tail,
    int32_t head, float max_curvature_change, float max_polar_change)
{
    int32_t hits[MAX_HITS];
    struct step step[MAX_HITS - 1];
    int at_tail;
    const int n_hits = hits_around(hits, &at_tail, chains, tail, head);
    const int n_steps = n_hits - 1;
    double low = INFINITY;
    double high = -INFINITY;
    double polar = 0.0;

    for (int k = 0; k < n_steps; k++)
        step[k] = step_between(chains->position + 3 * (int64_t)hits[k],
            chains->position + 3 * (int64_t)hits[k + 1]);
    for (int k = 0; k + 1 < n_steps; k++) {
        const double c = curvature(&step[k], &step[k + 1]);

        low = c < low ? c : low;
        high = c > high ? c : high;
    }
    if (at_tail > 0)
        polar = polar_change(&step[at_tail - 1], &step[at_tail]);
    if (at_tail + 1 < n_steps)
        polar = fmax(polar, polar_change(&step[at_tail], &step[at_tail + 1]));
    return (
        float)(squared_share(n_steps > 1 ? (high - low) * (high - low) : 0.0,
                   (double)max_curvature_change) +
               squared_share(polar, (double)max_polar_change));
}
