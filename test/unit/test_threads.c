/* test_threads.c -- the pool: same results for any number of threads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept, unshare */
#include "support.h"

#include "base/heap.h"
#include "base/status.h"
#include "base/threads.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_BLOCKS    1000
#define BLOCK       100
#define MAX_WORKERS 8

static const int32_t thread_counts[] = {1, 2, 3, 4, 8};
#define N_THREAD_COUNTS (ROWS(thread_counts))

/* -------------------------------------------------------------- results -- */

struct sums {
    float sum[N_BLOCKS];
    int32_t n_runs[N_BLOCKS];
    _Atomic int32_t busy[MAX_WORKERS]; /* worker numbers in use */
    _Atomic int32_t n_wrong;
};

static etx_status sum_block(void *argument, int64_t block, int32_t worker)
{
    struct sums *sums = argument;
    float sum = 0.0f;

    if (worker < 0 || worker >= MAX_WORKERS ||
        atomic_fetch_add(&sums->busy[worker], 1) != 0)
        atomic_fetch_add(&sums->n_wrong, 1);
    for (int i = 0; i < BLOCK; i++)
        sum += sinf((float)(block * BLOCK + i));
    sums->sum[block] = sum;
    sums->n_runs[block]++;
    atomic_fetch_sub(&sums->busy[worker], 1);
    return ETX_OK;
}

ETX_TEST(test_threads_same_result, .rows = N_THREAD_COUNTS)
{
    scoped struct sums *serial = etx_test_alloc(1, sizeof *serial);
    scoped struct sums *parallel = etx_test_alloc(1, sizeof *parallel);
    struct etx_pool *pool = NULL;
    const int32_t n_threads = thread_counts[_i];

    ck_assert_ok(etx_parallel_for(NULL, N_BLOCKS, sum_block, serial));
    ck_assert_ok(etx_pool_create(&pool, n_threads));
    ck_assert_int_eq(etx_pool_n_threads(pool), n_threads);
    for (int32_t round = 1; round <= 20; round++) {
        ck_assert_ok(etx_parallel_for(pool, N_BLOCKS, sum_block, parallel));
        ck_assert_mem_eq(serial->sum, parallel->sum, sizeof serial->sum);
        for (int k = 0; k < N_BLOCKS; k++)
            ck_assert_int_eq(parallel->n_runs[k], round);
    }
    ck_assert_int_eq(atomic_load(&parallel->n_wrong), 0);
    ck_assert_ok(etx_parallel_for(pool, 0, sum_block, NULL));
    etx_pool_free(pool);
}

ETX_TEST(test_threads_none)
{
    ck_assert_int_eq(etx_pool_n_threads(NULL), 1);
    ck_assert_ok(etx_parallel_for(NULL, 0, sum_block, NULL));
    etx_pool_free(NULL);
}

ETX_TEST(test_threads_refused)
{
    static const int32_t counts[] = {0, -1, 257, INT32_MAX, INT32_MIN};
    struct etx_pool *pool = NULL;

    for (size_t k = 0; k < ROWS(counts); k++) {
        ck_assert_refused(etx_pool_create(&pool, counts[k]), "1..256");
        ck_assert_ptr_null(pool);
    }
}

static etx_status make_pool(void *argument)
{
    struct etx_pool *pool = NULL;
    const etx_status status = etx_pool_create(&pool, 3);

    (void)argument;
    etx_pool_free(pool);
    return status;
}

ETX_TEST(test_threads_out_of_memory)
{
    ck_assert_int_eq(etx_test_out_of_memory(make_pool, NULL), 1);
}

/* --------------------------------------------------------------- errors -- */

/* Blocks from `first` on fail, each with a message of its own. */
static etx_status fail_from(void *argument, int64_t block, int32_t worker)
{
    const int64_t first = *(const int64_t *)argument;

    (void)worker;
    if (block < first)
        return ETX_OK;
    return etx_fail(
        block == first ? ETX_ERR_LIMIT : ETX_ERR_IO, "block %d", (int)block);
}

ETX_TEST(test_threads_lowest_error, .rows = N_THREAD_COUNTS)
{
    static const int64_t firsts[] = {0, 1, 17, 500, N_BLOCKS - 1};
    struct etx_pool *pool = NULL;

    ck_assert_ok(etx_pool_create(&pool, thread_counts[_i]));
    for (size_t k = 0; k < ROWS(firsts); k++)
        for (int round = 0; round < 20; round++) {
            char text[32];
            int64_t first = firsts[k];

            snprintf(text, sizeof text, "block %d", (int)first);
            etx_set_last_error("");
            ck_assert_status(
                etx_parallel_for(pool, N_BLOCKS, fail_from, &first),
                ETX_ERR_LIMIT);
            ck_assert_str_eq(etx_last_error(), text);
        }
    etx_pool_free(pool);
}

/* ------------------------------------------------------------- the host -- */

/* Overflow, underflow, invalid and division by zero, rounded to nearest. */
static etx_status misbehave(void *argument, int64_t block, int32_t worker)
{
    volatile float large = 3e38f;
    volatile float zero = 0.0f;
    volatile float small = 1e-38f;
    volatile double third = 1.0;

    (void)block;
    (void)worker;
    third = third / 3.0;
    if (third != 0x1.5555555555555p-2 || fegetround() != FE_TONEAREST)
        atomic_fetch_add((_Atomic int32_t *)argument, 1);
    large = large * large;
    small = small * small;
    zero = zero / zero + large / zero;
    return ETX_OK;
}

