/* data/part.c -- one part of a graph whose nodes are shared out.
 *
 * Nodes and edges of a part keep the order that they have in the whole graph,
 * hence the edges are sorted as they come.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/part.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <string.h>

/* A part while it is made. */
struct making {
    struct etx_graph_part *part;
    const struct etx_graph *whole;
    const int32_t *owner; /* [whole nodes] */
    int32_t *local;       /* [whole nodes] node of the part, -1 outside */
    int32_t *src, *dst;   /* [n_edges] of the part */
    float *score;         /* [n_edges] or NULL */
    int64_t n_nodes, n_edges;
};

static int32_t holds(const struct making *making, int64_t e)
{
    const int32_t part = making->part->part;

    return making->owner[making->whole->src[e]] == part ||
           making->owner[making->whole->dst[e]] == part;
}

/* Number own nodes and the other ends of their edges. */
static etx_status choose_nodes(struct making *making)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = making->part;
    const struct etx_graph *whole = making->whole;

    ETX_CHECK(etx_alloc_uncleared(&making->local, whole->n_nodes,
        sizeof *making->local, "nodes of a part"));
    for (int64_t i = 0; i < whole->n_nodes; i++)
        making->local[i] = making->owner[i] == part->part ? 0 : -1;
    for (int64_t e = 0; e < whole->n_edges; e++)
        if (holds(making, e)) {
            making->local[whole->src[e]] = 0;
            making->local[whole->dst[e]] = 0;
            making->n_edges++;
        }
    for (int64_t i = 0; i < whole->n_nodes; i++)
        if (making->local[i] == 0)
            making->local[i] = (int32_t)making->n_nodes++;
    ETX_CHECK(etx_alloc_uncleared(
        &part->node, making->n_nodes, sizeof *part->node, "nodes of a part"));
    ETX_CHECK(etx_alloc_uncleared(
        &part->owner, making->n_nodes, sizeof *part->owner, "owners of nodes"));
    for (int64_t i = 0; i < whole->n_nodes; i++)
        if (making->local[i] >= 0) {
            part->node[making->local[i]] = (int32_t)i;
            part->owner[making->local[i]] = making->owner[i];
        }
done:
    return status;
}

static etx_status take_edges(struct making *making)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = making->part;
    const struct etx_graph *whole = making->whole;
    const int64_t n = making->n_edges;
    int64_t k = 0;

    ETX_CHECK(etx_alloc_uncleared(
        &part->edge, n, sizeof *part->edge, "edges of a part"));
    ETX_CHECK(etx_alloc_uncleared(
        &making->src, n, sizeof *making->src, "edge sources"));
    ETX_CHECK(etx_alloc_uncleared(
        &making->dst, n, sizeof *making->dst, "edge destinations"));
    if (whole->score != NULL)
        ETX_CHECK(etx_alloc_uncleared(
            &making->score, n, sizeof *making->score, "edge scores"));
    for (int64_t e = 0; e < whole->n_edges; e++)
        if (holds(making, e)) {
            part->edge[k] = (int32_t)e;
            making->src[k] = making->local[whole->src[e]];
            making->dst[k] = making->local[whole->dst[e]];
            if (making->score != NULL)
                making->score[k] = whole->score[e];
            k++;
        }
done:
    return status;
}

static etx_status make_graph(struct making *making)
{
    etx_status status = ETX_OK;
    struct etx_graph_part *part = making->part;

    ETX_CHECK(take_edges(making));
    ETX_CHECK(etx_graph_adopt(&part->graph, NULL, making->n_nodes,
        making->n_edges, making->src, making->dst, making->score));
    making->src = NULL;
    making->dst = NULL;
    making->score = NULL;
    for (int64_t e = 0; e < part->graph->n_edges; e++)
        part->n_own_edges += etx_part_owns_edge(part, e);
done:
    return status;
}

