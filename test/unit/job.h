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
    etx_tracks *tracks; /* NULL until job_find */
    etx_graph *graph;   /* NULL, or what the filter leaves */
    int64_t n_nodes, n_edges;
};

#define scoped_job SCOPED(job_free) struct job

struct job job_make(void);
struct job job_make_graph(void);
void job_free(struct job *job);

void job_find(struct job *job);

/* The same hits in the same tracks, and tracks at all. */
void job_assert_same_tracks(const etx_tracks *a, const etx_tracks *b);

#endif
