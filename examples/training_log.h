/* examples/training_log.h -- what a training says: its log of JSON lines, and
 * lines on standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_TRAINING_LOG_H
#define ETX_EXAMPLES_TRAINING_LOG_H

#include <exatrkx/train.h>

#include <stdio.h>

#define TRAINING_LOG_LINES        1000 /* of the steps, at most */
#define TRAINING_SECONDS_PER_LINE 30.0
#define TRAINING_SECONDS_PER_BAR  0.5

/* Sums over the steps since the last line but those that were skipped, and the
 * reference of a spike. */
struct training_steps {
    int64_t n, n_all;     /* steps since the last line, and in all */
    double loss, n_edges; /* sums */
    double gradient_norm, highest_gradient_norm;
    double imbalance, highest_imbalance, imbalance_of_all;
    double loss_spread; /* the highest */
    int64_t n_spikes;
    double running_loss; /* running mean; nan before the first step */
};

void training_steps_open(struct training_steps *steps);

/* Add a step. A spike is a loss above three times the running mean, in which
 * the newest step weighs a fiftieth. */
void training_steps_add(
    struct training_steps *steps, const etx_training_report *report);

/* One line of JSON each; log may be NULL. */

/* The steps since the last line. shares: the fractions of the time so far spent
 * on transfers and on waiting for other ranks; NULL with one rank. */
void training_log_steps(FILE *log, struct training_steps *steps,
    const etx_training_report *report, const double shares[2]);
void training_log_validation(FILE *log, const etx_training_report *report);
void training_log_rollback(FILE *log, const etx_training_report *report);
void training_log_skipped(FILE *log, const etx_training_report *report);

/* *log: the file at path, to append to; NULL without a path. Returns 0, or
 * PROGRAM_FAILED after a line on stderr. */
int training_log_open(FILE **log, const char *path);

/* Close the log (NULL: none) of that path. Returns 0, or PROGRAM_FAILED after a
 * line on stderr when not all of it was written. */
int training_log_close(FILE *log, const char *path);

/* Print which network is trained: a new one, or that of the model file start.
 */
void training_print_start(const etx_trainer *trainer, const char *start);

/* Print the progress, now and then: a bar on a terminal, else a line. shown:
 * when it was printed last. */
void training_print_progress(double *shown, const etx_training_report *report,
    double loss, double seconds_per_step);

/* Print that the loss jumped, and that the trainer went back. */
void training_print_rollback(const etx_training_report *report);

/* Print a validation on events of n_hits hits: what was measured, or that it
 * was not (ETX_VALIDATION_EDGES_PER_HIT). */
void training_print_validation(
    const etx_training_report *report, double n_hits);

/* Say so when the training is over before the schedule is, as validations got
 * no better. */
void training_print_early_end(const etx_trainer *trainer);

#endif
