/* examples/ranks/rank.h -- one rank of a training on several.
 *
 * Every rank calls these functions, in the same order. Those that return an
 * int return rank->result: 0, or what the program exits with after a line on
 * stderr.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_RANKS_RANK_H
#define ETX_EXAMPLES_RANKS_RANK_H

#include <exatrkx/dist.h>

#include <signal.h>
#include <stdio.h>

#include "distributed_options.h"
#include "energy.h"
#include "program.h"
#include "ranks_log.h"

/* What the steps of a rank took. */
struct step_seconds {
    double all;
    double graphs, network; /* as in etx_training_report */
    double moving, waiting; /* as in etx_dist_statistics */
};

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
    struct step_seconds spent; /* in steps */
    double begin, saved, shown;
    struct energy energy; /* of rank 0's node, while it trains */
    int is_stopped;       /* by a signal to any rank, before the end */
    int result;           /* what the program exits with */
};

/* One line that names the rank; ranks that only hear of a failure say
 * nothing. Sets and returns the result. */
int rank_failed(struct rank *rank, etx_status status, const char *subject);

#define RANK_CHECK(rank, call, subject)                                        \
    do {                                                                       \
        const etx_status check_status = (call);                                \
        if (check_status != ETX_OK)                                            \
            return rank_failed(rank, check_status, subject);                   \
    } while (0)

/* Seconds of the monotonic clock. */
double rank_now(void);

/* rank_open.c: events, model, trainer, log; rank->dist, options and config are
 * set. And release what a rank holds, its end of the group too. */
int rank_open(struct rank *rank);
void rank_close(struct rank *rank);

/* rank_train.c: steps, validations and checkpoints until the schedule is over,
 * or *stop_signal is not 0 on any rank. */
int rank_train(struct rank *rank, const volatile sig_atomic_t *stop_signal);
/* One validation, after which all ranks have the same parameters. */
int rank_validate(struct rank *rank);
/* Rank 0 keeps the last checkpoint under another name and writes the new one,
 * which is complete or not there. */
int rank_save_checkpoint(struct rank *rank);

/* rank_finish.c: the last checkpoint and validation, the scaling report and the
 * model. */
int rank_finish(struct rank *rank);

#endif
