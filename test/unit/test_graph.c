/* test_graph.c -- graphs from edges, subsets, both directions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* feenableexcept */
#include "support.h"

#include "base/cpu.h"
#include "base/heap.h"
#include "base/random.h"
#include "data/graph_double.h"
#include "op/ref/ref.h"

#include <fenv.h>
#include <math.h>
#include <time.h>

#define MAX_NODES 30
#define MAX_EDGES 200

/* The invariants of data/graph.h; counted, as an assertion for each edge of a
 * large graph takes seconds. */
static void check_graph(const struct etx_graph *graph)
{
    int64_t n_in = 0, n_out = 0, n_wrong = 0;

    ck_assert_int_eq(graph->in_offset[0], 0);
    ck_assert_int_eq(graph->out_offset[0], 0);
    ck_assert_int_eq(graph->in_offset[graph->n_nodes], graph->n_edges);
    ck_assert_int_eq(graph->out_offset[graph->n_nodes], graph->n_edges);
    for (int64_t e = 1; e < graph->n_edges; e++)
        n_wrong += graph->dst[e - 1] > graph->dst[e] ||
                   (graph->dst[e - 1] == graph->dst[e] &&
                       graph->src[e - 1] > graph->src[e]);
    ck_assert_int_eq(n_wrong, 0);
    for (int64_t i = 0; i < graph->n_nodes; i++) {
        for (int64_t e = graph->in_offset[i]; e < graph->in_offset[i + 1];
             e++, n_in++)
            n_wrong += graph->dst[e] != i;
        for (int64_t k = graph->out_offset[i]; k < graph->out_offset[i + 1];
             k++, n_out++)
            n_wrong += graph->src[graph->out_edge[k]] != i ||
                       (k > graph->out_offset[i] &&
                           graph->out_edge[k - 1] >= graph->out_edge[k]);
    }
    ck_assert_int_eq(n_wrong, 0);
    ck_assert_int_eq(n_in, graph->n_edges);
    ck_assert_int_eq(n_out, graph->n_edges);
}

/* A random list of edges: with equal ones, loops and nodes without edges. */
struct edges {
    int64_t n_nodes, n_edges;
    int32_t src[MAX_EDGES], dst[MAX_EDGES];
    float score[MAX_EDGES];
};

static void make_edges(struct edges *out, struct etx_random *random)
{
    out->n_nodes = 1 + (int64_t)etx_random_below(random, MAX_NODES);
    out->n_edges = (int64_t)etx_random_below(random, MAX_EDGES);
    for (int64_t e = 0; e < out->n_edges; e++) {
        out->src[e] = (int32_t)etx_random_below(random, (uint64_t)out->n_nodes);
        out->dst[e] = (int32_t)etx_random_below(random, (uint64_t)out->n_nodes);
        out->score[e] = etx_random_uniform(random);
    }
}

/* The graph of these edges; order may be NULL. */
static etx_graph *make_graph(
    const struct edges *edges, int is_scored, int64_t *order)
{
    etx_graph *graph = NULL;

    ck_assert_ok(etx_graph_from_edges(&graph, edges->n_nodes, edges->n_edges,
        edges->src, edges->dst, is_scored ? edges->score : NULL, order));
    return graph;
}

