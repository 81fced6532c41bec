/* test/unit/part_threads.c -- the parts of a graph, each on a thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "part_threads.h"

#include <check.h>
#include <string.h>

/* Publish what this part sends, wait, copy what the others sent, wait. */
static etx_status swap(void *user, float *received, const int64_t *n_received,
    const float *sent, const int64_t *n_sent)
{
    struct part_thread *thread = user;
    struct part_threads *all = thread->all;

    all->sent[thread->part] = sent;
    all->n_sent[thread->part] = n_sent;
    (void)pthread_barrier_wait(&all->barrier);
    for (int32_t q = 0; q < all->n_parts; q++) {
        const float *from = all->sent[q];

        for (int32_t p = 0; p < thread->part; p++)
            from += all->n_sent[q][p];
        ck_assert_int_eq(all->n_sent[q][thread->part], n_received[q]);
        memcpy(received, from, (size_t)n_received[q] * sizeof *from);
        received += n_received[q];
    }
    (void)pthread_barrier_wait(&all->barrier);
    thread->n_swaps++;
    return ETX_OK;
}

static void *start(void *argument)
{
    struct part_thread *thread = argument;

    thread->run(thread, thread->argument);
    return NULL;
}

void part_threads_run(int32_t n_parts,
    void (*run)(struct part_thread *thread, void *argument), void *argument,
    int64_t *swaps)
{
    struct part_threads all = {.n_parts = n_parts};
    struct part_thread thread[PART_THREADS_MAX];
    pthread_t id[PART_THREADS_MAX];

    ck_assert_int_le(n_parts, PART_THREADS_MAX);
    ck_assert_int_eq(
        pthread_barrier_init(&all.barrier, NULL, (unsigned)n_parts), 0);
    for (int32_t p = 0; p < n_parts; p++) {
        thread[p] = (struct part_thread){.all = &all,
            .part = p,
            .exchange = {.struct_size = sizeof thread[p].exchange,
                .swap = swap,
                .user = &thread[p]},
            .run = run,
            .argument = argument};
        ck_assert_int_eq(pthread_create(&id[p], NULL, start, &thread[p]), 0);
    }
    for (int32_t p = 0; p < n_parts; p++) {
        (void)pthread_join(id[p], NULL);
        if (swaps != NULL)
            swaps[p] = thread[p].n_swaps;
    }
    (void)pthread_barrier_destroy(&all.barrier);
}
