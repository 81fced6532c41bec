/* test/unit/rank_threads.c -- the ranks of a group, each on a thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "rank_threads.h"

#include "support.h"

static void *start(void *argument)
{
    struct rank_thread *thread = argument;

    thread->run(thread, thread->argument);
    return NULL;
}

void rank_threads_run(int32_t n_ranks, const etx_dist_options *options,
    void (*run)(struct rank_thread *thread, void *argument), void *argument)
{
    struct rank_thread thread[RANK_THREADS_MAX];
    etx_dist *dist[RANK_THREADS_MAX];

    ck_assert_int_le(n_ranks, RANK_THREADS_MAX);
    ck_assert_ok(etx_dist_open_threads(dist, n_ranks, options));
    for (int32_t r = 0; r < n_ranks; r++) {
        thread[r] = (struct rank_thread){
            .rank = r, .dist = dist[r], .run = run, .argument = argument};
        thread[r].exchange.struct_size = sizeof thread[r].exchange;
        ck_assert_ok(etx_dist_exchange(&thread[r].exchange, dist[r]));
        ck_assert_int_eq(
            pthread_create(&thread[r].id, NULL, start, &thread[r]), 0);
    }
    for (int32_t r = 0; r < n_ranks; r++)
        (void)pthread_join(thread[r].id, NULL);
    for (int32_t r = 0; r < n_ranks; r++)
        etx_dist_close(dist[r]);
}
