/* op/ref/helix.c -- the helix through the beam line and both hits of an edge.
 *
 * Inversion in the circle of radius |a| |b| about the origin turns the circle
 * through the origin and the hits a, b into the line through b |a|^2 and
 * a |b|^2, so that the tangent t at the origin is a |b|^2 - b |a|^2 and no
 * centre is needed. A hit at the angle alpha from t lies on the arc that turns
 * by 2 alpha.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/helix.h"

#include <math.h>

static const double min_arc = 1e-6;       /* mm */
static const double millimetres = 1000.0; /* in a metre */

static double square(const float *hit)
{
    const double x = (double)hit[0];
    const double y = (double)hit[1];

    return x * x + y * y;
}

static double away_from_zero(double arc)
{
    if (fabs(arc) >= min_arc)
        return arc;
    return arc < 0.0 ? -min_arc : min_arc;
}

/* The direction of t; without one, that of the outer hit b. */
static double direction(
    const float *a, const float *b, double a_square, double b_square)
{
    const double x = (double)a[0] * b_square - (double)b[0] * a_square;
    const double y = (double)a[1] * b_square - (double)b[1] * a_square;

    if (x == 0.0 && y == 0.0)
        return atan2((double)b[1], (double)b[0]);
    return atan2(y, x);
}

/* From the inner hit to the outer. */
static struct etx_helix helix_outward(const float *a, const float *b)
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
    struct etx_helix helix = {.phi0 = direction(a, b, a_square, b_square)};
    double arc_a = sqrt(a_square);
    double arc_b = sqrt(b_square);

    if (cross != 0.0 && chords > 0.0) {
        helix.curvature = 2.0 * cross / chords;
        arc_a = 2.0 * atan2(cross, b_square - dot) / helix.curvature;
        arc_b = 2.0 * atan2(cross, dot - a_square) / helix.curvature;
    }
    helix.cot_theta =
        ((double)b[2] - (double)a[2]) / away_from_zero(arc_b - arc_a);
    helix.z0 = (double)a[2] - arc_a * helix.cot_theta;
    return helix;
}

struct etx_helix etx_helix_of(const float *s, const float *d)
{
    return square(s) <= square(d) ? helix_outward(s, d) : helix_outward(d, s);
}

double etx_helix_feature(
    const float *s, const float *d, enum etx_edge_feature feature)
{
    const struct etx_helix helix = etx_helix_of(s, d);

    if (feature == ETX_EDGE_HELIX_CURVATURE)
        return millimetres * helix.curvature;
    if (feature == ETX_EDGE_HELIX_PHI0)
        return helix.phi0;
    if (feature == ETX_EDGE_ASINH_HELIX_Z0)
        return asinh(helix.z0);
    return asinh(helix.cot_theta);
}
