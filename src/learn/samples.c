/* learn/samples.c -- values with keys, ordered within equal keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/samples.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY (INT64_C(1) << 16)
#define FEW            (INT64_C(1) << 16) /* values */

etx_status etx_samples_add(
    struct etx_samples *samples, int64_t key, const float *value)
{
    const int64_t n = samples->n;
    const int64_t more = n > 0 ? 2 * n : FIRST_CAPACITY;
    etx_status status = ETX_OK;

    if (n == samples->capacity) {
        if (more > INT32_MAX)
            ETX_FAIL(ETX_ERR_LIMIT, "learning: more than 2^30 samples");
        ETX_CHECK(etx_resize(
            &samples->key, n, more, sizeof *samples->key, "samples"));
        ETX_CHECK(etx_resize(&samples->value, samples->width * n,
            samples->width * more, sizeof *samples->value, "samples"));
        samples->capacity = more;
    }
    samples->key[n] = key;
    memcpy(samples->value + samples->width * n, value,
        (size_t)samples->width * sizeof *value);
    samples->n++;
done:
    return status;
}

void etx_samples_free(struct etx_samples *samples)
{
    etx_free(samples->key);
    etx_free(samples->value);
}

etx_status etx_sample_groups_make(
    struct etx_sample_groups *out, const struct etx_samples *samples)
{
    const int64_t *const key = samples->key;
    const int64_t n = samples->n;
    etx_status status;

    *out = (struct etx_sample_groups){.samples = samples};
    ETX_NEW(out->order, n, "order of samples");
    ETX_NEW(out->first, n + 1, "groups of samples");
    ETX_NEW(out->scratch, n, "values of samples");
    ETX_CHECK(etx_sort_order(out->order, key, n));
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        if (k == 0 || key[out->order[k]] != key[out->order[k - 1]])
            out->first[out->n++] = k;
    }
    out->first[out->n] = n;
done:
    return status;
}

void etx_sample_groups_free(struct etx_sample_groups *groups)
{
    etx_free(groups->order);
    etx_free(groups->first);
    etx_free(groups->scratch);
}

int64_t etx_sample_groups_key(const struct etx_sample_groups *groups, int64_t g)
{
    return groups->samples->key[groups->order[groups->first[g]]];
}

int64_t etx_sample_groups_find(
    const struct etx_sample_groups *groups, int64_t key)
{
    int64_t low = 0;
    int64_t high = groups->n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (etx_sample_groups_key(groups, middle) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < groups->n && etx_sample_groups_key(groups, low) == key ? low
                                                                        : -1;
}

etx_status etx_sample_groups_sort(const float **out, int64_t *n,
    const struct etx_sample_groups *groups, int64_t g, int32_t column)
{
    const struct etx_samples *const samples = groups->samples;
    const int32_t *const order = groups->order + groups->first[g];
    etx_status status;

    ETX_CHECK(etx_cancel_poll());
    *n = groups->first[g + 1] - groups->first[g];
    for (int64_t k = 0; k < *n; k++)
        groups->scratch[k] =
            samples->value[order[k] * (int64_t)samples->width + column];
    ETX_CHECK(etx_sort_floats(groups->scratch, *n));
    *out = groups->scratch;
done:
    return status;
}

static int compare(const void *left, const void *right)
{
    const float a = *(const float *)left;
    const float b = *(const float *)right;

    return (a > b) - (a < b);
}

/* Many, in time linear in their number. */
static etx_status sort_many(float *value, int64_t n)
{
    int64_t *key = NULL;
    int32_t *order = NULL;
    float *sorted = NULL;
    etx_status status;

    ETX_NEW(key, n, "values of samples");
    ETX_NEW(order, n, "order of samples");
    ETX_NEW(sorted, n, "values of samples");
    for (int64_t k = 0; k < n; k++)
        key[k] = etx_sort_key(value[k]);
    ETX_CHECK(etx_sort_order(order, key, n));
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        sorted[k] = value[order[k]];
    }
    memcpy(value, sorted, (size_t)n * sizeof *value);
done:
    etx_free(key);
    etx_free(order);
    etx_free(sorted);
    return status;
}

etx_status etx_sort_floats(float *value, int64_t n)
{
    if (n > FEW)
        return sort_many(value, n);
    if (n > 0)
        qsort(value, (size_t)n, sizeof *value, compare);
    return ETX_OK;
}