ETX_TEST(test_graph_from_edges)
{
    struct etx_random random;
    struct edges edges;
    int64_t order[MAX_EDGES];
    const int64_t before = etx_heap_in_use();

    etx_random_init(&random, 9, 0, 0);
    for (int round = 0; round < 200; round++) {
        int32_t n_seen[MAX_EDGES] = {0};

        make_edges(&edges, &random);
        scoped_graph *graph = make_graph(&edges, round % 2 == 0, order);
        check_graph(graph);
        ck_assert_int_eq(etx_graph_n_nodes(graph), edges.n_nodes);
        ck_assert_int_eq(etx_graph_n_edges(graph), edges.n_edges);
        ck_assert_ptr_eq(etx_graph_offsets(graph), graph->in_offset);
        ck_assert_int_eq(etx_graph_scores(graph) != NULL, round % 2 == 0);
        for (int64_t e = 0; e < edges.n_edges; e++) {
            const int64_t k = order[e];

            n_seen[k]++;
            ck_assert_int_eq(etx_graph_src(graph)[e], edges.src[k]);
            ck_assert_int_eq(etx_graph_dst(graph)[e], edges.dst[k]);
            if (round % 2 == 0)
                ck_assert(etx_graph_scores(graph)[e] == edges.score[k]);
            if (e > 0 && graph->src[e] == graph->src[e - 1] &&
                graph->dst[e] == graph->dst[e - 1])
                ck_assert_int_lt(order[e - 1], k); /* equal edges in order */
        }
        for (int64_t k = 0; k < edges.n_edges; k++)
            ck_assert_int_eq(n_seen[k], 1);
    }
    ck_assert_int_eq(etx_heap_in_use(), before);
}

ETX_TEST(test_graph_empty)
{
    for (int64_t n_nodes = 0; n_nodes < 6; n_nodes += 5) {
        scoped_graph *graph = NULL;

        ck_assert_ok(
            etx_graph_from_edges(&graph, n_nodes, 0, NULL, NULL, NULL, NULL));
        check_graph(graph);
        ck_assert_int_eq(etx_graph_n_nodes(graph), n_nodes);
    }
}

ETX_TEST(test_graph_subset)
{
    struct etx_random random;
    struct edges edges;

    etx_random_init(&random, 10, 0, 0);
    for (int round = 0; round < 100; round++) {
        scoped_graph *subset = NULL;
        int32_t selected[MAX_EDGES];
        int64_t n = 0;

        make_edges(&edges, &random);
        scoped_graph *graph = make_graph(&edges, round % 2 == 0, NULL);
        for (int32_t e = 0; e < graph->n_edges; e++)
            if (etx_random_below(&random, 3) != 0)
                selected[n++] = e;
        ck_assert_ok(etx_graph_subset(&subset, NULL, graph, n, selected));
        check_graph(subset);
        ck_assert_int_eq(subset->n_nodes, graph->n_nodes);
        ck_assert_int_eq(subset->n_edges, n);
        ck_assert_int_eq(subset->score != NULL, graph->score != NULL);
        for (int64_t k = 0; k < n; k++) {
            ck_assert_int_eq(subset->src[k], graph->src[selected[k]]);
            ck_assert_int_eq(subset->dst[k], graph->dst[selected[k]]);
            if (subset->score != NULL)
                ck_assert(subset->score[k] == graph->score[selected[k]]);
        }
    }
}

/* More edges than a block of work has: a graph of ends only gives the subset
 * that the same edges with their offsets give, on any number of threads. */
ETX_TEST(test_graph_of_ends)
{
    enum { N_NODES = 1000, N_EDGES = 200000 };
    struct etx_random random;
    scoped_graph *ends = NULL;
    scoped_graph *subset = NULL;
    scoped_context *context = etx_test_context_with(3, 0, NULL, NULL);
    int32_t *src = NULL;
    int32_t *dst = NULL;
    int32_t *selected = NULL;
    int64_t n = 0, n_wrong = 0;

    etx_random_init(&random, 12, 0, 0);
    ck_assert_ok(etx_alloc(&src, N_EDGES, sizeof *src, "src"));
    ck_assert_ok(etx_alloc(&dst, N_EDGES, sizeof *dst, "dst"));
    ck_assert_ok(etx_alloc(&selected, N_EDGES, sizeof *selected, "selected"));
    for (int32_t e = 0; e < N_EDGES; e++) {
        dst[e] = e / (N_EDGES / N_NODES);
        src[e] = e % (N_EDGES / N_NODES) + 7 * (dst[e] % 100);
        if (etx_random_below(&random, 3) != 0)
            selected[n++] = e;
    }
    ck_assert_ok(etx_graph_adopt_ends(&ends, NULL, N_NODES, N_EDGES, src, dst));
    ck_assert_ptr_null(ends->in_offset);
    ck_assert_ptr_null(ends->out_edge);
    ck_assert_ok(etx_graph_subset(&subset, context, ends, n, selected));
    check_graph(subset);
    ck_assert_int_eq(subset->n_nodes, N_NODES);
    ck_assert_int_eq(subset->n_edges, n);
    for (int64_t k = 0; k < n; k++)
        n_wrong += subset->src[k] != src[selected[k]] ||
                   subset->dst[k] != dst[selected[k]];
    ck_assert_int_eq(n_wrong, 0);
    etx_free(selected);
}

