/* base/nearest.h -- the known name most like a misspelt one, for errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_NEAREST_H
#define ETX_BASE_NEAREST_H

#include <exatrkx/exatrkx.h>

/* Start with etx_nearest_of the misspelt name; add every known name. */
struct etx_nearest {
    const char *wrong;
    const char *name; /* the nearest so far, the first of equals; "" before */
    int32_t distance; /* characters to insert, remove or replace (Levenshtein);
                       * of each name the first 63 count */
};

struct etx_nearest etx_nearest_of(const char *wrong);
void etx_nearest_add(struct etx_nearest *nearest, const char *name);

#endif
