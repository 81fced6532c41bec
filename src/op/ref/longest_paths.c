/* op/ref/longest_paths.c -- disjoint paths of largest score, in rounds.
 *
 * The suffix of a node is the best path that starts at it. Suffixes come from
 * dynamic programming against the edges. A path can be accepted before better
 * ones elsewhere if none of these can ever touch it: paths that touch it start
 * at an ancestor of one of its nodes, hence of its last one, and are no better
 * than the suffix of that ancestor. So a round computes, along the edges, the
 * best ancestor of every node (the one with the best suffix), and accepts all
 * paths whose last node has their own start as its best ancestor; the best path
 * of all is one of them.
 *
 *     edge scores   0 -.9- 1 -.8- 3 -.5- 4      nodes     0   1   2   3   4
 *                          2 -.6- 3             suffix  2.2 1.3 1.1  .5   0
 *                                               ancestor  0   0   2   0   0
 *
 *     The first round accepts 0 1 3 4: node 4 has ancestor 0. The path 2 3 4 is
 *     not accepted, and the next round finds no path from 2.
 *
 * A pass (a round beyond the work budget) searches ancestors along suffixes
 * only. These form trees: a node belongs to the best start whose suffix it is
 * on. The best path always starts at a node without predecessors, and in most
 * passes paths start at such nodes only: paths from the middle of others score
 * less.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/longest_paths.h"

#include "base/check.h"

#include <stdbool.h>

#define NONE            (-1)
#define VISITS_PER_POLL (1 << 16) /* of the cancel callback */
#define WIDE_PASSES     4         /* one pass in 4 starts paths at all nodes */

/* The best path that starts at a node. */
struct suffix {
    double sum;      /* of the scores of its edges */
    int32_t n_nodes; /* the node itself included */
    int32_t next;    /* its second node, NONE at the end */
};

struct search {
    struct etx_stream *stream;
    const struct etx_dag *dag;
    struct suffix *suffix; /* [n_nodes] */
    int32_t *start;        /* [n_nodes] NONE while a node is unused */
    int32_t *ancestor; /* [n_nodes] the best one, maybe the node itself; NONE */
    int32_t *left;     /* [n_left] unused nodes of the component, ascending */
    int32_t n_left;
    bool is_pass;
    bool is_narrow; /* paths start at nodes without predecessors only */
    int64_t n_passes;
    int64_t visits_left; /* of this component, before passes begin */
    int64_t n_visits;    /* since the last poll */
};

static etx_status count_visits(struct search *search, int64_t n)
{
    search->visits_left -= n;
    search->n_visits += n;
    if (search->n_visits < VISITS_PER_POLL)
        return ETX_OK;
    search->n_visits = 0;
    return etx_check_cancelled(search->stream);
}

static bool is_used(const struct search *search, int32_t node)
{
    return search->start[node] != NONE;
}

/* The suffix of node over its unused neighbours. Their indices ascend, so
 * the first of equals is the smallest. */
static void compute_suffix(struct search *search, int32_t node)
{
    const struct etx_dag *dag = search->dag;
    struct suffix best = {.sum = 0.0, .n_nodes = 1, .next = NONE};

    for (int32_t e = dag->out_offset[node]; e < dag->out_offset[node + 1];
         e++) {
        const int32_t head = dag->head[e];
        const struct suffix *after = &search->suffix[head];
        const double sum = (double)dag->score[e] + after->sum;

        if (!is_used(search, head) &&
            (sum > best.sum ||
                (sum == best.sum && after->n_nodes + 1 > best.n_nodes)))
            best = (struct suffix){sum, after->n_nodes + 1, head};
    }
    search->suffix[node] = best;
}

/* Is the best path from a better than that from b? NONE has the worst. */
static bool is_better(const struct search *search, int32_t a, int32_t b)
{
    if (a == NONE || b == NONE)
        return b == NONE && a != NONE;
    const struct suffix *one = &search->suffix[a];
    const struct suffix *two = &search->suffix[b];

    if (one->sum != two->sum)
        return one->sum > two->sum;
    if (one->n_nodes != two->n_nodes)
        return one->n_nodes > two->n_nodes;
    return a < b;
}

/* The best start of a path to the node, maybe the node itself, from the best
 * starts of its predecessors. */
