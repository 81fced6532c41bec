/* examples/etx-train-distributed.c -- train one stage of a pipeline on several
 * ranks: processes that mpirun or srun started, or threads of this one.
 *
 * Same configs, events and results as etx-train (docs/distributed.md). Rank 0
 * writes the log, the checkpoints and the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/dist.h>

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cores.h"
#include "distributed_options.h"
#include "energy.h"
#include "program.h"
#include "ranks_log.h"
#include "scaling_report.h"
#include "training_files.h"

#define LOG_LINES        1000
#define SECONDS_PER_LINE 30.0

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
    stop_signal = number;
}

static double now(void)
{
    struct timespec time = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ------------------------------------------------------------- one rank -- */

/* Everything that a rank holds. */
struct rank {
    const struct distributed_options *options;
    const char *config; /* the text */
    etx_dist *dist;
    int32_t number, n_ranks;
    etx_context *context;
    etx_detector *detector;
    etx_model *start;
    etx_trainer *trainer;
    etx_event **event; /* [n_events] NULL: another rank has it */
    double *n_hits;    /* [n_events] */
    int64_t n_events, n_training;
    FILE *log;                  /* rank 0 */
    char *checkpoint, *earlier; /* paths */
    struct ranks_log steps;
    etx_training_report report, validation;
    double step_seconds, moving_seconds, waiting_seconds; /* in steps */
    double begin, saved, shown;
    struct energy energy; /* of rank 0's node, while it trains */
    int is_stopped; /* by a signal to any rank, before the end */
    int result;     /* what the program exits with */
};

/* One line that names the rank; ranks that only hear of a failure say
 * nothing. */
static int failed(struct rank *rank, etx_status status, const char *subject)
{
    rank->result = PROGRAM_FAILED;
    if (status != ETX_ERR_CANCELLED)
        (void)program_error("rank %d: %s: %s", (int)rank->number, subject,
            etx_last_error());
    return rank->result;
}

#define CHECK(rank, call, subject)                                             \
    do {                                                                       \
        const etx_status check_status = (call);                                \
        if (check_status != ETX_OK)                                            \
            return failed(rank, check_status, subject);                        \
    } while (0)

static const char *event_name(const struct rank *rank, int64_t k)
{
    const struct distributed_options *o = rank->options;

    return k < rank->n_training ? o->data.item[k]
                                : o->validation.item[k - rank->n_training];
}

/* Which rank alone has this event, -1: all have it. */
static int32_t find_holder(const struct rank *rank, int64_t k)
{
    if (rank->n_ranks == 1 || rank->options->parts != NULL ||
        (k < rank->n_training && !rank->options->is_sharded))
        return -1;
    return (int32_t)(k % rank->n_ranks);
}

/* Read the events of this rank; all ranks learn how many hits each has. */
static int read_events(struct rank *rank)
{
    rank->n_training = rank->options->data.count;
    rank->n_events = rank->n_training + rank->options->validation.count;
    rank->event = program_allocate(rank->n_events, sizeof(*rank->event));
    rank->n_hits = program_allocate(rank->n_events, sizeof *rank->n_hits);
    for (int64_t k = 0; k < rank->n_events; k++) {
        const int32_t holder = find_holder(rank, k);

        /* Nobody waits longer than for one event: what each rank has alone,
         * n_ranks of them read at once. */
        if (holder < 0 || k % rank->n_ranks == 0)
            CHECK(rank, etx_dist_barrier(rank->dist), "events");
        if (holder >= 0 && holder != rank->number)
            continue;
        CHECK(rank,
            etx_event_read_trackml(
                rank->event + k, event_name(rank, k), rank->detector),
            event_name(rank, k));
        if (holder >= 0 || rank->number == 0)
            rank->n_hits[k] = (double)etx_event_n_hits(rank->event[k]);
    }
    CHECK(rank, etx_dist_sum(rank->dist, rank->n_hits, rank->n_events),
        "events");
    return 0;
}

