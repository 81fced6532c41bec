/* job.h -- a search for tracks: the default model and an event that ships.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_JOB_H
#define ETX_TEST_JOB_H

#include "support.h"

struct job {
    etx_context *context;
    etx_model *model;
    etx_event *event;
    etx_tracks *tracks; /* NULL until a test finds them */
};

struct job job_make(void);
void job_free(struct job *job);

/* The same hits in the same tracks, and tracks at all. */
void job_assert_same_tracks(const etx_tracks *a, const etx_tracks *b);

#endif
