/* examples/training_files.h -- what a training starts from, its log, and what a
 * killed run leaves.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRAINING_FILES_H
#define TRAINING_FILES_H

#include <exatrkx/train.h>

#include <stdio.h>

/* Say which network the JSON text config trains: a new one where it has a
 * "model", or else that of the model file start (NULL: none). */
void training_print_start(const char *config, const char *start);

/* Means over the steps since the last line but those that were skipped. */
struct training_means {
    int64_t n;
    double loss, gradient_norm, n_edges;
};

void training_means_add(
    struct training_means *means, const etx_training_report *report);

/* One line of JSON each; log may be NULL. */
void training_log_step(FILE *log, const etx_training_report *report,
    const struct training_means *means);
void training_log_validation(FILE *log, const etx_training_report *report);
void training_log_rollback(FILE *log, const etx_training_report *report);
void training_log_skipped(FILE *log, const etx_training_report *report);

/* Remove the temporary files of checkpoint that processes which no longer run
 * left beside it. */
void training_remove_leftovers(const char *checkpoint);

/* Keep the file checkpoint, where there is one, under the name earlier as well,
 * in place of what had it: by a link, or a copy where the file system has no
 * links. Where neither can be made a line on stderr says so, and there is no
 * earlier file. */
void training_keep_earlier(const char *checkpoint, const char *earlier);

#endif
