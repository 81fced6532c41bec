/* learn/samples.h -- values with keys, ordered within equal keys.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_LEARN_SAMPLES_H
#define ETX_LEARN_SAMPLES_H

#include <exatrkx/exatrkx.h>

/* Zeroed but for width: empty. */
struct etx_samples {
    int32_t width;
    int64_t n, capacity;
    int64_t *key; /* [n] */
    float *value; /* [n, width] */
};

etx_status etx_samples_add(
    struct etx_samples *samples, int64_t key, const float *value);
void etx_samples_free(struct etx_samples *samples);

/* Samples with equal keys are a group; groups ascend by key. */
struct etx_sample_groups {
    const struct etx_samples *samples;
    int64_t n;
    int64_t *first; /* [n + 1] into order */
    int32_t *order; /* [samples->n] by key, then as added */
    float *scratch; /* [samples->n] */
};

/* Borrows samples. Free *out also after a failure. */
etx_status etx_sample_groups_make(
    struct etx_sample_groups *out, const struct etx_samples *samples);
void etx_sample_groups_free(struct etx_sample_groups *groups);

int64_t etx_sample_groups_key(
    const struct etx_sample_groups *groups, int64_t g);
/* The group of a key, or -1. */
int64_t etx_sample_groups_find(
    const struct etx_sample_groups *groups, int64_t key);
/* *out [*n] = one column of the values of group g, ascending, in scratch. */
etx_status etx_sample_groups_sort(const float **out, int64_t *n,
    const struct etx_sample_groups *groups, int64_t g, int32_t column);

/* Ascending. */
etx_status etx_sort_floats(float *value, int64_t n);

#endif
