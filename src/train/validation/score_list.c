/* train/validation/score_list.c -- efficiency, purity and AUC of scored pairs.
 *
 * The bits of floats that are not negative order as the floats do, so that
 * one integer holds score and kind, and one sort is enough for all metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/score_list.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "train/ratio.h"

#include <math.h>
#include <string.h>

#define N_PAIR_KINDS 4

static uint64_t make_key(float score, uint8_t pair)
{
    uint32_t bits;

    memcpy(&bits, &score, sizeof bits);
    return (uint64_t)bits << 8 | pair;
}

static float key_score(uint64_t key)
{
    const uint32_t bits = (uint32_t)(key >> 8);
    float score;

    memcpy(&score, &bits, sizeof score);
    return score;
}

static int32_t key_pair(uint64_t key)
{
    return (int32_t)(key & 0xff);
}

etx_status etx_score_list_add(struct etx_score_list *list, int64_t n,
    const float *score, const uint8_t *pair)
{
    etx_status status = ETX_OK;

    if (list->n + n > list->capacity) {
        const int64_t capacity = 2 * list->n + n;

        ETX_CHECK(etx_resize(&list->key, list->capacity, capacity,
            sizeof *list->key, "validation scores"));
        list->capacity = capacity;
    }
    for (int64_t e = 0; e < n; e++)
        list->key[list->n++] = make_key(score[e], pair[e]);
done:
    return status;
}

void etx_score_list_clear(struct etx_score_list *list)
{
    etx_free(list->key);
    memset(list, 0, sizeof *list);
}

etx_status etx_score_list_sort(struct etx_score_list *list)
{
    uint64_t *sorted = NULL;
    int32_t *order = NULL;
    etx_status status;

    if (list->n > INT32_MAX)
        ETX_FAIL(ETX_ERR_LIMIT, "validation: %lld scores are more than %d",
            (long long)list->n, INT32_MAX);
    ETX_NEW(order, list->n, "order of scores");
    ETX_NEW(sorted, list->n, "validation scores");
    /* Keys have 40 bits. */
    ETX_CHECK(etx_sort_order(order, (const int64_t *)list->key, list->n));
    for (int64_t k = 0; k < list->n; k++) {
        ETX_POLL(k);
        sorted[k] = list->key[order[k]];
    }
    etx_free(list->key);
    list->key = sorted;
    list->capacity = list->n;
    sorted = NULL;
done:
    etx_free(sorted);
    etx_free(order);
    return status;
}

/* The index of the signal pair of this rank (0 = lowest score). */
static int64_t find_signal(const struct etx_score_list *list, int64_t rank)
{
    for (int64_t k = 0; k < list->n; k++)
        if (key_pair(list->key[k]) == ETX_PAIR_SIGNAL && rank-- == 0)
            return k;
    return -1;
}

static int64_t count_signal(const struct etx_score_list *list)
{
    int64_t n = 0;

    for (int64_t k = 0; k < list->n; k++)
        n += key_pair(list->key[k]) == ETX_PAIR_SIGNAL;
    return n;
}

/* How many of n signal pairs must be kept. */
static int64_t count_wanted(int64_t n, double target)
{
    const int64_t wanted = (int64_t)ceil(target * (double)n - 1e-9);

    return wanted < 1 ? 1 : wanted > n ? n : wanted;
}

float etx_score_list_cut(const struct etx_score_list *list, double target)
{
    const int64_t n = count_signal(list);
    float score;

    if (n == 0)
        return -1.0f;
    score =
        key_score(list->key[find_signal(list, n - count_wanted(n, target))]);
    return score > 0.0f ? nextafterf(score, 0.0f) : 0.0f;
}

float etx_score_list_quantile(const struct etx_score_list *list, double target)
{
    const int64_t n = count_signal(list);

    if (n == 0)
        return -1.0f;
    return key_score(list->key[find_signal(list, count_wanted(n, target) - 1)]);
}

/* Pairs (true, false) in which the true one has the higher score. */
static double count_ordered(
    const struct etx_score_list *list, double *n_true, double *n_false)
{
    double ordered = 0.0;

    *n_true = *n_false = 0.0;
    for (int64_t k = 0; k < list->n;) {
        const uint64_t bits = list->key[k] >> 8;
        double group_true = 0.0;
        double group_false = 0.0;

        for (; k < list->n && list->key[k] >> 8 == bits; k++) {
            const int32_t pair = key_pair(list->key[k]);

            group_true += pair == ETX_PAIR_SIGNAL || pair == ETX_PAIR_LOW_PT;
            group_false += pair == ETX_PAIR_FALSE;
        }
        ordered += group_true * (*n_false + 0.5 * group_false);
        *n_true += group_true;
        *n_false += group_false;
    }
    return ordered;
}

struct etx_score_metrics etx_score_list_metrics(
    const struct etx_score_list *list, float cut)
{
    struct etx_score_metrics metrics = {.n_kept = 0};
    int64_t kept[N_PAIR_KINDS] = {0};
    double n_true;
    double n_false;
    const double ordered = count_ordered(list, &n_true, &n_false);

    for (int64_t k = 0; k < list->n; k++) {
        if (!(key_score(list->key[k]) > cut))
            continue;
        kept[key_pair(list->key[k])]++;
        metrics.n_kept++;
    }
    metrics.n_signal = kept[ETX_PAIR_SIGNAL];
    metrics.purity =
        etx_ratio((double)(kept[ETX_PAIR_SIGNAL] + kept[ETX_PAIR_LOW_PT]),
            (double)metrics.n_kept);
    metrics.auc = etx_ratio(ordered, n_true * n_false);
    return metrics;
}
