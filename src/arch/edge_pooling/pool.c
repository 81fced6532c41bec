/* arch/edge_pooling/pool.c -- the contracted graph.
 *
 * The edges that are the best of both their ends by the score that the graph
 * brings along are contracted; they make chains and, where they close, rings.
 * Everything here follows from the input alone, never from parameters, so that
 * the gradient has no steps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

/* Ends [n] of the edges to contract, in the arena. */
struct ends {
    int64_t n;
    int32_t *src, *dst;
};

static etx_status choose_edges(
    struct ends *out, const struct etx_pooling_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_graph *graph = run->input->graph;
    const int64_t n = graph->n_edges;
    struct etx_mutual_best_args args = {.n_nodes = graph->n_nodes,
        .n_edges = n,
        .src = graph->src,
        .dst = graph->dst,
        .score = graph->score,
        .cut = run->state->contract_cut,
        .n_selected = &out->n};
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &args.selected, arena, n, sizeof *args.selected, "contracted edges"));
    ETX_CHECK(etx_arena_alloc(
        &out->src, arena, n, sizeof *out->src, "contracted edges"));
    ETX_CHECK(etx_arena_alloc(
        &out->dst, arena, n, sizeof *out->dst, "contracted edges"));
    ETX_CHECK(run->context->ops->mutual_best(run->context->stream, &args));
    for (int64_t k = 0; k < out->n; k++) {
        out->src[k] = graph->src[args.selected[k]];
        out->dst[k] = graph->dst[args.selected[k]];
    }
done:
    return status;
}

/* Clusters are numbered by their first hits: label[i] <= i. */
static void number_clusters(struct etx_pooling_run *run, const int32_t *label)
{
    const int64_t n = run->input->n_nodes;

    run->n_clusters = 0;
    for (int64_t i = 0; i < n; i++)
        run->cluster[i] =
            label[i] == i ? (int32_t)run->n_clusters++ : run->cluster[label[i]];
}

static etx_status find_clusters(struct etx_pooling_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const int64_t n = run->input->n_nodes;
    struct ends ends;
    int32_t *label;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &run->cluster, arena, n, sizeof *run->cluster, "clusters of hits"));
    ETX_CHECK(
        etx_arena_alloc(&label, arena, n, sizeof *label, "clusters of hits"));
    ETX_CHECK(choose_edges(&ends, run));
    const struct etx_connected_components_args args = {.n_nodes = n,
        .n_edges = ends.n,
        .src = ends.src,
        .dst = ends.dst,
        .label = label};
    ETX_CHECK(
        run->context->ops->connected_components(run->context->stream, &args));
    number_clusters(run, label);
done:
    return status;
}

/* Means of the hits' features, and the log of their number. */
static etx_status pool_features(struct etx_pooling_run *run)
{
    const int32_t width = etx_pooling_width(run->network);
    const int32_t n_features = width - 1;
    const int64_t n_values = run->n_clusters * width;
    const float *x = run->input->node_features;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&run->pooled, run->context->stream->arena,
        n_values, sizeof *run->pooled, "features of clusters"));
    memset(run->pooled, 0, (size_t)n_values * sizeof *run->pooled);
    for (int64_t i = 0; i < run->input->n_nodes; i++) {
        float *row = run->pooled + (int64_t)run->cluster[i] * width;

        for (int32_t k = 0; k < n_features; k++)
            row[k] += x[i * n_features + k];
        row[n_features] += 1.0f;
    }
    for (int64_t c = 0; c < run->n_clusters; c++) {
        float *row = run->pooled + c * width;
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
static int64_t key_of(const struct etx_pooling_run *run, int64_t e)
{
    const struct etx_graph *graph = run->input->graph;
    const int32_t src = run->cluster[graph->src[e]];
    const int32_t dst = run->cluster[graph->dst[e]];

    return src == dst ? -1 : (int64_t)dst * run->n_clusters + src;
}

/* Edges of the same clusters become one: src, dst and coarse_edge from the
 * edges order [n_edges] by key. Returns how many there are. */
static int64_t join_edges(struct etx_pooling_run *run, int32_t *src,
    int32_t *dst, const int64_t *key, const int32_t *order)
{
    int64_t n = 0;

    for (int64_t t = 0; t < run->input->graph->n_edges; t++) {
        const int64_t now = key[order[t]];

        run->coarse_edge[order[t]] = -1;
        if (now < 0)
            continue;
        if (t == 0 || now != key[order[t - 1]]) {
            src[n] = (int32_t)(now % run->n_clusters);
            dst[n++] = (int32_t)(now / run->n_clusters);
        }
        run->coarse_edge[order[t]] = (int32_t)(n - 1);
    }
    return n;
}

static etx_status contract(struct etx_pooling_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    const int64_t n = run->input->graph->n_edges;
    int64_t *key;
    int32_t *order;
    int32_t *src = NULL;
    int32_t *dst = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&run->coarse_edge, arena, n,
        sizeof *run->coarse_edge, "edges of clusters"));
    ETX_CHECK(
        etx_arena_alloc(&key, arena, n, sizeof *key, "edges of clusters"));
    ETX_CHECK(
        etx_arena_alloc(&order, arena, n, sizeof *order, "edges of clusters"));
    ETX_CHECK(etx_alloc(&src, n, sizeof *src, "edges of clusters"));
    ETX_CHECK(etx_alloc(&dst, n, sizeof *dst, "edges of clusters"));
    for (int64_t e = 0; e < n; e++)
        key[e] = key_of(run, e);
    ETX_CHECK(etx_sort_order(order, key, n));
    ETX_CHECK(etx_graph_adopt(&run->graph, run->context, run->n_clusters,
        join_edges(run, src, dst, key, order), src, dst, NULL));
    src = NULL;
    dst = NULL;
done:
    etx_free(src);
    etx_free(dst);
    return status;
}

etx_status etx_pooling_open(struct etx_pooling_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input)
{
    const struct etx_pooling *state = network->state;
    etx_status status;

    *run = (struct etx_pooling_run){.network = network,
        .state = state,
        .context = context,
        .input = input,
        .coarse = etx_inner_network_view(&state->coarse, network)};
    if (input->graph->score == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: edges are contracted by their scores, which the graph lacks",
            network->arch->name);
    ETX_CHECK(find_clusters(run));
    ETX_CHECK(pool_features(run));
    ETX_CHECK(contract(run));
done:
    return status;
}

void etx_pooling_close(struct etx_pooling_run *run)
{
    etx_graph_free(run->graph);
}

struct etx_network_input etx_pooling_input(const struct etx_pooling_run *run)
{
    return (struct etx_network_input){.n_nodes = run->n_clusters,
        .node_features = run->pooled,
        .graph = run->graph};
}