/* Halo rows by the part that owns them. */
static etx_status list_received(struct etx_graph_part *part)
{
    etx_status status = ETX_OK;
    const int64_t n_nodes = part->graph->n_nodes;
    int64_t *next = NULL;
    int64_t sum = 0;

    for (int64_t i = 0; i < n_nodes; i++)
        if (part->owner[i] != part->part)
            part->n_received[part->owner[i]]++;
    ETX_CHECK(etx_alloc(&next, part->n_parts, sizeof *next, "halo nodes"));
    for (int32_t q = 0; q < part->n_parts; q++) {
        next[q] = sum;
        sum += part->n_received[q];
    }
    part->n_received_rows = sum;
    ETX_CHECK(etx_alloc(
        &part->received_row, sum, sizeof *part->received_row, "halo nodes"));
    for (int64_t i = 0; i < n_nodes; i++)
        if (part->owner[i] != part->part)
            part->received_row[next[part->owner[i]]++] = (int32_t)i;
done:
    etx_free(next);
    return status;
}

/* key [*n_keys]: for every edge between parts, other part * n_nodes + own
 * end. There is room for one an edge. */
static void find_ends(
    int64_t *key, int64_t *n_keys, const struct etx_graph_part *part)
{
    const struct etx_graph *graph = part->graph;
    int64_t n = 0;

    for (int64_t e = 0; e < graph->n_edges; e++) {
        const int32_t src = graph->src[e];
        const int32_t dst = graph->dst[e];

        if (part->owner[src] == part->owner[dst])
            continue;
        if (part->owner[src] == part->part)
            key[n++] = part->owner[dst] * graph->n_nodes + src;
        else
            key[n++] = part->owner[src] * graph->n_nodes + dst;
    }
    *n_keys = n;
}

/* Own rows by the part whose edges end at them. */
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
    find_ends(key, &n_keys, part);
    ETX_CHECK(etx_alloc_uncleared(
        &order, n_keys, sizeof *order, "edges between parts"));
    ETX_CHECK(etx_sort_order(order, key, n_keys));
    ETX_CHECK(etx_alloc(
        &part->sent_row, n_keys, sizeof *part->sent_row, "rows to send"));
    for (int64_t k = 0; k < n_keys; k++) {
        const int64_t here = key[order[k]];

        if (here != last) {
            part->sent_row[part->n_sent_rows++] = (int32_t)(here % n_nodes);
            part->n_sent[here / n_nodes]++;
        }
        last = here;
    }
done:
    etx_free(key);
    etx_free(order);
    return status;
}

etx_status etx_part_make(struct etx_graph_part **out,
    const struct etx_graph *graph, const int32_t *owner, int32_t n_parts,
    int32_t part)
{
    etx_status status = ETX_OK;
    struct making making = {.whole = graph, .owner = owner};
    struct etx_graph_part *made = NULL;

    ETX_CHECK(etx_alloc(&made, 1, sizeof *made, "part of a graph"));
    making.part = made;
    made->n_parts = n_parts;
    made->part = part;
    made->whole_nodes = graph->n_nodes;
    made->whole_edges = graph->n_edges;
    ETX_CHECK(etx_alloc(
        &made->n_sent, n_parts, sizeof *made->n_sent, "rows to send"));
    ETX_CHECK(etx_alloc(
        &made->n_received, n_parts, sizeof *made->n_received, "halo nodes"));
    ETX_CHECK(choose_nodes(&making));
    ETX_CHECK(make_graph(&making));
    ETX_CHECK(list_received(made));
    ETX_CHECK(list_sent(made));
    *out = made;
    made = NULL;
done:
    etx_free(making.local);
    etx_free(making.src);
    etx_free(making.dst);
    etx_free(making.score);
    etx_part_release(made);
    return status;
}

void etx_part_release(struct etx_graph_part *part)
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

void etx_part_take_rows(float *out, const struct etx_graph_part *part,
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

    ETX_CHECK(etx_arena_alloc(&rows, arena, part->graph->n_nodes * width,
        sizeof *rows, "rows of a part"));
    etx_part_take_rows(rows, part, x, width);
    *out = rows;
done:
    return status;
}
