/* bench/checkop_bench.c -- time every operator on every implementation.
 *
 * checkop-bench [op] [threads]: the cases of test/checkop at sizes of a real
 * event. One line per case: operator, sizes, implementation, threads, repeats,
 * median, 10 % and 90 % quantile of the seconds of one run, and GFLOP/s of the
 * median; tab-separated, so that two commits can be joined.
 *
 * checkop-bench ratios: the fastest implementation and the stages of an event
 * on one thread, in units of a probe of the machine (ratios.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "ratios.h"

#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_REPEATS 200
#define MIN_REPEATS 20
#define ENOUGH      1.0 /* seconds for the repeats of one case */
#define SLOW        1.0 /* a reference that takes longer runs 3 times */

/* ----------------------------------------------------------------- cases -- */

static const struct checkop_perceptron embedding = {
    10000, PARTS(5), LAYERS(256, 256, 256, 8), HIDDEN(LAYER, SILU)};
static const struct checkop_perceptron filter = {60000, PARTS(4, 4, 9),
    .gathered = 3, LAYERS(64, 64, 1), HIDDEN(LAYER, SILU)};
/* The edges of a graph network; the nodes' part of the product is added. */
static const struct checkop_perceptron message32 = {60000, PARTS(32),
    .n_added = 2, .centred = 1, LAYERS(32, 32), HIDDEN(LAYER, SILU),
    .residual = 1};
static const struct checkop_perceptron message64 = {60000, PARTS(64),
    .n_added = 2, .centred = 1, LAYERS(64, 64, 64), HIDDEN(LAYER, TANH),
    .residual = 1};

static const struct checkop_segments sums = {.n_segments = 20000,
    .n_values = 200000,
    .width = 64,
    .reduce = ETX_REDUCE_SUM};
static const struct checkop_segments maxima = {.n_segments = 20000,
    .n_values = 200000,
    .width = 64,
    .reduce = ETX_REDUCE_MAX,
    .ordered = 1};

/* ---------------------------------------------------------------- timing -- */

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double one = *(const double *)a;
    const double two = *(const double *)b;

    return (one > two) - (one < two);
}

static double run_once(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const double begin = seconds();

    if (checkop_run(ops, stream, self) != ETX_OK) {
        fprintf(stderr, "checkop-bench: %s: %s\n", self->op, etx_last_error());
        exit(1);
    }
    return seconds() - begin;
}

static void print_timing(const struct checkop_implementation *implementation,
    struct etx_stream *stream, struct checkop_case *self)
{
    const double warm = run_once(&implementation->ops, stream, self);
    const int min = warm > SLOW ? 3 : MIN_REPEATS;
    double time[MAX_REPEATS];
    double spent = 0.0;
    int n = 0;

    while (n < min || (spent < ENOUGH && n < MAX_REPEATS)) {
        time[n] = run_once(&implementation->ops, stream, self);
        spent += time[n++];
    }
    qsort(time, (size_t)n, sizeof *time, ascending);
    printf("%s\t%s\t%s\t%d\t%d\t%.3e\t%.3e\t%.3e\t%.2f\n", self->op,
        self->label, implementation->name,
        (int)etx_pool_n_threads(stream->pool), n, time[n / 2], time[n / 10],
        time[n * 9 / 10], self->flop / time[n / 2] * 1e-9);
    (void)fflush(stdout);
}

static int32_t pool_of(int n_threads)
{
    return n_threads >= 4 ? 2 : n_threads >= 2 ? 1 : 0;
}

/* Time the case that make prepares, unless another operator is requested. */
#define TIME(op, make)                                                         \
    do {                                                                       \
        if (only != NULL && strcmp(only, op) != 0)                             \
            break;                                                             \
        checkop_start();                                                       \
        make;                                                                  \
        if (with_ratios)                                                       \
            ratios_of_operator(&one);                                          \
        else                                                                   \
            print_timings(&one, pool);                                         \
        checkop_stop();                                                        \
    } while (0)

static void print_timings(struct checkop_case *self, int32_t pool)
{
    for (int32_t i = 0; i < check.n_implementations; i++)
        if (i == 0 || checkop_is_own(i, self))
            print_timing(&check.implementation[i], &check.stream[pool], self);
}

static void time_cases(const char *only, int32_t pool, int32_t with_ratios)
{
    struct checkop_case one;

    TIME("mlp", checkop_mlp(&one, &embedding));
    TIME("mlp", checkop_mlp(&one, &filter));
    TIME("mlp", checkop_mlp(&one, &message32));
    TIME("mlp", checkop_mlp(&one, &message64));
    TIME("mlp_backward", checkop_mlp_backward(&one, &filter));
    TIME("mlp_backward", checkop_mlp_backward(&one, &message32));
    TIME("mlp_backward", checkop_mlp_backward(&one, &message64));
    TIME("activation",
        checkop_activation(&one, ETX_ACTIVATION_SILU, 5000000, 0));
    TIME("activation_backward",
        checkop_activation_backward(&one, ETX_ACTIVATION_SILU, 5000000, 0));
    TIME("gather", checkop_gather(&one, 200000, 64, 0));
    TIME("add", checkop_add(&one, 10000000));
    TIME("row_dot", checkop_row_dot(&one, 200000, 64, 3));
    TIME("segment_reduce", checkop_segment_reduce(&one, &sums));
    TIME("segment_reduce_backward",
        checkop_segment_reduce_backward(&one, &maxima));
    TIME("edge_features", checkop_edge_features(&one, 100000, 200000));
    TIME("radius_graph", checkop_radius_graph(&one, 10000, 8, 0.5f, 0, 0, 0));
    TIME("radius_graph", checkop_radius_graph(&one, 10000, 8, 0.6f, 10, 0, 1));
    TIME("line_graph", checkop_line_graph(&one, 100000, 1500000));
    TIME("connected_components",
        checkop_connected_components(&one, 100000, 1000000, 1));
    TIME("edge_select", checkop_edge_select(&one, 5000000));
    TIME("mutual_best", checkop_mutual_best(&one, 100000, 1000000));
    TIME("bce_loss", checkop_bce_loss(&one, 1000000, 1));
    TIME("hinge_loss",
        checkop_hinge_loss(&one, ETX_HINGE_SQUARED, 100000, 1000000, 8));
    TIME("adamw", checkop_adamw(&one, 1000000, 100, 1, 1));
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    const int32_t pool = pool_of(argc > 2 ? atoi(argv[2]) : 1);

    if (argc == 2 && strcmp(only, "ratios") == 0) {
        ratios_open();
        time_cases(NULL, 0, 1);
        ratios_of_event();
        ratios_close();
        return 0;
    }

    if (argc > 3 || (only != NULL && only[0] == '-')) {
        fprintf(stderr, "usage: checkop-bench [ratios | op [threads: 1, 2 or "
                        "4]]\n");
        return 2;
    }
    printf(
        "# instruction set level of this machine: %d\n", (int)etx_cpu_level());
    printf("op\tcase\timplementation\tthreads\trepeats\tmedian_s\tp10_s\tp90_s"
           "\tgflops\n");
    time_cases(only, pool, 0);
    return 0;
}
