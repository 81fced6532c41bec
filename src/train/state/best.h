/* train/state/best.h -- results of validations, and the best one so far.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_STATE_BEST_H
#define ETX_TRAIN_STATE_BEST_H

#include "stage/model.h"
#include "train/config.h"

struct etx_train_result {
    int64_t step; /* -1: never validated */
    double loss, n_edges, efficiency, purity, auc, threshold;
    double pt_error, pt_spread;
};

/* Numbers of a model that validation sets. */
struct etx_train_thresholds {
    float radius, filter_cut, label_cut;
};

struct etx_train_best {
    struct etx_train_result result;
    struct etx_train_thresholds thresholds;
    double value;     /* of the criterion */
    int64_t n_since;  /* validations that were not better */
    float *parameter; /* [n_values], owned; NULL unless keep_best */
};

struct etx_train_thresholds etx_train_get_thresholds(
    const struct etx_model *model);
void etx_train_set_thresholds(
    struct etx_model *model, const struct etx_train_thresholds *thresholds);

/* Compare a result of the model, whose network is in training, with the best;
 * 1 when it is the new one. */
int32_t etx_best_update(struct etx_train_best *best,
    const struct etx_train_result *result,
    const struct etx_train_validation *options, const struct etx_model *model,
    const struct etx_network *network);

#endif
