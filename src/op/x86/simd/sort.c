/* op/x86/simd/sort.c -- sort short lists of different integers.
 *
 * In runs of RUN the place of an element is the number of smaller ones, which
 * takes one comparison and one addition per vector of elements and no branch;
 * longer lists merge their runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/sort.h"

#include "op/x86/vector.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define STRIP 4 /* vectors of elements that are ranked together */
#define RUN   (32 * STRIP)

/* rank [n_vectors * VEC_WIDTH] of the elements at x among from [n]. */
INLINE void rank_strip(int32_t *rank, const int32_t *x, const int n_vectors,
    const int32_t *from, int32_t n)
{
    veci element[STRIP], below[STRIP];

    for (int v = 0; v < n_vectors; v++) {
        element[v] = vi_load(x + v * VEC_WIDTH);
        below[v] = vi_set1(0);
    }
    for (int32_t t = 0; t < n; t++) {
        const veci other = vi_set1(from[t]);
        for (int v = 0; v < n_vectors; v++)
            below[v] = vi_count(below[v], vi_less(other, element[v]));
    }
    for (int v = 0; v < n_vectors; v++)
        vi_store(rank + v * VEC_WIDTH, below[v]);
}

/* out [n] = from [n] sorted, n <= RUN; reads VEC_WIDTH beyond. */
static void sort_run(int32_t *out, const int32_t *from, int32_t n)
{
    int32_t rank[RUN + STRIP * VEC_WIDTH];
    int32_t t = 0;

    for (; t + 3 * VEC_WIDTH < n; t += 4 * VEC_WIDTH)
        rank_strip(rank + t, from + t, 4, from, n);
    for (; t + VEC_WIDTH < n; t += 2 * VEC_WIDTH)
        rank_strip(rank + t, from + t, 2, from, n);
    for (; t < n; t += VEC_WIDTH)
        rank_strip(rank + t, from + t, 1, from, n);
    for (t = 0; t < n; t++)
        out[rank[t]] = from[t];
}

/* out = a [n_a] and b [n_b] merged. */
static void merge(
    int32_t *out, const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b)
{
    int64_t i = 0;
    int64_t j = 0;

    while (i < n_a && j < n_b) {
        const int32_t first = a[i] < b[j];
        *out++ = first ? a[i] : b[j];
        i += first;
        j += 1 - first;
    }
    memcpy(out, a + i, (size_t)(n_a - i) * sizeof *out);
    memcpy(out + (n_a - i), b + j, (size_t)(n_b - j) * sizeof *out);
}

/* Runs of `length` in from merged in pairs to out. */
static void merge_runs(
    int32_t *out, const int32_t *from, int64_t n, int64_t length)
{
    for (int64_t begin = 0; begin < n; begin += 2 * length) {
        const int64_t left = n - begin;
        const int64_t n_a = left < length ? left : length;
        const int64_t n_b = left - n_a < length ? left - n_a : length;
        merge(out + begin, from + begin, n_a, from + begin + n_a, n_b);
    }
}

void ETX_ISA_NAME(sort_unique)(int32_t *out, int32_t *from, int64_t n)
{
    int32_t *a = out;
    int32_t *b = from;

    for (int64_t t = 0; t < n; t += RUN)
        sort_run(a + t, b + t, (int32_t)(n - t < RUN ? n - t : RUN));
    for (int64_t length = RUN; length < n; length *= 2) {
        int32_t *const other = a;
        merge_runs(b, a, n, length);
        a = b;
        b = other;
    }
    if (a != out)
        memcpy(out, a, (size_t)n * sizeof *out);
}
