/* op/x86/sort.h -- sort short lists of different integers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_X86_SORT_H
#define ETX_OP_X86_SORT_H

#include <stdint.h>

#include "op/x86/isa.h"

/* out [n] = from [n] ascending; no two are equal, all are >= 0. from is
 * overwritten and has room for VEC_WIDTH more. */
void ETX_ISA_NAME(sort_unique)(int32_t *out, int32_t *from, int64_t n);

#endif
