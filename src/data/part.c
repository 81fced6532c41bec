/* data/part.c -- one partition of a graph, with its halo.
 *
 * Nodes and edges keep the order of the whole graph, so the edges are sorted
 * already.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/part.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

/* A partition under construction. */
struct builder {
    struct etx_graph_part *part;
    const struct etx_graph *whole;
    const int32_t *owner; /* [whole nodes] */
    int32_t *local;       /* [whole nodes] row in the partition, -1 outside */
    int32_t *src, *dst;   /* [n_edges] of the partition */
    float *score;         /* [n_edges] or NULL */
    int64_t n_nodes, n_edges;
};

static int32_t has_edge(const struct builder *builder, int64_t e)
{
    const int32_t part = builder->part->part;

    return builder->owner[builder->whole->src[e]] == part ||
           builder->owner[builder->whole->dst[e]] == part;
}

/* Number own nodes and the other ends of their edges. */
static etx_status choose_nodes(struct builder *builder)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = builder->part;
    const struct etx_graph *whole = builder->whole;

    ETX_CHECK(etx_alloc_uncleared(&builder->local, whole->n_nodes,
        sizeof *builder->local, "nodes of a part"));
    for (int64_t i = 0; i < whole->n_nodes; i++)
        builder->local[i] = builder->owner[i] == part->part ? 0 : -1;
    for (int64_t e = 0; e < whole->n_edges; e++) {
        ETX_POLL(e);
        if (has_edge(builder, e)) {
            builder->local[whole->src[e]] = 0;
            builder->local[whole->dst[e]] = 0;
            builder->n_edges++;
        }
    }
    for (int64_t i = 0; i < whole->n_nodes; i++)
        if (builder->local[i] == 0)
            builder->local[i] = (int32_t)builder->n_nodes++;
    ETX_CHECK(etx_alloc_uncleared(
        &part->node, builder->n_nodes, sizeof *part->node, "nodes of a part"));
    ETX_CHECK(etx_alloc_uncleared(&part->owner, builder->n_nodes,
        sizeof *part->owner, "owners of nodes"));
    for (int64_t i = 0; i < whole->n_nodes; i++)
        if (builder->local[i] >= 0) {
            part->node[builder->local[i]] = (int32_t)i;
            part->owner[builder->local[i]] = builder->owner[i];
        }
done:
    return status;
}

static etx_status choose_edges(struct builder *builder)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = builder->part;
    const struct etx_graph *whole = builder->whole;
    const int64_t n = builder->n_edges;
    int64_t k = 0;

    ETX_CHECK(etx_alloc_uncleared(
        &part->edge, n, sizeof *part->edge, "edges of a part"));
    ETX_CHECK(etx_alloc_uncleared(
        &builder->src, n, sizeof *builder->src, "edge sources"));
    ETX_CHECK(etx_alloc_uncleared(
        &builder->dst, n, sizeof *builder->dst, "edge destinations"));
    if (whole->score != NULL)
        ETX_CHECK(etx_alloc_uncleared(
            &builder->score, n, sizeof *builder->score, "edge scores"));
    for (int64_t e = 0; e < whole->n_edges; e++) {
        ETX_POLL(e);
        if (!has_edge(builder, e))
            continue;
        part->edge[k] = (int32_t)e;
        builder->src[k] = builder->local[whole->src[e]];
        builder->dst[k] = builder->local[whole->dst[e]];
        if (builder->score != NULL)
            builder->score[k] = whole->score[e];
        k++;
    }
done:
    return status;
}

/* edge [to->n_edges] of from. */
static etx_status copy_features(
    struct etx_graph *to, const struct etx_graph *from, const int32_t *edge)
{
    const size_t width = (size_t)from->n_features;
    etx_status status;

    ETX_CHECK(etx_graph_alloc_features(to, from->n_features));
    for (int64_t k = 0; to->features != NULL && k < to->n_edges; k++) {
        ETX_POLL(k);
        memcpy(to->features + (size_t)k * width,
            from->features + (size_t)edge[k] * width, width * sizeof(float));
    }
done:
    return status;
}

static etx_status build_graph(struct builder *builder)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = builder->part;

    ETX_CHECK(choose_edges(builder));
    ETX_CHECK(etx_graph_adopt(&part->graph, NULL, builder->n_nodes,
        builder->n_edges, builder->src, builder->dst, builder->score));
    builder->src = NULL;
    builder->dst = NULL;
    builder->score = NULL;
    ETX_CHECK(copy_features(part->graph, builder->whole, part->edge));
    for (int64_t e = 0; e < part->graph->n_edges; e++) {
        ETX_POLL(e);
        part->n_own_edges += etx_part_owns_edge(part, e);
    }
done:
    return status;
}

