/* bench/probe.c -- fixed pieces of work of some milliseconds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include "base/cpu.h"

#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N_CHAINS 12 /* independent, to hide the latency */
#define N_STEPS  400000
#define N_VALUES ((int64_t)4 << 20) /* of 8 bytes: beyond every cache */
#define N_LINES  (N_VALUES * 2 / 8)
#define N_READ   100000

static const char *const names[N_PROBES] = {"fma", "stream", "lines"};

static double *memory; /* [3, N_VALUES] */
static volatile float kept;

const char *probe_name(enum probe probe)
{
    return names[probe];
}

void probe_open(void)
{
    memory = malloc(3 * N_VALUES * sizeof *memory);
    if (memory == NULL) {
        fprintf(stderr, "no memory for a probe\n");
        exit(1);
    }
    for (int64_t i = 0; i < 3 * N_VALUES; i++)
        memory[i] = 1.0;
}

void probe_close(void)
{
    free(memory);
    memory = NULL;
}

__attribute__((target("avx512f"))) static void run_chains_avx512(void)
{
    const __m512 factor = _mm512_set1_ps(0.9999999f);
    const __m512 term = _mm512_set1_ps(1e-7f);
    __m512 chain[N_CHAINS];

    for (int i = 0; i < N_CHAINS; i++)
        chain[i] = _mm512_set1_ps(1.0f + (float)i);
    for (int k = 0; k < N_STEPS; k++)
        for (int i = 0; i < N_CHAINS; i++)
            chain[i] = _mm512_fmadd_ps(chain[i], factor, term);
    for (int i = 0; i < N_CHAINS; i++)
        kept = _mm512_cvtss_f32(chain[i]);
}

__attribute__((target("avx2,fma"))) static void run_chains_avx2(void)
{
    const __m256 factor = _mm256_set1_ps(0.9999999f);
    const __m256 term = _mm256_set1_ps(1e-7f);
    __m256 chain[N_CHAINS];

    for (int i = 0; i < N_CHAINS; i++)
        chain[i] = _mm256_set1_ps(1.0f + (float)i);
    for (int k = 0; k < N_STEPS; k++)
        for (int i = 0; i < N_CHAINS; i++)
            chain[i] = _mm256_fmadd_ps(chain[i], factor, term);
    for (int i = 0; i < N_CHAINS; i++)
        kept = _mm256_cvtss_f32(chain[i]);
}

static void run_triad(void)
{
    const double *b = memory + N_VALUES;
    const double *c = b + N_VALUES;

    for (int64_t i = 0; i < N_VALUES; i++)
        memory[i] = b[i] + 3.0 * c[i];
}

static void read_lines(void)
{
    uint64_t random = 1;
    double sum = 0.0;

    for (int k = 0; k < N_READ; k++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        sum += memory[(int64_t)(random >> 40) % N_LINES * 8];
    }
    kept = (float)sum;
}

void probe_run(enum probe probe)
{
    if (probe == PROBE_LINES)
        read_lines();
    else if (probe == PROBE_STREAM)
        run_triad();
    else if (etx_cpu_level() >= ETX_CPU_AVX512)
        run_chains_avx512();
    else
        run_chains_avx2();
}
