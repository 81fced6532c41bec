/* examples/etx-train.c -- train one stage of a pipeline, on one rank or
 * several: processes that mpirun or srun started, or threads of this one.
 *
 * Every rank runs run_rank: open, train, finish; rank 0 writes the log, the
 * checkpoints and the model (docs/training.md, docs/distributed.md). Functions
 * of a rank that return an int return rank->result: 0, or the exit status of
 * the program after a line on stderr.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <exatrkx/dist.h>

#include "cores.h"
#include "energy.h"
#include "program.h"
#include "scaling_report.h"
#include "training.h"
#include "training_log.h"

#define MAX_RANKS 256 /* threads of one process */

static const char summary[] =
    "Train the embedding, the filter or the graph network of a model file, on\n"
    "one rank or several: as many as mpirun or srun starts, or --ranks "
    "threads.";

struct options {
    const char *config, *out, *start, *log, *detector, *cache;
    struct program_list data, validation;
    int64_t validate_every;
    double time_limit, checkpoint_seconds;
    int32_t resume;
    const char *device; /* NULL: the CPU */
    int64_t n_threads;  /* 0: its share of the cores */
    int64_t n_ranks;    /* threads of this process; 0: not given */
    const char *assign, *report;
    const char *parts; /* phi, kd or NULL: whole graphs */
    double deadline;
    int32_t is_fast, is_sharded;
};

static void check_options(const struct options *o)
{
    if (o->config == NULL || o->out == NULL || o->data.count == 0)
        exit(program_usage("--config, --data and --out are needed"));
    if (o->assign != NULL && strcmp(o->assign, "balanced") != 0 &&
        strcmp(o->assign, "turn") != 0)
        exit(program_usage("--assign %s: not balanced or turn", o->assign));
    if (o->parts != NULL && strcmp(o->parts, "phi") != 0 &&
        strcmp(o->parts, "kd") != 0)
        exit(program_usage("--graph-parallel %s: not phi or kd", o->parts));
    if (o->parts != NULL && o->is_sharded)
        exit(program_usage("--graph-parallel needs every event on every rank: "
                           "not with --shard"));
    if (o->parts != NULL && (o->is_fast || o->assign != NULL))
        exit(program_usage("--fast and --assign go without --graph-parallel"));
}

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"config", "FILE",
            "training configuration, JSON, or embedding, filter, gnn, "
            "filter_further or gnn_further",
            .text = &o->config},
        {"data", "DIR", "training events: a folder or a prefix; repeatable",
            .list = &o->data},
        {"validation", "DIR",
            "validation events: a folder or a prefix; repeatable",
            .list = &o->validation},
        {"out", "FILE",
            "model file to write; checkpoints go to FILE.checkpoint",
            .text = &o->out},
        {"start", "FILE",
            "model file with the other stages, or to continue this one",
            .text = &o->start},
        {"resume", NULL, "resume from FILE.checkpoint", .flag = &o->resume},
        PROGRAM_DETECTOR_OPTION(&o->detector),
        {"log", "FILE",
            "append losses and validations, one JSON object per line",
            .text = &o->log},
        {"cache", "DIR", "existing folder for cached graphs of events",
            .text = &o->cache},
        {"validate-every", "N",
            "steps between validations; 0 = n_steps / 10 + 1 (default)",
            .integer = &o->validate_every, .low = 0, .high = 1e9},
        {"checkpoint-seconds", "S", "seconds between checkpoints (default 60)",
            .number = &o->checkpoint_seconds, .low = 0, .high = 1e9},
        {"time-limit", "S", "stop after S seconds; writes checkpoint and model",
            .number = &o->time_limit, .low = 0, .high = 1e9},
        {"threads", "N",
            "threads per rank, 0 = its share of the cores (default)",
            .integer = &o->n_threads, .low = 0, .high = 256},
        {"device", "LIST",
            "cpu (default), cuda:N or, as in cuda:0,1, a GPU for each rank in "
            "turn",
            .text = &o->device},
        {"ranks", "N", "number of ranks as threads of this process",
            .integer = &o->n_ranks, .low = 1, .high = MAX_RANKS},
        {"fast", NULL,
            "sum gradients in any order: results depend on the number of ranks",
            .flag = &o->is_fast},
        {"assign", "HOW",
            "assignment of graphs to ranks: balanced (default) or turn",
            .text = &o->assign},
        {"graph-parallel", "HOW",
            "partition every graph over all ranks: sectors of azimuth (phi) or "
            "recursive bisection (kd)",
            .text = &o->parts},
        {"shard", NULL,
            "each rank reads and keeps only its own training events",
            .flag = &o->is_sharded},
        {"deadline", "S", "seconds to wait for other ranks (default 60)",
            .number = &o->deadline, .low = 0.001, .high = 1e9},
        {"scaling-report", "FILE",
            "append the cost of this run to FILE and print all runs in it",
            .text = &o->report},
    };

    o->checkpoint_seconds = 60.0;
    o->deadline = 60.0;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    check_options(o);
}

