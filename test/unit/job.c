/* job.c -- a search for tracks: the default model and an event that ships.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

struct job job_make(void)
{
    struct job job = {0};

    ck_assert_ok(etx_context_create(&job.context, NULL));
    etx_test_open_example(&job.model, &job.event, "event000000001");
    return job;
}

void job_free(struct job *job)
{
    etx_tracks_free(job->tracks);
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
