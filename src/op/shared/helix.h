/* op/shared/helix.h -- the helix through the beam line and both hits of an
 * edge.
 *
 * Inversion in the circle of radius |a| |b| about the origin turns the circle
 * through the origin and the hits a, b into the line through b |a|^2 and
 * a |b|^2. The tangent t at the origin is therefore a |b|^2 - b |a|^2, and the
 * centre of the circle is not needed. A hit at the angle alpha from t lies on
 * an arc that turns by 2 alpha.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_HELIX_H
#define ETX_OP_SHARED_HELIX_H

#include "op/shared/host_device.h"

#include <math.h>

#define ETX_HELIX_MIN_ARC 1e-6 /* mm */

/* Leaving the beam line; see op/graph.h. */
struct etx_helix {
    double curvature; /* 1 / mm, positive counter-clockwise */
    double phi0;      /* rad, in [-pi, pi] */
    double z0;        /* mm */
    double cot_theta; /* dz / d(arc in the transverse plane) */
};

/* value, but at least min away from zero. */
ETX_HOST_DEVICE double etx_away_from_zero(double value, double min)
{
    if (fabs(value) >= min)
        return value;
    return value < 0.0 ? -min : min;
}

/* x^2 + y^2 of a hit. */
ETX_HOST_DEVICE double etx_transverse_square(const float *hit)
{
    const double x = (double)hit[0];
    const double y = (double)hit[1];

    return x * x + y * y;
}

/* z component of the cross product in the transverse plane. */
ETX_HOST_DEVICE double etx_transverse_cross(const float *a, const float *b)
{
    return (double)a[0] * (double)b[1] - (double)a[1] * (double)b[0];
}

ETX_HOST_DEVICE double etx_transverse_dot(const float *a, const float *b)
{
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1];
}

/* The direction of t; without one, that of the outer hit b. */
ETX_HOST_DEVICE double etx_helix_direction(
    const float *a, const float *b, double a_square, double b_square)
{
    const double x = (double)a[0] * b_square - (double)b[0] * a_square;
    const double y = (double)a[1] * b_square - (double)b[1] * a_square;

    if (x == 0.0 && y == 0.0)
        return atan2((double)b[1], (double)b[0]);
    return atan2(y, x);
}

/* From the inner hit to the outer. */
ETX_HOST_DEVICE struct etx_helix etx_helix_outward(
    const float *a, const float *b)
{
    const double a_square = etx_transverse_square(a);
    const double b_square = etx_transverse_square(b);
    const double cross = etx_transverse_cross(a, b);
    const double dot = etx_transverse_dot(a, b);
    const double dx = (double)b[0] - (double)a[0];
    const double dy = (double)b[1] - (double)a[1];
    const double chords =
        sqrt(a_square) * sqrt(b_square) * sqrt(dx * dx + dy * dy);
    struct etx_helix helix = {
        0.0, etx_helix_direction(a, b, a_square, b_square), 0.0, 0.0};
    double arc_a = sqrt(a_square);
    double arc_b = sqrt(b_square);

    if (cross != 0.0 && chords > 0.0) {
        helix.curvature = 2.0 * cross / chords;
        arc_a = 2.0 * atan2(cross, b_square - dot) / helix.curvature;
        arc_b = 2.0 * atan2(cross, dot - a_square) / helix.curvature;
    }
    helix.cot_theta = ((double)b[2] - (double)a[2]) /
                      etx_away_from_zero(arc_b - arc_a, ETX_HELIX_MIN_ARC);
    helix.z0 = (double)a[2] - arc_a * helix.cot_theta;
    return helix;
}

/* s and d [3] in mm, in any order. */
ETX_HOST_DEVICE struct etx_helix etx_helix_of(const float *s, const float *d)
{
    return etx_transverse_square(s) <= etx_transverse_square(d)
               ? etx_helix_outward(s, d)
               : etx_helix_outward(d, s);
}

#endif
