/* stage/track_fitting/path.h -- the path of a charged particle in a solenoid.
 *
 * The path starts at the point of closest approach to the z axis and is a chain
 * of helices, each in the mean of the fields at its ends. The derivatives by
 * the parameters leave out that the field changes with them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_PATH_H
#define ETX_STAGE_TRACK_FITTING_PATH_H

#include <stdbool.h>

/* Parameters of a path; z grows by cot_theta per transverse length. */
enum {
    ETX_PATH_D0, /* mm */
    ETX_PATH_Z0, /* mm */
    ETX_PATH_PHI,
    ETX_PATH_COT_THETA,
    ETX_PATH_Q_OVER_PT, /* 1/GeV */
    ETX_N_PATH,
    ETX_PATH_LOSS = ETX_N_PATH, /* no parameter: factor of all energy losses */
    ETX_N_PATH_DERIVATIVES
};

/* The field of a solenoid: a map of its two components, or, where map is NULL,
 * what bends particles from the origin by |z|, linear between the middles of
 * bins. */
struct etx_path_field {
    const float *value; /* [n] T */
    int n;
    double bin;       /* mm */
    const float *map; /* [n_r, n_z, 2] T: along the radius, along z */
    int n_r, n_z;
    double max_r, max_z; /* mm: r in 0 .. max_r, z in -max_z .. max_z */
    double centre[3];    /* mm: where r and z of the map are 0 */
};

/* A point of a path, and how it moves with the parameters at constant length.
 */
struct etx_path_point {
    double position[3];
    double direction[3]; /* of transverse length 1 */
    double phi;
    double q_over_pt; /* 1/GeV, here */
    double gain;      /* its derivative by that of the start: energy loss */
    double loss_gain; /* its derivative by the factor of all energy losses */
    double derivative[3][ETX_N_PATH_DERIVATIVES]; /* of the position */
    double phi_derivative[ETX_N_PATH_DERIVATIVES];
    double length; /* mm, transverse, from the start; negative before it */
};

/* B_z in the plane z on the axis, or what bends there, T. */
double etx_path_field_at(const struct etx_path_field *field, double z);

/* The start of the path. */
void etx_path_start(
    struct etx_path_point *point, const double parameters[ETX_N_PATH]);

/* Move on to the plane through origin with the given normal; false where the
 * path does not come to it. */
bool etx_path_reach(struct etx_path_point *point,
    const struct etx_path_field *field, const double origin[3],
    const double normal[3]);

/* Parameters of the helix through three points of a track, the nearest to the
 * axis first; false when they are no arc of less than half a turn. */
bool etx_path_through(double parameters[ETX_N_PATH],
    const struct etx_path_field *field, const float *first, const float *middle,
    const float *last);

#endif
