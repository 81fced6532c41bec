/* data/cell_features.h -- features of the shape of a cluster of cells.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_CELL_FEATURES_H
#define ETX_DATA_CELL_FEATURES_H

#include "data/detector.h"
#include "data/event.h"

/* Charge deposits, in any order. */
struct etx_cells {
    int64_t n_cells;
    const int32_t *hit;      /* [n_cells] row of the hit */
    const int32_t *channel0; /* [n_cells] along u */
    const int32_t *channel1; /* [n_cells] along v */
    const float *value;      /* [n_cells] charge */
};

/* Compute the event's cell_features [n_hits, 9] from its modules. A hit
 * without cells gets zeros. A row outside the event or a module outside the
 * detector is ETX_ERR_ARGUMENT. */
etx_status etx_event_replace_cells(struct etx_event *event,
    const struct etx_cells *cells, const struct etx_detector *detector);

#endif
