/* train/training_step.c -- one step of a training, from top to bottom:
 *
 *   etx_trainer_draw_batch     events of the step, assigned to ranks
 *   etx_trainer_gradient
 *     sample_batch             per graph: a sector, its pairs or edges
 *     etx_batch_share_sums     over ranks: what the loss is divided by
 *     add_gradients            per graph: forward, loss, backward
 *     etx_gradient_finish      their sum over graphs, ranks and partitions
 *   finish_step                skip, roll back, or clip and update (AdamW)
 *   etx_trainer_prefetch       graphs of the next step, from disk
 *
 * The loss of a graph is objective/embedding_objective.c or edge_objective.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/train.h"

#include "base/check.h"
#include "base/clock.h"
#include "train/draw_batch.h"
#include "train/objective/objective.h"
#include "train/ranks/gradient.h"
#include "train/report.h"
#include "train/sampling/event_order.h"
#include "train/schedule.h"
#include "train/state/optimiser.h"
#include "train/transfer.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------- gradient -- */

/* sample [n_graphs] of the trainer's objective, this rank's. */
static etx_status sample_batch(
    char *sample, struct etx_trainer *trainer, struct etx_batch *batch)
{
    const struct etx_objective *objective = trainer->objective;
    const double begin = etx_now();
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < batch->n_graphs; k++)
        if (etx_batch_is_mine(batch, k))
            ETX_CHECK(
                objective->sample(sample + (size_t)k * objective->sample_size,
                    trainer, batch, k));
    batch->graphs_seconds = etx_now() - begin - batch->network_seconds;
done:
    return status;
}

/* The gradients of this rank's graphs. */
static etx_status add_gradients(struct etx_gradient_sum *sum,
    struct etx_trainer *trainer, struct etx_batch *batch, const char *sample)
{
    const struct etx_objective *objective = trainer->objective;
    const double begin = etx_now();
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < batch->n_graphs; k++) {
        float *gradient;

        if (!etx_batch_is_mine(batch, k))
            continue;
        ETX_CHECK(etx_gradient_open(&gradient, sum, k));
        const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
        status = objective->add_gradient(gradient,
            sample + (size_t)k * objective->sample_size, trainer, batch, k);
        etx_scratch_reset(trainer->context, mark);
        ETX_CHECK(status);
        ETX_CHECK(etx_gradient_close(sum, k));
    }
    batch->network_seconds += etx_now() - begin;
done:
    return status;
}

static void clear_samples(
    char *sample, const struct etx_objective *objective, int32_t n)
{
    for (int32_t k = 0; k < n && objective->clear != NULL; k++)
        objective->clear(sample + (size_t)k * objective->sample_size);
}

etx_status etx_trainer_gradient(
    struct etx_trainer *trainer, struct etx_batch *batch)
{
    const size_t size = trainer->objective->sample_size;
    struct etx_gradient_sum sum = {.context = trainer->context,
        .team = &trainer->team,
        .partition = &trainer->partition,
        .n_values = trainer->stage->network->n_values,
        .n_graphs = batch->n_graphs,
        .owner = batch->owner};
    char *sample = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&sample, etx_train_host(trainer->context)->arena,
        batch->n_graphs, size, "samples"));
    memset(sample, 0, (size_t)batch->n_graphs * size);
    ETX_CHECK(sample_batch(sample, trainer, batch));
    ETX_CHECK(etx_batch_share_sums(batch));
    ETX_CHECK(etx_gradient_begin(&sum));
    ETX_CHECK(add_gradients(&sum, trainer, batch, sample));
    ETX_CHECK(etx_gradient_finish(trainer->state.gradient, &sum));
    ETX_CHECK(etx_partition_sum_doubles(
        &trainer->partition, batch->loss, batch->n_graphs));
    ETX_CHECK(etx_batch_share_losses(batch));
done:
    if (sample != NULL)
        clear_samples(sample, trainer->objective, batch->n_graphs);
    return status;
}

/* --------------------------------------------------------------- update -- */

/* Clip the gradient and update the parameters. */
static etx_status make_update(struct etx_trainer *trainer, int64_t step,
    const etx_training_report *report)
{
    const struct etx_train_progress *progress = &trainer->progress;
    const struct etx_update update = {
        .number = step - progress->loss_scale.n_skipped,
        .learning_rate = (float)report->learning_rate,
        .gradient_norm = report->gradient_norm,
        .loss_scale = progress->loss_scale.scale};

    if (!isfinite(update.gradient_norm))
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %d: the gradient is not finite; a smaller learning_rate "
            "than %.9g may help",
            (int)step, (double)trainer->config.schedule.learning_rate);
    return etx_train_update(
        &trainer->state, trainer->context, &trainer->config.optimiser, &update);
}

/* Skip the step when the loss scale was too large for it, roll back when it is
 * a spike, else update. */
static etx_status finish_step(
    struct etx_trainer *trainer, int64_t step, etx_training_report *report)
{
    const struct etx_train_config *config = &trainer->config;
    struct etx_train_progress *progress = &trainer->progress;
    etx_status status = ETX_OK;

    report->learning_rate = (double)etx_train_learning_rate(&config->schedule,
        step, etx_train_steps_per_epoch(&trainer->training, config));
    if (config->loss_scaling.initial > 0.0f)
        report->loss_scale = progress->loss_scale.scale;
    if (etx_loss_scale_skips(&progress->loss_scale, &config->loss_scaling,
            report->gradient_norm)) {
        report->is_skipped = 1;
        progress->step = step;
    } else if (etx_train_is_spike(&progress->mean, &config->stability,
                   report->loss, report->gradient_norm)) {
        ETX_CHECK(etx_snapshot_roll_back(progress, &trainer->state,
            &trainer->snapshot, &config->stability, report->loss));
        report->is_rollback = 1;
    } else {
        ETX_CHECK(make_update(trainer, step, report));
        etx_loss_scale_grow(&progress->loss_scale, &config->loss_scaling);
        progress->step = step;
    }
done:
    return status;
}

/* ----------------------------------------------------------------- step -- */

static etx_status check_step(const struct etx_trainer *trainer)
{
    if (trainer->progress.step >= trainer->config.schedule.n_steps)
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %lld is beyond the schedule's %d",
            (long long)trainer->progress.step + 1,
            (int)trainer->config.schedule.n_steps);
    if (trainer->training.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to train on");
    return ETX_OK;
}

etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    const int64_t step = trainer->progress.step + 1;
    struct etx_train_state *state = &trainer->state;
    struct etx_batch batch;
    etx_status status;

    etx_report_begin(report, trainer);
    ETX_CHECK(check_step(trainer));
    ETX_CHECK(etx_snapshot_update(&trainer->snapshot, &trainer->progress, state,
        &trainer->config.stability));
    ETX_CHECK(etx_trainer_draw_batch(&batch, trainer, step));
    ETX_CHECK(etx_trainer_gradient(trainer, &batch));
    etx_batch_report(&batch, report);
    ETX_CHECK(etx_train_norm(&report->gradient_norm, trainer->context,
        state->network->n_values, state->gradient));
    report->gradient_norm /= trainer->progress.loss_scale.scale;
    ETX_CHECK(etx_partition_barrier(&trainer->partition));
    ETX_CHECK(finish_step(trainer, step, report));
    ETX_CHECK(etx_report_finish(report, trainer));
    etx_trainer_prefetch(trainer);
done:
    etx_partition_end(&trainer->partition, status);
    etx_scratch_reset(trainer->context, mark);
    return status;
}
