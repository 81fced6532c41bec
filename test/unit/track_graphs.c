/* track_graphs.c -- small scored graphs whose tracks are known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "track_graphs.h"

#include "base/random.h"
#include "support.h"

#include <stdlib.h>

etx_graph *new_graph(
    int64_t n_nodes, int64_t n_edges, const struct scored_edge *edges)
{
    scoped int32_t *src = etx_test_alloc(n_edges, sizeof *src);
    scoped int32_t *dst = etx_test_alloc(n_edges, sizeof *dst);
    scoped float *score = etx_test_alloc(n_edges, sizeof *score);
    etx_graph *graph = NULL;

    for (int64_t e = 0; e < n_edges; e++) {
        src[e] = edges[e].src;
        dst[e] = edges[e].dst;
        score[e] = edges[e].score;
    }
    ck_assert_ok(
        etx_graph_from_edges(&graph, n_nodes, n_edges, src, dst, score, NULL));
    return graph;
}

etx_graph *new_list_graph(const struct edge_list *list)
{
    return new_graph(list->n_nodes, list->n_edges, list->edge);
}

etx_event *new_line_event(int64_t n_nodes, const float *x)
{
    scoped float *position = etx_test_alloc(3 * n_nodes, sizeof *position);

    for (int64_t i = 0; i < n_nodes; i++)
        position[3 * i] = x != NULL ? x[i] : (float)(i + 1);
    return etx_test_event(n_nodes, position);
}

struct scored_edge *new_random_edges(
    int64_t n_nodes, int64_t n_edges, uint32_t seed)
{
    struct scored_edge *edges = etx_test_alloc(n_edges + 1, sizeof *edges);
    struct etx_random random;

    etx_random_init(&random, 20201, seed, 0);
    for (int64_t e = 0; e < n_edges; e++) {
        const uint64_t n = (uint64_t)n_nodes;

        edges[e].src = (int32_t)etx_random_below(&random, n);
        edges[e].dst = (int32_t)etx_random_below(&random, n);
        edges[e].score = etx_random_uniform(&random);
    }
    return edges;
}

etx_label_options label_options(int32_t method, float cut, int32_t min_hits)
{
    etx_label_options options;

    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = method;
    options.cut = cut;
    options.min_hits = min_hits;
    return options;
}

void label_at(int32_t *labels, int64_t n_nodes, int64_t n_edges,
    const struct scored_edge *edges, const float *position,
    const etx_label_options *options)
{
    scoped_context *context = etx_test_context();
    scoped_graph *graph = new_graph(n_nodes, n_edges, edges);
    scoped_event *event = position == NULL ? new_line_event(n_nodes, NULL)
                                           : etx_test_event(n_nodes, position);

    ck_assert_ok(etx_graph_label(labels, graph, context, event, options));
}

void label_list_at(int32_t *labels, const struct edge_list *list,
    const float *position, const etx_label_options *options)
{
    label_at(
        labels, list->n_nodes, list->n_edges, list->edge, position, options);
}

void label_edges(int32_t *labels, int64_t n_nodes, int64_t n_edges,
    const struct scored_edge *edges, int32_t method, float cut,
    int32_t min_hits)
{
    const etx_label_options options = label_options(method, cut, min_hits);

    label_at(labels, n_nodes, n_edges, edges, NULL, &options);
}

void label_list(int32_t *labels, const struct edge_list *list, int32_t method,
    float cut, int32_t min_hits)
{
    label_edges(labels, list->n_nodes, list->n_edges, list->edge, method, cut,
        min_hits);
}

void assert_labels(
    const int32_t *labels, const int32_t *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(labels[i] == expected[i], "label %d is %d and not %d",
            (int)i, labels[i], expected[i]);
}