/* The last SIGINT or SIGTERM, or 0. */
static volatile sig_atomic_t last_signal;

static void note_signal(int number)
{
    last_signal = number;
}

/* ------------------------------------------------------------- one rank -- */

/* Seconds of the steps of a rank. */
struct step_seconds {
    double all;
    double graphs, network; /* as in etx_training_report */
    double moving, waiting; /* as in etx_dist_statistics */
};

static etx_status make_dist_options(
    etx_dist_options *options, const struct options *o)
{
    const etx_status status = etx_dist_options_init(options, sizeof *options);

    options->is_fast = o->is_fast;
    options->deadline = o->deadline;
    if (o->assign != NULL && strcmp(o->assign, "turn") == 0)
        options->assignment = ETX_ASSIGN_IN_TURN;
    return status;
}

/* State of a rank. */
struct rank {
    const struct options *options;
    const char *config; /* the text */
    char *const *name;  /* [n_events] of the events */
    etx_dist *dist;
    etx_dist *devices; /* the same ranks over NCCL, or NULL */
    int32_t number, n_ranks;
    int64_t n_threads;
    etx_context *context;
    etx_detector *detector;
    etx_model *start;
    etx_trainer *trainer;
    etx_event **event; /* [n_events] NULL: another rank has it */
    double *n_hits;    /* [n_events] */
    int64_t n_events, n_training;
    FILE *log;                  /* rank 0 */
    char *checkpoint, *earlier; /* paths */
    struct training_steps steps;
    etx_training_report report, validation;
    struct step_seconds spent; /* in steps */
    double begin, saved, shown;
    struct energy energy; /* of rank 0's node, while it trains */
    int is_stopped;       /* by a signal to any rank, before the end */
    int result;           /* what the program exits with */
};

/* One line that names the rank of several; ranks that are told of the failure
 * of another say nothing. Sets and returns the result. */
static int rank_failed(
    struct rank *rank, etx_status status, const char *subject)
{
    rank->result = PROGRAM_FAILED;
    if (rank->n_ranks == 1)
        (void)program_failed(subject);
    else if (status != ETX_ERR_RANK)
        (void)program_error(
            "rank %d: %s: %s", (int)rank->number, subject, etx_last_error());
    return rank->result;
}

#define RANK_CHECK(rank, call, subject)                                        \
    do {                                                                       \
        const etx_status check_status = (call);                                \
        if (check_status != ETX_OK)                                            \
            return rank_failed(rank, check_status, subject);                   \
    } while (0)

/* ------------------------------------------ events, model and trainer -- */

/* The only rank that reads this event; -1: all ranks read it. */
static int32_t find_reader(const struct rank *rank, int64_t k)
{
    if (rank->n_ranks == 1 || rank->options->parts != NULL ||
        (k < rank->n_training && !rank->options->is_sharded))
        return -1;
    return (int32_t)(k % rank->n_ranks);
}

