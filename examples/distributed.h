/* examples/distributed.h -- one rank of etx-train-distributed.
 *
 * Functions return 0, or what the program exits with after a line on stderr.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_DISTRIBUTED_H
#define ETX_EXAMPLES_DISTRIBUTED_H

#include <exatrkx/dist.h>

#include <signal.h>
#include <stdio.h>

#include "program.h"
#include "ranks_log.h"

/* The options of the program. */
struct distributed_options {
    const char *config, *out, *start, *log, *detector, *cache, *deal, *report;
    struct program_list data, validation;
    int64_t n_ranks, n_threads, validate_every;
    double deadline, time_limit, checkpoint_seconds;
    int32_t resume, is_fast, is_sharded;
};

/* Everything that a rank holds. */
struct distributed_rank {
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
    double begin, saved, shown, joules;
    int result; /* what the program exits with */
};

/* The signal that asks all ranks to stop after the step, or 0. */
extern volatile sig_atomic_t distributed_stop;

/* Print why a call failed, with the number of the rank; ranks that only hear
 * of a failure say nothing. Returns PROGRAM_FAILED. */
int distributed_failed(struct distributed_rank *rank, etx_status status,
    const char *subject);

/* Return from the function when call fails. */
#define DISTRIBUTED_CHECK(rank, call, subject)                                 \
    do {                                                                       \
        const etx_status check_status = (call);                                \
        if (check_status != ETX_OK)                                            \
            return distributed_failed(rank, check_status, subject);            \
    } while (0)

/* The monotonic clock, seconds. */
double distributed_now(void);

/* Context, events and trainer; with --resume at the state of the checkpoint.
 * options, config and dist of the rank are set. */
int distributed_open(struct distributed_rank *rank);
void distributed_close(struct distributed_rank *rank);

/* The steps, to the end of the schedule or until a rank is asked to stop. */
int distributed_train(struct distributed_rank *rank);
/* Checkpoint, validation, report of scaling, model. */
int distributed_finish(struct distributed_rank *rank);

#endif
