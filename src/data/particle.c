/* data/particle.c -- quantities computed from momentum and vertex.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/particle.h"

#include <math.h>

double etx_particle_pt(const etx_particle *particle)
{
    return hypot((double)particle->momentum[0], (double)particle->momentum[1]);
}

double etx_particle_eta(const etx_particle *particle)
{
    const double pt = etx_particle_pt(particle);
    const double pz = (double)particle->momentum[2];

    return pt > 0.0 ? asinh(pz / pt) : copysign(HUGE_VAL, pz);
}

double etx_particle_radius(const etx_particle *particle)
{
    return hypot((double)particle->vertex[0], (double)particle->vertex[1]);
}
