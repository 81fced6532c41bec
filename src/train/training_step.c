/* train/training_step.c -- steps of a training and what they report.
 *
 * Everything random in a step is drawn from Philox streams named by seed,
 * stage and step: a checkpoint needs no state of a generator, and a step is
 * the same wherever it runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "train/graphs/disk_cache.h"
#include "train/ranks/team.h"

#include <math.h>
#include <time.h>

double etx_train_now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

uint64_t etx_train_seed(const struct etx_trainer *trainer)
{
    return (uint64_t)trainer->config.seed | (uint64_t)trainer->n_rollbacks
                                                << 32;
}

int32_t etx_trainer_finished(const struct etx_trainer *trainer)
{
    const int64_t patience = trainer->config.validation.patience;

    return trainer->step >= trainer->config.schedule.n_steps ||
           (patience > 0 && trainer->best.n_since >= patience);
}

static void clear_report(
    const struct etx_trainer *trainer, etx_training_report *report)
{
    const double nothing = (double)NAN;

    *report = (etx_training_report){.struct_size = sizeof *report,
        .step = trainer->step,
        .n_steps = trainer->config.schedule.n_steps,
        .loss = nothing,
        .learning_rate = nothing,
        .gradient_norm = nothing,
        .weight_norm = nothing,
        .n_edges = nothing,
        .efficiency = nothing,
        .purity = nothing,
        .auc = nothing,
        .threshold = nothing,
        .imbalance = nothing,
        .loss_spread = nothing,
        .graphs_seconds = nothing,
        .network_seconds = nothing,
        .pt_error = nothing,
        .pt_spread = nothing,
        .loss_scale = nothing,
        .n_skipped = (int32_t)trainer->loss_scale.n_skipped,
        .n_rollbacks = (int32_t)trainer->n_rollbacks,
        .seconds = etx_train_now() - trainer->start};
}

static etx_status check_step(const struct etx_trainer *trainer)
{
    if (trainer->step >= trainer->config.schedule.n_steps)
        return etx_fail(ETX_ERR_ARGUMENT,
            "step %lld is beyond the schedule's %d",
            (long long)trainer->step + 1,
            (int)trainer->config.schedule.n_steps);
    if (trainer->training.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to train on");
    return ETX_OK;
}

/* Seed, step and stage name everything that a step draws. */
static struct etx_random open_random(
    const struct etx_trainer *trainer, int64_t step)
{
    struct etx_random random;

    etx_random_init(&random, etx_train_seed(trainer), (uint32_t)step,
        (uint32_t)trainer->config.stage + 1);
    return random;
}

/* The gradient of a step, its norm and its loss. */
static etx_status find_gradient(
    struct etx_trainer *trainer, int64_t number, etx_training_report *report)
{
    struct etx_random random = open_random(trainer, number);
    struct etx_train_event **event;
    struct etx_step step;
    int32_t n_events;
    etx_status status;

    ETX_CHECK(
        etx_train_draw_events(&event, &n_events, trainer, number, &random));
    ETX_CHECK(etx_step_begin(&step, trainer, event, n_events, &random));
    if (trainer->config.stage == ETX_TRAIN_EMBEDDING)
        ETX_CHECK(etx_train_embedding(trainer, &step));
    else
        ETX_CHECK(etx_train_edges(trainer, &step));
    ETX_CHECK(etx_step_share_losses(&step, trainer, report));
    ETX_CHECK(
        etx_train_norm(&report->gradient_norm, trainer, trainer->gradient));
    report->gradient_norm /= etx_train_loss_scale(trainer);
done:
    return status;
}

/* Update the parameters, unless the scale of the loss was too large, or the
 * step is a spike: then go back. */
static etx_status take_step(
    struct etx_trainer *trainer, int64_t step, etx_training_report *report)
{
    const float learning_rate = etx_train_learning_rate(
        &trainer->config.schedule, step, etx_train_steps_per_epoch(trainer));
    etx_status status;

    report->learning_rate = (double)learning_rate;
    if (trainer->config.loss_scaling.initial > 0.0f)
        report->loss_scale = etx_train_loss_scale(trainer);
    if (etx_train_loss_scale_skips(trainer, report->gradient_norm)) {
        report->is_skipped = 1;
        trainer->step = step;
    } else if (etx_train_is_spike(
                   trainer, report->loss, report->gradient_norm)) {
        ETX_CHECK(etx_train_roll_back(trainer, report->loss));
        report->is_rollback = 1;
        report->n_rollbacks = (int32_t)trainer->n_rollbacks;
    } else {
        ETX_CHECK(etx_train_update(
            trainer, step, learning_rate, report->gradient_norm));
        etx_train_loss_scale_grow(trainer);
        trainer->step = step;
    }
    report->n_skipped = (int32_t)trainer->loss_scale.n_skipped;
done:
    return status;
}

/* Start reading the graphs of the next step; what goes wrong here, that step
 * will say. */
static void read_ahead(struct etx_trainer *trainer)
{
    const int64_t step = trainer->step + 1;
    struct etx_random random = open_random(trainer, step);
    struct etx_train_event **event;
    int32_t *owner;
    int32_t n_mine = 0;
    int32_t n;

    if (trainer->cache == NULL || etx_trainer_finished(trainer) ||
        trainer->config.stage == ETX_TRAIN_EMBEDDING)
        return;
    if (etx_train_draw_events(&event, &n, trainer, step, &random) != ETX_OK ||
        etx_team_deal(&owner, trainer, event, n) != ETX_OK)
        return;
    for (int32_t k = 0; k < n; k++)
        if (owner[k] == trainer->team.rank)
            event[n_mine++] = event[k];
    etx_train_cache_read_ahead(trainer->cache, event, n_mine);
}

etx_status etx_trainer_run_step(
    struct etx_trainer *trainer, etx_training_report *report)
{
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const int64_t step = trainer->step + 1;
    etx_status status;

    clear_report(trainer, report);
    ETX_CHECK(check_step(trainer));
    ETX_CHECK(etx_train_snapshot_take(trainer));
    ETX_CHECK(find_gradient(trainer, step, report));
    ETX_CHECK(etx_train_meet_parts(trainer));
    ETX_CHECK(take_step(trainer, step, report));
    report->step = trainer->step;
    ETX_CHECK(etx_train_norm(
        &report->weight_norm, trainer, trainer->there.network.value));
    report->is_finished = etx_trainer_finished(trainer);
    report->seconds = etx_train_now() - trainer->start;
    read_ahead(trainer);
done:
    etx_train_leave_parts(trainer, status);
    etx_train_reset(trainer, marks);
    return status;
}

etx_status etx_trainer_run_validation(
    struct etx_trainer *trainer, etx_training_report *report)
{
    etx_status status;

    clear_report(trainer, report);
    ETX_CHECK(etx_train_state_get(trainer));
    ETX_CHECK(etx_train_validate(trainer, report));
    report->is_best = etx_train_note_result(trainer);
    ETX_CHECK(etx_train_norm(
        &report->weight_norm, trainer, trainer->there.network.value));
done:
    etx_train_leave_parts(trainer, status);
    report->is_finished = etx_trainer_finished(trainer);
    report->seconds = etx_train_now() - trainer->start;
    return status;
}
