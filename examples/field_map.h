/* examples/field_map.h -- a map of the magnetic field from a file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_FIELD_MAP_H
#define ETX_EXAMPLES_FIELD_MAP_H

#include <exatrkx/fit.h>

/* Set the map of options from lines of r, z [mm], b_r, b_z [T] and, where the
 * axis is not that of z, its x and y [mm]: a grid of equal steps with r from 0
 * on, in any order. The caller frees *map, to which options points. Returns 0,
 * or prints why and returns PROGRAM_FAILED. */
int field_map_read(float **map, etx_fit_options *options, const char *path);

#endif
