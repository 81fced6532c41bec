/* examples/distributed_steps.c -- what a rank of etx-train-distributed does:
 * steps, validations, checkpoints, the report of scaling and the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "distributed.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "scaling_report.h"
#include "training_files.h"

#define LOG_LINES        1000
#define SECONDS_PER_LINE 30.0

/* Every rank has the same parameters, or the run ends here. */
static int agree(struct distributed_rank *rank)
{
    DISTRIBUTED_CHECK(rank,
        etx_dist_agree(
            rank->dist, etx_trainer_hash(rank->trainer), "parameters"),
        "the ranks differ");
    return 0;
}

static int validate(struct distributed_rank *rank)
{
    const etx_training_report *report = &rank->validation;

    if (rank->options->validation.count == 0)
        return agree(rank);
    DISTRIBUTED_CHECK(rank,
        etx_trainer_validate(rank->trainer, &rank->validation), "validation");
    if (rank->number == 0) {
        printf("step %lld: threshold %.5g, efficiency %.5f, purity %.4f, "
               "auc %.5f, loss %.5f, %.0f s%s\n",
            (long long)report->step, report->threshold, report->efficiency,
            report->purity, report->auc, report->loss, report->seconds,
            report->is_best ? ", the best" : "");
        fflush(stdout);
        training_log_validation(rank->log, report);
    }
    return agree(rank);
}

/* Rank 0 keeps the last checkpoint under another name and writes the new one,
 * which is complete or not there. */
static int save_checkpoint(struct distributed_rank *rank)
{
    rank->saved = distributed_now();
    if (agree(rank) != 0 || rank->number != 0)
        return rank->result;
    unlink(rank->earlier);
    if (link(rank->checkpoint, rank->earlier) != 0 &&
        access(rank->checkpoint, F_OK) == 0)
        return rank->result = program_error(
                   "rank 0: %s: cannot be linked to", rank->checkpoint);
    DISTRIBUTED_CHECK(rank,
        etx_trainer_save_checkpoint(rank->trainer, rank->checkpoint),
        "checkpoint");
    return 0;
}

/* One step and what of it went into moving data and into waiting. */
static int take_step(struct distributed_rank *rank)
{
    const double begin = distributed_now();
    etx_dist_statistics before;
    etx_dist_statistics after;

    DISTRIBUTED_CHECK(
        rank, etx_dist_get_statistics(&before, rank->dist), "training");
    DISTRIBUTED_CHECK(
        rank, etx_trainer_step(rank->trainer, &rank->report), "training");
    DISTRIBUTED_CHECK(
        rank, etx_dist_get_statistics(&after, rank->dist), "training");
    rank->step_seconds += distributed_now() - begin;
    rank->moving_seconds += after.seconds - before.seconds;
    rank->waiting_seconds += after.waiting_seconds - before.waiting_seconds;
    return 0;
}

static void log_step(struct distributed_rank *rank)
{
    const etx_training_report *report = &rank->report;
    const double now = distributed_now();
    const double shares[2] = {rank->moving_seconds / rank->step_seconds,
        rank->waiting_seconds / rank->step_seconds};

    if (report->is_rollback) {
        training_log_rollback(rank->log, report);
        return;
    }
    ranks_log_add(&rank->steps, report);
    if (rank->number == 0 && now - rank->shown > SECONDS_PER_LINE) {
        rank->shown = now;
        printf("%lld/%lld loss %.4f, %.0f ms a step\n",
            (long long)report->step, (long long)report->n_steps,
            rank->steps.running_loss,
            1e3 * rank->step_seconds / (double)rank->steps.n_all);
        fflush(stdout);
    }
    if (report->step % (report->n_steps / LOG_LINES + 1) == 0)
        ranks_log_write(rank->log, &rank->steps, report, shares);
}

/* What any rank's clock or signals ask for, all do: [0] stop, [1] save. */
static int ask_all(struct distributed_rank *rank, double wish[2])
{
    const struct distributed_options *o = rank->options;
    const double now = distributed_now();

    wish[0] = distributed_stop != 0 ||
              (o->time_limit > 0.0 && now - rank->begin > o->time_limit);
    wish[1] =
        rank->number == 0 && now - rank->saved > o->checkpoint_seconds;
    DISTRIBUTED_CHECK(rank, etx_dist_sum(rank->dist, wish, 2), "after a step");
    return 0;
}

