/* dist/threads.c -- ranks that are threads of one process.
 *
 * Every operation is: publish pointers to the own buffers, barrier, read the
 * others' buffers, barrier. Shared data is written before a barrier and read
 * after it, so the barrier's lock orders the accesses. Rank r computes chunk r
 * of a sum, over the ranks in order, and writes it to the buffers of all.
 *
 * Only the first barrier can fail. After it every rank accesses the others'
 * buffers and will reach the second, however long that takes: a rank that
 * returned earlier could free a buffer that another still reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/comm.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dist/fail.h"

#define MAX_RANKS           1024
#define SECONDS_OF_SPINNING 2e-4 /* then the thread sleeps */
#define SECONDS_OF_SLEEP    1e-2 /* between two polls of cancel */

/* Buffers that a rank publishes for one operation. */
struct published {
    void *data;
    const int64_t *count; /* [n_ranks] of its all-to-all */
};

/* What the ranks of a group share. */
struct group {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* on the monotonic clock */
    int32_t n_ranks;
    int32_t n_open;    /* communicators not yet closed */
    int32_t n_arrived; /* at the current barrier */
    _Atomic uint64_t
        n_passed;         /* barriers that are over; written under the lock */
    int32_t late_rank;    /* whose deadline passed first, -1: none */
    int32_t aborted_rank; /* that aborted first, -1: none */
    struct published *published; /* [n_ranks] */
};

static struct timespec time_after(double seconds)
{
    const double whole = floor(seconds);
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)whole;
    time.tv_nsec += (long)(1e9 * (seconds - whole));
    if (time.tv_nsec >= 1000000000L) {
        time.tv_nsec -= 1000000000L;
        time.tv_sec++;
    }
    return time;
}

static etx_status fail_late(
    const struct etx_comm *comm, const char *operation, int32_t n_arrived)
{
    return etx_dist_fail(ETX_ERR_IO,
        "%s: only %d of %d ranks arrived within %lld ms", operation,
        (int)n_arrived, (int)comm->n_ranks, (long long)(comm->deadline * 1e3));
}

/* Why the group is broken, under its lock; ETX_OK when it is not. */
static etx_status find_break(const struct group *group, const char *operation)
{
    if (group->aborted_rank >= 0)
        return etx_dist_fail(ETX_ERR_RANK, "%s: rank %d gave up", operation,
            (int)group->aborted_rank);
    if (group->late_rank >= 0)
        return etx_dist_fail(ETX_ERR_IO,
            "%s: rank %d waited longer than its deadline", operation,
            (int)group->late_rank);
    return ETX_OK;
}

/* Spin for a short time, or until barrier n_passed is over: ranks with cores of
 * their own mostly arrive together, and to put a thread to sleep and wake it
 * costs more than the operation itself. */
static void spin(struct group *group, uint64_t n_passed)
{
    const double begin = etx_comm_now();

    while (atomic_load(&group->n_passed) == n_passed &&
           etx_comm_now() - begin < SECONDS_OF_SPINNING)
        (void)sched_yield();
}

/* Whether the caller of this rank cancels its call: without the lock, as it is
 * the caller who says so. */
static int32_t is_cancelled(struct group *group)
{
    int32_t answer;

    (void)pthread_mutex_unlock(&group->lock);
    answer = etx_is_cancelled();
    (void)pthread_mutex_lock(&group->lock);
    return answer;
}

/* Under the lock: wait until barrier n_passed is over, and not beyond `end`. */
static etx_status wait_for_others(struct etx_comm *comm, struct group *group,
    uint64_t n_passed, double end, const char *operation)
{
    while (group->n_passed == n_passed) {
        const double left = end - etx_comm_now();
        const struct timespec moment =
            time_after(left < SECONDS_OF_SLEEP ? left : SECONDS_OF_SLEEP);
        const etx_status status = find_break(group, operation);

        if (status != ETX_OK)
            return status;
        if (left <= 0.0) {
            group->late_rank = comm->rank;
            (void)pthread_cond_broadcast(&group->changed);
            return fail_late(comm, operation, group->n_arrived);
        }
        (void)pthread_cond_timedwait(&group->changed, &group->lock, &moment);
        if (!comm->is_leaving && is_cancelled(group) &&
            group->n_passed == n_passed) {
            group->aborted_rank = comm->rank;
            (void)pthread_cond_broadcast(&group->changed);
            return etx_dist_fail(
                ETX_ERR_CANCELLED, "%s: cancelled by the caller", operation);
        }
    }
    return ETX_OK;
}

