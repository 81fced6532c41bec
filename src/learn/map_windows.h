/* learn/map_windows.h -- the windows of a module map from samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_MAP_WINDOWS_H
#define ETX_LEARN_MAP_WINDOWS_H

#include "learn/samples.h"
#include "stage/graph_construction/module_map.h"

#include <exatrkx/train.h>

/* The key of a row: two numbers below 2^31. */
static inline int64_t etx_map_key(int64_t first, int64_t second)
{
    return first * (INT64_C(1) << 31) + second;
}

static inline int64_t etx_map_key_first(int64_t key)
{
    return key >> 31;
}

static inline int64_t etx_map_key_second(int64_t key)
{
    return key & INT32_MAX;
}

/* Samples with equal keys as rows of a map. */
struct etx_map_groups {
    int64_t n;
    int64_t *key;                  /* [n, 2] ascending */
    struct etx_map_window *window; /* [n, width] */
    int32_t *index;                /* the group of every sample */
};

etx_status etx_map_groups_make(struct etx_map_groups *out,
    const struct etx_samples *samples, const etx_module_map_options *options);
void etx_map_groups_free(struct etx_map_groups *groups);

#endif
