/* stage/track_fitting/path.c -- the path of a charged particle in a solenoid.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/path.h"

#include "stage/helix/track_helix.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define CURVATURE   -0.299792458e-3 /* 1/mm per T and 1/GeV; positive is left */
#define MAX_ARC     100.0           /* mm in space of linear field */
#define MAX_ARCS    200
#define REACHED     1e-7 /* mm */
#define PARALLEL    1e-6 /* cosine between a path and a plane that it misses */
#define SMALL_ANGLE 1e-4
#define STRAIGHT    1e-9 /* 1/mm */
#define MIN_RADIUS  1e-6 /* mm */

/* The index below value / step, at most n - 2, and *rest above it in 0 .. 1. */
static int below(double *rest, double at, int n)
{
    const double inside = fmax(0.0, fmin(at, n - 1.0));
    const int k = (int)fmin(inside, n - 2.0);

    *rest = inside - k;
    return k;
}

/* Both components, linear between the points of the map; the last ones hold
 * beyond it. r is from the axis of the map. */
static void read_map(
    double out[2], const struct etx_path_field *field, double r, double at_z)
{
    const double z = at_z - field->centre[2];
    double u, v;
    const int i = below(&u, r / field->max_r * (field->n_r - 1), field->n_r);
    const int j = below(
        &v, 0.5 * (z / field->max_z + 1.0) * (field->n_z - 1), field->n_z);
    const float *near = field->map + 2 * ((int64_t)i * field->n_z + j);
    const float *far = near + 2 * (int64_t)field->n_z;

    for (int k = 0; k < 2; k++)
        out[k] = (1.0 - u) *
                     ((1.0 - v) * (double)near[k] + v * (double)near[2 + k]) +
                 u * ((1.0 - v) * (double)far[k] + v * (double)far[2 + k]);
}

double etx_path_field_at(const struct etx_path_field *field, double z)
{
    double rest;

    if (field->map != NULL) {
        double value[2];

        read_map(value, field, 0.0, z);
        return value[1];
    }
    if (field->n == 1)
        return (double)field->value[0];
    const int k = below(&rest, fabs(z) / field->bin - 0.5, field->n);
    return (1.0 - rest) * (double)field->value[k] +
           rest * (double)field->value[k + 1];
}

void etx_path_start(
    struct etx_path_point *point, const double parameters[ETX_N_PATH])
{
    const double d0 = parameters[ETX_PATH_D0];
    const double phi = parameters[ETX_PATH_PHI];

    memset(point, 0, sizeof *point);
    point->phi = phi;
    point->q_over_pt = parameters[ETX_PATH_Q_OVER_PT];
    point->gain = 1.0;
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

/* The Lorentz force: turn in the transverse plane per length and per
 * momentum, and growth of the slope of z per length. */
struct force {
    double turn, slope;
};

static struct force find_force(const struct etx_path_field *field,
    const double at[3], const double direction[3], double q_over_pt)
{
    const double x = at[0] - field->centre[0];
    const double y = at[1] - field->centre[1];
    const double r = fmax(sqrt(x * x + y * y), MIN_RADIUS);
    double value[2];

    if (field->map == NULL)
        return (struct force){CURVATURE * etx_path_field_at(field, at[2]), 0.0};
    read_map(value, field, r, at[2]);
    const double outward = (x * direction[0] + y * direction[1]) / r;
    const double sideward = (y * direction[0] - x * direction[1]) / r;
    return (struct force){
        CURVATURE * (value[1] - direction[2] * outward * value[0]),
        -CURVATURE * q_over_pt * value[0] * sideward *
            (1.0 + direction[2] * direction[2])};
}

/* The factor of q / pT when the slope grows, at constant momentum. */
static double steeper(double slope, double growth)
{
    return 1.0 + growth * slope / (1.0 + slope * slope);
}

/* The force s on from the point, where the force at it leads; its turn is per
 * momentum of the point. */
static struct force predict_force(const struct etx_path_point *point,
    const struct force *begin, const struct etx_path_field *field, double s)
{
    const double *direction = point->direction;
    const double angle = begin->turn * point->q_over_pt * s;
    const double growth = begin->slope * s;
    const double turned[3] = {direction[0] - angle * direction[1],
        direction[1] + angle * direction[0], direction[2] + growth};
    const double factor = steeper(direction[2], growth);
    double at[3];

    for (int k = 0; k < 3; k++)
        at[k] = point->position[k] + 0.5 * s * (direction[k] + turned[k]);
    struct force force =
        find_force(field, at, turned, point->q_over_pt * factor);
    force.turn *= factor;
    return force;
}

/* Move on by s in the mean of the fields at both ends. The chord of the arc
 * leads along the mean direction and is s sin(h) / h long, h half the angle. */
static void follow_arc(
    struct etx_path_point *point, const struct etx_path_field *field, double s)
{
    const struct force begin =
        find_force(field, point->position, point->direction, point->q_over_pt);
    const struct force end = predict_force(point, &begin, field, s);
    const double per_momentum = 0.5 * (begin.turn + end.turn);
    const double slope_growth = 0.5 * (begin.slope + end.slope);
    const double curvature = per_momentum * point->q_over_pt;
    /* Of a curvature that grows linearly, across the chord. */
    const double aside =
        -(end.turn - begin.turn) * point->q_over_pt * s * s / 12.0;
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

    for (int p = 0; p < ETX_N_PATH_DERIVATIVES; p++) {
        const double turn = point->phi_derivative[p];
        const double gain = p == ETX_PATH_Q_OVER_PT ? point->gain
                            : p == ETX_PATH_LOSS    ? point->loss_gain
                                                    : 0.0;

        point->derivative[0][p] +=
            gain * per_momentum * x_by_curvature - y * turn;
        point->derivative[1][p] +=
            gain * per_momentum * y_by_curvature + x * turn;
        point->phi_derivative[p] += gain * per_momentum * s;
    }
    point->derivative[2][ETX_PATH_COT_THETA] += s;
    point->position[0] += x - aside * sin(point->phi + half);
    point->position[1] += y + aside * cos(point->phi + half);
    point->position[2] += s * (point->direction[2] + 0.5 * s * slope_growth);
    point->q_over_pt *= steeper(point->direction[2], s * slope_growth);
    point->direction[2] += s * slope_growth;
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
    const struct etx_path_field *field, const double origin[3],
    const double normal[3])
{
    const double slope = point->direction[2];
    const double max_s = MAX_ARC / sqrt(1.0 + slope * slope);

    for (int k = 0; k < MAX_ARCS; k++) {
        const double *at = point->position;
        const double to[3] = {
            origin[0] - at[0], origin[1] - at[1], origin[2] - at[2]};
        const double along = dot(point->direction, normal);

        if (!(fabs(along) >= PARALLEL))
            return false;
        const double whole = dot(to, normal) / along;
        const double s = fmax(-max_s, fmin(max_s, whole));
        if (fabs(s) < REACHED)
            return true;
        follow_arc(point, field, s);
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
    if (!etx_track_helix_at(
            &helix, (const float *const[]){last, middle, first}, 2, 1.0))
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
