/* stage/helix/track_helix.c -- a helix at one end of a track.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/helix/track_helix.h"

#include "base/constants.h"
#include "stage/helix/layer_table.h"

#include <math.h>

#define N_POINTS   3    /* of the helix at an end */
#define MIN_CHORD  1e-3 /* mm */
#define STRAIGHT   1e-7 /* 1/mm: an arc is as long as its chord */
#define MIN_COSINE 0.9  /* between a helix and its direction to the beam */

/* A chord of a circle in the transverse plane, and half the arc's angle. */
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

bool etx_track_helix_through(
    struct etx_track_helix *out, const float *a, const float *b, const float *c)
{
    const struct chord first =
        chord_between((double)a[0], (double)a[1], (double)b[0], (double)b[1]);
    const struct chord last =
        chord_between((double)b[0], (double)b[1], (double)c[0], (double)c[1]);
    double curvature = 0.0;

    if (!find_curvature(&curvature, &first, &last))
        return false;
    /* Half the angle of an arc has the sine chord * curvature / 2. */
    const double sine = 0.5 * last.length * curvature;
    if (fabs(sine) >= 1.0 || fabs(0.5 * first.length * curvature) >= 1.0)
        return false;
    const double arc =
        fabs(curvature) > STRAIGHT ? 2.0 * asin(sine) / curvature : last.length;
    turn_chord(&out->tangent_x, &out->tangent_y, &last, sine);
    out->x = (double)c[0];
    out->y = (double)c[1];
    out->z = (double)c[2];
    out->curvature = curvature;
    out->slope = ((double)c[2] - (double)b[2]) / arc;
    out->z_middle = 0.5 * ((double)a[2] + (double)c[2]);
    return true;
}

double etx_curvature_through(const float *a, const float *b, const float *c)
{
    const struct chord first =
        chord_between((double)a[0], (double)a[1], (double)b[0], (double)b[1]);
    const struct chord last =
        chord_between((double)b[0], (double)b[1], (double)c[0], (double)c[1]);
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

bool etx_completion_helix(struct etx_track_helix *out, int32_t kind,
    const float *position, const int32_t *layer, const int32_t *hit,
    int32_t n_hits)
{
    const float *point[N_POINTS]; /* from the end on */
    int32_t last = -1;
    int32_t n = 0;

    for (int32_t k = n_hits - 1; k >= 0 && n < N_POINTS; k--) {
        if (layer[hit[k]] < 0)
            return false;
        if (layer[hit[k]] == last)
            continue;
        last = layer[hit[k]];
        point[n++] = position + 3 * (int64_t)hit[k];
    }
    if (n < N_POINTS ||
        !etx_track_helix_through(out, point[2], point[1], point[0]))
        return false;
    return kind == ETX_HELIX_FREE ||
           etx_track_helix_towards_beam(out, point[2]);
}
