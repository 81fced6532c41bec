/* data/id_index.h -- from the id of a hit or particle to its row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_ID_INDEX_H
#define ETX_DATA_ID_INDEX_H

#include <exatrkx/exatrkx.h>

/* A table by id where the ids are dense, else a sorted list. Zeroed: empty. */
struct etx_id_index {
    int64_t n_ids;
    int64_t lowest;
    int64_t n_table;     /* 0 = no table */
    int32_t *table;      /* [n_table] row of id lowest + k, or -1 */
    int64_t *sorted_id;  /* [n_ids] ascending */
    int32_t *sorted_row; /* [n_ids] their rows */
};

/* ids [n_ids] need not be unique; n_ids is at most 2^31 - 1. Whatever the
 * status, release it. */
etx_status etx_id_index_build(
    struct etx_id_index *out, int64_t n_ids, const int64_t *ids);
void etx_id_index_release(struct etx_id_index *index);

/* Row of id, the last one of several; -1 when there is none. */
int64_t etx_id_index_find(const struct etx_id_index *index, int64_t id);

/* *out = the first row whose id a later row has, too; -1 when ids are unique.
 * The index was built from ids. */
etx_status etx_id_index_duplicate(
    int64_t *out, const struct etx_id_index *index, const int64_t *ids);

#endif
