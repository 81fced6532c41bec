/* test_host.c -- a search in a host that polls, limits memory, has threads,
 * signals, forks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sigaltstack */
#include <exatrkx/graph.h>

#include "base/cpu.h"
#include "base/random.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io_support.h"
#include "job.h"

static int32_t count_polls(void *user)
{
    (*(int64_t *)user)++;
    return 0;
}

/* Sorting many points into leaves takes long: polls come before the search of
 * pairs, which ends at the first one here. */
ETX_TEST(test_cancel_polls_while_points_are_sorted)
{
    enum { n = 1 << 17 };
    int64_t n_polls = 0;
    scoped_context *context =
        etx_test_context_with(1, 0, count_polls, &n_polls);
    etx_graph *none = NULL;
    scoped float *points = etx_test_alloc(n, sizeof *points);
    const etx_graph_options options = {
        .struct_size = sizeof options, .radius = 1.0f};

    if (etx_cpu_level() == ETX_CPU_REF)
        return; /* the reference sorts nothing */
    ck_assert_status(
        etx_graph_build_radius(&none, context, n, 1, points, NULL, &options),
        ETX_ERR_LIMIT);
    ck_assert_int_gt(n_polls, 30);
}

ETX_TEST(test_memory_limit)
{
    scoped_job job = job_make();
    scoped_context *context = etx_test_context_with(1, 4096, NULL, NULL);

    ck_assert_fails(etx_find_tracks(&job.tracks, context, job.model, job.event),
        ETX_ERR_MEMORY, "4096");
    ck_assert_ptr_null(job.tracks);
}

/* All points at one position are all pairs: the limit applies to them, too. */
ETX_TEST(test_memory_limit_of_edges)
{
    static const float points[2000] = {0.0f};
    scoped_context *context = etx_test_context_with(1, 4 << 20, NULL, NULL);
    etx_graph *graph = NULL;

    ck_assert_fails(
        etx_graph_build_radius(&graph, context, 2000, 1, points, NULL, NULL),
        ETX_ERR_LIMIT, "131072");
    ck_assert_ptr_null(graph);
}

/* One thread of the host: its own context, the shared model and event. */
static void *find_on_thread(void *argument)
{
    struct job job = *(struct job *)argument;

    job.context = NULL;
    job.tracks = NULL;
    for (int repeat = 0; repeat < 3; repeat++) {
        ck_assert_ok(etx_context_create(&job.context, NULL));
        etx_tracks_free(job.tracks);
        job.tracks = NULL;
        ck_assert_ok(
            etx_find_tracks(&job.tracks, job.context, job.model, job.event));
        etx_context_free(job.context);
    }
    return job.tracks;
}

ETX_TEST(test_threads_share_a_model)
{
    scoped_job job = job_make();
    pthread_t thread[4];

    job_find(&job);
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(
            pthread_create(&thread[k], NULL, find_on_thread, &job), 0);
    for (int k = 0; k < 4; k++) {
        void *found = NULL;

        ck_assert_int_eq(pthread_join(thread[k], &found), 0);
        job_assert_same_tracks(job.tracks, found);
        etx_tracks_free(found);
    }
}

/* A job, of the precision by default or of bfloat16. */
static struct job job_of_precision(int32_t is_bfloat16)
{
    struct job job = job_make();
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.n_threads = 2;
    if (is_bfloat16)
        options.precision = ETX_PRECISION_BFLOAT16;
    etx_context_free(job.context);
    job.context = NULL;
    ck_assert_ok(etx_context_create(&job.context, &options));
    return job;
}

/* 0 after a message where the row wants bfloat16 and nothing has it. */
static int32_t can_compute(const char *name, int32_t is_bfloat16)
{
    if (!is_bfloat16 || etx_cpu_has_bfloat16())
        return 1;
    etx_test_skip(name, "no AVX512_BF16");
    return 0;
}

static volatile sig_atomic_t n_signals;

