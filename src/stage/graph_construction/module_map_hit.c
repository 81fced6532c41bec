/* stage/graph_construction/module_map_hit.c -- the quantities of a module map.
 *
 * Learning and building compute them by the same functions: a value that was
 * learned lies in its window.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/graph_construction/module_map.h"

#include "base/constants.h"

#include <math.h>

struct etx_map_hit etx_map_hit_of(const struct etx_event *event, int64_t row)
{
    const float *const at = event->position + 3 * row;
    const double x = (double)at[0];
    const double y = (double)at[1];
    const double z = (double)at[2];
    const double r = sqrt(x * x + y * y);

    return (struct etx_map_hit){.x = at[0],
        .y = at[1],
        .z = at[2],
        .r = (float)r,
        .phi = (float)atan2(y, x),
        .eta = (float)asinh(z / fmax(r, 1e-6)),
        .distance = (float)(x * x + y * y + z * z),
        .row = (int32_t)row};
}

int32_t etx_map_is_outward(
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    return a->distance != b->distance ? a->distance < b->distance
                                      : a->row < b->row;
}

/* An angle between -2 pi and 2 pi, within -pi and pi. */
static double wrap(double angle)
{
    if (angle > ETX_PI)
        return angle - 2.0 * ETX_PI;
    return angle < -ETX_PI ? angle + 2.0 * ETX_PI : angle;
}

void etx_map_doublet(float value[ETX_MAP_N_DOUBLET],
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    const double dr = (double)b->r - (double)a->r;
    const double dz = (double)b->z - (double)a->z;
    const double dphi = wrap((double)b->phi - (double)a->phi);

    value[ETX_MAP_Z0] =
        dr != 0.0 ? (float)((double)a->z - (double)a->r * dz / dr) : 0.0f;
    value[ETX_MAP_DPHI] = (float)dphi;
    value[ETX_MAP_PHI_SLOPE] = dr != 0.0 ? (float)(dphi / dr) : 0.0f;
    value[ETX_MAP_DETA] = b->eta - a->eta;
}

struct etx_map_direction etx_map_direction_of(
    const struct etx_map_hit *a, const struct etx_map_hit *b)
{
    return (struct etx_map_direction){
        .transverse = (float)atan2(
            (double)b->y - (double)a->y, (double)b->x - (double)a->x),
        .longitudinal = (float)atan2(
            (double)b->z - (double)a->z, (double)b->r - (double)a->r)};
}

void etx_map_triplet(float value[ETX_MAP_N_TRIPLET],
    const struct etx_map_direction *first,
    const struct etx_map_direction *second)
{
    value[ETX_MAP_TURN] =
        (float)wrap((double)second->transverse - (double)first->transverse);
    value[ETX_MAP_BEND] =
        (float)wrap((double)second->longitudinal - (double)first->longitudinal);
}