ETX_TEST(test_graph_double)
{
    scoped_context *context = etx_test_context();
    struct etx_random random;
    struct edges edges;

    etx_random_init(&random, 11, 0, 0);
    for (int round = 0; round < 200; round++) {
        scoped_graph *both = NULL;
        int32_t slot[2 * MAX_EDGES];
        int32_t n_seen[2 * MAX_EDGES] = {0};

        make_edges(&edges, &random);
        scoped_graph *graph = make_graph(&edges, round % 2 == 0, NULL);
        ck_assert_ok(etx_graph_double(&both, slot, context, graph));
        check_graph(both);
        ck_assert_int_eq(both->n_edges, 2 * graph->n_edges);
        for (int64_t e = 0; e < graph->n_edges; e++) {
            const int32_t forward = slot[e];
            const int32_t reverse = slot[graph->n_edges + e];

            n_seen[forward]++;
            n_seen[reverse]++;
            ck_assert_int_eq(both->src[forward], graph->src[e]);
            ck_assert_int_eq(both->dst[forward], graph->dst[e]);
            ck_assert_int_eq(both->src[reverse], graph->dst[e]);
            ck_assert_int_eq(both->dst[reverse], graph->src[e]);
            if (both->score != NULL)
                ck_assert(both->score[forward] == graph->score[e] &&
                          both->score[reverse] == graph->score[e]);
        }
        for (int64_t e = 0; e < both->n_edges; e++)
            ck_assert_int_eq(n_seen[e], 1);
    }
}

/* ------------------------------------------------------------- refused -- */

static const int32_t some_src[] = {0, 1, 2};
static const int32_t some_dst[] = {1, 2, 0};

static const struct {
    int64_t n_nodes, n_edges;
    const int32_t *src, *dst;
    const float *scores;
    etx_status status;
    const char *error;
} refused[] = {
    {-1, 0, some_src, some_dst, NULL, ETX_ERR_ARGUMENT, "n_nodes -1"},
    {3, -1, some_src, some_dst, NULL, ETX_ERR_ARGUMENT, "n_edges -1"},
    {INT64_C(1) << 31, 0, some_src, some_dst, NULL, ETX_ERR_LIMIT,
        "n_nodes 2147483648"},
    {3, INT64_C(1) << 31, some_src, some_dst, NULL, ETX_ERR_LIMIT,
        "n_edges 2147483648"},
    {3, INT64_MAX, some_src, some_dst, NULL, ETX_ERR_LIMIT, "n_edges"},
    {2, 3, some_src, some_dst, NULL, ETX_ERR_ARGUMENT,
        "edge 2: src 2 is not in 0..1"},
    {3, 3, some_src, (const int32_t[]){0, 3, 1}, NULL, ETX_ERR_ARGUMENT,
        "edge 1: dst 3 is not in 0..2"},
    {3, 3, (const int32_t[]){-1, 0, 1}, some_dst, NULL, ETX_ERR_ARGUMENT,
        "edge 0: src -1"},
    {3, 3, some_src, (const int32_t[]){1, 2, INT32_MIN}, NULL, ETX_ERR_ARGUMENT,
        "edge 2: dst -2147483648"},
    {0, 1, some_src, some_dst, NULL, ETX_ERR_ARGUMENT, "edge 0: src 0"},
    {3, 3, some_src, some_dst, (const float[]){0, 1, 1.5f}, ETX_ERR_ARGUMENT,
        "score 2 is 1.5"},
    {3, 3, some_src, some_dst, (const float[]){0, -0.5f, 1}, ETX_ERR_ARGUMENT,
        "score 1 is -0.5"},
    {3, 3, some_src, some_dst, (const float[]){NAN, 0, 0}, ETX_ERR_ARGUMENT,
        "scores row 0"},
};

