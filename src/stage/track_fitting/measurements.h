/* stage/track_fitting/measurements.h -- the hits of a track as measurements.
 *
 * A hit measures two coordinates in the plane of its module. Particles scatter
 * in every module they cross, which makes the deviations of the hits after it
 * correlated (Lynch and Dahl, NIM B 58 (1991) 6, for the angle).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_FITTING_MEASUREMENTS_H
#define ETX_STAGE_TRACK_FITTING_MEASUREMENTS_H

#include "data/detector.h"
#include "stage/track_fitting/fit.h"
#include "stage/track_fitting/least_squares.h"

enum { ETX_U, ETX_V, ETX_N_LOCAL };

struct etx_measurement {
    double origin[3];            /* the hit, mm */
    double axis[ETX_N_LOCAL][3]; /* unit vectors of the coordinates */
    double normal[3];            /* of the module */
    double pitch[ETX_N_LOCAL];   /* mm */
    double n_cells[ETX_N_LOCAL]; /* along each axis; 0: not known */
    bool has_charge;             /* of the cells, which share it */
    double depth;    /* mm, of the sensor's part that collects charge; 0: not
                      * known */
    double material; /* radiation lengths of the module at normal incidence */
    double material_offset; /* mm along the normal, of the layer's material; 0:
                             * each module has its own */
    int32_t volume_id, layer_id;
};

/* A hit on a module; cells [ETX_N_CELL_FEATURES] may be NULL. */
void etx_measurement_make(struct etx_measurement *out, const float *position,
    const float *cells, const struct etx_detector_module *module,
    const etx_fit_options *options);

/* Where a path crosses the modules of n measurements, and the equations of the
 * least squares there, the covariance only when has_covariance; false when it
 * misses one. */
bool etx_measurements_compare(struct etx_least_squares *out,
    const struct etx_measurement *measurement, int n,
    const double parameters[ETX_N_PATH], const struct etx_detector *detector,
    const struct etx_path_field *field, const etx_fit_options *options,
    bool has_covariance);

#endif
