/* examples/etx-train-distributed.c -- train one stage of a pipeline on several
 * ranks: processes that mpirun or srun started, or threads of this one.
 *
 * Same configs, events and results as etx-train (docs/distributed.md). Rank 0
 * writes the log, the checkpoints and the model. What a rank does is in ranks/.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/rank.h"
#include "training_files.h"

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
    stop_signal = number;
}

/* All that a rank does; a failure ends the other ranks, too. A run that was
 * stopped is over on all of them, and rank 0 alone exits with 1. */
static void *run_rank(void *argument)
{
    struct rank *rank = argument;

    rank->number = etx_dist_rank(rank->dist);
    rank->n_ranks = etx_dist_n_ranks(rank->dist);
    if (rank_open(rank) == 0 && rank_train(rank, &stop_signal) == 0)
        (void)rank_finish(rank);
    if (rank->result != 0)
        etx_dist_end_processes(rank->dist, rank->result);
    rank_close(rank);
    if (rank->result == 0 && rank->number == 0 && rank->is_stopped)
        rank->result = PROGRAM_FAILED;
    return NULL;
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
        status =
            etx_dist_open_threads(dist, n_ranks > 0 ? n_ranks : 1, &options);
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
    config = training_read_config(options.config);
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