/* Read this rank's of the events first .. end - 1. */
static int read_some(struct rank *rank, int64_t first, int64_t end)
{
    int64_t *index = program_allocate(end - first, sizeof *index);
    struct training_events events = {.name = rank->name,
        .index = index,
        .detector = rank->detector,
        .event = rank->event};
    etx_status status;

    for (int64_t k = first; k < end; k++) {
        const int32_t reader = find_reader(rank, k);

        if (reader < 0 || reader == rank->number)
            index[events.n++] = k;
    }
    status = training_read_events(&events, rank->n_threads);
    for (int64_t i = 0; status == ETX_OK && i < events.n; i++)
        if (rank->number == 0 || find_reader(rank, index[i]) >= 0)
            rank->n_hits[index[i]] =
                (double)etx_event_n_hits(rank->event[index[i]]);
    free(index);
    RANK_CHECK(rank, status, rank->name[events.failed]);
    return 0;
}

/* Before the ranks exchange what follows from their command lines. */
static int agree_options(struct rank *rank)
{
    const struct options *o = rank->options;
    const char how = o->parts == NULL ? '-' : *o->parts;

    RANK_CHECK(rank,
        etx_dist_agree(rank->dist, (uint64_t)rank->n_training, "--data"),
        "the ranks differ");
    RANK_CHECK(rank,
        etx_dist_agree(rank->dist,
            (uint64_t)(rank->n_events - rank->n_training), "--validation"),
        "the ranks differ");
    RANK_CHECK(rank,
        etx_dist_agree(rank->dist,
            (uint64_t)(o->is_sharded + 2 * o->is_fast + 4 * o->resume +
                       8 * how + 2048 * o->validate_every),
            "--shard, --fast, --resume, --graph-parallel or --validate-every"),
        "the ranks differ");
    return 0;
}

/* Read the events of this rank; all ranks get the number of hits of each. A
 * barrier every few events, so that no rank waits for long. */
static int read_events(struct rank *rank)
{
    const double begin = program_now();
    const int64_t window = rank->n_ranks > 1 ? rank->n_ranks : rank->n_events;

    rank->event = program_allocate(rank->n_events, sizeof(*rank->event));
    rank->n_hits = program_allocate(rank->n_events, sizeof *rank->n_hits);
    for (int64_t k = 0; k < rank->n_events; k += window) {
        const int64_t left = rank->n_events - k;

        RANK_CHECK(rank, etx_dist_barrier(rank->dist), "events");
        if (read_some(rank, k, k + (left < window ? left : window)) != 0)
            return rank->result;
    }
    RANK_CHECK(
        rank, etx_dist_sum(rank->dist, rank->n_hits, rank->n_events), "events");
    if (rank->number == 0)
        printf("read %lld events in %.1f s\n", (long long)rank->n_events,
            program_now() - begin);
    return 0;
}

static int add_events(struct rank *rank)
{
    for (int64_t k = 0; k < rank->n_events; k++) {
        const int32_t reader = find_reader(rank, k);
        const int32_t validation = k >= rank->n_training;

        if (reader < 0)
            RANK_CHECK(rank,
                etx_trainer_add_event(
                    rank->trainer, rank->event[k], validation),
                rank->name[k]);
        else
            RANK_CHECK(rank,
                etx_trainer_add_event_of_rank(rank->trainer, rank->event[k],
                    (int64_t)rank->n_hits[k], reader, validation),
                rank->name[k]);
    }
    return 0;
}

/* Load the last checkpoint, or on all ranks the one before it, where there is
 * one, when any rank cannot read the last. */
