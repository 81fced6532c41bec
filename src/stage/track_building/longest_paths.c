/* stage/track_building/longest_paths.c -- take the best path again and again.
 *
 * The best rest of a path from every node comes from dynamic programming in
 * reverse topological order. Taking a path changes only the nodes whose best
 * rest ran through it: they are computed again, farthest first, each before
 * those that build on it. Sums only shrink, so a heap of all nodes by their
 * best sum gives the next path: an entry that is out of date goes back with
 * its new sum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/longest_paths.h"

#include "base/check.h"

#include <stdbool.h>

#define NONE             (-1)
#define LOOKS_PER_ASKING (1 << 16) /* at edges, whether the host cancels */

/* The best path from a node outward. */
struct rest {
    double sum;      /* of the scores of its edges */
    int32_t n_nodes; /* the node itself included */
    int32_t node;
};

/* A binary heap, best on top. */
struct heap {
    int32_t n;
    struct rest *entry; /* [n_nodes] */
};

struct search {
    struct etx_stream *stream;
    const struct etx_dag *dag;
    struct rest *rest;  /* [n_nodes] */
    int32_t *next;      /* [n_nodes] the rest's second node, NONE at its end */
    int32_t *start;     /* [n_nodes] NONE while a node is not taken */
    struct heap paths;  /* nodes where a path may start */
    struct heap update; /* nodes to compute again, keyed by themselves */
    int64_t work_left;  /* edges to look at before updates end */
    int64_t retry_left; /* edges to look at again in this pass */
    int64_t n_looks;    /* at edges, since the host was asked */
};

static bool better(const struct rest *a, const struct rest *b)
{
    if (a->sum != b->sum)
        return a->sum > b->sum;
    if (a->n_nodes != b->n_nodes)
        return a->n_nodes > b->n_nodes;
    return a->node < b->node;
}

static void sift_down(struct heap *heap, int32_t hole, struct rest entry)
{
    for (;;) {
        int64_t child = 2 * (int64_t)hole + 1;

        if (child >= heap->n)
            break;
        if (child + 1 < heap->n &&
            better(&heap->entry[child + 1], &heap->entry[child]))
            child++;
        if (!better(&heap->entry[child], &entry))
            break;
        heap->entry[hole] = heap->entry[child];
        hole = (int32_t)child;
    }
    heap->entry[hole] = entry;
}