/* Under the lock: 1 when this rank is the last that the others wait for. */
static int32_t arrive(struct group *group)
{
    if (++group->n_arrived < group->n_ranks)
        return 0;
    group->n_arrived = 0;
    group->n_passed++;
    (void)pthread_cond_broadcast(&group->changed);
    return 1;
}

/* Barrier that can fail: no rank continues before all have arrived. */
static etx_status enter_barrier(struct etx_comm *comm, const char *operation)
{
    const double end = etx_comm_now() + comm->deadline;
    struct group *group = comm->self;
    uint64_t n_passed;
    etx_status status;
    int32_t is_last;

    (void)pthread_mutex_lock(&group->lock);
    n_passed = group->n_passed;
    status = find_break(group, operation);
    is_last = status == ETX_OK && arrive(group);
    (void)pthread_mutex_unlock(&group->lock);
    if (status != ETX_OK || is_last)
        return status;
    spin(group, n_passed);
    (void)pthread_mutex_lock(&group->lock);
    status = wait_for_others(comm, group, n_passed, end, operation);
    (void)pthread_mutex_unlock(&group->lock);
    return status;
}

/* Barrier that cannot fail: no rank returns before all are done with its
 * buffers. */
static void leave_barrier(struct etx_comm *comm)
{
    struct group *group = comm->self;
    uint64_t n_passed;
    int32_t is_last;

    (void)pthread_mutex_lock(&group->lock);
    n_passed = group->n_passed;
    is_last = arrive(group);
    (void)pthread_mutex_unlock(&group->lock);
    if (is_last)
        return;
    spin(group, n_passed);
    (void)pthread_mutex_lock(&group->lock);
    while (group->n_passed == n_passed)
        (void)pthread_cond_wait(&group->changed, &group->lock);
    (void)pthread_mutex_unlock(&group->lock);
}

/* Publish the own buffers and wait until all ranks have published theirs. */
static etx_status publish(struct etx_comm *comm, void *data,
    const int64_t *count, const char *operation)
{
    struct group *group = comm->self;

    group->published[comm->rank] =
        (struct published){.data = data, .count = count};
    return enter_barrier(comm, operation);
}

/* ---------------------------------------------------------- operations -- */

/* Elements first .. last-1 of every rank's values become their sum, over the
 * ranks in order; integers modulo 2^64. */
#define DEFINE_ADD(name, type)                                                 \
    static void name(const struct group *group, int64_t first, int64_t last)   \
    {                                                                          \
        for (int64_t i = first; i < last; i++) {                               \
            type sum = ((const type *)group->published[0].data)[i];            \
                                                                               \
            for (int32_t r = 1; r < group->n_ranks; r++)                       \
                sum += ((const type *)group->published[r].data)[i];            \
            for (int32_t r = 0; r < group->n_ranks; r++)                       \
                ((type *)group->published[r].data)[i] = sum;                   \
        }                                                                      \
    }

DEFINE_ADD(add_floats, float)
DEFINE_ADD(add_doubles, double)
DEFINE_ADD(add_integers, uint64_t)

static etx_status sum(
    struct etx_comm *comm, void *values, int64_t n, int32_t type)
{
    const struct group *group = comm->self;
    const int64_t first = n / comm->n_ranks * comm->rank;
    const int64_t last = comm->rank == comm->n_ranks - 1
                             ? n
                             : n / comm->n_ranks * (comm->rank + 1);
    etx_status status;

    ETX_CHECK(publish(comm, values, NULL, "sum"));
    switch ((enum etx_comm_type)type) {
    case ETX_COMM_F32:
        add_floats(group, first, last);
        break;
    case ETX_COMM_F64:
        add_doubles(group, first, last);
        break;
    case ETX_COMM_I64:
        add_integers(group, first, last);
        break;
    }
    leave_barrier(comm);
done:
    return status;
}

/* The only cast from const: the other ranks only read this. */
static void *unchanged(const void *data)
{
    void *same;

    memcpy(&same, &data, sizeof same);
    return same;
}

static etx_status gather(struct etx_comm *comm, void *all, const void *mine,
    const int64_t *count, size_t size)
{
    const struct group *group = comm->self;
    char *to = all;
    etx_status status;

    ETX_CHECK(publish(comm, unchanged(mine), count, "gather"));
    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (count[r] > 0)
            memcpy(to, group->published[r].data, (size_t)count[r] * size);
        to += (size_t)count[r] * size;
    }
    leave_barrier(comm);