static int resume(struct rank *rank)
{
    double failed[2] = {0.0, access(rank->earlier, R_OK) != 0};
    etx_status status =
        etx_trainer_load_checkpoint(rank->trainer, rank->checkpoint);

    if (status != ETX_OK) {
        failed[0] = 1.0;
        (void)rank_failed(rank, status, "--resume");
        rank->result = 0;
    }
    RANK_CHECK(rank, etx_dist_sum(rank->dist, failed, 2), "--resume");
    if (failed[0] > 0.0 && failed[1] > 0.0)
        return rank->result = PROGRAM_FAILED;
    if (failed[0] > 0.0)
        RANK_CHECK(rank,
            etx_trainer_load_checkpoint(rank->trainer, rank->earlier),
            "--resume");
    if (failed[0] > 0.0 && rank->number == 0)
        (void)program_error("goes on from %s, step %lld", rank->earlier,
            (long long)etx_trainer_steps_done(rank->trainer));
    RANK_CHECK(rank,
        etx_dist_agree(rank->dist, etx_trainer_hash(rank->trainer),
            "state of the checkpoint"),
        "--resume");
    return 0;
}

/* Whose ranks add up gradients. */
static etx_dist *team_dist(const struct rank *rank)
{
    return rank->devices != NULL ? rank->devices : rank->dist;
}

/* Data parallel (graphs of a step on different ranks) or graph parallel. */
static int join_ranks(struct rank *rank)
{
    const char *parts = rank->options->parts;
    etx_team team = {.struct_size = sizeof team};

    if (parts != NULL) {
        RANK_CHECK(rank,
            etx_dist_trainer_set_parts(rank->trainer, rank->dist,
                strcmp(parts, "phi") == 0 ? ETX_PARTITION_PHI
                                          : ETX_PARTITION_KD),
            "--graph-parallel");
        return 0;
    }
    if (rank->n_ranks == 1)
        return 0;
    RANK_CHECK(rank, etx_dist_team(&team, team_dist(rank)), "team");
    RANK_CHECK(rank, etx_trainer_set_team(rank->trainer, &team), "team");
    return 0;
}

/* A trainer of the config, before its events are read. */
static int make_trainer(struct rank *rank)
{
    const struct options *o = rank->options;

    RANK_CHECK(rank,
        etx_trainer_create(
            &rank->trainer, rank->context, rank->config, rank->start),
        o->config);
    if (rank->number == 0)
        training_print_start(rank->trainer, o->start);
    if (join_ranks(rank) != 0)
        return rank->result;
    if (o->cache != NULL)
        RANK_CHECK(
            rank, etx_trainer_set_cache(rank->trainer, o->cache), "--cache");
    return 0;
}

static char *join_text(const char *left, const char *right)
{
    const size_t size = strlen(left) + strlen(right) + 1;
    char *text = program_allocate((int64_t)size, 1);

    snprintf(text, size, "%s%s", left, right);
    return text;
}

/* Threads of this rank: the cores of its node divided among the ranks that may
 * run on them. All ranks call it. */
static int share_cores(struct rank *rank, int64_t *n_threads)
{
    const int64_t n_words = (int64_t)rank->n_ranks * CORES_WORDS;
    double *words = program_allocate(n_words, sizeof *words);
    etx_status status;

    cores_describe(words + (int64_t)rank->number * CORES_WORDS);
    status = etx_dist_sum(rank->dist, words, n_words);
    *n_threads = cores_share(words, rank->n_ranks, rank->number);
    free(words);
    RANK_CHECK(rank, status, "cores");
    return 0;
}

/* The device of this rank: of the list, in turn. */
static void find_device(char *out, size_t size, const struct rank *rank)
{
    const char *list = rank->options->device;
    int32_t n = 1;

    list = list == NULL ? "cpu" : list;
    for (const char *at = list; *at != '\0'; at++)
        n += *at == ',';
    for (int32_t skip = rank->number % n; skip > 0; skip--)
        list = strchr(list, ',') + 1;
    snprintf(out, size, "%s%.*s", isdigit((unsigned char)*list) ? "cuda:" : "",
        (int)strcspn(list, ","), list);
}

