/* examples/ranks_log.h -- the log of a training on several ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_RANKS_LOG_H
#define ETX_EXAMPLES_RANKS_LOG_H

#include <exatrkx/train.h>

#include <stdio.h>

/* Sums over the steps since the last line, and the reference of a spike. */
struct ranks_log {
    int64_t n, n_all;     /* steps since the last line, and in all */
    double loss, n_edges; /* sums */
    double gradient_norm, highest_gradient_norm;
    double imbalance, highest_imbalance, imbalance_of_all;
    double loss_spread; /* the highest */
    int64_t n_spikes;
    double running_loss; /* running mean; nan before the first step */
};

void ranks_log_open(struct ranks_log *log);

/* Add a step. A spike is a loss above three times the running mean, in which
 * the newest step weighs a fiftieth. */
void ranks_log_add(struct ranks_log *log, const etx_training_report *report);

/* Write one line for the steps since the last one; file may be NULL. shares:
 * the fractions of the time so far spent on transfers and on waiting. */
void ranks_log_write(FILE *file, struct ranks_log *log,
    const etx_training_report *report, const double shares[2]);

#endif