done:
    return status;
}

/* The elements that rank `from` sends to rank `to`. */
static const char *find_sent(
    const struct group *group, int32_t from, int32_t to, size_t size)
{
    const char *data = group->published[from].data;

    for (int32_t r = 0; r < to; r++)
        data += (size_t)group->published[from].count[r] * size;
    return data;
}

static etx_status all_to_all(struct etx_comm *comm, void *from,
    const int64_t *n_from, const void *to, const int64_t *n_to, size_t size)
{
    const struct group *group = comm->self;
    char *out = from;
    etx_status status;

    ETX_CHECK(publish(comm, unchanged(to), n_to, "all-to-all"));
    for (int32_t r = 0; r < comm->n_ranks; r++) {
        if (n_from[r] > 0)
            memcpy(out, find_sent(group, r, comm->rank, size),
                (size_t)n_from[r] * size);
        out += (size_t)n_from[r] * size;
    }
    leave_barrier(comm);
done:
    return status;
}

static etx_status broadcast(
    struct etx_comm *comm, void *data, int64_t n, size_t size, int32_t root)
{
    const struct group *group = comm->self;
    etx_status status;

    ETX_CHECK(publish(comm, data, NULL, "broadcast"));
    if (comm->rank != root)
        memcpy(data, group->published[root].data, (size_t)n * size);
    leave_barrier(comm);
done:
    return status;
}

static etx_status barrier(struct etx_comm *comm)
{
    return enter_barrier(comm, "barrier");
}

static void abort_group(struct etx_comm *comm)
{
    struct group *group = comm->self;

    (void)pthread_mutex_lock(&group->lock);
    if (group->aborted_rank < 0)
        group->aborted_rank = comm->rank;
    (void)pthread_cond_broadcast(&group->changed);
    (void)pthread_mutex_unlock(&group->lock);
}

/* ------------------------------------------------------- open and close -- */

static void free_group(struct group *group)
{
    (void)pthread_cond_destroy(&group->changed);
    (void)pthread_mutex_destroy(&group->lock);
    free(group->published);
    free(group);
}

static void close_rank(struct etx_comm *comm)
{
    struct group *group = comm->self;
    int32_t n_open;

    (void)pthread_mutex_lock(&group->lock);
    n_open = --group->n_open;
    (void)pthread_mutex_unlock(&group->lock);
    if (n_open == 0)
        free_group(group);
}

static const struct etx_comm_transport transport = {.name = "threads",
    .sum = sum,
    .gather = gather,
    .all_to_all = all_to_all,
    .broadcast = broadcast,
    .barrier = barrier,
    .abort_group = abort_group,
    .close = close_rank};

static etx_status make_group(struct group **out, int32_t n_ranks)
{
    struct group *group = NULL;
    pthread_condattr_t attributes;
    etx_status status;

    ETX_CHECK(etx_dist_alloc(&group, 1, sizeof *group, "a group of ranks"));
    group->n_ranks = group->n_open = n_ranks;
    group->late_rank = group->aborted_rank = -1;
    (void)pthread_mutex_init(&group->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&group->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    status = etx_dist_alloc(&group->published, n_ranks,
        sizeof *group->published, "buffers of ranks");
    if (status != ETX_OK) {
        free_group(group);
        goto done;
    }
    *out = group;
done:
    return status;
}

etx_status etx_comm_check_threads(int32_t n_ranks)
{
    if (n_ranks >= 1 && n_ranks <= MAX_RANKS)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_ARGUMENT,
        "%d ranks as threads: not in 1 .. %d", (int)n_ranks, MAX_RANKS);
}

etx_status etx_comm_open_threads(
    struct etx_comm **out, int32_t n_ranks, double deadline)
{
    struct group *group = NULL;
    int32_t n_made = 0;
    etx_status status;

    ETX_CHECK(etx_comm_check_threads(n_ranks));
    ETX_CHECK(make_group(&group, n_ranks));
    for (; n_made < n_ranks; n_made++)
        ETX_CHECK(etx_comm_create(
            out + n_made, &transport, group, n_made, n_ranks, deadline));
    return ETX_OK;
done:
    for (int32_t r = 0; r < n_made; r++) {
        free(out[r]);
        out[r] = NULL;
    }
    if (group != NULL)
        free_group(group);
    return status;
}
