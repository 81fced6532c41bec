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
    const int64_t n = etx_tracks_count(a);

    ck_assert_int_gt(n, 10);
    ck_assert_int_eq(n, etx_tracks_count(b));
    ck_assert_mem_eq(etx_tracks_offsets(a), etx_tracks_offsets(b),
        (size_t)(n + 1) * sizeof(int64_t));
    ck_assert_mem_eq(etx_tracks_hits(a), etx_tracks_hits(b),
        (size_t)etx_tracks_offsets(a)[n] * sizeof(int32_t));
}
