/* examples/etx-train-distributed.c -- train one stage of a pipeline on several
 * ranks: processes that mpirun or srun started, or threads of this one.
 *
 * Same configs, events and results as etx-train (docs/distributed.md). Rank 0
 * writes the log, the checkpoints and the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "distributed.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char summary[] =
    "Train a stage of a model file on several ranks: started by mpirun or\n"
    "srun, or as threads of this process with --ranks.";

#define MAX_RANKS 256

static void read_options(struct distributed_options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {.name = "config", .value = "FILE", .text = &o->config,
            .help = "what to train and how, JSON"},
        {.name = "data", .value = "DIR", .list = &o->data,
            .help = "events to train on: a folder or a prefix; repeatable"},
        {.name = "validation", .value = "DIR", .list = &o->validation,
            .help = "events to validate on; repeatable"},
        {.name = "out", .value = "FILE", .text = &o->out,
            .help = "model file to write; checkpoints go to FILE.checkpoint"},
        {.name = "start", .value = "FILE", .text = &o->start,
            .help = "model that holds the other stages, or this one so far"},
        {.name = "resume", .flag = &o->resume,
            .help = "go on from FILE.checkpoint, on any number of ranks"},
        {.name = "ranks", .value = "N", .integer = &o->n_ranks, .low = 1,
            .high = MAX_RANKS, .help = "threads of this process, without MPI"},
        {.name = "threads", .value = "N", .integer = &o->n_threads,
            .low = 0, .high = 256,
            .help = "threads of each rank, 0 = its share of the cores"},
        {.name = "fast", .flag = &o->is_fast,
            .help = "add gradients in any order: other bits on other ranks"},
        {.name = "deal", .value = "HOW", .text = &o->deal,
            .help = "graphs to ranks: balanced (default) or turn"},
        {.name = "shard", .flag = &o->is_sharded,
            .help = "each rank reads and keeps its own training events alone"},
        {.name = "deadline", .value = "S", .number = &o->deadline,
            .low = 0.001, .high = 1e9,
            .help = "wait so long for other ranks (default 60)"},
        {.name = "scaling-report", .value = "FILE", .text = &o->report,
            .help = "append what this run cost, and print all runs there"},
        {.name = "detector", .value = "FILE", .text = &o->detector,
            .help = "detectors.csv (default: the TrackML detector)"},
        {.name = "log", .value = "FILE", .text = &o->log,
            .help = "append a JSON object a line: losses and validations"},
        {.name = "cache", .value = "DIR", .text = &o->cache,
            .help = "existing folder that keeps the graphs of events"},
        {.name = "validate-every", .value = "N",
            .integer = &o->validate_every, .low = 0, .high = 1e9,
            .help = "steps; 0 = a tenth of the schedule (default)"},
        {.name = "checkpoint-seconds", .value = "S",
            .number = &o->checkpoint_seconds, .low = 0, .high = 1e9,
            .help = "between checkpoints (default 60)"},
        {.name = "time-limit", .value = "S", .number = &o->time_limit,
            .low = 0, .high = 1e9,
            .help = "stop after S seconds with a checkpoint and a model"},
    };

    o->checkpoint_seconds = 60.0;
    o->deadline = 60.0;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->config == NULL || o->out == NULL || o->data.count == 0)
        exit(program_usage("--config, --data and --out are needed"));
    if (o->deal != NULL && strcmp(o->deal, "balanced") != 0 &&
        strcmp(o->deal, "turn") != 0)
        exit(program_usage("--deal %s: not balanced or turn", o->deal));
}

static void note_signal(int number)
{
    distributed_stop = number;
}

/* All that a rank does; a failure ends the other ranks, too. */
static void *run_rank(void *argument)
{
    struct distributed_rank *rank = argument;

    rank->number = etx_dist_rank(rank->dist);
    rank->n_ranks = etx_dist_n_ranks(rank->dist);
    if (distributed_open(rank) == 0 && distributed_train(rank) == 0)
        (void)distributed_finish(rank);
    if (rank->result != 0 && distributed_stop == 0)
        etx_dist_end_processes(rank->dist, rank->result);
    distributed_close(rank);
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

/* This rank's share of the cores of its node. */
static int64_t share_cores(int64_t n_ranks)
{
    static const char *const names[] = {
        "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
        "SLURM_TASKS_PER_NODE"};
    const int64_t n_cores = (int64_t)sysconf(_SC_NPROCESSORS_ONLN);

    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (getenv(names[k]) != NULL && atoi(getenv(names[k])) > 0)
            n_ranks = atoi(getenv(names[k]));
    return n_cores / n_ranks > 0 ? n_cores / n_ranks : 1;
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

static int run_ranks(struct distributed_rank *rank, int32_t n_ranks)
{
    pthread_t thread[MAX_RANKS];
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
    etx_dist *dist[MAX_RANKS] = {NULL};
    struct distributed_rank *rank = NULL;
    char *config = NULL;
    int32_t n_ranks;
    int result = PROGRAM_FAILED;

    read_options(&options, argc, argv);
    n_ranks = open_group(dist, &options);
    config = read_text(options.config);
    if (config == NULL)
        (void)program_error("%s: no JSON that can be read", options.config);
    if (options.n_threads == 0 && n_ranks > 0)
        options.n_threads = share_cores(etx_dist_n_ranks(dist[0]));
    if (n_ranks > 0 && config != NULL &&
        program_expand_events(&options.data) == 0 &&
        program_expand_events(&options.validation) == 0) {
        signal(SIGINT, note_signal);
        signal(SIGTERM, note_signal);
        rank = program_allocate(n_ranks, sizeof *rank);
        for (int32_t r = 0; r < n_ranks; r++)
            rank[r] = (struct distributed_rank){
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
