/* stage/helix/field.h -- the bending field, and helices in it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_FIELD_H
#define ETX_STAGE_HELIX_FIELD_H

#include "base/constants.h"
#include "stage/helix/layer_table.h"
#include "stage/helix/track_helix.h"

#include <math.h>

#define ETX_COMPLETION_MIN_FIELD                                               \
    0.25                       /* T: below it the bending tells little         \
                                */
#define ETX_MIN_CURVATURE 1e-9 /* 1/mm */

/* The field along z that bends a particle so, T. */
static inline double etx_bending_field(
    double curvature, const etx_particle *particle)
{
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);

    return -curvature * ((double)particle->charge * pt) / ETX_GEV_PER_T_MM;
}

/* The bending field at z, T, interpolated between the middles of bins. Without
 * branches, as all of these are in loops over many helices. */
static inline double etx_completion_field(
    const struct etx_completion *completion, double z)
{
    const double last = ETX_COMPLETION_N_FIELD - 1;
    const double bin = fabs(z) / (double)ETX_COMPLETION_FIELD_BIN - 0.5;
    const double at = bin > 0.0 ? (bin < last ? bin : last) : 0.0;
    const int32_t k = (int32_t)at;
    const double low = (double)completion->field[k];
    const double high =
        (double)completion->field[k + (k < ETX_COMPLETION_N_FIELD - 1)];

    return low + (high - low) * (at - k);
}

/* The field where the curvature of a helix was measured, T; not near 0. */
static inline double etx_completion_measured_field(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix)
{
    const double field = etx_completion_field(completion, helix->z_middle);

    return fabs(field) < ETX_COMPLETION_MIN_FIELD
               ? copysign(ETX_COMPLETION_MIN_FIELD, field)
               : field;
}

/* Curvature near z of a helix: it follows the bending field. */
static inline double etx_completion_curvature(
    const struct etx_completion *completion,
    const struct etx_track_helix *helix, double measured_field, double z)
{
    return helix->curvature * etx_completion_field(completion, z) /
           measured_field;
}

/* The bin of its transverse momentum. */
static inline int32_t etx_completion_pt_bin(
    const struct etx_track_helix *helix, double measured_field)
{
    const double pt = ETX_GEV_PER_T_MM * fabs(measured_field) /
                      (fabs(helix->curvature) + ETX_MIN_CURVATURE);

    /* Lower edges of the bins but the first, GeV. */
    return (pt >= 0.15) + (pt >= 0.25) + (pt >= 0.4) + (pt >= 0.7) +
           (pt >= 1.3);
}

/* A helix, and what follows from it and the field. */
struct etx_measured_helix {
    struct etx_track_helix helix;
    double field;  /* T, etx_completion_measured_field */
    double radius; /* mm, of its hit */
    int32_t bin;   /* of transverse momentum */
};

static inline void etx_helix_measure(
    struct etx_measured_helix *out, const struct etx_completion *completion)
{
    const struct etx_track_helix *const helix = &out->helix;

    out->field = etx_completion_measured_field(completion, helix);
    out->radius = sqrt(helix->x * helix->x + helix->y * helix->y);
    out->bin = etx_completion_pt_bin(helix, out->field);
}

#endif
