/* io/first_pass_tensors.h -- the first pass of a model as tensors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_IO_FIRST_PASS_TENSORS_H
#define ETX_IO_FIRST_PASS_TENSORS_H

#include "io/safetensors.h"
#include "stage/first_pass/first_pass_table.h"

#define ETX_FIRST_PASS_N_TENSORS 3

/* The tensors of first_pass, whose arrays they borrow. */
void etx_first_pass_tensors(struct etx_tensor out[ETX_FIRST_PASS_N_TENSORS],
    const struct etx_first_pass *first_pass);

/* The first pass of a file, with a completion of n_layers; ETX_ERR_FORMAT
 * without its tensors. */
etx_status etx_first_pass_from_tensors(struct etx_first_pass **out,
    const struct etx_tensor_file *file, int64_t n_layers);

/* Whether a tensor of this name belongs to a first pass. */
int32_t etx_first_pass_has_tensor(const char *name);

#endif
