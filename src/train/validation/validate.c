/* train/validation/validate.c -- how good the stage in training is, and where
 * it cuts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/validate.h"

#include "base/check.h"
#include "train/objective/objective.h"
#include "train/report.h"
#include "train/transfer.h"
#include "train/validation/event_metrics.h"

#include <math.h>

static etx_status compute_result(
    struct etx_train_result *result, struct etx_trainer *trainer)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    struct etx_validation validation;
    etx_status status;

    *result = (struct etx_train_result){.step = trainer->progress.step,
        .loss = (double)NAN,
        .auc = (double)NAN,
        .pt_error = (double)NAN,
        .pt_spread = (double)NAN};
    if (trainer->validation.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to validate on");
    ETX_CHECK(etx_validation_begin(&validation, trainer));
    ETX_CHECK(trainer->objective->validate(result, &validation));
done:
    etx_scratch_reset(trainer->context, mark);
    return status;
}

etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report)
{
    struct etx_train_result result;
    etx_status status;

    etx_report_begin(report, trainer);
    ETX_CHECK(etx_train_state_to_host(&trainer->state));
    ETX_CHECK(compute_result(&result, trainer));
    trainer->result = result;
    report->is_validation = 1;
    report->loss = result.loss;
    report->n_edges = result.n_edges;
    report->efficiency = result.efficiency;
    report->purity = result.purity;
    report->auc = result.auc;
    report->threshold = result.threshold;
    report->pt_error = result.pt_error;
    report->pt_spread = result.pt_spread;
    report->is_best = etx_best_update(&trainer->best, &result,
        &trainer->config.validation, trainer->model, trainer->stage->network);
    ETX_CHECK(etx_report_finish(report, trainer));
done:
    etx_partition_end(&trainer->partition, status);
    return status;
}
