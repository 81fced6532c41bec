/* data/particle.h -- quantities computed from momentum and vertex.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_PARTICLE_H
#define ETX_DATA_PARTICLE_H

#include <exatrkx/exatrkx.h>

/* Transverse momentum, GeV. */
double etx_particle_pt(const etx_particle *particle);

/* Pseudorapidity; infinite where the transverse momentum is 0. */
double etx_particle_eta(const etx_particle *particle);

/* Distance of the vertex from the beam line, mm. */
double etx_particle_radius(const etx_particle *particle);

#endif
