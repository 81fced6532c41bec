/* io/detector_csv.h -- module geometry from TrackML's detectors.csv.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_DETECTOR_CSV_H
#define ETX_IO_DETECTOR_CSV_H

#include "data/detector.h"

/* Columns volume_id, layer_id, module_id, cx, cy, cz, rot_xu ... rot_zw,
 * module_t, pitch_u, pitch_v; others are passed over. A module that occurs
 * twice, a rotation that is none, and pitches or a thickness that are not
 * positive are ETX_ERR_FORMAT. */
etx_status etx_detector_csv_read(etx_detector **out, const char *path);

#endif
