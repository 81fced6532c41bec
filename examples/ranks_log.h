/* examples/ranks_log.h -- the log of a training on several ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_RANKS_LOG_H
#define ETX_EXAMPLES_RANKS_LOG_H

#include <exatrkx/train.h>

#include <stdio.h>

/* Steps since the last line, and what a spike is measured by. */
struct ranks_log {
    int64_t n, n_all;     /* steps since the last line, and in all */
    double loss, n_edges; /* sums */
    double gradient_norm, highest_gradient_norm;
    double imbalance, highest_imbalance, imbalance_of_all;
    double loss_spread; /* the highest */
    int64_t n_spikes;
    double running_loss; /* mean of late; nan before the first step */
};

void ranks_log_open(struct ranks_log *log);

/* Add a step. A spike is a loss above three times the running mean, in which
 * the newest step weighs a fiftieth. */
void ranks_log_add(struct ranks_log *log, const etx_training_report *report);

/* One line for the steps since the last one; file may be NULL. shares: of the
 * seconds so far that went into moving data and into waiting. */
void ranks_log_write(FILE *file, struct ranks_log *log,
    const etx_training_report *report, const double shares[2]);

#endif