static int add_events(struct rank *rank)
{
    for (int64_t k = 0; k < rank->n_events; k++) {
        const int32_t holder = find_holder(rank, k);
        const int32_t validation = k >= rank->n_training;

        if (holder < 0)
            CHECK(rank,
                etx_trainer_add_event(
                    rank->trainer, rank->event[k], validation),
                event_name(rank, k));
        else
            CHECK(rank,
                etx_trainer_add_event_of_rank(rank->trainer, rank->event[k],
                    (int64_t)rank->n_hits[k], holder, validation),
                event_name(rank, k));
    }
    return 0;
}

/* From the last checkpoint, or on every rank from the one before when any rank
 * cannot read the last. */
static int resume(struct rank *rank)
{
    double n_failed = 0.0;
    etx_status status =
        etx_trainer_load_checkpoint(rank->trainer, rank->checkpoint);

    if (status != ETX_OK) {
        n_failed = 1.0;
        (void)failed(rank, status, "--resume");
        rank->result = 0;
    }
    CHECK(rank, etx_dist_sum(rank->dist, &n_failed, 1), "--resume");
    if (n_failed > 0.0)
        CHECK(rank, etx_trainer_load_checkpoint(rank->trainer, rank->earlier),
            "--resume");
    if (n_failed > 0.0 && rank->number == 0)
        (void)program_error("goes on from %s, step %lld", rank->earlier,
            (long long)etx_trainer_steps_done(rank->trainer));
    CHECK(rank,
        etx_dist_agree(rank->dist, etx_trainer_hash(rank->trainer),
            "state of the checkpoint"),
        "--resume");
    return 0;
}

/* Ranks share the graphs of a step, or every graph. */
static int join_ranks(struct rank *rank)
{
    const char *parts = rank->options->parts;
    etx_team team;

    if (parts != NULL) {
        CHECK(rank,
            etx_dist_trainer_set_parts(rank->trainer, rank->dist,
                strcmp(parts, "phi") == 0 ? ETX_PARTITION_PHI
                                          : ETX_PARTITION_KD),
            "--graph-parallel");
        return 0;
    }
    CHECK(rank, etx_dist_team(&team, rank->dist), "team");
    CHECK(rank, etx_trainer_set_team(rank->trainer, &team), "team");
    return 0;
}

static int make_trainer(struct rank *rank)
{
    const struct distributed_options *o = rank->options;

    CHECK(rank,
        etx_trainer_create(
            &rank->trainer, rank->context, rank->config, rank->start),
        o->config);
    if (join_ranks(rank) != 0)
        return rank->result;
    if (o->cache != NULL)
        CHECK(rank, etx_trainer_set_cache(rank->trainer, o->cache),
            "--cache");
    if (add_events(rank) != 0)
        return rank->result;
    return o->resume ? resume(rank) : 0;
}

static char *join_text(const char *left, const char *right)
{
    const size_t size = strlen(left) + strlen(right) + 1;
    char *text = program_allocate((int64_t)size, 1);

    snprintf(text, size, "%s%s", left, right);
    return text;
}

/* This rank's share of the cores that it and others of its node may run on;
 * all ranks call it. */
static int share_cores(struct rank *rank, int64_t *n_threads)
{
    const int64_t n_words = (int64_t)rank->n_ranks * CORES_WORDS;
    double *words = program_allocate(n_words, sizeof *words);
    etx_status status;

    cores_describe(words + (int64_t)rank->number * CORES_WORDS);
    status = etx_dist_sum(rank->dist, words, n_words);
    *n_threads = cores_share(words, rank->n_ranks, rank->number);
    free(words);
    CHECK(rank, status, "cores");
    return 0;
}

static int open_context(struct rank *rank)
{
    int64_t n_threads = rank->options->n_threads;

    if (n_threads == 0 && share_cores(rank, &n_threads) != 0)
        return rank->result;
    rank->result = program_context(&rank->context, "cpu", &n_threads);
    if (rank->result == 0 && rank->number == 0)
        printf("%d ranks, rank 0 has %lld threads\n", (int)rank->n_ranks,
            (long long)n_threads);
    return rank->result;
}

