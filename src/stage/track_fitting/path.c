/* stage/track_fitting/path.c -- the path of a charged particle in a solenoid.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/path.h"

#include "stage/track_building/track_helix.h"

#include <math.h>
#include <string.h>

#define CURVATURE   -0.299792458e-3 /* 1/mm per T and 1/GeV; positive is left */
#define MAX_ARC     100.0           /* mm of constant field */
#define MAX_ARCS    200
#define REACHED     1e-7 /* mm */
#define PARALLEL    1e-6 /* cosine between a path and a plane that it misses */
#define SMALL_ANGLE 1e-4
#define STRAIGHT    1e-9 /* 1/mm */

double etx_path_field_at(const struct etx_path_field *field, double z)
{
    const double at = fabs(z) / field->bin - 0.5;
    const int last = field->n - 1;

    if (at <= 0.0 || last == 0)
        return (double)field->value[0];
    if (at >= last)
        return (double)field->value[last];
    const int k = (int)at;
    const double low = (double)field->value[k];
    return low + ((double)field->value[k + 1] - low) * (at - k);
}

void etx_path_start(
    struct etx_path_point *point, const double parameters[ETX_N_PATH])
{
    const double d0 = parameters[ETX_PATH_D0];
    const double phi = parameters[ETX_PATH_PHI];

    memset(point, 0, sizeof *point);
    point->phi = phi;
    point->direction[0] = cos(phi);
    point->direction[1] = sin(phi);
    point->direction[2] = parameters[ETX_PATH_COT_THETA];
    point->position[0] = -d0 * sin(phi);
    point->position[1] = d0 * cos(phi);
    point->position[2] = parameters[ETX_PATH_Z0];
    point->derivative[0][ETX_PATH_D0] = -sin(phi);
    point->derivative[1][ETX_PATH_D0] = cos(phi);
    point->derivative[0][ETX_PATH_PHI] = -d0 * cos(phi);
    point->derivative[1][ETX_PATH_PHI] = -d0 * sin(phi);
    point->derivative[2][ETX_PATH_Z0] = 1.0;
    point->phi_derivative[ETX_PATH_PHI] = 1.0;
}

/* Move on by s at a constant field. The chord of the arc leads along the mean
 * direction and is s sin(h) / h long, h half the angle. */
static void follow_arc(
    struct etx_path_point *point, double q_over_pt, double field, double s)
{
    const double per_momentum = CURVATURE * field;
    const double curvature = per_momentum * q_over_pt;
    const double half = 0.5 * curvature * s;
    const bool is_small = fabs(half) < SMALL_ANGLE;
    const double sinc = is_small ? 1.0 - half * half / 6.0 : sin(half) / half;
    const double slope = is_small ? -half / 3.0 : (cos(half) - sinc) / half;
    const double x = s * sinc * cos(point->phi + half);
    const double y = s * sinc * sin(point->phi + half);
    /* By the curvature: the chord's length and its direction change. */
    const double longer = 0.5 * s * slope / sinc;
    const double x_by_curvature = x * longer - y * 0.5 * s;
    const double y_by_curvature = y * longer + x * 0.5 * s;

    for (int p = 0; p < ETX_N_PATH; p++) {
        const double turn = point->phi_derivative[p];

        point->derivative[0][p] -= y * turn;
        point->derivative[1][p] += x * turn;
    }
    point->derivative[0][ETX_PATH_Q_OVER_PT] += per_momentum * x_by_curvature;
    point->derivative[1][ETX_PATH_Q_OVER_PT] += per_momentum * y_by_curvature;
    point->derivative[2][ETX_PATH_COT_THETA] += s;
    point->phi_derivative[ETX_PATH_Q_OVER_PT] += per_momentum * s;
    point->position[0] += x;
    point->position[1] += y;
    point->position[2] += s * point->direction[2];
    point->phi += 2.0 * half;
    point->direction[0] = cos(point->phi);
    point->direction[1] = sin(point->phi);
    point->length += s;
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

bool etx_path_reach(struct etx_path_point *point,
    const double parameters[ETX_N_PATH], const struct etx_path_field *field,
    const double origin[3], const double normal[3])
{
    for (int k = 0; k < MAX_ARCS; k++) {
        const double *at = point->position;
        const double to[3] = {
            origin[0] - at[0], origin[1] - at[1], origin[2] - at[2]};
        const double along = dot(point->direction, normal);

        if (!(fabs(along) >= PARALLEL))
            return false;
        const double whole = dot(to, normal) / along;
        const double s = fmax(-MAX_ARC, fmin(MAX_ARC, whole));
        if (fabs(s) < REACHED)
            return true;
        const double middle = at[2] + 0.5 * s * point->direction[2];
        follow_arc(point, parameters[ETX_PATH_Q_OVER_PT],
            etx_path_field_at(field, middle), s);
    }
    return false;
}

/* Closest approach to the axis of the circle that passes (x, y) towards
 * direction; *back: its path length from there. */
static void find_closest(double *d0, double *phi, double *back,
    const struct etx_track_helix *helix, const double direction[2])
{
    const double k = helix->curvature;
    const double start = atan2(direction[1], direction[0]);

    *phi = start;
    *back = -(helix->x * direction[0] + helix->y * direction[1]);
    *d0 = -helix->x * sin(start) + helix->y * cos(start);
    if (fabs(k) < STRAIGHT)
        return;
    /* From the axis to the middle of the circle, which is left of the
     * particle when the curvature is positive. */
    const double x = helix->x - direction[1] / k;
    const double y = helix->y + direction[0] / k;
    const double sign = k > 0.0 ? 1.0 : -1.0;
    *phi = atan2(-sign * x, sign * y);
    *d0 = sign * sqrt(x * x + y * y) - 1.0 / k;
    *back = etx_wrap_angle(*phi - start) / k;
}

bool etx_path_through(double parameters[ETX_N_PATH],
    const struct etx_path_field *field, const float *first, const float *middle,
    const float *last)
{
    struct etx_track_helix helix;
    double back;

    /* From the last point inward: the helix ends at the first. */
    if (!etx_track_helix_through(&helix, last, middle, first))
        return false;
    const double measured = etx_path_field_at(field, helix.z_middle);
    helix.curvature = -helix.curvature;
    const double direction[2] = {-helix.tangent_x, -helix.tangent_y};
    find_closest(&parameters[ETX_PATH_D0], &parameters[ETX_PATH_PHI], &back,
        &helix, direction);
    parameters[ETX_PATH_COT_THETA] = -helix.slope;
    parameters[ETX_PATH_Z0] = helix.z - helix.slope * back;
    parameters[ETX_PATH_Q_OVER_PT] = helix.curvature / (CURVATURE * measured);
    return isfinite(parameters[ETX_PATH_Q_OVER_PT]);
}
