/* stage/helix/track_helix.h -- a helix at one end of a track.
 *
 * A charged particle in a solenoid moves on a helix: a circle in the transverse
 * plane, and z grows linearly with the path along that circle. The helix is
 * exact at its end hit and good for a few layers beyond it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_TRACK_HELIX_H
#define ETX_STAGE_HELIX_TRACK_HELIX_H

#include <stdbool.h>
#include <stdint.h>

struct etx_track_helix {
    double x, y, z;              /* mm, the hit at the end of the track */
    double tangent_x, tangent_y; /* unit vector, leads away from the track */
    double curvature;            /* 1/mm, signed: positive turns left */
    double slope;                /* dz/ds; s is the transverse path length */
    double z_middle;             /* mm, where the curvature was measured */
};

/* The helix through three hits [3] at one of them, point[at], towards the
 * last; false when two of them are one point in the transverse plane, or half
 * the turn between two has a larger sine than max_sine, at most 1. */
bool etx_track_helix_at(struct etx_track_helix *out,
    const float *const point[3], int32_t at, double max_sine);
/* The same at the last of them, for turns that arc.h follows. */
bool etx_track_helix_through(struct etx_track_helix *out, const float *a,
    const float *b, const float *c);

/* Its curvature alone; INFINITY: two of them are one point. */
double etx_curvature_through(const float *a, const float *b, const float *c);

/* Replace tangent and curvature by the ones of the circle through the hit far,
 * the end and the beam line; false when that direction differs by more than 26
 * degrees: the track does not come from the beam line. */
bool etx_track_helix_towards_beam(
    struct etx_track_helix *helix, const float *far);

/* An angle in -pi .. pi. */
double etx_wrap_angle(double angle);

#endif
