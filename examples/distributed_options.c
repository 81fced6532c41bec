/* examples/distributed_options.c -- what etx-train-distributed is asked for.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "distributed_options.h"

#include <stdlib.h>
#include <string.h>

static const char summary[] =
    "Train a stage of a model file on several ranks: started by mpirun or\n"
    "srun, or as threads of this process with --ranks.";

#define MAX_OPTIONS 32

/* The options so far; tables of one subject each are added to it. */
struct table {
    struct program_option option[MAX_OPTIONS];
    size_t n;
};

static void add(
    struct table *table, const struct program_option *option, size_t n)
{
    memcpy(table->option + table->n, option, n * sizeof *option);
    table->n += n;
}

#define ADD(table, options)                                                    \
    add(table, options, sizeof(options) / sizeof *(options))

static void add_training(struct table *table, struct distributed_options *o)
{
    const struct program_option options[] = {
        {.name = "config",
            .value = "FILE",
            .text = &o->config,
            .help = "what to train and how, JSON"},
        {.name = "data",
            .value = "DIR",
            .list = &o->data,
            .help = "events to train on: a folder or a prefix; repeatable"},
        {.name = "validation",
            .value = "DIR",
            .list = &o->validation,
            .help = "events to validate on; repeatable"},
        {.name = "out",
            .value = "FILE",
            .text = &o->out,
            .help = "model file to write; checkpoints go to FILE.checkpoint"},
        {.name = "start",
            .value = "FILE",
            .text = &o->start,
            .help = "model that holds the other stages, or this one so far"},
        {.name = "resume",
            .flag = &o->resume,
            .help = "go on from FILE.checkpoint, on any number of ranks"},
    };

    ADD(table, options);
}

static void add_ranks(struct table *table, struct distributed_options *o)
{
    const struct program_option options[] = {
        {.name = "ranks",
            .value = "N",
            .integer = &o->n_ranks,
            .low = 1,
            .high = DISTRIBUTED_MAX_RANKS,
            .help = "threads of this process, without MPI"},
        {.name = "threads",
            .value = "N",
            .integer = &o->n_threads,
            .low = 0,
            .high = 256,
            .help = "threads of each rank, 0 = its share of the cores"},
        {.name = "fast",
            .flag = &o->is_fast,
            .help = "add gradients in any order: other bits on other ranks"},
        {.name = "deal",
            .value = "HOW",
            .text = &o->deal,
            .help = "graphs to ranks: balanced (default) or turn"},
        {.name = "graph-parallel",
            .value = "HOW",
            .text = &o->parts,
            .help = "every graph on all ranks, cut in sectors of azimuth (phi) "
                    "or halves of halves (kd)"},
        {.name = "shard",
            .flag = &o->is_sharded,
            .help = "each rank reads and keeps its own training events alone"},
        {.name = "deadline",
            .value = "S",
            .number = &o->deadline,
            .low = 0.001,
            .high = 1e9,
            .help = "wait so long for other ranks (default 60)"},
        {.name = "scaling-report",
            .value = "FILE",
            .text = &o->report,
            .help = "append what this run cost, and print all runs there"},
    };

    ADD(table, options);
}

static void add_files(struct table *table, struct distributed_options *o)
{
    const struct program_option options[] = {
        {.name = "detector",
            .value = "FILE",
            .text = &o->detector,
            .help = "detectors.csv (default: the TrackML detector)"},
        {.name = "log",
            .value = "FILE",
            .text = &o->log,
            .help = "append a JSON object a line: losses and validations"},
        {.name = "cache",
            .value = "DIR",
            .text = &o->cache,
            .help = "existing folder that keeps the graphs of events"},
    };

    ADD(table, options);
}

static void add_times(struct table *table, struct distributed_options *o)
{
    const struct program_option options[] = {
        {.name = "validate-every",
            .value = "N",
            .integer = &o->validate_every,
            .low = 0,
            .high = 1e9,
            .help = "steps; 0 = a tenth of the schedule (default)"},
        {.name = "checkpoint-seconds",
            .value = "S",
            .number = &o->checkpoint_seconds,
            .low = 0,
            .high = 1e9,
            .help = "between checkpoints (default 60)"},
        {.name = "time-limit",
            .value = "S",
            .number = &o->time_limit,
            .low = 0,
            .high = 1e9,
            .help = "stop after S seconds with a checkpoint and a model"},
    };

    ADD(table, options);
}

static void check(const struct distributed_options *o)
{
    if (o->config == NULL || o->out == NULL || o->data.count == 0)
        exit(program_usage("--config, --data and --out are needed"));
    if (o->deal != NULL && strcmp(o->deal, "balanced") != 0 &&
        strcmp(o->deal, "turn") != 0)
        exit(program_usage("--deal %s: not balanced or turn", o->deal));
    if (o->parts != NULL && strcmp(o->parts, "phi") != 0 &&
        strcmp(o->parts, "kd") != 0)
        exit(program_usage("--graph-parallel %s: not phi or kd", o->parts));
    if (o->parts != NULL && o->is_sharded)
        exit(program_usage("--graph-parallel needs every event on every rank: "
                           "not with --shard"));
}

void distributed_read_options(
    struct distributed_options *o, int argc, char **argv)
{
    struct table table = {.n = 0};

    o->checkpoint_seconds = 60.0;
    o->deadline = 60.0;
    add_training(&table, o);
    add_ranks(&table, o);
    add_files(&table, o);
    add_times(&table, o);
    program_parse(argc, argv, summary, table.option, (int32_t)table.n);
    check(o);
}
