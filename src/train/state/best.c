/* train/state/best.c -- the best validation so far, and how long ago it
 * was.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/best.h"

#include <math.h>
#include <string.h>

struct etx_train_thresholds etx_train_get_thresholds(
    const struct etx_model *model)
{
    return (struct etx_train_thresholds){.radius = model->radius,
        .filter_cut = model->filter_cut,
        .label_cut = model->label.cut};
}

void etx_train_set_thresholds(
    struct etx_model *model, const struct etx_train_thresholds *thresholds)
{
    model->radius = thresholds->radius;
    model->filter_cut = thresholds->filter_cut;
    model->label.cut = thresholds->label_cut;
}

/* The larger the better. */
static double rate(const struct etx_train_result *result, int32_t criterion)
{
    switch ((enum etx_criterion)criterion) {
    case ETX_CRITERION_LOSS:
        break;
    case ETX_CRITERION_AUC:
        return result->auc;
    case ETX_CRITERION_EFFICIENCY:
        return result->efficiency;
    case ETX_CRITERION_PURITY:
        return result->purity;
    }
    return -result->loss;
}

int32_t etx_best_update(struct etx_train_best *best,
    const struct etx_train_result *result,
    const struct etx_train_validation *options, const struct etx_model *model,
    const struct etx_network *network)
{
    const double value = rate(result, options->criterion);
    const int is_first = best->result.step < 0;

    /* What was not measured is neither better nor worse. */
    if (isnan(value))
        return 0;
    if (!is_first && !(value > best->value + (double)options->min_delta)) {
        best->n_since++;
        return 0;
    }
    best->result = *result;
    best->thresholds = etx_train_get_thresholds(model);
    best->value = value;
    best->n_since = 0;
    if (best->parameter != NULL)
        memcpy(best->parameter, network->value,
            (size_t)network->n_values * sizeof *best->parameter);
    return 1;
}
