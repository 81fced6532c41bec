/* op/ref/table.c -- the complete table of the reference operators.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#define REFERENCE(name) .name = etx_ref_##name,

const struct etx_op_table etx_op_ref = {ETX_OPERATORS(REFERENCE)};
