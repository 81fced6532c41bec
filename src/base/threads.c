/* base/threads.c -- a pool of threads for one parallel loop.
 *
 * Blocks are claimed in ascending order from one atomic counter. A failure
 * stops further claims, but every block below it has been claimed already and
 * runs to its end: the failing block with the lowest number is the same for
 * any number of threads.
 *
 * The caller's callback says on the caller's thread that a loop ends early: no
 * more blocks are claimed, and blocks that run read a flag. Without a pool it
 * is that of the thread.
 *
 * To wake a thread takes longer than many a loop of a small event, so threads
 * look for the next loop, or the end of this one, for a moment before they
 * sleep.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/float_environment.h"
#include "base/heap.h"
#include "base/status.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256
#define AWAKE       30e-6 /* s */
#define POLL        5e-3  /* s between calls of cancel in a loop */
#define NANOSECONDS 1000000000L
#define CANCELLED   (-1) /* for the number of the failing block */

/* One parallel loop. */
struct job {
    etx_block_function function;
    void *argument;
    _Atomic int64_t next;
    _Atomic int64_t failed; /* lowest failing block; number of blocks = none */
    double polled;          /* when cancel was called last, s */
    pthread_mutex_t lock;   /* of what follows */
    etx_status status;
    char message[ETX_MESSAGE_SIZE];
};

struct worker {
    struct etx_pool *pool;
    pthread_t thread;
    int32_t number;
};

struct etx_pool {
    int32_t n_threads;
    int32_t n_started;
    pid_t owner;
    int64_t n_forks;               /* that led to the owner */
    int32_t (*cancel)(void *user); /* or NULL */
    void *cancel_user;
    pthread_t caller;        /* of the loop that threads run */
    bool is_running;         /* there is one */
    _Atomic bool is_stopped; /* and its caller has cancelled it */
    pthread_mutex_t lock;    /* of what follows */
    pthread_cond_t wake;     /* a new job, or the end */
    pthread_cond_t idle;     /* n_busy reached zero */
    struct job *job;
    _Atomic uint64_t generation; /* counts the jobs; written with the lock */
    _Atomic int32_t n_busy;      /* the same */
    bool ends;
    struct worker worker[MAX_THREADS];
};

/* Forks on the way to this process, of those since the library was loaded. A
 * process and its child have the same number when both are the first of their
 * PID namespaces; a child of _Fork or clone is not counted. So both tell. */
static _Atomic int64_t n_forks;

static void count_fork(void)
{
    atomic_fetch_add(&n_forks, 1);
}

__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

/* Not in a child after fork, where the threads are gone. */
static bool is_owner(const struct etx_pool *pool)
{
    return pool->owner == getpid() && pool->n_forks == atomic_load(&n_forks);
}

static void keep_failure(struct job *job, int64_t block, etx_status status)
{
    pthread_mutex_lock(&job->lock);
    if (block < atomic_load(&job->failed)) {
        atomic_store(&job->failed, block);
        job->status = status;
        strncpy(job->message, etx_last_error(), sizeof job->message - 1);
    }
    pthread_mutex_unlock(&job->lock);
}

void etx_pool_set_cancel(
    struct etx_pool *pool, int32_t (*cancel)(void *user), void *user)
{
    pool->cancel = cancel;
    pool->cancel_user = user;
}

bool etx_pool_is_worker(const struct etx_pool *pool)
{
    return pool != NULL && pool->is_running &&
           !pthread_equal(pool->caller, pthread_self());
}

void etx_pool_stop(struct etx_pool *pool)
{
    if (pool != NULL)
        atomic_store_explicit(&pool->is_stopped, true, memory_order_relaxed);
}

bool etx_pool_is_stopped(const struct etx_pool *pool)
{
    return pool != NULL &&
           atomic_load_explicit(&pool->is_stopped, memory_order_relaxed);
}

/* On the caller's thread, now and then. */
static void poll_cancel(struct etx_pool *pool, struct job *job)
{
    if (pool == NULL && etx_cancel_poll() != ETX_OK)
        keep_failure(job, CANCELLED, ETX_ERR_CANCELLED);
    if (pool == NULL || pool->cancel == NULL ||
        etx_now() - job->polled < POLL ||
        atomic_load(&job->failed) == CANCELLED)
        return;
    if (etx_cancel_call(pool->cancel, pool->cancel_user) != 0) {
        etx_pool_stop(pool);
        keep_failure(job, CANCELLED,
            etx_fail(ETX_ERR_CANCELLED, "cancelled by the caller"));
    }
    job->polled = etx_now();
}

static void run_blocks(struct etx_pool *pool, struct job *job, int32_t number)
{
    for (;;) {
        if (number == 0)
            poll_cancel(pool, job);

        const int64_t block =
            atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);

        if (block >= atomic_load_explicit(&job->failed, memory_order_relaxed))
            break;

        const etx_status status = job->function(job->argument, block, number);
        if (status != ETX_OK)
            keep_failure(job, block, status);
    }
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void await_job(const struct etx_pool *pool, uint64_t seen)
{
    const double end = etx_now() + AWAKE;

    while (
        atomic_load_explicit(&pool->generation, memory_order_relaxed) == seen &&
        etx_now() < end)
        relax();
}

static void await_workers(const struct etx_pool *pool)
{
    const double end = etx_now() + AWAKE;

    while (atomic_load_explicit(&pool->n_busy, memory_order_relaxed) > 0 &&
           etx_now() < end)
        relax();
}

