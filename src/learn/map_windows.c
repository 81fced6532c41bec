/* learn/map_windows.c -- the windows of a module map from samples.
 *
 * The values of samples with equal keys give the windows of a row. A row of few
 * has seen little of its range: its windows are widened by a length that falls
 * with their number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/map_windows.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY (INT64_C(1) << 16)
#define MIN_SAMPLES    10 /* of a row whose windows tell a typical length */

/* What windows are made from. */
struct making {
    const struct etx_map_samples *samples;
    const etx_module_map_options *options;
    struct etx_map_groups *groups;
    int32_t *order; /* [n] the samples by key */
    int64_t *first; /* [groups + 1] into order */
    float *scratch; /* [n] */
};

etx_status etx_map_samples_add(struct etx_map_samples *samples, int64_t first,
    int64_t second, const float *value)
{
    const int64_t n = samples->n;
    const int64_t more = n > 0 ? 2 * n : FIRST_CAPACITY;
    etx_status status = ETX_OK;

    if (n == samples->capacity) {
        ETX_CHECK(etx_resize(&samples->key, 2 * n, 2 * more,
            sizeof *samples->key, "samples of a module map"));
        ETX_CHECK(etx_resize(&samples->value, samples->width * n,
            samples->width * more, sizeof *samples->value,
            "samples of a module map"));
        samples->capacity = more;
    }
    samples->key[2 * n] = first;
    samples->key[2 * n + 1] = second;
    memcpy(samples->value + samples->width * n, value,
        (size_t)samples->width * sizeof *value);
    samples->n++;
done:
    return status;
}

void etx_map_samples_free(struct etx_map_samples *samples)
{
    etx_free(samples->key);
    etx_free(samples->value);
}

void etx_map_groups_free(struct etx_map_groups *groups)
{
    etx_free(groups->key);
    etx_free(groups->window);
    etx_free(groups->index);
}

/* -------------------------------------------------------------- windows -- */

static int compare(const void *left, const void *right)
{
    const float a = *(const float *)left;
    const float b = *(const float *)right;

    return (a > b) - (a < b);
}

/* Quantity q of group g, without its tails. */
static struct etx_map_window window_of(
    const struct making *making, int64_t g, int32_t q)
{
    const struct etx_map_samples *const samples = making->samples;
    const int64_t begin = making->first[g];
    const int64_t n = making->first[g + 1] - begin;
    const int64_t dropped =
        (int64_t)((double)making->options->tail * (double)n);
    float *const value = making->scratch;

    for (int64_t k = 0; k < n; k++)
        value[k] =
            samples
                ->value[making->order[begin + k] * (int64_t)samples->width + q];
    qsort(value, (size_t)n, sizeof *value, compare);
    return (struct etx_map_window){value[dropped], value[n - 1 - dropped]};
}

/* The median length of the windows of quantity q, of groups with enough
 * samples; of all where none has. */
static float typical_length(const struct making *making, int32_t q)
{
    const struct etx_map_groups *const groups = making->groups;
    const int32_t width = making->samples->width;
    int64_t n = 0;

    for (int64_t least = MIN_SAMPLES; n == 0; least = 1)
        for (int64_t g = 0; g < groups->n; g++)
            if (making->first[g + 1] - making->first[g] >= least)
                making->scratch[n++] = groups->window[g * width + q].high -
                                       groups->window[g * width + q].low;
    qsort(making->scratch, (size_t)n, sizeof *making->scratch, compare);
    return making->scratch[n / 2];
}

static void set_windows(const struct making *making)
{
    struct etx_map_groups *const groups = making->groups;
    const int32_t width = making->samples->width;

    for (int32_t q = 0; q < width && groups->n > 0; q++) {
        for (int64_t g = 0; g < groups->n; g++)
            groups->window[g * width + q] = window_of(making, g, q);
        const float typical = typical_length(making, q);
        for (int64_t g = 0; g < groups->n; g++) {
            struct etx_map_window *const window =
                &groups->window[g * width + q];
            const float n = (float)(making->first[g + 1] - making->first[g]);
            const float more = making->options->margin / n *
                               fmaxf(window->high - window->low, typical);

            window->low -= more;
            window->high += more;
        }
    }
}

/* --------------------------------------------------------------- groups -- */

static etx_status sort_samples(struct making *making)
{
    const struct etx_map_samples *const samples = making->samples;
    int64_t *key = NULL;
    etx_status status;

    ETX_NEW(key, samples->n, "order of a module map");
    for (int64_t k = 0; k < samples->n; k++)
        key[k] =
            samples->key[2 * k] * (INT64_C(1) << 31) + samples->key[2 * k + 1];
    ETX_CHECK(etx_sort_order(making->order, key, samples->n));
    for (int64_t k = 0; k < samples->n; k++) {
        if (k == 0 || key[making->order[k]] != key[making->order[k - 1]])
            making->first[making->groups->n++] = k;
        making->groups->index[making->order[k]] =
            (int32_t)(making->groups->n - 1);
    }
    making->first[making->groups->n] = samples->n;
done:
    etx_free(key);
    return status;
}

etx_status etx_map_groups_make(struct etx_map_groups *out,
    const struct etx_map_samples *samples,
    const etx_module_map_options *options)
{
    struct making making = {
        .samples = samples, .options = options, .groups = out};
    const int64_t n = samples->n;
    etx_status status;

    ETX_NEW(making.order, n, "order");
    ETX_NEW(making.first, n + 1, "groups");
    ETX_NEW(making.scratch, n, "values");
    ETX_NEW(out->index, n, "groups");
    ETX_CHECK(sort_samples(&making));
    ETX_NEW(out->key, 2 * out->n, "a module map");
    ETX_NEW(out->window, out->n * samples->width, "windows of a module map");
    for (int64_t g = 0; g < out->n; g++)
        memcpy(out->key + 2 * g,
            samples->key + 2 * (int64_t)making.order[making.first[g]],
            2 * sizeof *out->key);
    set_windows(&making);
done:
    etx_free(making.order);
    etx_free(making.first);
    etx_free(making.scratch);
    return status;
}
