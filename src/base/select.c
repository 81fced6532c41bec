/* base/select.c -- the smallest of unique 64-bit keys.
 *
 * Quickselect (Hoare 1961) with the median of three positions drawn by a
 * congruential generator, so that no order of the input is a bad one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/select.h"

#define FEW 24 /* keys that are sorted by insertion */

static void insertion_sort(uint64_t *key, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const uint64_t moved = key[i];
        int64_t j = i;
        for (; j > 0 && key[j - 1] > moved; j--)
            key[j] = key[j - 1];
        key[j] = moved;
    }
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a > b) {
        const uint64_t swap = a;
        a = b;
        b = swap;
    }
    return c < a ? a : c > b ? b : c;
}

/* One of the keys, near the middle. */
static uint64_t choose_pivot(const uint64_t *key, int64_t n, uint64_t *state)
{
    uint64_t drawn[3];

    for (int32_t t = 0; t < 3; t++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        drawn[t] = key[(*state >> 33) % (uint64_t)n];
    }
    return median(drawn[0], drawn[1], drawn[2]);
}

/* Keys below the pivot to the front; returns their number. */
static int64_t partition(uint64_t *key, int64_t n, uint64_t pivot)
{
    int64_t n_low = 0;

    /* Branch-free: every key is swapped with the first large one. */
    for (int64_t i = 0; i < n; i++) {
        const uint64_t moved = key[i];
        key[i] = key[n_low];
        key[n_low] = moved;
        n_low += moved < pivot;
    }
    return n_low;
}

void etx_select(uint64_t *key, int64_t n, int64_t k)
{
    uint64_t state = 1;

    while (k > 0 && k < n) {
        if (n <= FEW) {
            insertion_sort(key, n);
            return;
        }
        /* The pivot itself counts as large, so both sides shrink unless it
         * is the smallest; then the keys up to it are split off. */
        const uint64_t pivot = choose_pivot(key, n, &state);
        int64_t n_low = partition(key, n, pivot);
        if (n_low == 0)
            n_low = partition(key, n, pivot + 1);
        if (k <= n_low) {
            n = n_low;
        } else {
            key += n_low;
            n -= n_low;
            k -= n_low;
        }
    }
}