/* Halo rows by the partition that owns them. */
static etx_status list_received(struct etx_graph_part *part)
{
    etx_status status = ETX_OK;
    const int64_t n_nodes = part->graph->n_nodes;
    int64_t *next = NULL;
    int64_t sum = 0;

    for (int64_t i = 0; i < n_nodes; i++)
        if (part->owner[i] != part->part)
            part->n_received[part->owner[i]]++;
    ETX_NEW(next, part->n_parts, "halo nodes");
    for (int32_t q = 0; q < part->n_parts; q++) {
        next[q] = sum;
        sum += part->n_received[q];
    }
    part->n_received_rows = sum;
    ETX_NEW(part->received_row, sum, "halo nodes");
    for (int64_t i = 0; i < n_nodes; i++)
        if (part->owner[i] != part->part)
            part->received_row[next[part->owner[i]]++] = (int32_t)i;
done:
    etx_free(next);
    return status;
}

/* key [*n_keys]: for every edge between partitions, other partition * n_nodes +
 * own end. It has n_edges elements. */
static etx_status find_ends(
    int64_t *key, int64_t *n_keys, const struct etx_graph_part *part)
{
    const struct etx_graph *graph = part->graph;
    etx_status status = ETX_OK;
    int64_t n = 0;

    for (int64_t e = 0; e < graph->n_edges; e++) {
        const int32_t src = graph->src[e];
        const int32_t dst = graph->dst[e];

        ETX_POLL(e);
        if (part->owner[src] == part->owner[dst])
            continue;
        if (part->owner[src] == part->part)
            key[n++] = part->owner[dst] * graph->n_nodes + src;
        else
            key[n++] = part->owner[src] * graph->n_nodes + dst;
    }
    *n_keys = n;
done:
    return status;
}

/* Own rows by the other partitions that have edges at them. */
static etx_status list_sent(struct etx_graph_part *part)
{
    etx_status status = ETX_OK;
    const int64_t n_nodes = part->graph->n_nodes;
    int64_t *key = NULL;
    int32_t *order = NULL;
    int64_t n_keys = 0;
    int64_t last = -1;

    ETX_CHECK(etx_alloc_uncleared(
        &key, part->graph->n_edges, sizeof *key, "edges between parts"));
    ETX_CHECK(find_ends(key, &n_keys, part));
    ETX_CHECK(etx_alloc_uncleared(
        &order, n_keys, sizeof *order, "edges between parts"));
    ETX_CHECK(etx_sort_order(order, key, n_keys));
    ETX_NEW(part->sent_row, n_keys, "rows to send");
    for (int64_t k = 0; k < n_keys; k++) {
        const int64_t next = key[order[k]];

        ETX_POLL(k);
        if (next != last) {
            part->sent_row[part->n_sent_rows++] = (int32_t)(next % n_nodes);
            part->n_sent[next / n_nodes]++;
        }
        last = next;
    }
done:
    etx_free(key);
    etx_free(order);
    return status;
}

etx_status etx_part_create(struct etx_graph_part **out,
    const struct etx_graph *graph, const int32_t *owner, int32_t n_parts,
    int32_t part)
{
    etx_status status = ETX_OK;
    struct builder builder = {.whole = graph, .owner = owner};
    struct etx_graph_part *made = NULL;

    ETX_NEW(made, 1, "part of a graph");
    builder.part = made;
    made->n_parts = n_parts;
    made->part = part;
    made->whole_nodes = graph->n_nodes;
    made->whole_edges = graph->n_edges;
    ETX_NEW(made->n_sent, n_parts, "rows to send");
    ETX_NEW(made->n_received, n_parts, "halo nodes");
    ETX_CHECK(choose_nodes(&builder));
    ETX_CHECK(build_graph(&builder));
    ETX_CHECK(list_received(made));
    ETX_CHECK(list_sent(made));
    *out = made;
    made = NULL;
done:
    etx_free(builder.local);
    etx_free(builder.src);
    etx_free(builder.dst);
    etx_free(builder.score);
    etx_part_free(made);
    return status;
}

void etx_part_free(struct etx_graph_part *part)
{
    if (part == NULL)
        return;
    etx_graph_free(part->graph);
    etx_free(part->node);
    etx_free(part->owner);
    etx_free(part->edge);
    etx_free(part->n_sent);
    etx_free(part->n_received);
    etx_free(part->sent_row);
    etx_free(part->received_row);
    etx_free(part);
}

void etx_part_gather_rows(float *out, const struct etx_graph_part *part,
    const float *x, int32_t width)
{
    const size_t bytes = (size_t)width * sizeof *x;

    for (int64_t i = 0; i < part->graph->n_nodes; i++)
        memcpy(out + i * width, x + (int64_t)part->node[i] * width, bytes);
}

etx_status etx_part_arena_rows(const float **out, struct etx_arena *arena,
    const struct etx_graph_part *part, const float *x, int32_t width)
{
    etx_status status;
    float *rows;

    ETX_SCRATCH(rows, arena, part->graph->n_nodes * width, "rows of a part");
    etx_part_gather_rows(rows, part, x, width);
    *out = rows;
done:
    return status;
}
