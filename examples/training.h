/* examples/training.h -- the files of a training: events, config, model and
 * checkpoints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EXAMPLES_TRAINING_H
#define ETX_EXAMPLES_TRAINING_H

#include <exatrkx/exatrkx.h>

/* Events to read: event[k] from name[k] for each k of index [n], or, where it
 * is NULL, each k below n. */
struct training_events {
    char *const *name;
    const int64_t *index;
    int64_t n;
    const etx_detector *detector;
    etx_event **event; /* the caller frees what is set */
    int64_t failed;    /* the index of the event that could not be read */
};

/* Read events by n_threads threads. */
etx_status training_read_events(
    struct training_events *events, int64_t n_threads);

/* The text of the file path, which the caller frees; NULL after a line on
 * stderr that says why it cannot be read. etx_trainer_create parses it. */
char *training_read_config(const char *path);

/* Remove the temporary files of checkpoint that processes which no longer run
 * left next to it. */
void training_remove_leftovers(const char *checkpoint);

/* Keep the file checkpoint, where there is one, under the name earlier as well,
 * in place of what had it: by a link, or a copy where the file system has no
 * links. Where neither can be made a line on stderr says so, and there is no
 * earlier file. */
void training_keep_earlier(const char *checkpoint, const char *earlier);

#endif
