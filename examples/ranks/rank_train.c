/* examples/ranks/rank_train.c -- the steps of a training on several ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ranks/rank.h"

#include "training_files.h"

#define LOG_LINES        1000
#define SECONDS_PER_LINE 30.0

/* Every rank has the same parameters, or the run ends here. */
static int agree(struct rank *rank)
{
    RANK_CHECK(rank,
        etx_dist_agree(
            rank->dist, etx_trainer_hash(rank->trainer), "parameters"),
        "the ranks differ");
    return 0;
}

int rank_validate(struct rank *rank)
{
    const etx_training_report *report = &rank->validation;

    if (rank->options->validation.count == 0)
        return agree(rank);
    RANK_CHECK(rank, etx_trainer_validate(rank->trainer, &rank->validation),
        "validation");
    if (rank->number == 0) {
        if (!training_print_unmeasured(report))
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

int rank_save_checkpoint(struct rank *rank)
{
    rank->saved = rank_now();
    if (agree(rank) != 0 || rank->number != 0)
        return rank->result;
    training_keep_earlier(rank->checkpoint, rank->earlier);
    RANK_CHECK(rank,
        etx_trainer_save_checkpoint(rank->trainer, rank->checkpoint),
        "checkpoint");
    return 0;
}

/* One step and what it was spent on. */
static int take_step(struct rank *rank)
{
    const double begin = rank_now();
    etx_dist_statistics before = {.struct_size = sizeof before};
    etx_dist_statistics after = {.struct_size = sizeof after};

    RANK_CHECK(rank, etx_dist_get_statistics(&before, rank->dist), "training");
    RANK_CHECK(
        rank, etx_trainer_step(rank->trainer, &rank->report), "training");
    RANK_CHECK(rank, etx_dist_get_statistics(&after, rank->dist), "training");
    rank->spent.all += rank_now() - begin;
    rank->spent.graphs += rank->report.graphs_seconds;
    rank->spent.network += rank->report.network_seconds;
    rank->spent.moving += after.seconds - before.seconds;
    rank->spent.waiting += after.waiting_seconds - before.waiting_seconds;
    return 0;
}

static void log_step(struct rank *rank)
{
    const etx_training_report *report = &rank->report;
    const double shares[2] = {rank->spent.moving / rank->spent.all,
        rank->spent.waiting / rank->spent.all};

    if (report->is_rollback) {
        training_log_rollback(rank->log, report);
        return;
    }
    if (report->is_skipped)
        training_log_skipped(rank->log, report);
    ranks_log_add(&rank->steps, report);
    if (rank->number == 0 && rank_now() - rank->shown > SECONDS_PER_LINE) {
        rank->shown = rank_now();
        printf("%lld/%lld loss %.4f, %.0f ms a step\n", (long long)report->step,
            (long long)report->n_steps, rank->steps.running_loss,
            1e3 * rank->spent.all / (double)rank->steps.n_all);
        fflush(stdout);
    }
    if (report->step % (report->n_steps / LOG_LINES + 1) == 0)
        ranks_log_write(rank->log, &rank->steps, report, shares);
}

/* What any rank's clock or signals ask for, all do. */
enum wish {
    WISH_STOP,  /* a signal came */
    WISH_LIMIT, /* the time is over */
    WISH_SAVE,
    N_WISHES
};

static int ask_all(struct rank *rank, double wish[N_WISHES],
    const volatile sig_atomic_t *stop_signal)
{
    const struct distributed_options *o = rank->options;

    wish[WISH_STOP] = *stop_signal != 0;
    wish[WISH_LIMIT] =
        o->time_limit > 0.0 && rank_now() - rank->begin > o->time_limit;
    wish[WISH_SAVE] =
        rank->number == 0 && rank_now() - rank->saved > o->checkpoint_seconds;
    RANK_CHECK(rank, etx_dist_sum(rank->dist, wish, N_WISHES), "after a step");
    return 0;
}

int rank_train(struct rank *rank, const volatile sig_atomic_t *stop_signal)
{
    const int64_t n_steps = etx_trainer_n_steps(rank->trainer);
    const int64_t asked = rank->options->validate_every;
    const int64_t every = asked > 0 ? asked : n_steps / 10 + 1;
    double wish[N_WISHES] = {0.0};

    rank->begin = rank->saved = rank->shown = rank_now();
    energy_open(&rank->energy, ENERGY_COUNTERS);
    while (rank->result == 0 && wish[WISH_STOP] + wish[WISH_LIMIT] <= 0.0 &&
           !etx_trainer_is_finished(rank->trainer)) {
        if (take_step(rank) != 0)
            break;
        energy_sample(&rank->energy);
        log_step(rank);
        if (ask_all(rank, wish, stop_signal) != 0)
            break;
        if (!rank->report.is_rollback && rank->report.step % every == 0 &&
            rank->report.step < n_steps)
            (void)rank_validate(rank);
        if (rank->result == 0 && wish[WISH_SAVE] > 0.0)
            (void)rank_save_checkpoint(rank);
    }
    if (rank->result == 0 && rank->number == 0)
        training_print_early_end(rank->trainer);
    rank->is_stopped =
        wish[WISH_STOP] > 0.0 && !etx_trainer_is_finished(rank->trainer);
    return rank->result;
}
