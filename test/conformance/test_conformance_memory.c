/* test/conformance/test_conformance_memory.c -- latents kept in less memory.
 *
 * Whatever is kept between forward and backward, the scores are the same
 * bits. So is the gradient of a network that makes latents again; with
 * bfloat16 it is near.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"

#include "arch/latents.h"
#include "base/bfloat16.h"
#include "base/cpu.h"
#include "base/float16.h"

#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seven iterations: segments that begin at 0, 3 and 6, two to compute again. */
#define OPTIONS(update, more)                                                  \
    "{'hidden': 8, 'n_iterations': 7, 'edge_update': '" update "'" more "}"
#define PLAIN(update) OPTIONS(update, "")
#define ROUGH(update)                                                          \
    OPTIONS(update, ", 'concat_initial': true, 'edge_recurrent': true,"        \
                    "'edge_residual': false, 'decoder_input': 'edge',"         \
                    "'aggregation': ['max', 'std'],"                           \
                    "'direction': 'doubled_mean'")

static const struct network_case deep[] = {
    {.arch = "interaction_network", .options = PLAIN("first")},
    {.arch = "interaction_network", .options = PLAIN("old")},
    {.arch = "interaction_network", .options = PLAIN("new")},
    {.arch = "interaction_network", .options = ROUGH("first"), .is_rough = 1},
    {.arch = "interaction_network", .options = ROUGH("old"), .is_rough = 1},
    {.arch = "interaction_network", .options = ROUGH("new"), .is_rough = 1},
    {.arch = "triplet_gnn",
        .options = "{'triplets': {'hidden': 4, 'n_iterations': 5},"
                   " 'doublet_hidden': [4]}"},
};
#define N_DEEP ROWS(deep)

static struct network_case case_at(int index)
{
    struct network_case which =
        index < N_DEEP ? deep[index] : network_case_at(index - N_DEEP);

    if (index < N_DEEP) {
        which.name = "deep";
        which.n_node_features = 3;
        which.n_edge_features = 4;
    }
    return which;
}

struct run {
    float *out, *gradient;
    int64_t peak; /* bytes */
};

static struct run run_with(const struct etx_network *network,
    const struct network_problem *problem, struct etx_tape tape,
    int32_t n_threads)
{
    const int64_t n_out = network_n_out(network, problem);
    float *weight = network_randoms(n_out, 4);
    struct run run = {.out = network_zeros(n_out),
        .gradient = network_zeros(network->n_values)};
    struct etx_context context;

    network_context_open(&context, n_threads, ETX_CPU_BEST);
    network_backward_with(
        run.out, run.gradient, network, &context, problem, weight, tape);
    run.peak = etx_arena_peak(context.stream->arena);
    network_context_close(&context);
    free(weight);
    return run;
}

static void run_free(struct run *run)
{
    free(run->out);
    free(run->gradient);
}

static void check_scores(const struct network_case *which,
    const struct run *expected, const struct run *got, int64_t n_out)
{
    ck_assert_msg(
        memcmp(expected->out, got->out, (size_t)n_out * sizeof(float)) == 0,
        "%s (%s): the scores differ", which->arch, which->name);
}

ETX_TEST(test_memory_recomputed_bits, .rows = N_DEEP + network_n_cases())
{
    const struct network_case which = case_at(_i);
    scoped_network *network = network_make(&which, 21);
    scoped_problem problem;
    struct run plain;

    network_problem_make(&problem, 8, 60, 240, which.n_node_features);
    plain = run_with(network, &problem, (struct etx_tape){0}, 1);
    for (int32_t n_threads = 1; n_threads <= 3; n_threads += 2) {
        struct run less = run_with(
            network, &problem, (struct etx_tape){.recomputes = 1}, n_threads);

        check_scores(&which, &plain, &less, network_n_out(network, &problem));
        ck_assert_msg(memcmp(plain.gradient, less.gradient,
                          (size_t)network->n_values * sizeof(float)) == 0,
            "%s (%s): the gradients differ", which.arch, which.name);
        run_free(&less);
    }
    run_free(&plain);
}

static double length_of(const float *a, int64_t n)
{
    double sum = 0.0;

    for (int64_t v = 0; v < n; v++)
        sum += (double)a[v] * (double)a[v];
    return sqrt(sum);
}

/* Latents are rounded by 2^-9 of themselves at most: the gradient as a whole
 * is within 2 % (the largest seen here: 0.6 %), with kinks, where a rounded
 * maximum is another edge's, 10 %. */
static void check_near(const struct network_case *which,
    const struct etx_network *network, const struct run *expected,
    const struct run *got)
{
    const int64_t n = network->n_values;
    const double bound = which->is_rough ? 0.1 : 0.02;
    scoped float *difference = network_zeros(n);
    double distance = 0.0;

    for (int64_t v = 0; v < n; v++)
        difference[v] = got->gradient[v] - expected->gradient[v];
    distance = length_of(difference, n) / length_of(expected->gradient, n);
    ck_assert_msg(distance <= bound, "%s (%s): gradients differ by %.3g",
        which->arch, which->name, distance);
}

