/* native/limits.c -- what this machine can do at most: arithmetic from
 * registers and traffic to memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

#define N_CHAINS 12 /* independent, to hide the latency */
#define N_STEPS  400000

#if defined(__AVX512F__)
typedef __m512 vector;
#define LANES    16
#define BROAD(x) _mm512_set1_ps(x)
#define FMA      _mm512_fmadd_ps
#else
typedef __m256 vector;
#define LANES    8
#define BROAD(x) _mm256_set1_ps(x)
#define FMA      _mm256_fmadd_ps
#endif

/* Called from Python: no header. */
double peak_gflops(int32_t n_threads, int32_t n_runs);
double triad_gbytes(int32_t n_threads, int32_t n_runs, int64_t n);

/* Seconds of N_STEPS steps of every chain; *sink keeps them alive. */
static double run_chains(vector *sink)
{
    const vector factor = BROAD(0.9999999f), term = BROAD(1e-7f);
    vector chain[N_CHAINS];
    double start;

    for (int i = 0; i < N_CHAINS; i++)
        chain[i] = BROAD(1.0f + (float)i);
    start = omp_get_wtime();
    for (int k = 0; k < N_STEPS; k++)
        for (int i = 0; i < N_CHAINS; i++)
            chain[i] = FMA(chain[i], factor, term);
    start = omp_get_wtime() - start;
    *sink = chain[0];
    for (int i = 1; i < N_CHAINS; i++)
        *sink = FMA(*sink, factor, chain[i]);
    return start;
}

/* The best of many short runs: GFLOP/s of fused multiply-adds in float32, all
 * threads together. */
double peak_gflops(int32_t n_threads, int32_t n_runs)
{
    double sum = 0.0;

#pragma omp parallel num_threads(n_threads) reduction(+ : sum)
    {
        double best = 1e30;
        volatile vector kept;

        for (int32_t run = 0; run < n_runs; run++) {
            vector sink;
            const double seconds = run_chains(&sink);

            kept = sink;
            (void)kept;
            if (seconds < best)
                best = seconds;
        }
        sum += 2e-9 * N_STEPS * N_CHAINS * LANES / best;
    }
    return sum;
}

/* STREAM triad, a = b + s c of three arrays [n] of doubles: the best of n_runs
 * in GB/s, counted as STREAM does, 24 bytes an element. Negative when there is
 * no memory. */
double triad_gbytes(int32_t n_threads, int32_t n_runs, int64_t n)
{
    double *a = malloc((size_t)n * sizeof *a);
    double *b = malloc((size_t)n * sizeof *b);
    double *c = malloc((size_t)n * sizeof *c);
    double best = 1e30;

    if (a == NULL || b == NULL || c == NULL) {
        best = -1.0;
        goto done;
    }
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.5;
    }
    for (int32_t run = 0; run < n_runs; run++) {
        double seconds = omp_get_wtime();

#pragma omp parallel for num_threads(n_threads) schedule(static)
        for (int64_t i = 0; i < n; i++)
            a[i] = b[i] + 3.0 * c[i];
        seconds = omp_get_wtime() - seconds;
        if (seconds < best)
            best = seconds;
    }
    best = 24e-9 * (double)n / best;
done:
    free(a);
    free(b);
    free(c);
    return best;
}