static void find_ancestor(struct search *search, int32_t node)
{
    const struct etx_dag *dag = search->dag;
    bool may_start = true;
    int32_t best = NONE;

    for (int32_t e = dag->in_offset[node]; e < dag->in_offset[node + 1]; e++) {
        const int32_t tail = dag->tail[e];

        if (is_used(search, tail))
            continue;
        may_start = !search->is_narrow;
        if ((!search->is_pass || search->suffix[tail].next == node) &&
            is_better(search, search->ancestor[tail], best))
            best = search->ancestor[tail];
    }
    if (may_start && is_better(search, node, best))
        best = node;
    search->ancestor[node] = best;
}

/* Kind of the next round. */
static void begin_round(struct search *search)
{
    search->is_pass = search->visits_left <= 0;
    search->n_passes += search->is_pass;
    search->is_narrow = search->is_pass && search->n_passes % WIDE_PASSES != 0;
}

/* *n_open: unused nodes with an edge to another one. */
static etx_status search_round(struct search *search, int32_t *n_open)
{
    const struct etx_dag *dag = search->dag;
    etx_status status = ETX_OK;

    begin_round(search);
    *n_open = 0;
    for (int32_t k = search->n_left - 1; k >= 0; k--) {
        const int32_t node = search->left[k];

        compute_suffix(search, node);
        *n_open += search->suffix[node].next != NONE;
        ETX_CHECK(count_visits(
            search, 1 + dag->out_offset[node + 1] - dag->out_offset[node]));
    }
    for (int32_t k = 0; k < search->n_left; k++) {
        const int32_t node = search->left[k];

        find_ancestor(search, node);
        ETX_CHECK(count_visits(
            search, 1 + dag->in_offset[node + 1] - dag->in_offset[node]));
    }
done:
    return status;
}

/* Accept the best path from first: in a pass up to the first node with a better
 * start; otherwise all of it or nothing, as the best start of its last node
 * says. A single node is no path. */
static void accept_path(struct search *search, int32_t first)
{
    const struct suffix *suffix = search->suffix;
    int32_t last = first;

    if (search->ancestor[first] != first || suffix[first].next == NONE)
        return;
    while (!search->is_pass && suffix[last].next != NONE)
        last = suffix[last].next;
    if (search->is_pass)
        last = suffix[first].next;
    if (search->ancestor[last] != first)
        return;
    for (int32_t node = first; node != NONE && search->ancestor[node] == first;
         node = suffix[node].next)
        search->start[node] = first;
}

static void accept_paths(struct search *search)
{
    int32_t n = 0;

    for (int32_t k = 0; k < search->n_left; k++)
        accept_path(search, search->left[k]);
    for (int32_t k = 0; k < search->n_left; k++)
        if (!is_used(search, search->left[k]))
            search->left[n++] = search->left[k];
    search->n_left = n;
}

/* All paths of the nodes first .. end - 1; a node on none is its own. */
static etx_status search_component(
    struct search *search, int32_t first, int32_t end, int64_t work_budget)
{
    const struct etx_dag *dag = search->dag;
    int32_t n_open = 0;
    etx_status status;

    search->n_left = end - first;
    search->n_passes = 0;
    search->visits_left =
        work_budget *
        ((int64_t)dag->out_offset[end] - dag->out_offset[first] + end - first);
    for (int32_t k = 0; k < search->n_left; k++) {
        search->left[k] = first + k;
        search->start[first + k] = NONE;
    }
    ETX_CHECK(search_round(search, &n_open));
    while (n_open > 0) {
        accept_paths(search);
        ETX_CHECK(search_round(search, &n_open));
    }
    for (int32_t k = 0; k < search->n_left; k++)
        search->start[search->left[k]] = search->left[k];
done:
    return status;
}

etx_status etx_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_dag *dag, int64_t work_budget)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct search search = {.stream = stream, .dag = dag, .start = start};
    etx_status status;

    ETX_SCRATCH(
        search.suffix, stream->arena, dag->n_nodes, "suffixes of paths");
    ETX_SCRATCH(
        search.ancestor, stream->arena, dag->n_nodes, "best starts of paths");
    ETX_SCRATCH(search.left, stream->arena, dag->n_nodes, "nodes of paths");
    for (int32_t c = 0; c < dag->n_components; c++)
        ETX_CHECK(search_component(
            &search, dag->first[c], dag->first[c + 1], work_budget));
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