ETX_TEST(test_memory_half_is_near, .rows = N_DEEP + network_n_cases())
{
    static const struct etx_tape tape[] = {{.half = ETX_HALF_BFLOAT16},
        {.recomputes = 1, .half = ETX_HALF_BFLOAT16},
        {.half = ETX_HALF_FLOAT16}};
    const struct network_case which = case_at(_i);
    scoped_network *network = network_make(&which, 22);
    scoped_problem problem;
    struct run plain;

    network_problem_make(&problem, 8, 60, 240, which.n_node_features);
    plain = run_with(network, &problem, (struct etx_tape){0}, 1);
    for (int32_t t = 0; t < 3; t++) {
        struct run less = run_with(network, &problem, tape[t], 1);
        struct run again = run_with(network, &problem, tape[t], 3);

        check_scores(&which, &plain, &less, network_n_out(network, &problem));
        check_near(&which, network, &plain, &less);
        ck_assert_mem_eq(less.gradient, again.gradient,
            (size_t)network->n_values * sizeof(float));
        run_free(&less);
        run_free(&again);
    }
    run_free(&plain);
}

/* The padding of a latent, which is never set, is not read either. */
ETX_TEST(test_memory_half_of_values)
{
    const struct etx_latents_shape shape = {
        .n_rows = 3, .width = 5, .n_slots = 1};
    const struct etx_tape tape = {.half = ETX_HALF_FLOAT16};
    struct etx_context context;
    struct etx_latents latents;
    scoped char *memory = NULL;
    float *value = NULL;

    network_context_open(&context, 1, ETX_CPU_BEST);
    etx_latents_open(&latents, &shape, &tape);
    memory = etx_test_alloc(etx_latents_bytes(&latents), 1);
    memset(memory, 0xff, (size_t)etx_latents_bytes(&latents));
    etx_latents_set_memory(&latents, memory);
    value = etx_latents_at(&latents, 0);
    for (int k = 0; k < 15; k++)
        value[k] = 1.0f;
    ck_assert_ok(etx_latents_keep(&latents, &context, 0));
    ck_assert_int_eq(latents.kept[14], etx_float16_from_float(1.0f));
    ck_assert_int_eq(latents.kept[15], 0xffff);
    value[14] = 0.0f;
    latents.loaded[0] = -1;
    ck_assert_ok(etx_latents_load(&latents, &context, 0));
    ck_assert_float_eq(value[14], 1.0f);
    network_context_close(&context);
}

/* Latents of 3000 edges, 32 wide, 8 iterations: of the 9 kept ones the
 * switches leave 5, 4.5 and one in use, 2.5 and one. */
ETX_TEST(test_memory_is_less)
{
    static const struct network_case which = {.name = "wide",
        .arch = "interaction_network",
        .options = "{'n_iterations': 8}",
        .n_node_features = 3,
        .n_edge_features = 4};
    const double latent = 3000.0 * 32.0 * sizeof(float);
    static const struct etx_tape tape[] = {{.recomputes = 1},
        {.half = ETX_HALF_BFLOAT16},
        {.recomputes = 1, .half = ETX_HALF_BFLOAT16}};
    static const double saved[] = {4.0, 3.5, 5.5};
    scoped_network *network = network_make(&which, 23);
    scoped_problem problem;
    struct run plain;

    network_problem_make(&problem, 8, 100, 3000, which.n_node_features);
    plain = run_with(network, &problem, (struct etx_tape){0}, 1);
    for (int t = 0; t < 3; t++) {
        struct run less = run_with(network, &problem, tape[t], 1);
        const double got = (double)(plain.peak - less.peak) / latent;

        ck_assert_msg(fabs(got - saved[t]) < 0.3,
            "tape %d: %.2f latents saved, expected about %.1f", t, got,
            saved[t]);
        run_free(&less);
    }
    run_free(&plain);
}

/* ----------------------------------------------------------- bfloat16 -- */

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

ETX_TEST(test_memory_bfloat16_rounds)
{
    static const struct {
        float x;
        uint16_t half;
    } known[] = {{1.0f, 0x3f80}, {-2.0f, 0xc000}, {0.0f, 0x0000},
        {-0.0f, 0x8000},
        {1.00390625f, 0x3f80},   /* a tie, down to the even one */
        {1.01171875f, 0x3f82},   /* a tie, up to the even one */
        {1.0039063692f, 0x3f81}, /* just above the tie */
        {3.3961776e38f, 0x7f80}, /* beyond the largest: an infinity */
        {INFINITY, 0x7f80}, {-INFINITY, 0xff80}, {1e-40f, 0x0001}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint16_t half = 7;

        etx_bfloat16_from_floats(&half, &known[i].x, 1);
        ck_assert_msg(half == known[i].half, "%a: 0x%04x, expected 0x%04x",
            (double)known[i].x, (unsigned)half, (unsigned)known[i].half);
    }
}

/* All 2^16 of them come back as they were, and stay what they are. */
ETX_TEST(test_memory_bfloat16_comes_back)
{
    const int64_t n = 1 << 16;
    scoped uint16_t *half = malloc((size_t)n * sizeof *half);
    scoped uint16_t *again = malloc((size_t)n * sizeof *again);
    scoped float *value = network_zeros(n);

    ck_assert(half != NULL && again != NULL);
    for (int64_t i = 0; i < n; i++)
        half[i] = (uint16_t)i;
    etx_bfloat16_to_floats(value, half, n);
    etx_bfloat16_from_floats(again, value, n);
    for (int64_t i = 0; i < n; i++) {
        ck_assert_uint_eq(bits_of(value[i]), (uint32_t)i << 16);
        ck_assert(isnan(value[i]) || again[i] == half[i]);
    }
    for (uint32_t bits = 0x7f800001u; bits < 0x7f900000u; bits += 997) {
        memcpy(value, &bits, sizeof bits);
        etx_bfloat16_from_floats(again, value, 1);
        etx_bfloat16_to_floats(value, again, 1);
        ck_assert_msg(isnan(value[0]), "bits 0x%08x", (unsigned)bits);
    }
}
