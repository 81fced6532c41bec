/* arch/edge_pooling/contract.c -- the contracted graph.
 *
 * The edges that have the best score at both their ends are contracted; they
 * form chains and, where they close, rings. Everything here follows from the
 * input alone, never from parameters, so that the loss has no steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Clusters of hits. */
struct clusters {
    int64_t n;
    int32_t *of; /* [n_nodes] of every hit */
};

/* Ends [n] of the edges to contract, in the arena. */
struct ends {
    int64_t n;
    int32_t *src, *dst;
};

static etx_status choose_edges(
    struct ends *out, const struct etx_nested_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_graph *graph = run->input->graph;
    const struct etx_pooling *state = run->network->state;
    const int64_t n = graph->n_edges;
    struct etx_mutual_best_args args = {.n_nodes = graph->n_nodes,
        .n_edges = n,
        .src = graph->src,
        .dst = graph->dst,
        .score = graph->score,
        .cut = state->contract_cut,
        .n_selected = &out->n};
    etx_status status;

    ETX_SCRATCH(args.selected, arena, n, "contracted edges");
    ETX_SCRATCH(out->src, arena, n, "contracted edges");
    ETX_SCRATCH(out->dst, arena, n, "contracted edges");
    ETX_CHECK(run->context->ops->mutual_best(run->context->stream, &args));
    for (int64_t k = 0; k < out->n; k++) {
        out->src[k] = graph->src[args.selected[k]];
        out->dst[k] = graph->dst[args.selected[k]];
    }
done:
    return status;
}

/* Clusters are numbered by their first hits: label[i] <= i. */
static void number_clusters(
    struct clusters *clusters, const int32_t *label, int64_t n_nodes)
{
    clusters->n = 0;
    for (int64_t i = 0; i < n_nodes; i++)
        clusters->of[i] =
            label[i] == i ? (int32_t)clusters->n++ : clusters->of[label[i]];
}

static etx_status find_clusters(
    struct clusters *clusters, const struct etx_nested_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const int64_t n = run->input->n_nodes;
    struct ends ends;
    int32_t *label;
    etx_status status;

    ETX_SCRATCH(clusters->of, arena, n, "clusters of hits");
    ETX_SCRATCH(label, arena, n, "clusters of hits");
    ETX_CHECK(choose_edges(&ends, run));
    const struct etx_connected_components_args args = {.n_nodes = n,
        .n_edges = ends.n,
        .src = ends.src,
        .dst = ends.dst,
        .label = label};
    ETX_CHECK(
        run->context->ops->connected_components(run->context->stream, &args));
    number_clusters(clusters, label, n);
done:
    return status;
}

/* *out [clusters->n, width], in the arena: means of the hits' features, and
 * the log of their number. */
static etx_status pool_features(float **out, const struct clusters *clusters,
    const struct etx_nested_run *run)
{
    const int32_t width = etx_pooling_width(run->network);
    const int32_t n_features = width - 1;
    const int64_t n_values = clusters->n * width;
    const float *x = run->input->node_features;
    etx_status status;

    ETX_CHECK(
        etx_floats_alloc(out, run->context, n_values, "features of clusters"));
    memset(*out, 0, (size_t)n_values * sizeof **out);
    for (int64_t i = 0; i < run->input->n_nodes; i++) {
        float *row = *out + (int64_t)clusters->of[i] * width;

        for (int32_t k = 0; k < n_features; k++)
            row[k] += x[i * n_features + k];
        row[n_features] += 1.0f;
    }
    for (int64_t c = 0; c < clusters->n; c++) {
        float *row = *out + c * width;
        const float n_hits = row[n_features];

        for (int32_t k = 0; k < n_features; k++)
            row[k] /= n_hits;
        row[n_features] = logf(n_hits);
    }
done:
    return status;
}

/* An edge between clusters as one number that sorts by (dst, src); -1 for one
 * inside a cluster. */
static int64_t key_of(
    const struct clusters *clusters, const struct etx_graph *graph, int64_t e)
{
    const int32_t src = clusters->of[graph->src[e]];
    const int32_t dst = clusters->of[graph->dst[e]];

    return src == dst ? -1 : (int64_t)dst * clusters->n + src;
}

/* Edges of the same clusters become one: src, dst and inner_edge from the
 * edges order [n_edges] by key. Returns how many there are. */
static int64_t join_edges(int32_t *src, int32_t *dst, int32_t *inner_edge,
    const struct clusters *clusters, const int64_t *key, const int32_t *order,
    int64_t n_edges)
{
    int64_t n = 0;

    for (int64_t t = 0; t < n_edges; t++) {
        const int64_t pair = key[order[t]];

        inner_edge[order[t]] = -1;
        if (pair < 0)
            continue;
        if (t == 0 || pair != key[order[t - 1]]) {
            src[n] = (int32_t)(pair % clusters->n);
            dst[n++] = (int32_t)(pair / clusters->n);
        }
        inner_edge[order[t]] = (int32_t)(n - 1);
    }
    return n;
}

static etx_status join_graph(
    struct etx_nested_run *run, const struct clusters *clusters)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_graph *graph = run->input->graph;
    const int64_t n = graph->n_edges;
    int64_t *key;
    int32_t *order;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    ETX_SCRATCH(run->inner_edge, arena, n, "edges of clusters");
    ETX_SCRATCH(key, arena, n, "edges of clusters");
    ETX_SCRATCH(order, arena, n, "edges of clusters");
    ETX_NEW(src, n, "edges of clusters");
    ETX_NEW(dst, n, "edges of clusters");
    for (int64_t e = 0; e < n; e++)
        key[e] = key_of(clusters, graph, e);
    ETX_CHECK(etx_sort_order(order, key, n));
    ETX_CHECK(etx_graph_adopt(&run->owned, run->context, clusters->n,
        join_edges(src, dst, run->inner_edge, clusters, key, order, n), src,
        dst, NULL));
    src = NULL;
    dst = NULL;
done:
    etx_free(src);
    etx_free(dst);
    return status;
}

etx_status etx_pooling_contract(struct etx_nested_run *run)
{
    struct clusters clusters = {.n = 0};
    float *features = NULL;
    etx_status status;

    if (run->input->graph->score == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: edges are contracted by their scores, which the graph lacks",
            run->network->arch->name);
    ETX_CHECK(find_clusters(&clusters, run));
    ETX_CHECK(pool_features(&features, &clusters, run));
    ETX_CHECK(join_graph(run, &clusters));
    run->inner = (struct etx_network_input){
        .n_nodes = clusters.n, .node_features = features, .graph = run->owned};
done:
    return status;
}
