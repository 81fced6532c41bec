/* io/id_index.h -- from an id in a file to its row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_ID_INDEX_H
#define ETX_IO_ID_INDEX_H

#include "base/status.h"

struct etx_id_row {
    int64_t id;
    int64_t row;
};

/* One of the two tables is set. */
struct etx_id_index {
    int64_t n_ids;
    int64_t first;    /* the smallest id */
    uint64_t n_slots; /* of the dense table */
    int64_t *slot;    /* [n_slots] row + 1 of id first + i, 0 for none */
    struct etx_id_row *sorted; /* [n_ids] by id, then row */
};

/* Index ids [n_ids]. *duplicate gets a row whose id an earlier row has, or
 * -1; out is usable either way and finds one of the rows. */
etx_status etx_id_index_build(struct etx_id_index *out, int64_t *duplicate,
    const int64_t *ids, int64_t n_ids);
void etx_id_index_release(struct etx_id_index *index);

/* The row of id, -1 when there is none. */
int64_t etx_id_index_find(const struct etx_id_index *index, int64_t id);

#endif
