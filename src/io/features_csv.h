/* io/features_csv.h -- events from files of node features alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_FEATURES_CSV_H
#define ETX_IO_FEATURES_CSV_H

#include "base/status.h"

/* As etx_event_read_features; scales [3] are finite. */
etx_status etx_features_csv_read(
    etx_event **out, const char *path, const float *scales);

#endif
