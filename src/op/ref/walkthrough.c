/* op/ref/walkthrough.c -- longest scored paths, outward.
 *
 * A component in which no node has two edges in or two out is a track as it is
 * (its longest path is the whole of it). The others become one directed acyclic
 * graph, its nodes numbered by component and, within one, outward, and
 * longest_paths.c takes the path with the largest sum of scores again and
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "base/check.h"
#include "base/sort.h"
#include "op/ref/longest_paths.h"

#include <stdbool.h>
#include <string.h>

#define NONE (-1)

struct walk {
    const struct etx_walkthrough_args *args; /* group: first the components */
    const struct etx_stream *stream;
    uint8_t *branching; /* [n_nodes] 1 at the group of a branching component */
    int32_t *local;     /* [n_nodes] number in dag, NONE outside */
    int32_t *node;      /* [dag.n_nodes] and back */
    struct etx_dag dag;
};

static etx_status find_components(
    struct etx_stream *stream, const struct etx_walkthrough_args *args)
{
    const struct etx_connected_components_args components = {
        .n_nodes = args->n_nodes,
        .n_edges = args->n_edges,
        .src = args->tail,
        .dst = args->head,
        .label = args->group,
    };

    return etx_ref_connected_components(stream, &components);
}

/* has_in, has_out [n_nodes] are scratch. */
static etx_status find_branching(
    struct walk *walk, uint8_t *has_in, uint8_t *has_out)
{
    const size_t n_nodes = (size_t)walk->args->n_nodes;
    etx_status status = ETX_OK;

    memset(walk->branching, 0, n_nodes);
    memset(has_in, 0, n_nodes);
    memset(has_out, 0, n_nodes);
    for (int64_t e = 0; e < walk->args->n_edges; e++) {
        const int32_t tail = walk->args->tail[e];
        const int32_t head = walk->args->head[e];

        ETX_POLL_STREAM(walk->stream, e);
        if (has_out[tail] || has_in[head])
            walk->branching[walk->args->group[tail]] = 1;
        has_out[tail] = 1;
        has_in[head] = 1;
    }
done:
    return status;
}

/* Number of nodes in branching components; walk->node lists them. */
static int32_t list_branching(struct walk *walk)
{
    int32_t n = 0;

    for (int64_t i = 0; i < walk->args->n_nodes; i++) {
        walk->local[i] = NONE;
        if (walk->branching[walk->args->group[i]])
            walk->node[n++] = (int32_t)i;
    }
    return n;
}

/* Number the listed nodes by component, in each outward, ties by row. */
static etx_status sort_outward(struct walk *walk, struct etx_arena *arena)
{
    const struct etx_walkthrough_args *args = walk->args;
    const int32_t n = walk->dag.n_nodes;
    int64_t *key = NULL;
    int32_t *order = NULL;
    etx_status status;

    ETX_SCRATCH(key, arena, n, "distances of hits");
    ETX_SCRATCH(order, arena, n, "outward order");
    for (int32_t i = 0; i < n; i++)
        key[i] = (int64_t)args->group[walk->node[i]] << 32 |
                 etx_sort_key(args->key[walk->node[i]]);
    ETX_CHECK(etx_sort_order(order, key, n));
    for (int32_t i = 0; i < n; i++)
        walk->local[walk->node[order[i]]] = i;
    for (int64_t i = 0; i < args->n_nodes; i++)
        if (walk->local[i] != NONE)
            walk->node[walk->local[i]] = (int32_t)i;
done:
    return status;
}

static etx_status find_first_nodes(struct walk *walk, struct etx_arena *arena)
{
    struct etx_dag *dag = &walk->dag;
    const int32_t *group = walk->args->group;
    etx_status status;

    ETX_SCRATCH(dag->first, arena, (int64_t)dag->n_nodes + 1, "components");
    for (int32_t i = 0; i < dag->n_nodes; i++)
        if (i == 0 || group[walk->node[i]] != group[walk->node[i - 1]])
            dag->first[dag->n_components++] = i;
    dag->first[dag->n_components] = dag->n_nodes;
done:
    return status;
}

/* counts[i + 1] of i become offsets. */
static void counts_to_offsets(int32_t *counts, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        counts[i + 1] += counts[i];
}

/* After offsets were used as cursors, each stands where the next began. */
static void rewind_offsets(int32_t *offset, int32_t n)
{
    for (int32_t i = n; i > 0; i--)
        offset[i] = offset[i - 1];
    offset[0] = 0;
}

/* Both ends are, or none. */
static bool is_in_dag(const struct walk *walk, int64_t e)
{
    return walk->local[walk->args->tail[e]] != NONE;
}

