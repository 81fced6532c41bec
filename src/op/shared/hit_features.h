/* op/shared/hit_features.h -- the formulas of the features of hits.
 *
 * In float64 from float32 positions, rounded once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SHARED_HIT_FEATURES_H
#define ETX_OP_SHARED_HIT_FEATURES_H

#include "op/graph.h"
#include "op/shared/host_device.h"

#include <float.h>
#include <math.h>

#define ETX_AXIS_ETA 20.0 /* on the axis, away from the origin */

/* A position, as the formulas see it. */
struct etx_hit_point {
    double x, y, z, r; /* mm */
};

/* Squares of floats do not overflow or underflow in float64, so the slower
 * hypot is not needed. */
ETX_HOST_DEVICE double etx_hit_length(double x, double y)
{
    return sqrt(x * x + y * y);
}

ETX_HOST_DEVICE struct etx_hit_point etx_hit_point_at(const float *position)
{
    struct etx_hit_point at;

    at.x = (double)position[0];
    at.y = (double)position[1];
    at.z = (double)position[2];
    at.r = etx_hit_length(at.x, at.y);
    return at;
}

/* On the axis, the direction is that of phi = 0. */
ETX_HOST_DEVICE double etx_point_feature(
    const struct etx_hit_point *at, enum etx_hit_formula formula)
{
    switch (formula) {
    case ETX_HIT_R:
        return at->r;
    case ETX_HIT_PHI:
        return atan2(at->y, at->x);
    case ETX_HIT_Z:
        return at->z;
    case ETX_HIT_COS_PHI:
        return at->r > 0.0 ? at->x / at->r : 1.0;
    case ETX_HIT_SIN_PHI:
        return at->r > 0.0 ? at->y / at->r : 0.0;
    case ETX_HIT_ETA:
        if (at->r > 0.0)
            return asinh(at->z / at->r);
        if (at->z == 0.0)
            return 0.0;
        return at->z > 0.0 ? ETX_AXIS_ETA : -ETX_AXIS_ETA;
    case ETX_HIT_X:
        return at->x;
    case ETX_HIT_Y:
        return at->y;
    case ETX_HIT_DISTANCE:
        return etx_hit_length(at->r, at->z);
    case ETX_HIT_CELL:
    case ETX_HIT_LOG_CELL:
        break;
    }
    return 0.0;
}

/* A column of hit i, whose own position is `hit`. */
ETX_HOST_DEVICE float etx_hit_feature(const struct etx_hit_features_args *args,
    int64_t i, const struct etx_hit_point *hit,
    const struct etx_hit_column *column)
{
    double value = 0.0;

    if (column->formula == ETX_HIT_CELL ||
        column->formula == ETX_HIT_LOG_CELL) {
        if (args->cell[column->of] != NULL)
            value = (double)args->cell[column->of][i * args->cell_stride];
        if (column->formula == ETX_HIT_LOG_CELL)
            value = log1p(value);
    } else if (column->of == 0) {
        value = etx_point_feature(hit, (enum etx_hit_formula)column->formula);
    } else {
        const struct etx_hit_point cluster =
            etx_hit_point_at(args->cluster + 6 * i + 3 * (column->of - 1));

        value =
            etx_point_feature(&cluster, (enum etx_hit_formula)column->formula);
    }
    value /= (double)column->scale;
    return (float)fmin(fmax(value, -(double)FLT_MAX), (double)FLT_MAX);
}

#endif
