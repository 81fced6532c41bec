/* job.c -- a search for tracks: the default model and an event that ships.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

struct job job_make(void)
{
    struct job job = {0};

    job.context = etx_test_context();
    etx_test_open_example(&job.model, &job.event, "event000000001");
    return job;
}

struct job job_make_graph(void)
{
    struct job job = job_make();
    scoped_graph *all = NULL;

    ck_assert_ok(etx_graph_build(&all, job.context, job.model, job.event));
    ck_assert_ok(
        etx_graph_filter(&job.graph, all, job.context, job.model, job.event));
    job.n_nodes = etx_graph_n_nodes(job.graph);
    job.n_edges = etx_graph_n_edges(job.graph);
    ck_assert_int_gt(job.n_edges, 1000);
    return job;
}

void job_find(struct job *job)
{
    ck_assert_ok(
        etx_find_tracks(&job->tracks, job->context, job->model, job->event));
}

void job_free(struct job *job)
{
    etx_tracks_free(job->tracks);
    etx_graph_free(job->graph);
    etx_event_free(job->event);
    etx_model_free(job->model);
    etx_context_free(job->context);
}

void job_assert_same_tracks(const etx_tracks *a, const etx_tracks *b)
{
    ck_assert_int_gt(etx_tracks_count(a), 10);
    etx_test_same_tracks(a, b);
}