/* On GPUs: the ranks over NCCL, which every rank opens. */
static int open_devices(struct rank *rank, const char *device)
{
    const char *const colon = strchr(device, ':');
    etx_dist_options options;

    if (strncmp(device, "cuda", 4) != 0 || rank->n_ranks == 1 ||
        rank->options->parts != NULL || !etx_dist_has_nccl())
        return 0;
    RANK_CHECK(rank, make_dist_options(&options, rank->options), "--device");
    RANK_CHECK(rank,
        etx_dist_open_nccl(&rank->devices, rank->dist,
            colon != NULL ? (int32_t)strtol(colon + 1, NULL, 10) : 0, &options),
        "--device");
    return 0;
}

static int open_context(struct rank *rank)
{
    char device[64];

    rank->n_threads = rank->options->n_threads;
    if (rank->n_threads == 0 && share_cores(rank, &rank->n_threads) != 0)
        return rank->result;
    find_device(device, sizeof device, rank);
    rank->result = program_context(&rank->context, device, &rank->n_threads);
    if (rank->result == 0)
        (void)open_devices(rank, device);
    if (rank->result == 0 && rank->number == 0)
        printf("ranks: %d, threads of rank 0: %lld\n", (int)rank->n_ranks,
            (long long)rank->n_threads);
    return rank->result;
}

static int rank_open(struct rank *rank)
{
    const struct options *o = rank->options;

    rank->checkpoint = join_text(o->out, ".checkpoint");
    rank->earlier = join_text(o->out, ".checkpoint.earlier");
    training_steps_open(&rank->steps);
    rank->report.struct_size = sizeof rank->report;
    rank->validation =
        (etx_training_report){.struct_size = sizeof rank->validation,
            .efficiency = (double)NAN,
            .purity = (double)NAN,
            .auc = (double)NAN,
            .loss = (double)NAN};
    if (rank->number == 0)
        training_remove_leftovers(rank->checkpoint);
    if (agree_options(rank) == 0 && open_context(rank) == 0)
        rank->result = program_detector(&rank->detector, o->detector);
    if (rank->result == 0 && o->start != NULL)
        rank->result = program_model(&rank->start, o->start);
    if (rank->result == 0 && rank->number == 0)
        rank->result = training_log_open(&rank->log, o->log);
    if (rank->result == 0 && make_trainer(rank) == 0 &&
        read_events(rank) == 0 && add_events(rank) == 0 && o->resume)
        (void)resume(rank);
    return rank->result;
}

static void rank_close(struct rank *rank)
{
    etx_trainer_free(rank->trainer);
    for (int64_t k = 0; rank->event != NULL && k < rank->n_events; k++)
        etx_event_free(rank->event[k]);
    free(rank->event);
    free(rank->n_hits);
    etx_model_free(rank->start);
    etx_detector_free(rank->detector);
    etx_context_free(rank->context);
    etx_dist_close(rank->devices);
    free(rank->checkpoint);
    free(rank->earlier);
    if (training_log_close(rank->log, rank->options->log) != 0)
        rank->result = PROGRAM_FAILED;
    etx_dist_close(rank->dist);
}

/* ------------------------------------------------------------- training -- */

/* Check that all ranks have the same parameters. */
static int agree(struct rank *rank)
{
    RANK_CHECK(rank,
        etx_dist_agree(
            rank->dist, etx_trainer_hash(rank->trainer), "parameters"),
        "the ranks differ");
    return 0;
}

/* Hits of the events to validate on. */
static double count_hits(const struct rank *rank)
{
    double n = 0.0;

    for (int64_t k = rank->n_training; k < rank->n_events; k++)
        n += rank->n_hits[k];
    return n;
}

static int rank_validate(struct rank *rank)
{
    const etx_training_report *report = &rank->validation;

    if (rank->options->validation.count == 0)
        return agree(rank);
    RANK_CHECK(rank, etx_trainer_validate(&rank->validation, rank->trainer),
        "validation");
    if (rank->number == 0) {
        training_print_validation(report, count_hits(rank));
        training_log_validation(rank->log, report);
    }
    return agree(rank);
}