static void push(struct heap *heap, struct rest entry)
{
    int32_t hole = heap->n++;

    while (hole > 0 && better(&entry, &heap->entry[(hole - 1) / 2])) {
        heap->entry[hole] = heap->entry[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->entry[hole] = entry;
}

static struct rest pop(struct heap *heap)
{
    const struct rest top = heap->entry[0];

    heap->n--;
    if (heap->n > 0)
        sift_down(heap, 0, heap->entry[heap->n]);
    return top;
}

static void count_looks(struct search *search, int64_t n)
{
    search->work_left -= n;
    search->n_looks += n + 1;
}

static etx_status ask_now_and_then(struct search *search)
{
    if (search->n_looks < LOOKS_PER_ASKING)
        return ETX_OK;
    search->n_looks = 0;
    return etx_check_cancelled(search->stream);
}

static bool is_taken(const struct search *search, int32_t node)
{
    return search->start[node] != NONE;
}

/* The best rest from node over its neighbours that are not taken. Their node
 * numbers ascend, so the first of equals is the smallest. */
static void compute_rest(struct search *search, int32_t node)
{
    const struct etx_dag *dag = search->dag;
    struct rest best = {.sum = 0.0, .n_nodes = 1, .node = node};
    int32_t next = NONE;

    for (int32_t e = dag->out_offset[node]; e < dag->out_offset[node + 1];
         e++) {
        const int32_t head = dag->head[e];
        const struct rest through = {
            .sum = (double)dag->score[e] + search->rest[head].sum,
            .n_nodes = search->rest[head].n_nodes + 1,
            .node = node,
        };

        if (!is_taken(search, head) && better(&through, &best)) {
            best = through;
            next = head;
        }
    }
    search->rest[node] = best;
    search->next[node] = next;
    count_looks(search, dag->out_offset[node + 1] - dag->out_offset[node]);
}

/* Ask for the nodes whose best rest goes on to node to be computed again. */
static void update_before(struct search *search, int32_t node)
{
    const struct etx_dag *dag = search->dag;

    for (int32_t e = dag->in_offset[node]; e < dag->in_offset[node + 1]; e++) {
        const int32_t tail = dag->tail[e];
        const struct rest key = {.sum = (double)tail, .node = tail};

        /* An edge given twice must not ask twice. */
        if (e > dag->in_offset[node] && dag->tail[e - 1] == tail)
            continue;
        if (!is_taken(search, tail) && search->next[tail] == node)
            push(&search->update, key);
    }
    count_looks(search, dag->in_offset[node + 1] - dag->in_offset[node]);
}

static etx_status update_rests(struct search *search)
{
    etx_status status = ETX_OK;

    while (search->update.n > 0) {
        const int32_t node = pop(&search->update).node;
        const struct rest before = search->rest[node];

        compute_rest(search, node);
        if (search->rest[node].sum != before.sum ||
            search->rest[node].n_nodes != before.n_nodes)
            update_before(search, node);
        ETX_CHECK(ask_now_and_then(search));
    }
done:
    return status;
}

/* Take the path that starts at first, up to a node that is taken. */
static etx_status take_path(struct search *search, int32_t first)
{
    for (int32_t node = first; node != NONE && !is_taken(search, node);
         node = search->next[node])
        search->start[node] = first;
    if (search->work_left <= 0)
        return ETX_OK;
    for (int32_t node = first; node != NONE; node = search->next[node])
        update_before(search, node);
    return update_rests(search);
}

/* Compute the rests of all nodes that are not taken, and the paths that are
 * left. */
static etx_status begin_pass(struct search *search)
{
    etx_status status = ETX_OK;

    search->retry_left = search->dag->n_edges;
    for (int32_t node = search->dag->n_nodes - 1; node >= 0; node--) {
        if (is_taken(search, node))
            continue;
        compute_rest(search, node);
        if (search->next[node] != NONE)
            push(&search->paths, search->rest[node]);
        ETX_CHECK(ask_now_and_then(search));
    }
done:
    return status;
}

/* Beyond the work limit: the node's next one was taken. Try its other edges,
 * as far as this pass may, or leave it to the next pass. */
static void retry(struct search *search, int32_t node)
{
    if (search->retry_left <= 0)
        return;
    search->retry_left -=
        search->dag->out_offset[node + 1] - search->dag->out_offset[node];
    compute_rest(search, node);
    if (search->next[node] != NONE)
        push(&search->paths, search->rest[node]);
}

/* Is the entry still what its node's best rest is? If not, put it back. */
static bool is_current(struct search *search, const struct rest *entry)
{
    const struct rest *now = &search->rest[entry->node];

    if (now->sum == entry->sum && now->n_nodes == entry->n_nodes)
        return true;
    if (search->next[entry->node] != NONE)
        push(&search->paths, *now);
    return false;
}

static etx_status take_paths(struct search *search)
{
    etx_status status = ETX_OK;

    while (search->paths.n > 0) {
        const struct rest entry = pop(&search->paths);
        const int32_t next = search->next[entry.node];

        if (is_taken(search, entry.node) || !is_current(search, &entry))
            continue;
        if (is_taken(search, next)) {
            retry(search, entry.node);
            continue;
        }
        ETX_CHECK(take_path(search, entry.node));
        ETX_CHECK(ask_now_and_then(search));
    }
done:
    return status;
}

etx_status etx_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_dag *dag, int64_t work_limit)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct search search = {
        .stream = stream,
        .dag = dag,
        .start = start,
        .work_left = work_limit,
    };
    etx_status status;

    ETX_CHECK(etx_arena_take(&search.rest, stream->arena, dag->n_nodes,
        sizeof *search.rest, "best rests of paths"));
    ETX_CHECK(etx_arena_take(&search.next, stream->arena, dag->n_nodes,
        sizeof *search.next, "next nodes of paths"));
    ETX_CHECK(etx_arena_take(&search.paths.entry, stream->arena, dag->n_nodes,
        sizeof *search.paths.entry, "heap of paths"));
    ETX_CHECK(etx_arena_take(&search.update.entry, stream->arena, dag->n_nodes,
        sizeof *search.update.entry, "heap of updates"));
    for (int32_t node = 0; node < dag->n_nodes; node++)
        start[node] = NONE;
    ETX_CHECK(begin_pass(&search));
    while (search.paths.n > 0) {
        ETX_CHECK(take_paths(&search));
        ETX_CHECK(begin_pass(&search));
    }
    for (int32_t node = 0; node < dag->n_nodes; node++)
        if (!is_taken(&search, node))
            start[node] = node;
done:
    etx_arena_reset(stream->arena, mark);
    return status;
}
