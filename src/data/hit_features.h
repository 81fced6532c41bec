/* data/hit_features.h -- node features by name, as model files list them.
 *
 * r, phi, z, cos_phi, sin_phi, eta (= asinh(z / r)), x, y, R (distance from
 * the origin), log_cell_count (log(1 + cell_count)), the nine cell features
 * cell_count, cell_val, leta, lphi, lx, ly, lz, geta, gphi, and cluster_x_1,
 * _y_, _z_, _r_, _phi_, _eta_1 and _2 of the clusters' positions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_DATA_HIT_FEATURES_H
#define ETX_DATA_HIT_FEATURES_H

#include "data/event.h"
#include "op/op.h"

#include <stdbool.h>

#define ETX_MAX_FEATURES ETX_MAX_HIT_COLUMNS

/* One column: the feature with this id, divided by scale. */
struct etx_feature {
    int32_t id;
    float scale;
};

struct etx_feature_list {
    int32_t n_features;
    struct etx_feature feature[ETX_MAX_FEATURES];
    int32_t cells_optional; /* without cells their features are 0 */
};

/* Id of a hit feature, -1 when there is none of that name; and back. */
int32_t etx_hit_feature_find(const char *name);
const char *etx_hit_feature_name(int32_t id);
/* Their number: ids are 0 .. count - 1. */
int32_t etx_hit_feature_count(void);
/* Whether it is of a cluster's position; id as found. */
bool etx_hit_feature_is_of_cluster(int32_t id);

/* out [n_hits, list->n_features]. When the event carries the caller's own
 * features, those are copied and their number must equal the list's
 * (ETX_ERR_ARGUMENT naming both). A list that needs cells or positions of
 * clusters of an event without is ETX_ERR_ARGUMENT, unless cells are optional.
 * Always finite: eta at r = 0 is 0 when z = 0 and +-20 otherwise. On the pool
 * unless it is NULL. */
etx_status etx_hit_features(float *out, struct etx_pool *pool,
    const struct etx_event *event, const struct etx_feature_list *list);

/* The arguments of the operator, but out, for arrays of the host; column
 * [ETX_MAX_FEATURES]. With features of the caller, no columns; errors as above.
 */
etx_status etx_hit_feature_columns(struct etx_hit_features_args *args,
    struct etx_hit_column *column, const struct etx_event *event,
    const struct etx_feature_list *list);

#endif