static void *worker_main(void *argument)
{
    const struct worker *worker = argument;
    struct etx_pool *pool = worker->pool;
    uint64_t seen = 0;

    (void)fesetenv(FE_DFL_ENV);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->generation == seen && !pool->ends)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->ends)
            break;
        seen = pool->generation;

        struct job *job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        run_blocks(pool, job, worker->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->n_busy == 0)
            pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
        await_job(pool, seen);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Start the threads with every signal blocked: the host's handlers run on
 * the host's threads. */
static etx_status start_workers(struct etx_pool *pool)
{
    etx_status status = ETX_OK;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int32_t i = 1; i < pool->n_threads; i++) {
        struct worker *worker = &pool->worker[i];

        worker->pool = pool;
        worker->number = i;
        const int error =
            pthread_create(&worker->thread, NULL, worker_main, worker);
        if (error != 0) {
            status = etx_fail(ETX_ERR_MEMORY,
                "thread %d of %d cannot be started: error %d", i + 1,
                pool->n_threads, error);
            break;
        }
        pool->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* Waits for it do not depend on the time of day. */
static void init_idle(struct etx_pool *pool)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->idle, &attributes);
    pthread_condattr_destroy(&attributes);
}

etx_status etx_pool_create(struct etx_pool **out, int32_t n_threads)
{
    struct etx_pool *pool = NULL;
    etx_status status = ETX_OK;

    if (n_threads < 1 || n_threads > MAX_THREADS)
        return etx_fail(ETX_ERR_ARGUMENT,
            "number of threads %" PRId32 " is not in 1..%d", n_threads,
            MAX_THREADS);
    ETX_NEW(pool, 1, "thread pool");
    pool->n_threads = n_threads;
    pool->owner = getpid();
    pool->n_forks = atomic_load(&n_forks);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    init_idle(pool);
    ETX_CHECK(start_workers(pool));
    *out = pool;
    pool = NULL;
done:
    etx_pool_free(pool);
    return status;
}

void etx_pool_free(struct etx_pool *pool)
{
    if (pool == NULL)
        return;

    /* In a child after fork nobody is left to join, and a lock may be held
     * for ever. */
    if (is_owner(pool)) {
        pthread_mutex_lock(&pool->lock);
        pool->ends = true;
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
        for (int32_t i = 1; i <= pool->n_started; i++)
            pthread_join(pool->worker[i].thread, NULL);
        pthread_cond_destroy(&pool->idle);
        pthread_cond_destroy(&pool->wake);
        pthread_mutex_destroy(&pool->lock);
    }
    etx_free(pool);
}

int32_t etx_pool_n_threads(const struct etx_pool *pool)
{
    return pool == NULL ? 1 : pool->n_threads;
}

static bool is_parallel(const struct etx_pool *pool, int64_t n_blocks)
{
    return pool != NULL && pool->n_threads > 1 && n_blocks > 1 &&
           is_owner(pool);
}

/* Wait until the threads are idle, for POLL seconds at most where there is a
 * callback to call. */
static void wait_moment(struct etx_pool *pool)
{
    struct timespec end;

    if (pool->cancel == NULL) {
        pthread_cond_wait(&pool->idle, &pool->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)(POLL * (double)NANOSECONDS);
    if (end.tv_nsec >= NANOSECONDS) {
        end.tv_nsec -= NANOSECONDS;
        end.tv_sec++;
    }
    pthread_cond_timedwait(&pool->idle, &pool->lock, &end);
}

static void run_on_pool(struct etx_pool *pool, struct job *job)
{
    pthread_mutex_lock(&pool->lock);
    pool->job = job;
    pool->caller = pthread_self();
    pool->is_running = true;
    atomic_store(&pool->is_stopped, false);
    pool->generation++;
    pool->n_busy = pool->n_started;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    run_blocks(pool, job, 0);

    await_workers(pool);
    pthread_mutex_lock(&pool->lock);
    while (pool->n_busy > 0) {
        wait_moment(pool);
        pthread_mutex_unlock(&pool->lock);
        poll_cancel(pool, job);
        pthread_mutex_lock(&pool->lock);
    }
    pool->job = NULL;
    pool->is_running = false;
    pthread_mutex_unlock(&pool->lock);
}

etx_status etx_parallel_for(struct etx_pool *pool, int64_t n_blocks,
    etx_block_function function, void *argument)
{
    struct job job = {
        .function = function,
        .argument = argument,
        .failed = n_blocks,
        .polled = etx_now(),
    };
    fenv_t host;

    pthread_mutex_init(&job.lock, NULL);
    etx_float_environment_enter(&host);
    if (is_parallel(pool, n_blocks))
        run_on_pool(pool, &job);
    else
        run_blocks(pool, &job, 0);
    etx_float_environment_leave(&host);
    pthread_mutex_destroy(&job.lock);
    if (job.status != ETX_OK)
        etx_set_last_error(job.message);
    return job.status;
}

struct ranges {
    etx_range_function function;
    void *argument;
    int64_t n, block_size;
};

static etx_status run_range(void *argument, int64_t block, int32_t worker)
{
    const struct ranges *ranges = argument;
    const int64_t begin = block * ranges->block_size;
    const int64_t left = ranges->n - begin;

    return ranges->function(ranges->argument, begin,
        left < ranges->block_size ? ranges->n : begin + ranges->block_size,
        worker);
}

etx_status etx_parallel_ranges(struct etx_pool *pool, int64_t n,
    int64_t block_size, etx_range_function function, void *argument)
{
    struct ranges ranges = {function, argument, n, block_size};

    return etx_parallel_for(
        pool, (n + block_size - 1) / block_size, run_range, &ranges);
}