ETX_TEST(test_threads_under_traps, .rows = N_THREAD_COUNTS)
{
    struct etx_pool *pool = NULL;
    _Atomic int32_t n_wrong = 0;
    const int traps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;

    feenableexcept(traps);
    fesetround(FE_UPWARD);
    ck_assert_ok(etx_pool_create(&pool, thread_counts[_i]));
    ck_assert_ok(etx_parallel_for(pool, 100, misbehave, &n_wrong));
    ck_assert_ok(etx_parallel_for(NULL, 100, misbehave, &n_wrong));
    etx_pool_free(pool);

    /* The host finds its environment as it was, without our flags. */
    ck_assert_int_eq(fegetround(), FE_UPWARD);
    ck_assert_int_eq(fegetexcept(), traps);
    ck_assert_int_eq(fetestexcept(traps), 0);
    fedisableexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    ck_assert_int_eq(atomic_load(&n_wrong), 0);
}

static etx_status check_signals(void *argument, int64_t block, int32_t worker)
{
    sigset_t blocked;

    (void)block;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (worker != 0 && (sigismember(&blocked, SIGINT) != 1 ||
                           sigismember(&blocked, SIGUSR1) != 1))
        atomic_fetch_add((_Atomic int32_t *)argument, 1);
    return ETX_OK;
}

ETX_TEST(test_threads_signals)
{
    struct etx_pool *pool = NULL;
    _Atomic int32_t n_wrong = 0;
    sigset_t blocked;

    ck_assert_ok(etx_pool_create(&pool, 4));
    ck_assert_ok(etx_parallel_for(pool, 1000, check_signals, &n_wrong));
    etx_pool_free(pool);
    ck_assert_int_eq(atomic_load(&n_wrong), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ck_assert_int_eq(sigismember(&blocked, SIGUSR1), 0);
}

static etx_status run_serially(void *argument, int64_t block, int32_t worker)
{
    int64_t *next = argument;

    return worker == 0 && block == (*next)++ ? ETX_OK : ETX_ERR_ARGUMENT;
}

static int use_in_child(struct etx_pool *pool)
{
    int64_t next = 0;
    const etx_status status =
        etx_parallel_for(pool, N_BLOCKS, run_serially, &next);

    etx_pool_free(pool);
    return status == ETX_OK && next == N_BLOCKS ? 0 : 1;
}

/* In a child the threads are gone; the loop and the free still work. */
ETX_TEST(test_threads_fork)
{
    struct etx_pool *pool = NULL;
    scoped struct sums *sums = etx_test_alloc(1, sizeof *sums);
    int child_status = -1;

    ck_assert_ok(etx_pool_create(&pool, 4));
    ck_assert_ok(etx_parallel_for(pool, N_BLOCKS, sum_block, sums));

    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(use_in_child(pool));
    ck_assert_int_eq(waitpid(child, &child_status, 0), child);
    ck_assert(WIFEXITED(child_status) && WEXITSTATUS(child_status) == 0);

    ck_assert_ok(etx_parallel_for(pool, N_BLOCKS, sum_block, sums));
    etx_pool_free(pool);
}

#define NO_NAMESPACE 77

/* The exit code of run in the first process of a new PID namespace. */
static int run_as_first(int (*run)(struct etx_pool *), struct etx_pool *pool)
{
    int child_status = -1;

    if (unshare(CLONE_NEWPID) != 0 &&
        unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return NO_NAMESPACE;

    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(getpid() == 1 ? run(pool) : 1);
    }
    return waitpid(child, &child_status, 0) == child && WIFEXITED(child_status)
               ? WEXITSTATUS(child_status)
               : 1;
}

static int use_in_both(struct etx_pool *none)
{
    (void)none;
    if (etx_pool_create(&none, 4) != ETX_OK)
        return 1;
    return run_as_first(use_in_child, none);
}

/* A container in a container: parent and child are both process 1. In a child,
 * as a process that has unshared its children's PIDs cannot start the thread of
 * a leak check. */
ETX_TEST(test_threads_fork_same_pid)
{
    int child_status = -1;
    const pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0)
        _exit(run_as_first(use_in_both, NULL));
    ck_assert_int_eq(waitpid(child, &child_status, 0), child);
    ck_assert(WIFEXITED(child_status));
    const int code = WEXITSTATUS(child_status);

    if (code == NO_NAMESPACE)
        etx_test_skip(__func__, "no PID namespaces");
    else
        ck_assert_int_eq(code, 0);
}

static void use_pool(void *argument)
{
    struct etx_pool *pool = NULL;

    ck_assert_ok(etx_pool_create(&pool, 2));
    ck_assert_ok(etx_parallel_for(pool, N_BLOCKS, sum_block, argument));
    ck_assert_status(
        etx_parallel_for(pool, 10, fail_from, &(int64_t){3}), ETX_ERR_LIMIT);
    etx_pool_free(pool);
}

ETX_TEST(test_threads_small_stack)
{
    scoped struct sums *sums = etx_test_alloc(1, sizeof *sums);

    etx_test_on_small_stack(use_pool, sums);
}

static void *host_main(void *argument)
{
    for (int round = 0; round < 20; round++)
        use_pool(argument);
    return NULL;
}

/* Pools of several host threads do not know of each other. */
ETX_TEST(test_threads_several_hosts)
{
    pthread_t threads[3];
    scoped struct sums *sums = etx_test_alloc(3, sizeof *sums);

    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(
            pthread_create(&threads[k], NULL, host_main, &sums[k]), 0);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(pthread_join(threads[k], NULL), 0);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(sums[k].n_runs[0], 20);
}
