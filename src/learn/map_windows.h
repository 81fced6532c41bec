/* learn/map_windows.h -- the windows of a module map from samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_MAP_WINDOWS_H
#define ETX_LEARN_MAP_WINDOWS_H

#include "stage/graph_construction/module_map.h"

#include <exatrkx/train.h>

/* Values of doublets or triplets, and whose they are. Zeroed but for width:
 * empty. */
struct etx_map_samples {
    int64_t *key; /* [n, 2] below 2^31 */
    float *value; /* [n, width] */
    int64_t n, capacity;
    int32_t width;
};

/* Samples with equal keys as rows of a map. */
struct etx_map_groups {
    int64_t n;
    int64_t *key;                  /* [n, 2] ascending */
    struct etx_map_window *window; /* [n, width] */
    int32_t *index;                /* the group of every sample */
};

etx_status etx_map_samples_add(struct etx_map_samples *samples, int64_t first,
    int64_t second, const float *value);
void etx_map_samples_free(struct etx_map_samples *samples);

etx_status etx_map_groups_make(struct etx_map_groups *out,
    const struct etx_map_samples *samples,
    const etx_module_map_options *options);
void etx_map_groups_free(struct etx_map_groups *groups);

#endif