ETX_TEST(test_graph_refused, .rows = ROWS(refused))
{
    int64_t order[3] = {-7, -7, -7};
    etx_graph *graph = NULL;
    const int64_t before = etx_heap_in_use();

    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    ck_assert_fails(
        etx_graph_from_edges(&graph, refused[_i].n_nodes, refused[_i].n_edges,
            refused[_i].src, refused[_i].dst, refused[_i].scores, order),
        refused[_i].status, refused[_i].error);
    fedisableexcept(FE_ALL_EXCEPT);
    ck_assert_ptr_null(graph);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(order[k], -7);
    ck_assert_int_eq(etx_heap_in_use(), before);
}

ETX_TEST(test_graph_order_refused)
{
    int64_t order[4];
    etx_graph *graph = NULL;

    ck_assert_refused(etx_graph_from_edges(&graph, 3, 3, some_src, some_dst,
                          NULL, (int64_t *)((uintptr_t)order + 4)),
        "order_out");
    ck_assert_ptr_null(graph);
}

/* A graph that is on the host alone says so, and why. */
ETX_TEST(test_graph_not_on_device)
{
    etx_graph *graph = NULL;

    ck_assert_ok(
        etx_graph_from_edges(&graph, 3, 3, some_src, some_dst, NULL, NULL));
    ck_assert_int_eq(etx_graph_device_index(graph), -1);
    ck_assert_ptr_null(etx_graph_src_device(graph));
    ck_assert_error(
        "etx_graph_src_device: the graph has no arrays on a device");
    ck_assert_ptr_null(etx_graph_dst_device(graph));
    ck_assert_error(
        "etx_graph_dst_device: the graph has no arrays on a device");
    ck_assert_ptr_null(etx_graph_offsets_device(graph));
    ck_assert_error("etx_graph_offsets_device: the graph has no arrays");
    ck_assert_ptr_null(etx_graph_scores_device(graph));
    ck_assert_error("etx_graph_scores_device: the graph has no arrays");
    etx_graph_free(graph);
    ck_assert_int_eq(etx_graph_device_index(NULL), -1);
    ck_assert_ptr_null(etx_graph_src_device(NULL));
    ck_assert_error("etx_graph_src_device: graph is NULL");
}

/* ------------------------------------------------------------ triplets -- */

/* Hits 0, 1, then 2, 3, then 4, 5, each joined to both next: at 2 and at 3 two
 * doublets end and two begin, which makes eight triplets. */
static etx_graph *three_layers(void)
{
    static const int32_t src[] = {0, 0, 1, 1, 2, 2, 3, 3};
    static const int32_t dst[] = {2, 3, 2, 3, 4, 5, 4, 5};
    etx_graph *graph = NULL;

    ck_assert_ok(etx_graph_from_edges(&graph, 6, 8, src, dst, NULL, NULL));
    return graph;
}

ETX_TEST(test_graph_to_triplets_limits)
{
    scoped_context *context = etx_test_context();
    scoped_context *small = etx_test_context_with(1, 7 * 32, NULL, NULL);
    scoped_context *cancelled =
        etx_test_context_with(1, 0, etx_test_cancel, NULL);
    scoped_graph *graph = three_layers();
    scoped_graph *triplets = NULL;
    etx_graph *none = NULL;

    ck_assert_ok(etx_graph_to_triplets(&triplets, graph, context, 8));
    ck_assert_int_eq(etx_graph_n_nodes(triplets), 8);
    ck_assert_int_eq(etx_graph_n_edges(triplets), 8);
    ck_assert_fails(etx_graph_to_triplets(&none, graph, context, 7),
        ETX_ERR_LIMIT, "max_edges = 7");
    ck_assert_fails(etx_graph_to_triplets(&none, graph, small, INT32_MAX),
        ETX_ERR_LIMIT, "max_edges = 7");
    ck_assert_fails(etx_graph_to_triplets(&none, graph, cancelled, 8),
        ETX_ERR_CANCELLED, "cancelled");
    ck_assert_refused(
        etx_graph_to_triplets(&none, graph, context, -1), "max_edges -1");
    ck_assert_refused(
        etx_graph_to_triplets(&none, graph, context, INT64_C(1) << 31),
        "max_edges 2147483648");
    ck_assert_ptr_null(none);
}

