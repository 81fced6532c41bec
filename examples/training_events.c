/* examples/training_events.c -- the events of a training, read by threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "training_events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_READERS 64

const char *training_events_name(
    const struct training_events *events, int64_t k)
{
    const int64_t first = events->list[0]->count;

    return k < first ? events->list[0]->item[k]
                     : events->list[1]->item[k - first];
}

static int64_t take_event(struct training_events *events)
{
    int64_t k;

    pthread_mutex_lock(&events->lock);
    k = events->message != NULL ? events->count : events->next++;
    pthread_mutex_unlock(&events->lock);
    return k;
}

static void note_failure(struct training_events *events, const char *name)
{
    const char *why = etx_last_error();
    const size_t size = strlen(name) + strlen(why) + 3;

    pthread_mutex_lock(&events->lock);
    if (events->message == NULL) {
        events->message = program_allocate((int64_t)size, 1);
        snprintf(events->message, size, "%s: %s", name, why);
    }
    pthread_mutex_unlock(&events->lock);
}

static void *read_some(void *argument)
{
    struct training_events *events = argument;

    for (int64_t k = take_event(events); k < events->count;
         k = take_event(events)) {
        const char *name = training_events_name(events, k);

        if (etx_event_read_trackml(&events->event[k], name, events->detector) !=
            ETX_OK)
            note_failure(events, name);
    }
    return NULL;
}

int training_events_read(struct training_events *events, int64_t n_threads)
{
    pthread_t thread[MAX_READERS];
    int64_t n = 0;

    events->count = events->list[0]->count + events->list[1]->count;
    events->event = program_allocate(events->count, sizeof *events->event);
    pthread_mutex_init(&events->lock, NULL);
    while (n < n_threads - 1 && n < MAX_READERS &&
           pthread_create(&thread[n], NULL, read_some, events) == 0)
        n++;
    read_some(events);
    while (n > 0)
        pthread_join(thread[--n], NULL);
    pthread_mutex_destroy(&events->lock);
    return events->message != NULL ? program_error("%s", events->message) : 0;
}

void training_events_free(struct training_events *events)
{
    for (int64_t k = 0; k < events->count; k++)
        etx_event_free(events->event[k]);
    free(events->event);
    free(events->message);
}
