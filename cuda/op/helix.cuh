/* cuda/op/helix.cuh -- the helix through the beam line and both hits.
 *
 * The arithmetic is that of op/ref/helix.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_HELIX_CUH
#define ETX_CUDA_OP_HELIX_CUH

#include <stdint.h>

/* Leaving the beam line; see op.h. */
struct etx_helix {
    double curvature; /* 1 / mm, positive counter-clockwise */
    double phi0;      /* rad, in [-pi, pi] */
    double z0;        /* mm */
    double cot_theta; /* dz / d(arc in the transverse plane) */
};

#define MIN_ARC     1e-6   /* mm */
#define MILLIMETRES 1000.0 /* in a metre */

__device__ static double square(const float *hit)
{
    const double x = (double)hit[0];
    const double y = (double)hit[1];

    return x * x + y * y;
}

__device__ static double arc_away_from_zero(double arc)
{
    if (fabs(arc) >= MIN_ARC)
        return arc;
    return arc < 0.0 ? -MIN_ARC : MIN_ARC;
}

/* The direction of t; without one, that of the outer hit b. */
__device__ static double direction(
    const float *a, const float *b, double a_square, double b_square)
{
    const double x = (double)a[0] * b_square - (double)b[0] * a_square;
    const double y = (double)a[1] * b_square - (double)b[1] * a_square;

    if (x == 0.0 && y == 0.0)
        return atan2((double)b[1], (double)b[0]);
    return atan2(y, x);
}

/* From the inner hit to the outer. */
__device__ static struct etx_helix helix_outward(const float *a, const float *b)
{
    const double a_square = square(a);
    const double b_square = square(b);
    const double cross =
        (double)a[0] * (double)b[1] - (double)a[1] * (double)b[0];
    const double dot =
        (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1];
    const double dx = (double)b[0] - (double)a[0];
    const double dy = (double)b[1] - (double)a[1];
    const double chords =
        sqrt(a_square) * sqrt(b_square) * sqrt(dx * dx + dy * dy);
    struct etx_helix helix = {
        0.0, direction(a, b, a_square, b_square), 0.0, 0.0};
    double arc_a = sqrt(a_square);
    double arc_b = sqrt(b_square);

    if (cross != 0.0 && chords > 0.0) {
        helix.curvature = 2.0 * cross / chords;
        arc_a = 2.0 * atan2(cross, b_square - dot) / helix.curvature;
        arc_b = 2.0 * atan2(cross, dot - a_square) / helix.curvature;
    }
    helix.cot_theta =
        ((double)b[2] - (double)a[2]) / arc_away_from_zero(arc_b - arc_a);
    helix.z0 = (double)a[2] - arc_a * helix.cot_theta;
    return helix;
}

__device__ static struct etx_helix etx_helix_of(const float *s, const float *d)
{
    return square(s) <= square(d) ? helix_outward(s, d) : helix_outward(d, s);
}

__device__ static double etx_helix_feature(
    const float *s, const float *d, int32_t feature)
{
    const struct etx_helix helix = etx_helix_of(s, d);

    if (feature == ETX_EDGE_HELIX_CURVATURE)
        return MILLIMETRES * helix.curvature;
    if (feature == ETX_EDGE_HELIX_PHI0)
        return helix.phi0;
    if (feature == ETX_EDGE_ASINH_HELIX_Z0)
        return asinh(helix.z0);
    return asinh(helix.cot_theta);
}

#endif