static int open_rank(struct rank *rank)
{
    const struct distributed_options *o = rank->options;

    rank->checkpoint = join_text(o->out, ".checkpoint");
    rank->earlier = join_text(o->out, ".checkpoint.earlier");
    ranks_log_open(&rank->steps);
    rank->report.struct_size = sizeof rank->report;
    rank->validation = (etx_training_report){.struct_size =
                                                 sizeof rank->validation,
        .efficiency = (double)NAN,
        .purity = (double)NAN,
        .auc = (double)NAN,
        .loss = (double)NAN};
    if (rank->number == 0)
        training_remove_leftovers(rank->checkpoint);
    if (open_context(rank) == 0)
        rank->result = program_detector(&rank->detector, o->detector);
    if (rank->result == 0 && o->start != NULL)
        rank->result = program_model(&rank->start, o->start);
    if (rank->result == 0 && rank->number == 0 && o->log != NULL) {
        rank->log = fopen(o->log, "a");
        if (rank->log == NULL)
            rank->result = program_error("%s: cannot be written", o->log);
    }
    if (rank->result == 0 && read_events(rank) == 0)
        (void)make_trainer(rank);
    return rank->result;
}

static void close_rank(struct rank *rank)
{
    etx_trainer_free(rank->trainer);
    for (int64_t k = 0; k < rank->n_events; k++)
        etx_event_free(rank->event[k]);
    free(rank->event);
    free(rank->n_hits);
    etx_model_free(rank->start);
    etx_detector_free(rank->detector);
    etx_context_free(rank->context);
    free(rank->checkpoint);
    free(rank->earlier);
    if (rank->log != NULL)
        fclose(rank->log);
    etx_dist_close(rank->dist);
}

/* ------------------------------------------------------------- training -- */

/* Every rank has the same parameters, or the run ends here. */
static int agree(struct rank *rank)
{
    CHECK(rank,
        etx_dist_agree(
            rank->dist, etx_trainer_hash(rank->trainer), "parameters"),
        "the ranks differ");
    return 0;
}

