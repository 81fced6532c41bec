/* base/nearest.c -- edit distance of names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#include <string.h>

#define MAX_LENGTH 63

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Row i has the distances between the first i characters of a and the first j
 * characters of b; the loop computes it from the row before. */
static int32_t distance(const char *a, const char *b)
{
    const int32_t n_a = (int32_t)strnlen(a, MAX_LENGTH);
    const int32_t n_b = (int32_t)strnlen(b, MAX_LENGTH);
    int32_t row[MAX_LENGTH + 1];

    for (int32_t j = 0; j <= n_b; j++)
        row[j] = j;
    for (int32_t i = 1; i <= n_a; i++) {
        int32_t diagonal = row[0];

        row[0] = i;
        for (int32_t j = 1; j <= n_b; j++) {
            const int32_t replaced = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            row[j] = smaller(replaced, smaller(row[j], row[j - 1]) + 1);
        }
    }
    return row[n_b];
}

struct etx_nearest etx_nearest_of(const char *wrong)
{
    return (struct etx_nearest){wrong, "", INT32_MAX};
}

void etx_nearest_add(struct etx_nearest *nearest, const char *name)
{
    const int32_t d = distance(nearest->wrong, name);

    if (d >= nearest->distance)
        return;
    nearest->name = name;
    nearest->distance = d;
}