int distributed_train(struct distributed_rank *rank)
{
    const int64_t n_steps = etx_trainer_n_steps(rank->trainer);
    const int64_t asked = rank->options->validate_every;
    const int64_t every = asked > 0 ? asked : n_steps / 10 + 1;
    double wish[2] = {0.0, 0.0};

    rank->begin = rank->saved = rank->shown = distributed_now();
    rank->joules = scaling_energy();
    while (rank->result == 0 && wish[0] <= 0.0 &&
           !etx_trainer_is_finished(rank->trainer)) {
        if (take_step(rank) != 0)
            break;
        log_step(rank);
        if (ask_all(rank, wish) != 0)
            break;
        if (!rank->report.is_rollback && rank->report.step % every == 0 &&
            rank->report.step < n_steps)
            (void)validate(rank);
        if (rank->result == 0 && wish[1] > 0.0)
            (void)save_checkpoint(rank);
    }
    rank->joules = scaling_energy() - rank->joules;
    return rank->result;
}

/* Steps that see every training event once. */
static double count_epoch_steps(const struct distributed_rank *rank)
{
    json_t *config = json_loads(rank->config, 0, NULL);
    const json_t *graphs =
        json_object_get(json_object_get(config, "sampling"), "graphs");
    const double n = json_is_integer(graphs) ? json_number_value(graphs) : 1.0;

    json_decref(config);
    return ceil((double)rank->n_training / n);
}

/* The largest rank's memory; other figures are rank 0's. */
static int report_scaling(struct distributed_rank *rank)
{
    const double n = (double)rank->steps.n_all;
    const double epoch = count_epoch_steps(rank);
    double *peak = program_allocate(rank->n_ranks, sizeof *peak);
    struct scaling_run run = {.n_ranks = rank->n_ranks,
        .batch_seconds = rank->step_seconds / n,
        .epoch_seconds = rank->step_seconds / n * epoch,
        .efficiency = rank->validation.efficiency,
        .purity = rank->validation.purity,
        .auc = rank->validation.auc,
        .loss = rank->validation.loss,
        .imbalance = rank->steps.imbalance_of_all / n,
        .moving_share = rank->moving_seconds / rank->step_seconds,
        .waiting_share = rank->waiting_seconds / rank->step_seconds,
        .epoch_joules = rank->joules >= 0.0 ? rank->joules / n * epoch
                                            : (double)NAN};

    peak[rank->number] = scaling_peak_mib();
    if (etx_dist_sum(rank->dist, peak, rank->n_ranks) != ETX_OK)
        rank->result = distributed_failed(rank, ETX_ERR_IO, "--scaling-report");
    for (int32_t r = 0; r < rank->n_ranks; r++)
        run.peak_mib = fmax(run.peak_mib, peak[r]);
    free(peak);
    if (rank->result == 0 && rank->number == 0)
        rank->result = scaling_report(rank->options->report, &run);
    return rank->result;
}

static int write_model(struct distributed_rank *rank)
{
    etx_model *model = NULL;

    DISTRIBUTED_CHECK(rank, etx_trainer_model(&model, rank->trainer), "model");
    if (etx_model_save(model, rank->options->out) != ETX_OK)
        rank->result = distributed_failed(rank, ETX_ERR_IO, rank->options->out);
    etx_model_free(model);
    return rank->result;
}

/* Validate, so that the thresholds are those of the last step, and write. */
int distributed_finish(struct distributed_rank *rank)
{
    if (save_checkpoint(rank) != 0 || validate(rank) != 0)
        return rank->result;
    if (rank->options->report != NULL && rank->steps.n_all > 0 &&
        report_scaling(rank) != 0)
        return rank->result;
    if (rank->number == 0 && write_model(rank) != 0)
        return rank->result;
    DISTRIBUTED_CHECK(rank, etx_dist_barrier(rank->dist), "at the end");
    if (rank->number == 0)
        printf("%lld steps, state %016llx\n",
            (long long)etx_trainer_steps_done(rank->trainer),
            (unsigned long long)etx_trainer_hash(rank->trainer));
    if (rank->number == 0 && distributed_stop != 0)
        rank->result =
            program_error("stopped at step %lld; go on with --resume",
                (long long)etx_trainer_steps_done(rank->trainer));
    return rank->result;
}
