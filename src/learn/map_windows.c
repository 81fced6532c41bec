/* learn/map_windows.c -- the windows of a module map from samples.
 *
 * The values of samples with equal keys give the windows of a row. A row of few
 * has seen little of its range: its windows are widened by a length that falls
 * with their number.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/map_windows.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"

#include <math.h>

#define MIN_SAMPLES 10 /* of a row whose windows tell a typical length */

void etx_map_groups_free(struct etx_map_groups *groups)
{
    etx_free(groups->key);
    etx_free(groups->window);
    etx_free(groups->index);
}

/* Quantity q of group g, without its tails. */
static etx_status find_window(struct etx_map_window *out,
    const struct etx_sample_groups *groups,
    const etx_module_map_options *options, int64_t g, int32_t q)
{
    const float *value;
    int64_t n;
    etx_status status;

    ETX_CHECK(etx_sample_groups_sort(&value, &n, groups, g, q));
    const int64_t dropped = (int64_t)((double)options->tail * (double)n);
    *out = (struct etx_map_window){value[dropped], value[n - 1 - dropped]};
done:
    return status;
}

static int64_t count(const struct etx_sample_groups *groups, int64_t g)
{
    return groups->first[g + 1] - groups->first[g];
}

/* The median length of the windows of quantity q, of groups with enough
 * samples; of all where none has. */
static etx_status typical_length(float *out, const struct etx_map_groups *rows,
    const struct etx_sample_groups *groups, int32_t q)
{
    const int32_t width = groups->samples->width;
    float *const length = groups->scratch;
    int64_t n = 0;
    etx_status status;

    for (int64_t least = MIN_SAMPLES; n == 0; least = 1)
        for (int64_t g = 0; g < groups->n; g++)
            if (count(groups, g) >= least)
                length[n++] = rows->window[g * width + q].high -
                              rows->window[g * width + q].low;
    ETX_CHECK(etx_sort_floats(length, n));
    *out = length[n / 2];
done:
    return status;
}

static etx_status set_windows(struct etx_map_groups *rows,
    const struct etx_sample_groups *groups,
    const etx_module_map_options *options)
{
    const int32_t width = groups->samples->width;
    etx_status status = ETX_OK;

    for (int32_t q = 0; q < width && groups->n > 0; q++) {
        float typical;

        for (int64_t g = 0; g < groups->n; g++)
            ETX_CHECK(find_window(
                &rows->window[g * width + q], groups, options, g, q));
        ETX_CHECK(typical_length(&typical, rows, groups, q));
        for (int64_t g = 0; g < groups->n; g++) {
            struct etx_map_window *const window = &rows->window[g * width + q];
            const float more = options->margin / (float)count(groups, g) *
                               fmaxf(window->high - window->low, typical);

            window->low -= more;
            window->high += more;
        }
    }
done:
    return status;
}

etx_status etx_map_groups_make(struct etx_map_groups *out,
    const struct etx_samples *samples, const etx_module_map_options *options)
{
    struct etx_sample_groups groups;
    etx_status status;

    ETX_CHECK(etx_sample_groups_make(&groups, samples));
    out->n = groups.n;
    ETX_NEW(out->index, samples->n, "groups");
    ETX_NEW(out->key, 2 * out->n, "a module map");
    ETX_NEW(out->window, out->n * samples->width, "windows of a module map");
    for (int64_t g = 0; g < out->n; g++) {
        const int64_t key = etx_sample_groups_key(&groups, g);

        ETX_POLL(g);
        out->key[2 * g] = etx_map_key_first(key);
        out->key[2 * g + 1] = etx_map_key_second(key);
        for (int64_t k = groups.first[g]; k < groups.first[g + 1]; k++)
            out->index[groups.order[k]] = (int32_t)g;
    }
    ETX_CHECK(set_windows(out, &groups, options));
done:
    etx_sample_groups_free(&groups);
    return status;
}
