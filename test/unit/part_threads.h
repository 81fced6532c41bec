/* test/unit/part_threads.h -- the parts of a graph, each on a thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_PART_THREADS_H
#define ETX_TEST_PART_THREADS_H

#include <exatrkx/graph.h>

#include <pthread.h>

#define PART_THREADS_MAX 8

/* What the threads of one run share. */
struct part_threads {
    pthread_barrier_t barrier;
    int32_t n_parts;
    const float *sent[PART_THREADS_MAX];
    const int64_t *n_sent[PART_THREADS_MAX];
};

/* One thread of a run: part is its own, argument the caller's. */
struct part_thread {
    struct part_threads *all;
    int32_t part;
    int64_t n_swaps; /* calls of exchange.swap */
    etx_part_exchange exchange;
    void (*run)(struct part_thread *thread, void *argument);
    void *argument;
};

/* Call run once for every part, each in a thread, concurrently; argument may
 * be shared. swaps [n_parts] or NULL gets the exchanges that each made. */
void part_threads_run(int32_t n_parts,
    void (*run)(struct part_thread *thread, void *argument), void *argument,
    int64_t *swaps);

#endif
