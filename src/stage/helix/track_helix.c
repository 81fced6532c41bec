/* stage/helix/track_helix.c -- a helix at one end of a track.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/helix/track_helix.h"

#include "base/constants.h"
#include "stage/helix/arc.h"

#include <math.h>

#define MIN_CHORD  1e-3 /* mm */
#define STRAIGHT   1e-7 /* 1/mm: an arc is as long as its chord */
#define MIN_COSINE 0.9  /* between a helix and its direction to the beam */

/* A chord of a circle in the transverse plane. */
struct chord {
    double x, y, length;
};

static struct chord chord_between(
    double from_x, double from_y, double to_x, double to_y)
{
    struct chord chord = {.x = to_x - from_x, .y = to_y - from_y};

    chord.length = sqrt(chord.x * chord.x + chord.y * chord.y);
    return chord;
}

static struct chord chord_of(const float *from, const float *to)
{
    return chord_between(
        (double)from[0], (double)from[1], (double)to[0], (double)to[1]);
}

/* Curvature of the circle through the ends of two chords that follow each
 * other (Menger); false when a side of their triangle vanishes. */
static bool find_curvature(
    double *out, const struct chord *a, const struct chord *b)
{
    const double x = a->x + b->x;
    const double y = a->y + b->y;
    const double third = sqrt(x * x + y * y);

    if (a->length < MIN_CHORD || b->length < MIN_CHORD || third < MIN_CHORD)
        return false;
    *out = 2.0 * (a->x * b->y - a->y * b->x) / (a->length * b->length * third);
    return true;
}

/* The unit vector of chord, turned by the angle with this sine. */
static void turn_chord(
    double *x, double *y, const struct chord *chord, double sine)
{
    const double cosine = sqrt(1.0 - sine * sine);

    *x = (chord->x * cosine - chord->y * sine) / chord->length;
    *y = (chord->y * cosine + chord->x * sine) / chord->length;
}

/* The length of its arc: by the series of arc.h where that follows the arc, so
 * that the errors of both cancel. */
static double arc_of(
    const struct chord *chord, double curvature, double sine, double max_sine)
{
    if (max_sine <= ETX_ARC_MAX_SINE)
        return chord->length * etx_arc_by_chord(sine * sine);
    return fabs(curvature) > STRAIGHT ? 2.0 * asin(sine) / curvature
                                      : chord->length;
}

bool etx_track_helix_at(struct etx_track_helix *out,
    const float *const point[3], int32_t at, double max_sine)
{
    const struct chord chord[] = {
        chord_of(point[0], point[1]), chord_of(point[1], point[2])};
    const int32_t last = at == 2; /* the chord that has the point */
    double curvature = 0.0;

    if (!find_curvature(&curvature, &chord[0], &chord[1]))
        return false;
    /* Half the angle of an arc has the sine chord * curvature / 2. */
    const double sine = 0.5 * chord[last].length * curvature;
    if (!(fabs(sine) <= max_sine) ||
        !(fabs(0.5 * chord[1 - last].length * curvature) <= max_sine))
        return false;
    const double arc = arc_of(&chord[last], curvature, sine, max_sine);
    turn_chord(
        &out->tangent_x, &out->tangent_y, &chord[last], at == 0 ? -sine : sine);
    out->x = (double)point[at][0];
    out->y = (double)point[at][1];
    out->z = (double)point[at][2];
    out->curvature = curvature;
    out->slope = ((double)point[last + 1][2] - (double)point[last][2]) / arc;
    out->z_middle = 0.5 * ((double)point[0][2] + (double)point[2][2]);
    return true;
}

bool etx_track_helix_through(
    struct etx_track_helix *out, const float *a, const float *b, const float *c)
{
    return etx_track_helix_at(
        out, (const float *const[]){a, b, c}, 2, ETX_ARC_MAX_SINE);
}

double etx_curvature_through(const float *a, const float *b, const float *c)
{
    const struct chord first = chord_of(a, b);
    const struct chord last = chord_of(b, c);
    double curvature = INFINITY;

    (void)find_curvature(&curvature, &first, &last);
    return curvature;
}

bool etx_track_helix_towards_beam(
    struct etx_track_helix *helix, const float *far)
{
    const struct chord first =
        chord_between((double)far[0], (double)far[1], helix->x, helix->y);
    const struct chord last = chord_between(helix->x, helix->y, 0.0, 0.0);
    double curvature = 0.0;
    double x, y;

    if (!find_curvature(&curvature, &first, &last))
        return false;
    const double sine = 0.5 * last.length * curvature;
    if (fabs(sine) >= 1.0)
        return false;
    /* At the near end of the chord: turned the other way. */
    turn_chord(&x, &y, &last, -sine);
    if (x * helix->tangent_x + y * helix->tangent_y < MIN_COSINE)
        return false;
    helix->tangent_x = x;
    helix->tangent_y = y;
    helix->curvature = curvature;
    return true;
}

double etx_wrap_angle(double angle)
{
    while (angle > ETX_PI)
        angle -= 2.0 * ETX_PI;
    while (angle < -ETX_PI)
        angle += 2.0 * ETX_PI;
    return angle;
}
