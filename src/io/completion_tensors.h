/* io/completion_tensors.h -- the completion of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_COMPLETION_TENSORS_H
#define ETX_IO_COMPLETION_TENSORS_H

#include "io/safetensors.h"
#include "stage/track_building/completion_table.h"

#define ETX_COMPLETION_N_TENSORS 4

/* The tensors of completion, whose arrays they borrow. */
void etx_completion_tensors(struct etx_tensor out[ETX_COMPLETION_N_TENSORS],
    const struct etx_completion *completion);

/* The completion of a file; ETX_ERR_FORMAT without its tensors. */
etx_status etx_completion_from_tensors(
    struct etx_completion **out, const struct etx_tensor_file *file);

/* Whether a tensor of this name belongs to a completion. */
int32_t etx_completion_has_tensor(const char *name);

#endif
