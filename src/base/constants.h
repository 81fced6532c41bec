/* base/constants.h -- constants of mathematics and physics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CONSTANTS_H
#define ETX_BASE_CONSTANTS_H

#define ETX_PI 3.14159265358979323846

/* Transverse momentum of a particle of charge 1, GeV, for each tesla of field
 * and mm of radius. */
#define ETX_GEV_PER_T_MM 0.3e-3

#endif