static int validate(struct rank *rank)
{
    const etx_training_report *report = &rank->validation;

    if (rank->options->validation.count == 0)
        return agree(rank);
    CHECK(rank, etx_trainer_validate(rank->trainer, &rank->validation),
        "validation");
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
static int save_checkpoint(struct rank *rank)
{
    rank->saved = now();
    if (agree(rank) != 0 || rank->number != 0)
        return rank->result;
    training_keep_earlier(rank->checkpoint, rank->earlier);
    CHECK(rank,
        etx_trainer_save_checkpoint(rank->trainer, rank->checkpoint),
        "checkpoint");
    return 0;
}

/* One step and what of it went into moving data and into waiting. */
static int take_step(struct rank *rank)
{
    const double begin = now();
    etx_dist_statistics before;
    etx_dist_statistics after;

    CHECK(rank, etx_dist_get_statistics(&before, rank->dist), "training");
    CHECK(rank, etx_trainer_step(rank->trainer, &rank->report), "training");
    CHECK(rank, etx_dist_get_statistics(&after, rank->dist), "training");
    rank->step_seconds += now() - begin;
    rank->moving_seconds += after.seconds - before.seconds;
    rank->waiting_seconds += after.waiting_seconds - before.waiting_seconds;
    return 0;
}

static void log_step(struct rank *rank)
{
    const etx_training_report *report = &rank->report;
    const double shares[2] = {rank->moving_seconds / rank->step_seconds,
        rank->waiting_seconds / rank->step_seconds};

    if (report->is_rollback) {
        training_log_rollback(rank->log, report);
        return;
    }
    ranks_log_add(&rank->steps, report);
    if (rank->number == 0 && now() - rank->shown > SECONDS_PER_LINE) {
        rank->shown = now();
        printf("%lld/%lld loss %.4f, %.0f ms a step\n",
            (long long)report->step, (long long)report->n_steps,
            rank->steps.running_loss,
            1e3 * rank->step_seconds / (double)rank->steps.n_all);
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

static int ask_all(struct rank *rank, double wish[N_WISHES])
{
    const struct distributed_options *o = rank->options;

    wish[WISH_STOP] = stop_signal != 0;
    wish[WISH_LIMIT] =
        o->time_limit > 0.0 && now() - rank->begin > o->time_limit;
    wish[WISH_SAVE] =
        rank->number == 0 && now() - rank->saved > o->checkpoint_seconds;
    CHECK(rank, etx_dist_sum(rank->dist, wish, N_WISHES), "after a step");
    return 0;
}

static int train(struct rank *rank)
{
    const int64_t n_steps = etx_trainer_n_steps(rank->trainer);
    const int64_t asked = rank->options->validate_every;
    const int64_t every = asked > 0 ? asked : n_steps / 10 + 1;
    double wish[N_WISHES] = {0.0};

    rank->begin = rank->saved = rank->shown = now();
    energy_open(&rank->energy, ENERGY_COUNTERS);
    while (rank->result == 0 && wish[WISH_STOP] + wish[WISH_LIMIT] <= 0.0 &&
           !etx_trainer_is_finished(rank->trainer)) {
        if (take_step(rank) != 0)
            break;
        energy_sample(&rank->energy);
        log_step(rank);
        if (ask_all(rank, wish) != 0)
            break;
        if (!rank->report.is_rollback && rank->report.step % every == 0 &&
            rank->report.step < n_steps)
            (void)validate(rank);
        if (rank->result == 0 && wish[WISH_SAVE] > 0.0)
            (void)save_checkpoint(rank);
    }
    rank->is_stopped =
        wish[WISH_STOP] > 0.0 && !etx_trainer_is_finished(rank->trainer);
    return rank->result;
}

/* Steps that see every training event once. */
static double count_epoch_steps(const struct rank *rank)
{
    json_t *config = json_loads(rank->config, 0, NULL);
    const json_t *graphs =
        json_object_get(json_object_get(config, "sampling"), "graphs");
    const double n = json_is_integer(graphs) ? json_number_value(graphs) : 1.0;

    json_decref(config);
    return ceil((double)rank->n_training / n);
}

/* The largest rank's memory; other figures are rank 0's. */
static int report_scaling(struct rank *rank)
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
        .epoch_joules = rank->energy.joules / n * epoch};

    peak[rank->number] = scaling_peak_mib();
    if (etx_dist_sum(rank->dist, peak, rank->n_ranks) != ETX_OK)
        rank->result = failed(rank, ETX_ERR_IO, "--scaling-report");
    for (int32_t r = 0; r < rank->n_ranks; r++)
        run.peak_mib = fmax(run.peak_mib, peak[r]);
    free(peak);
    if (rank->result == 0 && rank->number == 0)
        rank->result = scaling_report(rank->options->report, &run);
    return rank->result;
}

static int write_model(struct rank *rank)
{
    etx_model *model = NULL;

    CHECK(rank, etx_trainer_model(&model, rank->trainer), "model");
    if (etx_model_save(model, rank->options->out) != ETX_OK)
        rank->result = failed(rank, ETX_ERR_IO, rank->options->out);
    etx_model_free(model);
    return rank->result;
}

/* Validate, so that the thresholds are those of the last step, and write. */
static int finish(struct rank *rank)
{
    if (save_checkpoint(rank) != 0 || validate(rank) != 0)
        return rank->result;
    if (rank->options->report != NULL && rank->steps.n_all > 0 &&
        report_scaling(rank) != 0)
        return rank->result;
    if (rank->number == 0 && write_model(rank) != 0)
        return rank->result;
    CHECK(rank, etx_dist_barrier(rank->dist), "at the end");
    if (rank->number == 0)
        printf("%lld steps, state %016llx\n",
            (long long)etx_trainer_steps_done(rank->trainer),
            (unsigned long long)etx_trainer_hash(rank->trainer));
    if (rank->number == 0 && rank->is_stopped)
        (void)program_error("stopped at step %lld; go on with --resume",
            (long long)etx_trainer_steps_done(rank->trainer));
    return rank->result;
}

/* All that a rank does; a failure ends the other ranks, too. A run that was
 * stopped is over on all of them, and rank 0 alone exits with 1. */
static void *run_rank(void *argument)
{
    struct rank *rank = argument;

    rank->number = etx_dist_rank(rank->dist);
    rank->n_ranks = etx_dist_n_ranks(rank->dist);
    if (open_rank(rank) == 0 && train(rank) == 0)
        (void)finish(rank);
    if (rank->result != 0)
        etx_dist_end_processes(rank->dist, rank->result);
    close_rank(rank);
    if (rank->result == 0 && rank->number == 0 && rank->is_stopped)
        rank->result = PROGRAM_FAILED;
    return NULL;
}

/* ------------------------------------------------------------ all ranks -- */

static char *read_text(const char *path)
{
    json_t *config = json_load_file(path, 0, NULL);
    char *text = json_dumps(config, 0);

    json_decref(config);
    return text;
}

/* The ranks of this process: one of MPI, or threads. Their number, or 0 after
 * a line on stderr. */
static int32_t open_group(etx_dist **dist, const struct distributed_options *o)
{
    const int32_t n_ranks = (int32_t)o->n_ranks;
    etx_dist_options options;
    etx_status status = etx_dist_options_init(&options, sizeof options);

    options.is_fast = o->is_fast;
    options.deadline = o->deadline;
    if (o->deal != NULL && strcmp(o->deal, "turn") == 0)
        options.deal = ETX_DEAL_IN_TURN;
    if (status == ETX_OK && n_ranks == 0 && etx_dist_has_mpi())
        status = etx_dist_open_mpi(dist, &options);
    else if (status == ETX_OK)
        status = etx_dist_open_threads(
            dist, n_ranks > 0 ? n_ranks : 1, &options);
    if (status != ETX_OK)
        (void)program_failed(NULL);
    return status != ETX_OK ? 0 : n_ranks > 0 ? n_ranks : 1;
}

static int run_ranks(struct rank *rank, int32_t n_ranks)
{
    pthread_t thread[DISTRIBUTED_MAX_RANKS];
    int32_t n_started = 1;
    int result = 0;

    while (n_started < n_ranks && pthread_create(&thread[n_started], NULL,
                                      run_rank, rank + n_started) == 0)
        n_started++;
    if (n_started < n_ranks)
        result = program_error("cannot start a thread for rank %d",
            (int)n_started);
    if (n_started < n_ranks)
        etx_dist_give_up(rank[n_started].dist);
    run_rank(rank);
    for (int32_t r = 1; r < n_started; r++)
        pthread_join(thread[r], NULL);
    for (int32_t r = n_started; r < n_ranks; r++)
        etx_dist_close(rank[r].dist);
    for (int32_t r = 0; r < n_ranks; r++)
        result = rank[r].result > result ? rank[r].result : result;
    return result;
}

int main(int argc, char **argv)
{
    struct distributed_options options = {0};
    etx_dist *dist[DISTRIBUTED_MAX_RANKS] = {NULL};
    struct rank *rank = NULL;
    char *config = NULL;
    int32_t n_ranks;
    int result = PROGRAM_FAILED;

    distributed_read_options(&options, argc, argv);
    n_ranks = open_group(dist, &options);
    config = read_text(options.config);
    if (config == NULL)
        (void)program_error("%s: no JSON that can be read", options.config);
    if (n_ranks > 0 && config != NULL &&
        program_expand_events(&options.data) == 0 &&
        program_expand_events(&options.validation) == 0) {
        signal(SIGINT, note_signal);
        signal(SIGTERM, note_signal);
        rank = program_allocate(n_ranks, sizeof *rank);
        for (int32_t r = 0; r < n_ranks; r++)
            rank[r] = (struct rank){
                .options = &options, .config = config, .dist = dist[r]};
        result = run_ranks(rank, n_ranks);
    } else {
        etx_dist_end_processes(dist[0], PROGRAM_FAILED);
    }
    free(rank);
    free(config);
    program_list_free(&options.data);
    program_list_free(&options.validation);
    return result;
}