static int rank_save_checkpoint(struct rank *rank)
{
    rank->saved = program_now();
    if (agree(rank) != 0 || rank->number != 0)
        return rank->result;
    training_keep_earlier(rank->checkpoint, rank->earlier);
    RANK_CHECK(rank,
        etx_trainer_save_checkpoint(rank->trainer, rank->checkpoint),
        "checkpoint");
    return 0;
}

/* One step and its times. */
static int run_step(struct rank *rank)
{
    const double begin = program_now();
    etx_dist_statistics before = {.struct_size = sizeof before};
    etx_dist_statistics after = {.struct_size = sizeof after};

    RANK_CHECK(
        rank, etx_dist_get_statistics(&before, team_dist(rank)), "training");
    RANK_CHECK(
        rank, etx_trainer_step(&rank->report, rank->trainer), "training");
    RANK_CHECK(
        rank, etx_dist_get_statistics(&after, team_dist(rank)), "training");
    rank->spent.all += program_now() - begin;
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
        training_print_rollback(report);
        training_log_rollback(rank->log, report);
        return;
    }
    if (report->is_skipped)
        training_log_skipped(rank->log, report);
    training_print_progress(&rank->shown, report, rank->steps.running_loss,
        rank->spent.all / (double)rank->steps.n_all);
    if (report->step % (report->n_steps / TRAINING_LOG_LINES + 1) == 0)
        training_log_steps(
            rank->log, &rank->steps, report, rank->n_ranks > 1 ? shares : NULL);
}

/* Requests of any rank, on which all ranks act together. */
enum request {
    REQUEST_STOP,  /* a signal was received */
    REQUEST_LIMIT, /* the time limit is reached */
    REQUEST_SAVE,  /* a checkpoint is due */
    N_REQUESTS
};

static int collect_requests(struct rank *rank, double request[N_REQUESTS])
{
    const struct options *o = rank->options;

    request[REQUEST_STOP] = last_signal != 0;
    request[REQUEST_LIMIT] =
        o->time_limit > 0.0 && program_now() - rank->begin > o->time_limit;
    request[REQUEST_SAVE] = rank->number == 0 &&
                            program_now() - rank->saved > o->checkpoint_seconds;
    RANK_CHECK(
        rank, etx_dist_sum(rank->dist, request, N_REQUESTS), "after a step");
    return 0;
}

static int rank_train(struct rank *rank)
{
    const int64_t n_steps = etx_trainer_n_steps(rank->trainer);
    const int64_t wanted = rank->options->validate_every;
    const int64_t every = wanted > 0 ? wanted : n_steps / 10 + 1;
    double request[N_REQUESTS] = {0.0};

    rank->begin = rank->saved = rank->shown = program_now();
    energy_open(&rank->energy, ENERGY_COUNTERS);
    while (rank->result == 0 &&
           request[REQUEST_STOP] + request[REQUEST_LIMIT] <= 0.0 &&
           !etx_trainer_is_finished(rank->trainer)) {
        if (run_step(rank) != 0)
            break;
        energy_sample(&rank->energy);
        if (!rank->report.is_rollback)
            training_steps_add(&rank->steps, &rank->report);
        if (rank->number == 0)
            log_step(rank);
        if (collect_requests(rank, request) != 0)
            break;
        if (!rank->report.is_rollback && rank->report.step % every == 0 &&
            rank->report.step < n_steps)
            (void)rank_validate(rank);
        if (rank->result == 0 && request[REQUEST_SAVE] > 0.0)
            (void)rank_save_checkpoint(rank);
    }
    if (rank->result == 0 && rank->number == 0)
        training_print_early_end(rank->trainer);
    rank->is_stopped =
        request[REQUEST_STOP] > 0.0 && !etx_trainer_is_finished(rank->trainer);
    return rank->result;
}

/* ------------------------------------------------- report and model -- */

/* Costs of all ranks, for the report of rank 0. */
struct costs {
    struct step_seconds spent; /* of all ranks together */
    double peak_mib;           /* of the largest */
};

