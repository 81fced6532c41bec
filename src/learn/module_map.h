/* learn/module_map.h -- learn a module map from true tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_MODULE_MAP_H
#define ETX_LEARN_MODULE_MAP_H

#include "stage/graph_construction/module_map.h"

#include <exatrkx/train.h>

/* The map of n_events events with truth and modules. ETX_ERR_ARGUMENT for an
 * event without, and when no track of the events has two hits. */
etx_status etx_module_map_learn(struct etx_module_map **out,
    const struct etx_event *const *events, int64_t n_events,
    const etx_module_map_options *options);

#endif
