/* fuzz_operators.c -- AVX2 and AVX-512 against the reference: the same graphs,
 * labels and triplets from random points, edges and scores, bit for bit, on one
 * thread and on two; scores of networks up to rounding.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "base/cpu.h"
#include "base/heap.h"
#include "base/random.h"

#include <exatrkx/graph.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS 300
#define MAX_DIM    9
#define MAX_EDGES  2000
#define TOLERANCE  1e-4f

/* The first is the reference. */
static etx_context *contexts[ETX_N_CPU_LEVELS];
static etx_model *model;
static int32_t n_contexts;

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    (void)n_arguments;
    (void)arguments;
    ETX_EACH_CPU_LEVEL (level)
        contexts[n_contexts++] = fuzz_context(1, level);
    contexts[n_contexts++] = fuzz_context(2, ETX_CPU_BEST);
    model = fuzz_model(fuzz_model_config);
    return 0;
}

static void require_same_graph(const etx_graph *a, const etx_graph *b)
{
    const size_t n = (size_t)etx_graph_n_edges(a) * sizeof(int32_t);

    fuzz_require(etx_graph_n_edges(a) == etx_graph_n_edges(b) &&
                     memcmp(etx_graph_src(a), etx_graph_src(b), n) == 0 &&
                     memcmp(etx_graph_dst(a), etx_graph_dst(b), n) == 0,
        "another graph");
}

/* Mostly small, so that many sizes are tried, at most max. */
static int64_t draw_size(struct fuzz_input *input, int64_t max)
{
    const int64_t most = max >> fuzz_byte(input) % 8;

    return fuzz_word(input) % (most + 1);
}

/* Values of a few kinds: even ones, equal ones, any. */
static void fill(struct fuzz_input *input, float *value, int64_t n)
{
    const uint32_t kind = fuzz_byte(input) % 4;
    struct etx_random random;

    etx_random_init(&random, fuzz_word(input), 0, 0);
    for (int64_t i = 0; i < n; i++)
        if (kind == 0)
            value[i] = etx_random_uniform(&random);
        else if (kind == 1)
            value[i] = (float)etx_random_below(&random, 4);
        else if (kind == 2 || i % 8 == 0)
            value[i] = fuzz_finite(input);
        else
            value[i] = etx_random_normal(&random) * 100.0f;
}

static void compare_searches(struct fuzz_input *input)
{
    static float point[MAX_POINTS * MAX_DIM];
    const int64_t n = draw_size(input, MAX_POINTS);
    const int64_t n_dim = 1 + fuzz_byte(input) % MAX_DIM;
    const int32_t nearest = (int32_t)(fuzz_byte(input) % 2);
    etx_graph_options options;
    etx_graph *expected = NULL;

    fuzz_require(
        etx_graph_options_init(&options, sizeof options) == ETX_OK, "init");
    options.radius = fabsf(fuzz_finite(input)) + 1e-30f;
    options.max_neighbours = nearest ? 1 + (int32_t)(fuzz_byte(input) % 40)
                                     : (int32_t)(fuzz_byte(input) % 8);
    options.orientation = fuzz_byte(input) % 2 ? ETX_ORIENT_BOTH : 0;
    fill(input, point, n * n_dim);
    for (int32_t k = 0; k < n_contexts; k++) {
        etx_graph *graph = NULL;
        const etx_status status =
            (nearest ? etx_graph_build_knn : etx_graph_build_radius)(
                &graph, contexts[k], n, n_dim, point, NULL, &options);

        fuzz_require(status == ETX_OK, "no graph");
        if (k == 0) {
            expected = graph;
            continue;
        }
        require_same_graph(expected, graph);
        etx_graph_free(graph);
    }
    etx_graph_free(expected);
}

