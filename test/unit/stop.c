/* stop.c -- calls that are cancelled at several moments.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Where the compiler does not optimise times say nothing: calls are stopped
 * where they begin. */
#ifdef __OPTIMIZE__
#define N_DEADLINES 4
#define MAX_LATE    0.1 /* CPU s of all threads */
#else
#define N_DEADLINES 1
#define MAX_LATE    HUGE_VAL
#endif
#define TURN 5e-3 /* s that a thread may run before the next one */

/* Cancels from a time of the process on. */
static double deadline = HUGE_VAL;

static double cpu_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int32_t stop_is_late(void *user)
{
    (void)user;
    return cpu_time() >= deadline;
}

static void check(const struct stop_entry *entry, void *work, double max_late)
{
    double whole = cpu_time();
    double latest = 0.0;

    ck_assert_ok(entry->run(work));
    whole = cpu_time() - whole;
    for (int k = 0; k < N_DEADLINES; k++) {
        deadline = cpu_time() + whole * k / N_DEADLINES;
        const etx_status status = entry->run(work);
        const double late = cpu_time() - deadline;

        deadline = HUGE_VAL;
        latest = late > latest ? late : latest;
        ck_assert_msg(k > 0 ? status == ETX_OK || status == ETX_ERR_CANCELLED
                            : status == ETX_ERR_CANCELLED,
            "%s: %s", entry->name, etx_status_name(status));
        ck_assert_msg(late < max_late,
            "%s, of %.3f CPU s, returned %.3f CPU s after cancel said so",
            entry->name, whole, late);
    }
    if (getenv("ETX_STOP_TIMES") != NULL)
        printf("%-28s %7.3f CPU s, stopped after %.3f\n", entry->name, whole,
            latest);
}

void stop_check(
    const struct stop_entry *entries, int n, void *work, int32_t n_threads)
{
    for (int k = 0; k < n; k++)
        check(&entries[k], work, MAX_LATE + (n_threads - 1) * TURN);
}
