/* io/module_map_tensors.h -- the module map of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_MODULE_MAP_TENSORS_H
#define ETX_IO_MODULE_MAP_TENSORS_H

#include "io/safetensors.h"
#include "stage/graph_construction/module_map.h"

#define ETX_MODULE_MAP_N_TENSORS 5

/* The tensors of a map, whose arrays they borrow. */
void etx_module_map_tensors(struct etx_tensor out[ETX_MODULE_MAP_N_TENSORS],
    const struct etx_module_map *map);

/* The map of a file; ETX_ERR_FORMAT without its tensors. */
etx_status etx_module_map_from_tensors(
    struct etx_module_map **out, const struct etx_tensor_file *file);

/* Whether a tensor of this name belongs to a module map. */
int32_t etx_module_map_has_tensor(const char *name);

#endif
