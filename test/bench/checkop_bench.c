/* bench/checkop_bench.c -- time every operator on every implementation.
 *
 * checkop-bench [op] [threads]: the cases of test/checkop at sizes of a real
 * event. One line per case: operator, sizes, implementation, threads, repeats,
 * median, 10 % and 90 % quantile of the seconds of one run, and GFLOP/s of the
 * median; tab-separated, so that two commits can be joined.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

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

static const struct checkop_perceptron embedding = {.n_rows = 10000,
    .n_parts = 1,
    .part_width = {5},
    .n_layers = 4,
    .layer_width = {256, 256, 256, 8},
    .norm = ETX_NORM_LAYER,
    .activation = ETX_ACTIVATION_SILU};
static const struct checkop_perceptron filter = {.n_rows = 60000,
    .n_parts = 3,
    .part_width = {4, 4, 9},
    .gathered = 3,
    .n_layers = 3,
    .layer_width = {64, 64, 1},
    .norm = ETX_NORM_LAYER,
    .activation = ETX_ACTIVATION_SILU};
/* The edges of a graph network; the nodes' part of the product is added. */
static const struct checkop_perceptron message32 = {.n_rows = 60000,
    .n_parts = 1,
    .part_width = {32},
    .n_added = 2,
    .centred = 1,
    .n_layers = 2,
    .layer_width = {32, 32},
    .norm = ETX_NORM_LAYER,
    .activation = ETX_ACTIVATION_SILU,
    .residual = 1};
static const struct checkop_perceptron message64 = {.n_rows = 60000,
    .n_parts = 1,
    .part_width = {64},
    .n_added = 2,
    .centred = 1,
    .n_layers = 3,
    .layer_width = {64, 64, 64},
    .norm = ETX_NORM_LAYER,
    .activation = ETX_ACTIVATION_TANH,
    .residual = 1};

static void mlp_embedding(struct checkop_case *out)
{
    checkop_mlp(out, &embedding);
}

static void mlp_filter(struct checkop_case *out)
{
    checkop_mlp(out, &filter);
}

static void mlp_message32(struct checkop_case *out)
{
    checkop_mlp(out, &message32);
}

static void mlp_message64(struct checkop_case *out)
{
    checkop_mlp(out, &message64);
}

static void mlp_backward_filter(struct checkop_case *out)
{
    checkop_mlp_backward(out, &filter);
}

static void mlp_backward_message32(struct checkop_case *out)
{
    checkop_mlp_backward(out, &message32);
}

static void mlp_backward_message64(struct checkop_case *out)
{
    checkop_mlp_backward(out, &message64);
}

static void activation(struct checkop_case *out)
{
    checkop_activation(out, ETX_ACTIVATION_SILU, 5000000, 0);
}

static void activation_backward(struct checkop_case *out)
{
    checkop_activation_backward(out, ETX_ACTIVATION_SILU, 5000000, 0);
}

static void gather(struct checkop_case *out)
{
    checkop_gather(out, 200000, 64, 0);
}

static void add(struct checkop_case *out)
{
    checkop_add(out, 10000000);
}

static void row_dot(struct checkop_case *out)
{
    checkop_row_dot(out, 200000, 64, 3);
}

static void segment_sum(struct checkop_case *out)
{
    const struct checkop_segments shape = {.n_segments = 20000,
        .n_values = 200000,
        .width = 64,
        .reduce = ETX_REDUCE_SUM};

    checkop_segment_reduce(out, &shape);
}

static void segment_max_backward(struct checkop_case *out)
{
    const struct checkop_segments shape = {.n_segments = 20000,
        .n_values = 200000,
        .width = 64,
        .reduce = ETX_REDUCE_MAX,
        .ordered = 1};

    checkop_segment_reduce_backward(out, &shape);
}

static void edge_features(struct checkop_case *out)
{
    checkop_edge_features(out, 100000, 200000);
}

static void radius_graph(struct checkop_case *out)
{
    checkop_radius_graph(out, 10000, 8, 0.5f, 0, 0, 0);
}

static void radius_graph_knn(struct checkop_case *out)
{
    checkop_radius_graph(out, 10000, 8, 0.6f, 10, 0, 1);
}

static void line_graph(struct checkop_case *out)
{
    checkop_line_graph(out, 100000, 1500000);
}

static void components(struct checkop_case *out)
{
    checkop_connected_components(out, 100000, 1000000, 1);
}

static void edge_select(struct checkop_case *out)
{
    checkop_edge_select(out, 5000000);
}

static void mutual_best(struct checkop_case *out)
{
    checkop_mutual_best(out, 100000, 1000000);
}

static void bce_loss(struct checkop_case *out)
{
    checkop_bce_loss(out, 1000000, 1);
}

static void hinge_loss(struct checkop_case *out)
{
    checkop_hinge_loss(out, ETX_HINGE_SQUARED, 100000, 1000000, 8);
}

static void adamw(struct checkop_case *out)
{
    checkop_adamw(out, 1000000, 100, 1, 1);
}

static const struct {
    const char *op;
    void (*make)(struct checkop_case *out);
} cases[] = {{"mlp", mlp_embedding}, {"mlp", mlp_filter},
    {"mlp", mlp_message32}, {"mlp", mlp_message64},
    {"mlp_backward", mlp_backward_filter},
    {"mlp_backward", mlp_backward_message32},
    {"mlp_backward", mlp_backward_message64}, {"activation", activation},
    {"activation_backward", activation_backward}, {"gather", gather},
    {"add", add}, {"row_dot", row_dot}, {"segment_reduce", segment_sum},
    {"segment_reduce_backward", segment_max_backward},
    {"edge_features", edge_features}, {"radius_graph", radius_graph},
    {"radius_graph", radius_graph_knn}, {"line_graph", line_graph},
    {"connected_components", components}, {"edge_select", edge_select},
    {"mutual_best", mutual_best}, {"bce_loss", bce_loss},
    {"hinge_loss", hinge_loss}, {"adamw", adamw}};
#define N_CASES (sizeof cases / sizeof cases[0])

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

    if (self->run(ops, stream, self) != ETX_OK) {
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

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    const int32_t pool = pool_of(argc > 2 ? atoi(argv[2]) : 1);

    if (argc > 3 || (only != NULL && only[0] == '-')) {
        fprintf(stderr, "usage: checkop-bench [op [threads: 1, 2 or 4]]\n");
        return 2;
    }
    printf(
        "# instruction set level of this machine: %d\n", (int)etx_cpu_level());
    printf("op\tcase\timplementation\tthreads\trepeats\tmedian_s\tp10_s\tp90_s"
           "\tgflops\n");
    for (size_t c = 0; c < N_CASES; c++) {
        struct checkop_case one;
        if (only != NULL && strcmp(only, cases[c].op) != 0)
            continue;
        checkop_start();
        cases[c].make(&one);
        for (int32_t i = 0; i < check.n_implementations; i++)
            if (i == 0 || checkop_is_own(i, &one))
                print_timing(
                    &check.implementation[i], &check.stream[pool], &one);
        checkop_stop();
    }
    return 0;
}
