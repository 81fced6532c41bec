/* test/unit/rank_threads.h -- the ranks of a group, each on a thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_RANK_THREADS_H
#define ETX_TEST_RANK_THREADS_H

#include <exatrkx/dist.h>

#include <pthread.h>

#define RANK_THREADS_MAX 8

/* One thread of a run: rank is its own, argument the caller's. */
struct rank_thread {
    pthread_t id;
    int32_t rank;
    etx_dist *dist;
    etx_part_exchange exchange; /* of dist */
    void (*run)(struct rank_thread *thread, void *argument);
    void *argument;
};

/* Call run once for every rank of a new group, each in a thread, concurrently;
 * argument may be shared. options may be NULL. */
void rank_threads_run(int32_t n_ranks, const etx_dist_options *options,
    void (*run)(struct rank_thread *thread, void *argument), void *argument);

#endif
