/* io/event_csv.h -- events from TrackML's CSV files.
 *
 * hits:      hit_id, x, y, z, volume_id, layer_id, module_id
 * cells:     hit_id, ch0, ch1, value
 * truth:     hit_id, particle_id, weight; a row for every hit
 * particles: particle_id, vx, vy, vz, px, py, pz, q, nhits
 *
 * Without a column weight hits weigh the same, without nhits it is 0.
 *
 * Columns in any order, rows too; ids may have gaps. An id that occurs twice,
 * a hit or particle that another file names and its own lacks, and a hit
 * without truth are ETX_ERR_FORMAT.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_EVENT_CSV_H
#define ETX_IO_EVENT_CSV_H

#include "base/status.h"

/* The files of an event; NULL for those that are not read. truth and
 * particles go together, cells needs a detector. */
struct etx_event_paths {
    const char *hits;
    const char *cells;
    const char *truth;
    const char *particles;
};

etx_status etx_event_csv_read(etx_event **out,
    const struct etx_event_paths *paths, const etx_detector *detector);

/* The same for PREFIX-hits.csv or PREFIX-hits.csv.gz and its sister files. */
etx_status etx_event_csv_read_prefix(
    etx_event **out, const char *prefix, const etx_detector *detector);

#endif
