/* train/report.c -- what is common to the reports of steps and validations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/report.h"

#include "base/clock.h"
#include "train/state/optimiser.h"

#include <math.h>

void etx_report_begin(
    etx_training_report *report, const struct etx_trainer *trainer)
{
    const double none = (double)NAN;

    *report = (etx_training_report){.struct_size = sizeof *report,
        .step = trainer->progress.step,
        .n_steps = trainer->config.schedule.n_steps,
        .loss = none,
        .learning_rate = none,
        .gradient_norm = none,
        .weight_norm = none,
        .n_edges = none,
        .efficiency = none,
        .purity = none,
        .auc = none,
        .threshold = none,
        .imbalance = none,
        .loss_spread = none,
        .graphs_seconds = none,
        .network_seconds = none,
        .pt_error = none,
        .pt_spread = none,
        .loss_scale = none,
        .n_skipped = (int32_t)trainer->progress.loss_scale.n_skipped,
        .n_rollbacks = (int32_t)trainer->snapshot.n_rollbacks,
        .seconds = etx_now() - trainer->start};
}

etx_status etx_report_finish(
    etx_training_report *report, const struct etx_trainer *trainer)
{
    const struct etx_network *network = &trainer->state.device_network;

    report->step = trainer->progress.step;
    report->n_skipped = (int32_t)trainer->progress.loss_scale.n_skipped;
    report->n_rollbacks = (int32_t)trainer->snapshot.n_rollbacks;
    report->is_finished = etx_trainer_finished(trainer);
    report->seconds = etx_now() - trainer->start;
    return etx_train_norm(&report->weight_norm, trainer->context,
        network->n_values, network->value);
}
