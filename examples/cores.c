/* examples/cores.c -- the cores that a rank may use, and which of them other
 * ranks of its node may use as well.
 *
 * Whether mpirun, srun or taskset bound the ranks, each to its own cores or all
 * to the same, the masks tell; no variable of a launcher does for all of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity is of Linux */
#include "cores.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#define N_MASKS   (CORES_WORDS - 2)
#define AT_ONLINE (CORES_WORDS - 1)

/* FNV-1a of the node's name. */
static uint32_t hash_node(void)
{
    char name[256] = "";
    uint32_t hash = 2166136261u;

    (void)gethostname(name, sizeof name - 1);
    for (const char *c = name; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

void cores_describe(double *words)
{
    const long n_online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    memset(words, 0, CORES_WORDS * sizeof *words);
    words[0] = (double)hash_node();
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        words[AT_ONLINE] = n_online > 0 ? (double)n_online : 1.0;
        return;
    }
    for (size_t k = 0; k < N_MASKS * CORES_BITS; k++)
        if (CPU_ISSET(k, &set))
            words[1 + k / CORES_BITS] += (double)(1u << k % CORES_BITS);
}

static int has_core(const double *words, int k)
{
    return (uint32_t)words[1 + k / CORES_BITS] >> k % CORES_BITS & 1u;
}

/* Ranks of the node of `own` that may run on core k. */
static int32_t count_users(
    const double *words, int32_t n_ranks, const double *own, int k)
{
    int32_t n = 0;

    for (int32_t r = 0; r < n_ranks; r++) {
        const double *other = words + (int64_t)r * CORES_WORDS;

        n += other[0] == own[0] && (k < 0 || has_core(other, k));
    }
    return n;
}

int64_t cores_share(const double *words, int32_t n_ranks, int32_t rank)
{
    const double *own = words + (int64_t)rank * CORES_WORDS;
    double share = own[AT_ONLINE] / count_users(words, n_ranks, own, -1);

    for (int k = 0; k < N_MASKS * CORES_BITS; k++)
        if (has_core(own, k))
            share += 1.0 / count_users(words, n_ranks, own, k);
    /* Thirds may add up to a little less than 1. */
    return share < 1.0 ? 1 : (int64_t)(share + 1e-6);
}