/* The callback is polled where edges are gathered, each of which may miss the
 * cache, also without a context. */
ETX_TEST(test_graph_gather_cancelled)
{
    struct etx_stream serial = {0};
    int32_t out[2];
    const struct etx_gather_edges_args args = {.n = 2,
        .index = (const int32_t[]){1, 0},
        .src = (const int32_t[]){3, 4},
        .src_out = out};

    ck_assert_ok(etx_ref_gather_edges(&serial, &args));
    ck_assert_int_eq(out[0], 4);
    etx_set_cancel(etx_test_cancel, NULL);
    ck_assert_fails(
        etx_ref_gather_edges(&serial, &args), ETX_ERR_CANCELLED, "cancelled");
    etx_set_cancel(NULL, NULL);
}

/* When a graph cannot be made, its arrays stay the caller's. */
ETX_TEST(test_graph_adopt_fails)
{
    int32_t *src = NULL;
    int32_t *dst = NULL;
    struct etx_graph *graph = NULL;

    ck_assert_ok(etx_alloc(&src, 1, sizeof *src, "src"));
    ck_assert_ok(etx_alloc(&dst, 1, sizeof *dst, "dst"));
    etx_test_allocator_fail(0);
    ck_assert_status(
        etx_graph_adopt(&graph, NULL, 1, 1, src, dst, NULL), ETX_ERR_MEMORY);
    etx_test_allocator_restore();
    ck_assert_ptr_null(graph);
    ck_assert_fails(
        etx_graph_adopt(&graph, NULL, 1, INT64_C(1) << 31, src, dst, NULL),
        ETX_ERR_LIMIT, "2147483648 edges");
    ck_assert_fails(
        etx_graph_adopt_ends(&graph, NULL, 1, INT64_C(1) << 31, src, dst),
        ETX_ERR_LIMIT, "2147483648 edges");
    ck_assert_int_eq(src[0] + dst[0], 0);
    etx_free(src);
    etx_free(dst);
}

/* CPU seconds of a search for the 10 nearest of n points, equal or random
 * ones. */
static double seconds_of_nearest(etx_context *context, int64_t n, int equal)
{
    scoped float *point = etx_test_alloc(3 * n, sizeof *point);
    scoped_graph *graph = NULL;
    struct timespec begin, end;
    struct etx_random random;
    etx_graph_options options;

    etx_random_init(&random, 1, 0, 0);
    for (int64_t i = 0; i < 3 * n; i++)
        point[i] = equal ? 1.5f : etx_random_uniform(&random);
    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    options.max_neighbours = 10;
    options.orientation = ETX_ORIENT_BOTH;
    ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin), 0);
    ck_assert_ok(
        etx_graph_build_knn(&graph, context, n, 3, point, NULL, &options));
    ck_assert_int_eq(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end), 0);
    ck_assert_int_eq(etx_graph_n_edges(graph), 10 * n);
    return (double)(end.tv_sec - begin.tv_sec) +
           1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* Equal points: not every pair of them is looked at. */
ETX_TEST(test_graph_knn_equal_points)
{
    scoped_context *context = etx_test_context();
    const int64_t n = 20000;
    double distinct;

    if (etx_cpu_level() == ETX_CPU_REF) {
        etx_test_skip(__func__, "no AVX2; the reference looks at every pair");
        return;
    }
    distinct = seconds_of_nearest(context, n, 0);
    ck_assert_double_lt(seconds_of_nearest(context, n, 1), 40.0 * distinct);
}