/* One all-reduce: seconds are summed, each rank fills its own element of the
 * peak memory. */
static int share_costs(struct rank *rank, struct costs *out)
{
    const int64_t n_spent = (int64_t)(sizeof out->spent / sizeof(double));
    const int64_t n = n_spent + rank->n_ranks;
    double *values = program_allocate(n, sizeof *values);
    etx_status status;

    memcpy(values, &rank->spent, sizeof rank->spent);
    values[n_spent + rank->number] = scaling_peak_mib();
    status = etx_dist_sum(rank->dist, values, n);
    memcpy(&out->spent, values, sizeof out->spent);
    out->peak_mib = 0.0;
    for (int64_t k = n_spent; k < n; k++)
        out->peak_mib = fmax(out->peak_mib, values[k]);
    free(values);
    RANK_CHECK(rank, status, "--scaling-report");
    return 0;
}

/* Fractions of the steps' time are means over the ranks; other figures are
 * of rank 0. */
static int report_scaling(struct rank *rank)
{
    const double n = (double)rank->steps.n_all;
    const double epoch = (double)etx_trainer_epoch_steps(rank->trainer);
    struct costs costs;
    struct scaling_run run;

    if (share_costs(rank, &costs) != 0)
        return rank->result;
    run = (struct scaling_run){.n_ranks = rank->n_ranks,
        .batch_seconds = rank->spent.all / n,
        .epoch_seconds = rank->spent.all / n * epoch,
        .efficiency = rank->validation.efficiency,
        .purity = rank->validation.purity,
        .auc = rank->validation.auc,
        .loss = rank->validation.loss,
        .peak_mib = costs.peak_mib,
        .imbalance = rank->steps.imbalance_of_all / n,
        .graphs_share = costs.spent.graphs / costs.spent.all,
        .network_share = costs.spent.network / costs.spent.all,
        .moving_share = costs.spent.moving / costs.spent.all,
        .waiting_share = costs.spent.waiting / costs.spent.all,
        .epoch_joules = rank->energy.joules / n * epoch};
    if (rank->number == 0)
        rank->result = scaling_report(rank->options->report, &run);
    return rank->result;
}

static int write_model(struct rank *rank)
{
    etx_model *model = NULL;

    RANK_CHECK(rank, etx_trainer_model(&model, rank->trainer), "model");
    if (etx_model_save(model, rank->options->out) != ETX_OK)
        rank->result = rank_failed(rank, ETX_ERR_IO, rank->options->out);
    etx_model_free(model);
    return rank->result;
}

/* Validate, so that the thresholds belong to the last step, and write the
 * model. */
static int rank_finish(struct rank *rank)
{
    if (rank_save_checkpoint(rank) != 0 || rank_validate(rank) != 0)
        return rank->result;
    if (rank->number == 0 && write_model(rank) != 0)
        return rank->result;
    if (rank->options->report != NULL && rank->steps.n_all > 0 &&
        report_scaling(rank) != 0)
        return rank->result;
    RANK_CHECK(rank, etx_dist_barrier(rank->dist), "at the end");
    if (rank->number == 0)
        printf("%lld steps, state %016llx\n",
            (long long)etx_trainer_steps_done(rank->trainer),
            (unsigned long long)etx_trainer_hash(rank->trainer));
    if (rank->number == 0 && rank->is_stopped)
        (void)program_error("stopped at step %lld; go on with --resume",
            (long long)etx_trainer_steps_done(rank->trainer));
    return rank->result;
}

/* ---------------------------------------------------------- all ranks -- */

/* A rank from start to end; a failure also ends the other ranks. A signal stops
 * all ranks, and only rank 0 exits with 1. */