static etx_status count_edges(struct walk *walk)
{
    struct etx_dag *dag = &walk->dag;
    const size_t bytes = ((size_t)dag->n_nodes + 1) * sizeof(int32_t);
    etx_status status = ETX_OK;

    memset(dag->in_offset, 0, bytes);
    memset(dag->out_offset, 0, bytes);
    for (int64_t e = 0; e < walk->args->n_edges; e++) {
        ETX_POLL_STREAM(walk->stream, e);
        if (!is_in_dag(walk, e))
            continue;
        dag->in_offset[walk->local[walk->args->head[e]] + 1]++;
        dag->out_offset[walk->local[walk->args->tail[e]] + 1]++;
    }
    counts_to_offsets(dag->in_offset, dag->n_nodes);
    counts_to_offsets(dag->out_offset, dag->n_nodes);
    dag->n_edges = dag->in_offset[dag->n_nodes];
done:
    return status;
}

/* by_head [dag.n_edges]: indices of walk->edges in order of their heads. */
static etx_status sort_by_head(struct walk *walk, int32_t *by_head)
{
    struct etx_dag *dag = &walk->dag;
    etx_status status = ETX_OK;

    for (int64_t e = 0; e < walk->args->n_edges; e++) {
        ETX_POLL_STREAM(walk->stream, e);
        if (!is_in_dag(walk, e))
            continue;
        const int32_t head = walk->local[walk->args->head[e]];

        by_head[dag->in_offset[head]++] = (int32_t)e;
    }
    rewind_offsets(dag->in_offset, dag->n_nodes);
done:
    return status;
}

/* Both lists of the dag from two more counting sorts. */
static etx_status fill_edges(struct walk *walk, const int32_t *by_head)
{
    struct etx_dag *dag = &walk->dag;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < dag->n_edges; k++) {
        const int32_t e = by_head[k];
        const int32_t tail = walk->local[walk->args->tail[e]];
        const int32_t slot = dag->out_offset[tail]++;

        ETX_POLL_STREAM(walk->stream, k);
        dag->head[slot] = walk->local[walk->args->head[e]];
        dag->score[slot] = walk->args->score[e];
    }
    rewind_offsets(dag->out_offset, dag->n_nodes);
    for (int32_t tail = 0; tail < dag->n_nodes; tail++)
        for (int32_t e = dag->out_offset[tail]; e < dag->out_offset[tail + 1];
             e++) {
            ETX_POLL_STREAM(walk->stream, e);
            dag->tail[dag->in_offset[dag->head[e]]++] = tail;
        }
    rewind_offsets(dag->in_offset, dag->n_nodes);
done:
    return status;
}

static etx_status build_dag(struct walk *walk, struct etx_arena *arena)
{
    struct etx_dag *dag = &walk->dag;
    int32_t *by_head = NULL;
    etx_status status;

    ETX_SCRATCH(dag->in_offset, arena, (int64_t)dag->n_nodes + 1, "edges in");
    ETX_SCRATCH(dag->out_offset, arena, (int64_t)dag->n_nodes + 1, "edges out");
    ETX_CHECK(count_edges(walk));
    ETX_SCRATCH(by_head, arena, dag->n_edges, "edges by head");
    ETX_SCRATCH(dag->head, arena, dag->n_edges, "edge heads");
    ETX_SCRATCH(dag->tail, arena, dag->n_edges, "edge tails");
    ETX_SCRATCH(dag->score, arena, dag->n_edges, "edge scores");
    ETX_CHECK(sort_by_head(walk, by_head));
    ETX_CHECK(fill_edges(walk, by_head));
done:
    return status;
}

/* Untie the branching components: their nodes get the groups of their paths. */
static etx_status walk_tangled(struct walk *walk, struct etx_stream *stream)
{
    struct etx_arena *arena = stream->arena;
    int32_t *start = NULL;
    etx_status status;

    ETX_CHECK(sort_outward(walk, arena));
    ETX_CHECK(find_first_nodes(walk, arena));
    ETX_CHECK(build_dag(walk, arena));
    ETX_SCRATCH(start, arena, walk->dag.n_nodes, "path starts");
    ETX_CHECK(
        etx_longest_paths(start, stream, &walk->dag, walk->args->work_budget));
    for (int32_t i = 0; i < walk->dag.n_nodes; i++)
        walk->args->group[walk->node[i]] = walk->node[start[i]];
done:
    return status;
}

etx_status etx_ref_walkthrough(
    struct etx_stream *stream, const struct etx_walkthrough_args *args)
{
    struct etx_arena *arena = stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n_nodes = args->n_nodes;
    struct walk walk = {.args = args, .stream = stream};
    uint8_t *has_in = NULL;
    uint8_t *has_out = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &walk.branching, arena, n_nodes, 1, "branching components"));
    ETX_CHECK(etx_arena_alloc(&has_in, arena, n_nodes, 1, "edges in"));
    ETX_CHECK(etx_arena_alloc(&has_out, arena, n_nodes, 1, "edges out"));
    ETX_SCRATCH(walk.local, arena, n_nodes, "hits walked");
    ETX_SCRATCH(walk.node, arena, n_nodes, "hits walked");
    ETX_CHECK(find_components(stream, args));
    ETX_CHECK(find_branching(&walk, has_in, has_out));
    walk.dag.n_nodes = list_branching(&walk);
    if (walk.dag.n_nodes > 0)
        ETX_CHECK(walk_tangled(&walk, stream));
done:
    etx_arena_reset(arena, mark);
    return status;
}
