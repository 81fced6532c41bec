/* examples/training.h -- what the training programs share: events, config, log
 * and checkpoint files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_TRAINING_H
#define ETX_EXAMPLES_TRAINING_H

#include <exatrkx/train.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "program.h"

#define TRAINING_LOG_LINES        1000
#define TRAINING_SECONDS_PER_LINE 30.0

/* Options of both programs. */
struct training_options {
    const char *config, *out, *start, *log, *detector, *cache;
    struct program_list data, validation;
    int64_t validate_every;
    double time_limit, checkpoint_seconds;
    int32_t resume;
};

/* Rows of a table of options that set the struct *o. */
#define TRAINING_OPTIONS(o)                                                    \
    {"config", "FILE", "training configuration, JSON", .text = &(o)->config},  \
        {"data", "DIR", "training events: a folder or a prefix; repeatable",   \
            .list = &(o)->data},                                               \
        {"validation", "DIR",                                                  \
            "validation events: a folder or a prefix; repeatable",             \
            .list = &(o)->validation},                                         \
        {"out", "FILE",                                                        \
            "model file to write; checkpoints go to FILE.checkpoint",          \
            .text = &(o)->out},                                                \
        {"start", "FILE",                                                      \
            "model file with the other stages, or to continue this one",       \
            .text = &(o)->start},                                              \
        {"resume", NULL, "resume from FILE.checkpoint", .flag = &(o)->resume}, \
        PROGRAM_DETECTOR_OPTION(&(o)->detector),                               \
        {"log", "FILE",                                                        \
            "append losses and validations, one JSON object per line",         \
            .text = &(o)->log},                                                \
        {"cache", "DIR", "existing folder for cached graphs of events",        \
            .text = &(o)->cache},                                              \
        {"validate-every", "N",                                                \
            "steps between validations; 0 = n_steps / 10 + 1 (default)",       \
            .integer = &(o)->validate_every, .low = 0, .high = 1e9},           \
        {"checkpoint-seconds", "S",                                            \
            "seconds between checkpoints (default 60)",                        \
            .number = &(o)->checkpoint_seconds, .low = 0, .high = 1e9},        \
    {                                                                          \
        "time-limit", "S",                                                     \
            "stop after S seconds; writes checkpoint and model",               \
            .number = &(o)->time_limit, .low = 0, .high = 1e9                  \
    }

/* End the program with a usage error unless config, data and out are there. */
void training_check_options(const struct training_options *options);

/* The steps from one validation to the next. */
int64_t training_validation_period(
    const struct training_options *options, int64_t n_steps);

/* The last SIGINT or SIGTERM since training_catch_signals, or 0. */
extern volatile sig_atomic_t training_signal;
void training_catch_signals(void);

/* Set list and detector, the others to zero. */
struct training_events {
    const struct program_list *list[2]; /* to train on, to validate on */
    const etx_detector *detector;
    etx_event **event; /* [count] of the first list, then of the second */
    int64_t count;

    int64_t next;  /* the next event to read */
    char *message; /* of the first failure */
    pthread_mutex_t lock;
};

/* Returns 0, or prints the first failure and returns PROGRAM_FAILED. Free in
 * either case. */
int training_events_read(struct training_events *events, int64_t n_threads);
void training_events_free(struct training_events *events);

/* The prefix that event k was read from. */
const char *training_events_name(
    const struct training_events *events, int64_t k);

/* The text of the file path, which the caller frees; NULL after a line on
 * stderr that says why it cannot be read. etx_trainer_create parses it. */
char *training_read_config(const char *path);

/* Returns 0 when a file can be written in place of path or next to it, else
 * PROGRAM_FAILED after a line on stderr. */
int training_check_output(const char *path);

/* Print which network is trained: a new one, or that of the model file start. */
void training_print_start(const etx_trainer *trainer, const char *start);

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

/* *log: the file at path, to append to; NULL without a path. Returns 0, or
 * PROGRAM_FAILED after a line on stderr. */
int training_log_open(FILE **log, const char *path);

/* Close the log (NULL: none) of that path. Returns 0, or PROGRAM_FAILED after a
 * line on stderr when not all of it was written. */
int training_log_close(FILE *log, const char *path);

/* Print a validation on events of n_hits hits: what was measured, or that it
 * was not (ETX_VALIDATION_EDGES_PER_HIT). */
void training_print_validation(
    const etx_training_report *report, double n_hits);

/* Say so when the training is over before the schedule is, as validations got
 * no better. */
void training_print_early_end(const etx_trainer *trainer);

/* Remove the temporary files of checkpoint that processes which no longer run
 * left next to it. */
void training_remove_leftovers(const char *checkpoint);

/* Keep the file checkpoint, where there is one, under the name earlier as well,
 * in place of what had it: by a link, or a copy where the file system has no
 * links. Where neither can be made a line on stderr says so, and there is no
 * earlier file. */
void training_keep_earlier(const char *checkpoint, const char *earlier);

#endif
