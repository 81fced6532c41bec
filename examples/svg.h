/* examples/svg.h -- an event display: x-y and r-z views in one SVG file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_SVG_H
#define ETX_EXAMPLES_SVG_H

#include <exatrkx/exatrkx.h>

/* Write path: found tracks coloured, hits without a track grey, particles
 * with at least five hits and pT > 0.5 GeV that no track matches (double
 * majority) dashed, when the event carries truth. Returns 0, or prints why
 * and returns 1. */
int svg_write(const char *path, const char *title, const etx_event *event,
    const etx_tracks *tracks);

#endif
