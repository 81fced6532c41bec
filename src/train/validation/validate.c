/* train/validation/validate.c -- how good the stage is, and where to cut.
 *
 * Efficiency counts the signal pairs of the events' truth, whatever stage
 * lost them; the threshold is set relative to what reaches the stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/event_metrics.h"

#include "base/check.h"

#include <math.h>

etx_status etx_train_validate(
    struct etx_trainer *trainer, etx_training_report *report)
{
    struct etx_train_result result = {.step = trainer->step,
        .loss = (double)NAN,
        .auc = (double)NAN,
        .pt_error = (double)NAN,
        .pt_spread = (double)NAN};
    const struct etx_train_marks marks = etx_train_mark(trainer);
    struct etx_survey survey;
    etx_status status;

    if (trainer->validation.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to validate on");
    ETX_CHECK(etx_survey_begin(&survey, trainer));
    if (trainer->config.stage == ETX_TRAIN_EMBEDDING)
        ETX_CHECK(etx_validate_embedding(&result, &survey));
    else
        ETX_CHECK(etx_validate_edges(&result, &survey));
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
done:
    etx_train_reset(trainer, marks);
    return status;
}
