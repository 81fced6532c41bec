/* examples/training_events.h -- the events of a training, read by threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRAINING_EVENTS_H
#define TRAINING_EVENTS_H

#include <exatrkx/exatrkx.h>

#include <pthread.h>

#include "program.h"

/* Set list and detector, the others to zero. */
struct training_events {
    const struct program_list *list[2]; /* to train on, to validate on */
    const etx_detector *detector;
    etx_event **event; /* [count] of the first list, then of the second */
    int64_t count;

    int64_t next;  /* that no thread has taken */
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

#endif
