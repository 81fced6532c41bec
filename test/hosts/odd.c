/* odd.c -- preloaded into a program: clocks that jump, or a kernel that refuses
 * what a program can do without, as filters of containers do.
 *
 *     LD_PRELOAD=libodd.so ODD=clock|calls PROGRAM
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof *(array))
#define LEAP     10000 /* s */

static int jumps;
static atomic_long n_calls;

/* Clocks of the day go back and forth, others leap ahead. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int status = (int)syscall(SYS_clock_gettime, clock, now);
    const long n = jumps ? atomic_fetch_add(&n_calls, 1) : 0;

    if (jumps && clock == CLOCK_REALTIME)
        now->tv_sec += (n % 3 - 1) * LEAP;
    else if (jumps && clock == CLOCK_MONOTONIC)
        now->tv_sec += n * LEAP;
    return status;
}

static void refuse_calls(void)
{
    static const int refused[] = {SYS_clone3, SYS_getrandom, SYS_madvise,
        SYS_membarrier, SYS_sched_getaffinity, SYS_sched_yield, SYS_statx,
        SYS_sysinfo, SYS_prlimit64};
    struct sock_filter filter[N(refused) + 3] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    const struct sock_fprog program = {N(filter), filter};
    size_t n = 1;

    for (size_t k = 0; k < N(refused); k++)
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
            (unsigned)refused[k], (unsigned char)(N(refused) - k), 0);
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[n] = (struct sock_filter)BPF_STMT(
        BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

__attribute__((constructor)) static void begin(void)
{
    const char *odd = getenv("ODD");

    jumps = odd != NULL && strcmp(odd, "clock") == 0;
    if (odd != NULL && strcmp(odd, "calls") == 0)
        refuse_calls();
}
