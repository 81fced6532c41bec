/* examples/ranks/rank_open.c -- what a rank of a training holds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ranks/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cores.h"
#include "training_files.h"

double rank_now(void)
{
    struct timespec time = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int rank_failed(struct rank *rank, etx_status status, const char *subject)
{
    rank->result = PROGRAM_FAILED;
    if (status != ETX_ERR_CANCELLED)
        (void)program_error(
            "rank %d: %s: %s", (int)rank->number, subject, etx_last_error());
    return rank->result;
}

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
            RANK_CHECK(rank, etx_dist_barrier(rank->dist), "events");
        if (holder >= 0 && holder != rank->number)
            continue;
        RANK_CHECK(rank,
            etx_event_read_trackml(
                rank->event + k, event_name(rank, k), rank->detector),
            event_name(rank, k));
        if (holder >= 0 || rank->number == 0)
            rank->n_hits[k] = (double)etx_event_n_hits(rank->event[k]);
    }
    RANK_CHECK(
        rank, etx_dist_sum(rank->dist, rank->n_hits, rank->n_events), "events");
    return 0;
}

static int add_events(struct rank *rank)
{
    for (int64_t k = 0; k < rank->n_events; k++) {
        const int32_t holder = find_holder(rank, k);
        const int32_t validation = k >= rank->n_training;

        if (holder < 0)
            RANK_CHECK(rank,
                etx_trainer_add_event(
                    rank->trainer, rank->event[k], validation),
                event_name(rank, k));
        else
            RANK_CHECK(rank,
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
        (void)rank_failed(rank, status, "--resume");
        rank->result = 0;
    }
    RANK_CHECK(rank, etx_dist_sum(rank->dist, &n_failed, 1), "--resume");
    if (n_failed > 0.0)
        RANK_CHECK(rank,
            etx_trainer_load_checkpoint(rank->trainer, rank->earlier),
            "--resume");
    if (n_failed > 0.0 && rank->number == 0)
        (void)program_error("goes on from %s, step %lld", rank->earlier,
            (long long)etx_trainer_steps_done(rank->trainer));
    RANK_CHECK(rank,
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
        RANK_CHECK(rank,
            etx_dist_trainer_set_parts(rank->trainer, rank->dist,
                strcmp(parts, "phi") == 0 ? ETX_PARTITION_PHI
                                          : ETX_PARTITION_KD),
            "--graph-parallel");
        return 0;
    }
    RANK_CHECK(rank, etx_dist_team(&team, rank->dist), "team");
    RANK_CHECK(rank, etx_trainer_set_team(rank->trainer, &team), "team");
    return 0;
}

static int make_trainer(struct rank *rank)
{
    const struct distributed_options *o = rank->options;

    RANK_CHECK(rank,
        etx_trainer_create(
            &rank->trainer, rank->context, rank->config, rank->start),
        o->config);
    if (join_ranks(rank) != 0)
        return rank->result;
    if (o->cache != NULL)
        RANK_CHECK(
            rank, etx_trainer_set_cache(rank->trainer, o->cache), "--cache");
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
    RANK_CHECK(rank, status, "cores");
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

int rank_open(struct rank *rank)
{
    const struct distributed_options *o = rank->options;

    rank->checkpoint = join_text(o->out, ".checkpoint");
    rank->earlier = join_text(o->out, ".checkpoint.earlier");
    ranks_log_open(&rank->steps);
    rank->report.struct_size = sizeof rank->report;
    rank->validation =
        (etx_training_report){.struct_size = sizeof rank->validation,
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

void rank_close(struct rank *rank)
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
    if (training_log_close(rank->log, rank->options->log) != 0)
        rank->result = PROGRAM_FAILED;
    etx_dist_close(rank->dist);
}
