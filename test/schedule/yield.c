/* yield.c -- threads that stop at random moments.
 *
 * Preloaded into a program that was built with -finstrument-functions: at some
 * entries and exits of functions the thread gives the processor away or sleeps,
 * so that the others come first. SCHEDULE_SEED chooses where.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MEAN_CALLS_TO_YIELD 32
#define MEAN_CALLS_TO_SLEEP 1024
#define MAX_NANOSECONDS     200000

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static _Atomic uint64_t n_threads;
static _Thread_local uint64_t state;

static uint64_t next(void)
{
    if (state == 0) {
        const char *seed = getenv("SCHEDULE_SEED");

        state = 0x9e3779b97f4a7c15u *
                    ((seed == NULL ? 0 : (uint64_t)strtoull(seed, NULL, 10)) +
                        1000 * atomic_fetch_add(&n_threads, 1)) |
                1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void stop_at_random(void)
{
    const uint64_t drawn = next() >> 16;
    const int before = errno;

    if (drawn % MEAN_CALLS_TO_SLEEP == 0) {
        const struct timespec time = {
            0, (long)(drawn / MEAN_CALLS_TO_SLEEP % MAX_NANOSECONDS)};

        (void)nanosleep(&time, NULL);
    } else if (drawn % MEAN_CALLS_TO_YIELD == 0) {
        (void)sched_yield();
    }
    errno = before;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)function;
    (void)caller;
    stop_at_random();
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
    stop_at_random();
}