/* A graph of random edges between the hits of an event, with scores. */
static etx_graph *make_graph(struct fuzz_input *input, int64_t n_nodes)
{
    static int32_t src[MAX_EDGES], dst[MAX_EDGES];
    static float score[MAX_EDGES];
    const int64_t n = n_nodes == 0 ? 0 : draw_size(input, MAX_EDGES);
    const uint32_t few = fuzz_byte(input) % 2;
    struct etx_random random;
    etx_graph *graph = NULL;

    etx_random_init(&random, fuzz_word(input), 0, 0);
    for (int64_t e = 0; e < n; e++) {
        src[e] = (int32_t)etx_random_below(&random, (uint64_t)n_nodes);
        dst[e] = (int32_t)etx_random_below(&random, (uint64_t)n_nodes);
        score[e] = few ? (float)etx_random_below(&random, 5) / 4.0f
                       : etx_random_uniform(&random);
    }
    fuzz_require(etx_graph_from_edges(
                     &graph, n_nodes, n, src, dst, score, NULL) == ETX_OK,
        "no graph");
    return graph;
}

static void compare_labels(
    struct fuzz_input *input, const etx_graph *graph, const etx_event *event)
{
    static int32_t expected[MAX_POINTS], label[MAX_POINTS];
    etx_label_options options;

    fuzz_require(
        etx_label_options_init(&options, sizeof options) == ETX_OK, "init");
    options.method = (int32_t)(fuzz_byte(input) % 4);
    options.cut = (float)fuzz_byte(input) / 255.0f;
    options.min_hits = 1 + (int32_t)(fuzz_byte(input) % 5);
    options.sure_cut = (float)fuzz_byte(input) / 255.0f;
    options.max_curvature_change = (float)(fuzz_byte(input) % 8);
    options.max_polar_change = (float)fuzz_byte(input) / 255.0f;
    for (int32_t k = 0; k < n_contexts; k++) {
        fuzz_require(etx_graph_label(k == 0 ? expected : label, graph,
                         contexts[k], event, &options) == ETX_OK,
            "no labels");
        fuzz_require(k == 0 || memcmp(expected, label,
                                   (size_t)etx_graph_n_nodes(graph) *
                                       sizeof *label) == 0,
            "other labels");
    }
}

static void compare_triplets(const etx_graph *graph)
{
    etx_graph *expected = NULL;
    etx_status first = ETX_OK;

    for (int32_t k = 0; k < n_contexts; k++) {
        etx_graph *made = NULL;
        const etx_status status =
            etx_graph_to_triplets(&made, graph, contexts[k], 50000);

        if (k == 0) {
            first = status;
            expected = made;
            continue;
        }
        fuzz_require(status == first, "another status");
        if (status == ETX_OK)
            require_same_graph(expected, made);
        etx_graph_free(made);
    }
    etx_graph_free(expected);
}

static void compare_scores(etx_graph *graph, const etx_event *event)
{
    static float expected[MAX_EDGES];

    for (int32_t k = 0; k < n_contexts; k++) {
        fuzz_require(
            etx_graph_score(graph, contexts[k], model, event) == ETX_OK,
            "no scores");
        for (int64_t e = 0; e < etx_graph_n_edges(graph); e++) {
            const float score = etx_graph_scores(graph)[e];

            if (k == 0)
                expected[e] = score;
            fuzz_require(
                fabsf(score - expected[e]) <= TOLERANCE, "another score");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const uint32_t what = fuzz_byte(&input) % 4;

    if (what == 0) {
        compare_searches(&input);
        return 0;
    }
    const int64_t n_particles = draw_size(&input, MAX_POINTS / 10);
    etx_event *event = fuzz_event(n_particles, fuzz_byte(&input));
    etx_graph *graph = make_graph(&input, etx_event_n_hits(event));
    if (what == 1)
        compare_labels(&input, graph, event);
    else if (what == 2)
        compare_triplets(graph);
    else
        compare_scores(graph, event);
    etx_graph_free(graph);
    etx_event_free(event);
    return 0;
}
