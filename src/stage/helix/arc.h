/* stage/helix/arc.h -- where a helix is, without trigonometry.
 *
 * A point of the circle at chord length L from the helix's own point lies at
 * L (c t + h n), with t the tangent, n its normal, h = k L / 2 and
 * c = sqrt(1 - h^2), so a radius is reached at the root of a quadratic equation
 * in L^2. Angles of less than about a radian are series of h. There are no
 * branches, so that loops over many helices become vector code; what is
 * returned with false is no point.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_ARC_H
#define ETX_STAGE_HELIX_ARC_H

#include "stage/helix/track_helix.h"

#include <math.h>

#define ETX_ARC_MAX_SINE 0.9 /* of half the angle of an arc */

/* A point of a helix, mm, and the path to it in the transverse plane. */
struct etx_arc_point {
    double x, y, s;
};

/* asin(h) / h of h^2: an arc by its chord. */
static inline double etx_arc_by_chord(double h2)
{
    return 1.0 +
           h2 * (1.0 / 6.0 + h2 * (3.0 / 40.0 + h2 * (15.0 / 336.0 +
                                                         h2 * 105.0 / 3456.0)));
}

static inline void etx_arc_at(struct etx_arc_point *out,
    const struct etx_track_helix *helix, double chord, double sine)
{
    const double cosine = sqrt(1.0 - sine * sine);

    out->x = helix->x +
             chord * (cosine * helix->tangent_x - sine * helix->tangent_y);
    out->y = helix->y +
             chord * (cosine * helix->tangent_y + sine * helix->tangent_x);
}

/* The nearer crossing of a cylinder about the beam; false: there is none. */
static inline bool etx_arc_to_radius(struct etx_arc_point *out,
    const struct etx_track_helix *helix, double curvature, double radius)
{
    const double along =
        helix->x * helix->tangent_x + helix->y * helix->tangent_y;
    const double across =
        helix->y * helix->tangent_x - helix->x * helix->tangent_y;
    const double gap =
        radius * radius - helix->x * helix->x - helix->y * helix->y;
    const double q = 1.0 + curvature * across;
    const double root =
        along * along + q * gap - 0.25 * curvature * curvature * gap * gap;

    const double square =
        q * gap + 2.0 * along * along + 2.0 * fabs(along) * sqrt(root);
    const double chord = (along < 0.0 ? -gap : gap) / sqrt(square);
    const double sine = 0.5 * curvature * chord;
    etx_arc_at(out, helix, chord, sine);
    out->s = chord * etx_arc_by_chord(sine * sine);
    return (root > 0.0) & (square > 0.0) & (fabs(sine) <= ETX_ARC_MAX_SINE);
}

/* The point at z; false: it is more than about two radians away. */
static inline bool etx_arc_to_z(struct etx_arc_point *out,
    const struct etx_track_helix *helix, double curvature, double z)
{
    out->s = (z - helix->z) / helix->slope;
    const double half = 0.5 * curvature * out->s;
    const double square = half * half;
    const double by_arc =
        1.0 - square * (1.0 / 6.0 - square * (1.0 / 120.0 - square / 5040.0));
    etx_arc_at(out, helix, out->s * by_arc, half * by_arc);
    return (fabs(helix->slope) >= 1e-4) & (square <= 1.25);
}

/* atan2 within 3e-4 rad: the same function of hits and of predictions. */
static inline float etx_arc_azimuth(float y, float x)
{
    const float low = fabsf(x) < fabsf(y) ? fabsf(x) : fabsf(y);
    const float high = fabsf(x) < fabsf(y) ? fabsf(y) : fabsf(x);
    const float ratio = high > 0.0f ? low / high : 0.0f;
    const float square = ratio * ratio;
    float angle =
        ratio +
        ratio * square *
            (-0.327622764f + square * (0.15931422f - square * 0.0464964749f));

    if (fabsf(y) > fabsf(x))
        angle = 1.57079633f - angle;
    if (x < 0.0f)
        angle = 3.14159265f - angle;
    return y < 0.0f ? -angle : angle;
}

#endif
