/* train/validation/score_list.h -- efficiency, purity and AUC of scored pairs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_VALIDATION_SCORE_LIST_H
#define ETX_TRAIN_VALIDATION_SCORE_LIST_H

#include "train/sampling/truth.h"

/* Scores >= 0 and the kinds of their pairs; grows. */
struct etx_score_list {
    int64_t n, capacity;
    uint64_t *key; /* [n] bits of the score, then enum etx_pair */
};

etx_status etx_score_list_add(struct etx_score_list *list, int64_t n,
    const float *score, const uint8_t *pair);
void etx_score_list_clear(struct etx_score_list *list);

struct etx_score_metrics {
    int64_t n_kept;   /* pairs above the cut */
    int64_t n_signal; /* signal pairs among them */
    double purity;    /* true pairs kept / pairs kept */
    double auc;       /* true against false pairs, ties count half */
};

/* Sorts the list. */
etx_status etx_score_list_sort(struct etx_score_list *list);

/* The largest cut such that at least target of the signal pairs of a sorted
 * list have a score strictly above; -1 without signal. */
float etx_score_list_cut(const struct etx_score_list *list, double target);

/* The smallest value such that at least target of the signal pairs of a
 * sorted list are at or below it; -1 without signal. */
float etx_score_list_quantile(const struct etx_score_list *list, double target);

/* Of a sorted list; nan where there is nothing to divide by. */
struct etx_score_metrics etx_score_list_metrics(
    const struct etx_score_list *list, float cut);

#endif