static void count_signal(int number)
{
    (void)number;
    n_signals++;
}

/* Signals at any moment, whose handler does not restart system calls. */
ETX_TEST(test_host_signals, .rows = 2)
{
    if (!can_compute(__func__, _i))
        return;

    const struct itimerval every = {{0, 300}, {0, 300}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    const struct sigaction action = {.sa_handler = count_signal};
    scoped_job job = job_of_precision(_i);

    job_find(&job);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &every, NULL), 0);
    for (int repeat = 0; repeat < 10 || n_signals < 30; repeat++) {
        struct job again = job_of_precision(_i);

        job_find(&again);
        job_assert_same_tracks(job.tracks, again.tracks);
        job_free(&again);
    }
    ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
}

/* A signal stack too small for tiles: bfloat16 works without them, and with the
 * permission Linux lets nobody have such a stack. */
ETX_TEST(test_host_small_signal_stack)
{
    static char memory[8192];
    const stack_t small = {.ss_sp = memory, .ss_size = sizeof memory};
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (sigaltstack(&small, NULL) != 0) {
        etx_test_skip(__func__, "tiles are in use, or AT_MINSIGSTKSZ is large");
        return;
    }
    ck_assert_int_eq(etx_cpu_has_tiles(), 0);
    if (can_compute(__func__, 1)) {
        scoped_job job = job_of_precision(1);

        job_find(&job);
        ck_assert_int_gt(etx_tracks_count(job.tracks), 10);
    }
    ck_assert_int_eq(sigaltstack(&none, NULL), 0);
    if (etx_cpu_has_tiles())
        ck_assert_int_ne(sigaltstack(&small, NULL), 0);
}

static _Atomic int32_t n_arrived;
static _Atomic int32_t is_over;

static void count_arrival(int number)
{
    (void)number;
    n_arrived++;
}

/* Sends one of two signals to the process, at random moments. */
static void *send_signals(void *argument)
{
    struct etx_random random;

    etx_random_init(&random, 1, 0, 0);
    while (!is_over) {
        const struct timespec pause = {
            0, (long)etx_random_below(&random, 600000)};

        (void)nanosleep(&pause, NULL);
        (void)kill(
            getpid(), etx_random_below(&random, 2) == 0 ? SIGALRM : SIGUSR1);
    }
    return argument;
}

/* The handler does not restart system calls. Files are read, two threads
 * search, tracks are written. */
IO_TEST(test_host_random_signals)
{
    const struct sigaction action = {.sa_handler = count_arrival};
    scoped_context *context = etx_test_context_with(2, 0, NULL, NULL);
    scoped_job job = job_make();
    pthread_t sender;

    job_find(&job);
    ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(pthread_create(&sender, NULL, send_signals, NULL), 0);
    for (int repeat = 0; repeat < 10 || n_arrived < 300; repeat++) {
        scoped_job again = job_make();

        ck_assert_ok(
            etx_find_tracks(&again.tracks, context, again.model, again.event));
        job_assert_same_tracks(job.tracks, again.tracks);
        ck_assert_ok(
            etx_tracks_write_csv(again.tracks, again.event, io_path("t.csv")));
    }
    is_over = 1;
    ck_assert_int_eq(pthread_join(sender, NULL), 0);
}

/* A context with a pool goes on working in the child of a fork. */
ETX_TEST(test_fork, .rows = 2)
{
    if (!can_compute(__func__, _i))
        return;

    scoped_job job = job_of_precision(_i);
    etx_context *context = job.context;
    etx_tracks *tracks = NULL;
    int state = 0;

    ck_assert_ok(etx_find_tracks(&job.tracks, context, job.model, job.event));
    const pid_t child = fork();
    if (child == 0) {
        const etx_status status =
            etx_find_tracks(&tracks, context, job.model, job.event);

        _exit(status != ETX_OK ||
              etx_tracks_count(tracks) != etx_tracks_count(job.tracks));
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}