static void *run_rank(void *argument)
{
    struct rank *rank = argument;

    rank->number = etx_dist_rank(rank->dist);
    rank->n_ranks = etx_dist_n_ranks(rank->dist);
    if (rank_open(rank) == 0 && rank_train(rank) == 0)
        (void)rank_finish(rank);
    if (rank->result != 0) {
        etx_dist_give_up(rank->devices);
        etx_dist_end_processes(rank->dist, rank->result);
    }
    rank_close(rank);
    if (rank->result == 0 && rank->number == 0 && rank->is_stopped)
        rank->result = PROGRAM_FAILED;
    return NULL;
}

/* Open the ranks of this process: one of MPI, or threads. Returns their number,
 * or 0 after a line on stderr. */
static int32_t open_group(etx_dist **dist, const struct options *o)
{
    const int32_t n_ranks = o->n_ranks > 0 ? (int32_t)o->n_ranks : 1;
    const int32_t is_launched = o->n_ranks == 0 && etx_dist_n_launched() != 1;
    etx_dist_options options;
    etx_status status = make_dist_options(&options, o);

    if (status == ETX_OK)
        status = is_launched ? etx_dist_open_mpi(dist, &options)
                             : etx_dist_open_threads(dist, n_ranks, &options);
    if (status != ETX_OK && is_launched)
        (void)program_error("one of several processes: %s; --ranks 1 trains in "
                            "each process alone",
            etx_last_error());
    else if (status != ETX_OK)
        (void)program_failed(NULL);
    return status == ETX_OK ? n_ranks : 0;
}

static int run_ranks(struct rank *rank, int32_t n_ranks)
{
    pthread_t thread[MAX_RANKS];
    int32_t n_started = 1;
    int result = 0;

    while (n_started < n_ranks && pthread_create(&thread[n_started], NULL,
                                      run_rank, rank + n_started) == 0)
        n_started++;
    if (n_started < n_ranks)
        result =
            program_error("cannot start a thread for rank %d", (int)n_started);
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

/* What can be written and read, before it takes long. */
static int check_files(struct options *o)
{
    int result = program_check_output(o->out);

    if (result == 0)
        result = program_check_output(o->report);
    if (result == 0 && o->resume) {
        char *checkpoint = join_text(o->out, ".checkpoint");

        if (access(checkpoint, R_OK) != 0)
            result =
                program_error("--resume: %s: %s", checkpoint, strerror(errno));
        free(checkpoint);
    }
    if (result == 0)
        result = program_expand_events(&o->data);
    return result == 0 ? program_expand_events(&o->validation) : result;
}

/* Run the ranks of this process. */
static int run(const struct options *o, etx_dist *const *dist, int32_t n_ranks,
    const char *config)
{
    const int64_t n_training = o->data.count;
    const int64_t n_events = n_training + o->validation.count;
    char **name = program_allocate(n_events, sizeof *name);
    struct rank *rank = program_allocate(n_ranks, sizeof *rank);
    int result;

    for (int64_t k = 0; k < n_events; k++)
        name[k] = k < n_training ? o->data.item[k]
                                 : o->validation.item[k - n_training];
    for (int32_t r = 0; r < n_ranks; r++)
        rank[r] = (struct rank){.options = o,
            .config = config,
            .name = name,
            .n_events = n_events,
            .n_training = n_training,
            .dist = dist[r]};
    signal(SIGINT, note_signal);
    signal(SIGTERM, note_signal);
    result = run_ranks(rank, n_ranks);
    free(rank);
    free(name);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    etx_dist *dist[MAX_RANKS] = {NULL};
    char *config;
    int32_t n_ranks;
    int result = PROGRAM_FAILED;

    read_options(&o, argc, argv);
    n_ranks = open_group(dist, &o);
    config = training_read_config(o.config);
    if (n_ranks > 0 && config != NULL && check_files(&o) == 0) {
        result = run(&o, dist, n_ranks, config);
    } else {
        etx_dist_end_processes(dist[0], PROGRAM_FAILED);
        for (int32_t r = 0; r < n_ranks; r++)
            etx_dist_close(dist[r]);
    }
    free(config);
    program_list_free(&o.data);
    program_list_free(&o.validation);
    return result;
}
