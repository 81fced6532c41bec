/* test_program_parts.c -- what the programs of examples/ measure of a machine.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "../../examples/cores.h"
#include "../../examples/energy.h"

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------- energy -- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[600];
    FILE *file;

    ck_assert_int_lt(
        snprintf(path, sizeof path, "%s/%s", folder, name), (int)sizeof path);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void make_counter(
    char counter[512], const char *folder, int k, const char *name)
{
    ck_assert_int_lt(
        snprintf(counter, 512, "%s/intel-rapl:%d", folder, k), 512);
    ck_assert_int_eq(mkdir(counter, 0777), 0);
    write_text(counter, "name", name);
    write_text(counter, "energy_uj", "1000000\n");
    write_text(counter, "max_energy_range_uj", "9000000\n");
}

static void remove_counter(const char *counter)
{
    static const char *const names[] = {
        "name", "energy_uj", "max_energy_range_uj"};
    char path[600];

    for (int k = 0; k < 3; k++) {
        ck_assert_int_lt(
            snprintf(path, sizeof path, "%s/%s", counter, names[k]), 600);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(rmdir(counter), 0);
}

/* A counter that turns twice is the sum of its ways; that of the machine, which
 * lies between two processors, is not added. */
ETX_TEST(test_program_parts_energy)
{
    static const char *const names[] = {"package-0\n", "psys\n", "package-1\n"};
    char folder[256], counter[3][512];
    struct energy energy;

    etx_test_folder(folder);
    energy_open(&energy, folder);
    ck_assert_int_eq(energy.n_counters, 0);
    energy_sample(&energy);
    ck_assert(isnan(energy.joules));
    for (int k = 0; k < 3; k++)
        make_counter(counter[k], folder, k, names[k]);
    energy_open(&energy, folder);
    ck_assert_int_eq(energy.n_counters, 2);
    energy_sample(&energy);
    ck_assert_double_eq(energy.joules, 0.0);
    write_text(counter[0], "energy_uj", "8000000\n"); /* 7 J */
    write_text(counter[1], "energy_uj", "8500000\n");
    energy_sample(&energy);
    write_text(counter[0], "energy_uj", "500000\n");  /* 1.5 J */
    write_text(counter[2], "energy_uj", "1250000\n"); /* 0.25 J */
    energy_sample(&energy);
    write_text(counter[0], "energy_uj", "0\n"); /* 8.5 J */
    energy_sample(&energy);
    ck_assert_double_eq_tol(energy.joules, 17.25, 1e-9);
    for (int k = 0; k < 3; k++)
        remove_counter(counter[k]);
    etx_test_remove(folder);
}

/* -------------------------------------------------------------- cores -- */

#define N_RANKS 4

/* Node, and cores from .. from + n - 1. */
static void describe(double *words, double node, int from, int n)
{
    memset(words, 0, CORES_WORDS * sizeof *words);
    words[0] = node;
    for (int k = from; k < from + n; k++)
        words[1 + k / CORES_BITS] += ldexp(1.0, k % CORES_BITS);
}

static const struct {
    int node[N_RANKS], from[N_RANKS], n[N_RANKS];
    int64_t threads[N_RANKS];
} core_rows[] = {
    /* not bound: all have the same 64 cores */
    {{1, 1, 1, 1}, {0, 0, 0, 0}, {64, 64, 64, 64}, {16, 16, 16, 16}},
    /* each bound to cores of its own */
    {{1, 1, 1, 1}, {0, 8, 16, 24}, {8, 8, 8, 8}, {8, 8, 8, 8}},
    /* two on each of two sockets */
    {{1, 1, 1, 1}, {0, 0, 32, 32}, {32, 32, 32, 32}, {16, 16, 16, 16}},
    /* two nodes, whose cores have the same numbers */
    {{1, 1, 1, 2}, {0, 0, 0, 0}, {6, 6, 6, 6}, {2, 2, 2, 6}},
    /* more ranks than cores */
    {{1, 1, 1, 1}, {0, 0, 0, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}},
};

ETX_TEST(test_program_parts_cores, .rows = ROWS(core_rows))
{
    double words[N_RANKS * CORES_WORDS];

    for (int r = 0; r < N_RANKS; r++)
        describe(words + r * CORES_WORDS, core_rows[_i].node[r],
            core_rows[_i].from[r], core_rows[_i].n[r]);
    for (int r = 0; r < N_RANKS; r++)
        ck_assert_int_eq(
            cores_share(words, N_RANKS, r), core_rows[_i].threads[r]);
}

/* This machine, and a system that does not say which cores. */
ETX_TEST(test_program_parts_own_cores)
{
    double words[2 * CORES_WORDS];
    const long n_online = sysconf(_SC_NPROCESSORS_ONLN);

    cores_describe(words);
    ck_assert_int_ge(cores_share(words, 1, 0), 1);
    ck_assert_int_le(cores_share(words, 1, 0), n_online);
    memset(words, 0, sizeof words);
    words[CORES_WORDS - 1] = words[2 * CORES_WORDS - 1] = 12.0;
    ck_assert_int_eq(cores_share(words, 2, 1), 6);
}
