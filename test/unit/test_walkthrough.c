/* test_walkthrough.c -- longest paths, against every path there is.
 *
 * The judge lists all paths of a small graph and removes the best again and
 * again: exponential, and without a line in common with the library.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "backend/backend.h"
#include "base/random.h"
#include "op/ref/longest_paths.h"
#include "track_graphs.h"

#include <math.h>
#include <stdlib.h>

#define SMALL         9                  /* nodes: the judge is exponential */
#define N_JUDGED      60                 /* random graphs of each kind */
#define WITHOUT_LIMIT ((int64_t)1 << 30) /* work_budget */

/* ------------------------------------------------------------- by hand -- */

struct row {
    struct edge_list list; /* nodes along a line, so outward is upward */
    float cut;
    int32_t min_hits;
    int32_t expected[10];
};

static const struct row rows[] = {
    /* Two tracks through one hit: the better keeps it. */
    {{5, 4, {{0, 2, 0.9f}, {2, 3, 0.9f}, {1, 2, 0.8f}, {2, 4, 0.8f}}}, 0.5f, 1,
        {0, 1, 0, 0, 2}},
    /* Two tracks joined by one wrong edge come apart. */
    {{6, 5,
         {{0, 2, 0.9f}, {2, 4, 0.9f}, {1, 3, 0.9f}, {3, 5, 0.9f},
             {2, 5, 0.6f}}},
        0.5f, 3, {0, 1, 0, 1, 0, 1}},
    /* A long way of weak edges beats a short one of strong edges. */
    {{5, 5,
         {{0, 4, 0.9f}, {0, 1, 0.4f}, {1, 2, 0.4f}, {2, 3, 0.4f},
             {3, 4, 0.4f}}},
        0.1f, 2, {0, 0, 0, 0, 0}},
    /* The same above the cut that the weak edges do not pass. */
    {{5, 5,
         {{0, 4, 0.9f}, {0, 1, 0.4f}, {1, 2, 0.4f}, {2, 3, 0.4f},
             {3, 4, 0.4f}}},
        0.5f, 2, {0, -1, -1, -1, 0}},
    /* Inward edges are turned; a pair in both directions counts once, with
     * its better score. */
    {{4, 5,
         {{1, 0, 0.9f}, {1, 0, 0.2f}, {0, 1, 0.6f}, {2, 1, 0.7f},
             {3, 1, 0.8f}}},
        0.1f, 1, {0, 0, 1, 0}},
    /* A loop is no path. */
    {{3, 4, {{0, 0, 0.9f}, {0, 1, 0.3f}, {0, 2, 0.3f}, {2, 2, 0.9f}}}, 0.1f, 2,
        {0, 0, -1}},
    /* Ties: the start nearer to the origin, then the nearer next hit. */
    {{4, 4, {{0, 2, 0.5f}, {0, 3, 0.5f}, {1, 2, 0.5f}, {1, 3, 0.5f}}}, 0.1f, 2,
        {0, 1, 0, 1}},
    /* Equal sums: more hits. 0-3 costs as much as 0-1-3. */
    {{4, 4, {{0, 3, 0.5f}, {0, 1, 0.25f}, {1, 3, 0.25f}, {2, 3, 0.1f}}}, 0.05f,
        2, {0, 0, -1, 0}},
    /* A path shorter than min_hits still removes its hits: 2-3 goes before
     * 0-1-3. */
    {{4, 3, {{2, 3, 1.0f}, {0, 1, 0.2f}, {1, 3, 0.2f}}}, 0.1f, 3,
        {-1, -1, -1, -1}},
    /* The sum decides, also when it splits two good tracks. */
    {{6, 5,
         {{0, 2, 0.9f}, {2, 4, 0.9f}, {1, 3, 0.9f}, {3, 5, 0.9f},
             {2, 3, 0.6f}}},
        0.5f, 2, {0, -1, 0, 0, -1, 0}},
};

ETX_TEST(test_walkthrough_by_hand, .rows = ROWS(rows))
{
    const struct row *row = &rows[_i];
    int32_t labels[10];

    label_list(
        labels, &row->list, ETX_LABEL_WALKTHROUGH, row->cut, row->min_hits);
    assert_labels(labels, row->expected, row->list.n_nodes);
}

/* Outward is the distance from the origin, not the row or the radius. */
ETX_TEST(test_walkthrough_outward)
{
    static const float position[] = {
        300, 0, 0, /* third */
        0, 30, 0,  /* first */
        0, 0, -40, /* second */
        0, 0, 900, /* fourth */
        0, 0, -900 /* as far: by row */
    };
    static const struct edge_list list = {5, 5,
        {{0, 1, 0.5f}, {0, 2, 0.5f}, {1, 2, 0.5f}, {3, 0, 0.5f}, {3, 4, 0.5f}}};
    const etx_label_options options =
        label_options(ETX_LABEL_WALKTHROUGH, 0.1f, 3);
    int32_t labels[5];

    label_list_at(labels, &list, position, &options);
    assert_labels(labels, (const int32_t[]){0, 0, 0, 0, 0}, 5);
}

/* ------------------------------------------------------------ the judge -- */

struct path {
    double sum;
    int32_t n;
    int32_t node[SMALL];
};

struct judge {
    float score[SMALL][SMALL]; /* of i -> j, negative where there is none */
    int32_t is_used[SMALL];
    struct path now, best;
};

/* Sums from the far end inward, as the header says. */
static double sum_of(const struct judge *judge, const struct path *path)
{
    double sum = 0.0;

    for (int32_t k = path->n - 2; k >= 0; k--)
        sum = (double)judge->score[path->node[k]][path->node[k + 1]] + sum;
    return sum;
}

static int is_better(const struct path *a, const struct path *b)
{
    if (a->sum != b->sum)
        return a->sum > b->sum;
    if (a->n != b->n)
        return a->n > b->n;
    for (int32_t k = 0; k < a->n; k++)
        if (a->node[k] != b->node[k])
            return a->node[k] < b->node[k];
    return 0;
}

static void extend(struct judge *judge)
{
    const int32_t last = judge->now.node[judge->now.n - 1];

    judge->now.sum = sum_of(judge, &judge->now);
    if (judge->now.n > 1 && is_better(&judge->now, &judge->best))
        judge->best = judge->now;
    for (int32_t j = last + 1; j < SMALL; j++) {
        if (judge->score[last][j] < 0.0f || judge->is_used[j])
            continue;
        judge->now.node[judge->now.n++] = j;
        extend(judge);
        judge->now.n--;
    }
}

/* The best path of what is left; n is 0 when there is none. */
static void find_best(struct judge *judge)
{
    judge->best = (struct path){.sum = -1.0};
    for (int32_t i = 0; i < SMALL; i++) {
        if (judge->is_used[i])
            continue;
        judge->now = (struct path){.n = 1, .node = {i}};
        extend(judge);
    }
}

/* Labels for min_hits 1, numbered by first hit. */
static void judge_labels(int32_t *labels, const struct scored_edge *edges,
    int64_t n_edges, float cut)
{
    struct judge judge = {.is_used = {0}};
    int32_t group[SMALL];
    int32_t n_labels = 0;

    for (int32_t i = 0; i < SMALL; i++) {
        group[i] = i;
        for (int32_t j = 0; j < SMALL; j++)
            judge.score[i][j] = -1.0f;
    }
    for (int64_t e = 0; e < n_edges; e++) {
        const struct scored_edge *edge = &edges[e];
        const int32_t low = edge->src < edge->dst ? edge->src : edge->dst;
        const int32_t high = edge->src < edge->dst ? edge->dst : edge->src;

        if (edge->score > cut && low != high)
            judge.score[low][high] = fmaxf(judge.score[low][high], edge->score);
    }
    for (find_best(&judge); judge.best.n > 0; find_best(&judge))
        for (int32_t k = 0; k < judge.best.n; k++) {
            judge.is_used[judge.best.node[k]] = 1;
            group[judge.best.node[k]] = judge.best.node[0];
        }
    for (int32_t i = 0; i < SMALL; i++)
        labels[i] = group[i] == i ? n_labels++ : labels[group[i]];
}

/* Even rows: sums that are all different. Odd: many ties, exact sums. */
ETX_TEST(test_walkthrough_judged, .rows = N_JUDGED)
{
    const int64_t n_edges = 3 + _i % 30;
    const float cut = _i % 4 < 2 ? 0.0f : 0.25f;
    scoped struct scored_edge *edges =
        new_random_edges(SMALL, n_edges, (uint32_t)_i);
    int32_t expected[SMALL];
    int32_t labels[SMALL];

    for (int64_t e = 0; e < n_edges && _i % 2; e++)
        edges[e].score = ceilf(4.0f * edges[e].score) / 4.0f;
    judge_labels(expected, edges, n_edges, cut);
    label_edges(labels, SMALL, n_edges, edges, ETX_LABEL_WALKTHROUGH, cut, 1);
    assert_labels(labels, expected, SMALL);
}

/* --------------------------------------------------- with bounded work -- */

/* A dag with its arrays; upward edges, sorted by both ends. */
struct owned_dag {
    struct etx_dag dag;
    int32_t *storage;
};

/* src < dst for all edges; equal edges are fine. */
static struct owned_dag new_dag(
    int32_t n_nodes, int32_t n_edges, const struct scored_edge *edges)
{
    const size_t n = (size_t)n_nodes + 1;
    const size_t m = (size_t)n_edges + 1;
    struct owned_dag made = {.storage = calloc(2 * n + 3 * m + 2, 4)};
    struct etx_dag *dag = &made.dag;
    int32_t at = 0;

    ck_assert_ptr_nonnull(made.storage);
    dag->n_nodes = n_nodes;
    dag->n_edges = n_edges;
    dag->out_offset = made.storage;
    dag->in_offset = dag->out_offset + n;
    dag->head = dag->in_offset + n;
    dag->tail = dag->head + m;
    dag->score = (float *)(void *)(dag->tail + m);
    dag->first = dag->tail + 2 * m;
    dag->first[1] = n_nodes;
    dag->n_components = 1;
    for (int32_t i = 0; i < n_nodes; i++) {
        for (int32_t j = i + 1; j < n_nodes; j++)
            for (int32_t e = 0; e < n_edges; e++)
                if (edges[e].src == i && edges[e].dst == j) {
                    dag->score[at] = edges[e].score;
                    dag->head[at++] = j;
                }
        dag->out_offset[i + 1] = at;
    }
    at = 0;
    for (int32_t j = 0; j < n_nodes; j++) {
        for (int32_t i = 0; i < j; i++)
            for (int32_t e = 0; e < n_edges; e++)
                if (edges[e].src == i && edges[e].dst == j)
                    dag->tail[at++] = i;
        dag->in_offset[j + 1] = at;
    }
    return made;
}

static void find_paths(
    int32_t *start, const struct etx_dag *dag, int64_t work_budget)
{
    scoped_context *context = etx_test_context();

    ck_assert_ok(etx_longest_paths(start, context->stream, dag, work_budget));
    ck_assert_int_eq(etx_arena_in_use(context->stream->arena), 0);
}

static int has_edge(const struct etx_dag *dag, int32_t from, int32_t to)
{
    for (int32_t e = dag->out_offset[from]; e < dag->out_offset[from + 1]; e++)
        if (dag->head[e] == to)
            return 1;
    return 0;
}

/* Every group is a path from its start, and no two hits that are left over
 * are joined. */
static void assert_paths(const int32_t *start, const struct etx_dag *dag)
{
    scoped int32_t *last = calloc((size_t)dag->n_nodes, sizeof *last);
    scoped int32_t *size = calloc((size_t)dag->n_nodes, sizeof *size);

    ck_assert(last != NULL && size != NULL);
    for (int32_t i = 0; i < dag->n_nodes; i++) {
        const int32_t s = start[i];

        ck_assert(s >= 0 && s <= i);
        ck_assert(s == i || has_edge(dag, last[s], i));
        last[s] = i;
        size[s]++;
    }
    for (int32_t i = 0; i < dag->n_nodes; i++)
        for (int32_t e = dag->out_offset[i]; e < dag->out_offset[i + 1]; e++)
            ck_assert(size[start[i]] > 1 || size[start[dag->head[e]]] > 1);
}

static struct scored_edge *new_upward_edges(
    int32_t n_nodes, int32_t n_edges, uint32_t seed)
{
    struct scored_edge *edges = new_random_edges(n_nodes, n_edges, seed);

    for (int32_t e = 0; e < n_edges; e++) {
        const struct scored_edge edge = edges[e];

        edges[e].src = edge.src < edge.dst ? edge.src : edge.dst;
        edges[e].dst = edge.src < edge.dst ? edge.dst : edge.src;
        if (edge.src == edge.dst)
            edges[e].src = edges[e].dst - 1 + (edge.dst == 0);
        if (edges[e].src == edges[e].dst)
            edges[e].dst++;
    }
    return edges;
}

/* However small the work budget, the result is one of paths, repeatable and
 * with the same first path; with enough it is that without a limit. */
ETX_TEST(test_walkthrough_bounded, .rows = 10)
{
    static const int64_t limits[] = {0, 1, 2, 5, 10};
    const int32_t n = 80;
    const int32_t n_edges = 300;
    scoped struct scored_edge *edges =
        new_upward_edges(n, n_edges, (uint32_t)_i);
    struct owned_dag owned = new_dag(n, n_edges, edges);
    int32_t exact[80];
    int32_t start[80];
    int32_t again[80];

    find_paths(exact, &owned.dag, WITHOUT_LIMIT);
    assert_paths(exact, &owned.dag);
    for (size_t k = 0; k < ROWS(limits); k++) {
        find_paths(start, &owned.dag, limits[k]);
        find_paths(again, &owned.dag, limits[k]);
        assert_paths(start, &owned.dag);
        ck_assert_mem_eq(start, again, sizeof start);
    }
    find_paths(start, &owned.dag, 64);
    ck_assert_mem_eq(start, exact, sizeof start);
    free(owned.storage);
}

/* Every start has the same best ends, so many passes are needed. */
ETX_TEST(test_walkthrough_bounded_passes)
{
    const int32_t n_each = 40;
    const int32_t n_edges = n_each * n_each;
    scoped struct scored_edge *edges = etx_test_alloc(n_edges, sizeof *edges);
    int32_t start[80];
    struct owned_dag owned;

    for (int32_t e = 0; e < n_edges; e++)
        edges[e] = (struct scored_edge){e / n_each, n_each + e % n_each,
            1.0f - (float)(e % n_each) / 64.0f};
    owned = new_dag(2 * n_each, n_edges, edges);
    find_paths(start, &owned.dag, 0);
    assert_paths(start, &owned.dag);
    for (int32_t i = 0; i < n_each; i++)
        ck_assert_int_eq(start[n_each + i], i);
    free(owned.storage);
}

/* The best path of all comes first whatever the limit. */
ETX_TEST(test_walkthrough_bounded_first_path, .rows = N_JUDGED)
{
    scoped struct scored_edge *edges =
        new_upward_edges(SMALL, 14, (uint32_t)_i);
    struct owned_dag owned = new_dag(SMALL, 14, edges);
    struct judge judge = {.is_used = {0}};
    int32_t start[SMALL];

    for (int32_t i = 0; i < SMALL; i++)
        for (int32_t j = 0; j < SMALL; j++)
            judge.score[i][j] = -1.0f;
    for (int32_t e = 0; e < 14; e++)
        judge.score[edges[e].src][edges[e].dst] =
            fmaxf(judge.score[edges[e].src][edges[e].dst], edges[e].score);
    find_best(&judge);
    find_paths(start, &owned.dag, 0);
    for (int32_t k = 0; k < judge.best.n; k++)
        ck_assert_int_eq(start[judge.best.node[k]], judge.best.node[0]);
    free(owned.storage);
}

/* -------------------------------------------------------- large graphs -- */

/* A hub that every start goes through: after each path the best of all other
 * starts changes. Quadratic without a limit on the work. */
static struct scored_edge *new_hub(int32_t n_starts)
{
    struct scored_edge *edges = etx_test_alloc(n_starts * 4, sizeof *edges);
    const int32_t hub = n_starts;

    for (int32_t i = 0; i < n_starts; i++) {
        const int32_t side = n_starts + 1 + i;
        const int32_t end = 2 * n_starts + 1 + i;
        const float share = (float)i / (float)n_starts;
        const float score = 0.45f - 0.4f * share;

        edges[4 * i] = (struct scored_edge){hub, end, score};
        edges[4 * i + 1] = (struct scored_edge){i, hub, 0.25f};
        edges[4 * i + 2] = (struct scored_edge){i, side, 0.1f};
        edges[4 * i + 3] = (struct scored_edge){
            side, end, score + 0.15f + 0.2f / (float)n_starts};
    }
    return edges;
}

ETX_TEST(test_walkthrough_hub)
{
    const int32_t n_starts = 20000;
    const int64_t n = 3 * n_starts + 1;
    scoped struct scored_edge *edges = new_hub(n_starts);
    scoped int32_t *labels = etx_test_alloc(n, sizeof *labels);
    int64_t n_left = 0;

    label_edges(labels, n, 4 * n_starts, edges, ETX_LABEL_WALKTHROUGH, 0.0f, 2);
    for (int32_t i = 0; i < n_starts; i++)
        n_left += labels[i] < 0;
    ck_assert_int_eq(n_left, 0);
}

/* One component of 20 000 hits whose best path has thousands of edges: depth
 * must not cost stack. */
static void walk_comb(__attribute__((unused)) void *argument)
{
    const int32_t n = 20000;
    scoped struct scored_edge *edges = etx_test_alloc(n, sizeof *edges);
    scoped int32_t *labels = etx_test_alloc(n, sizeof *labels);

    for (int32_t i = 0; i < n / 2; i++) {
        edges[2 * i] = (struct scored_edge){i, (i + 1) % (n / 2), 0.9f};
        edges[2 * i + 1] = (struct scored_edge){i, n / 2 + i, 0.3f};
    }
    label_edges(labels, n, n, edges, ETX_LABEL_WALKTHROUGH, 0.1f, 2);
    for (int32_t i = 0; i < n - 1; i++)
        ck_assert_int_eq(labels[i], i < n / 2 ? 0 : -1);
    ck_assert_int_eq(labels[n - 1], 0);
}

ETX_TEST(test_walkthrough_deep)
{
    etx_test_on_small_stack(walk_comb, NULL);
}

/* Rows are names only: permuted, the tracks are the same sets of hits (scores
 * and distances all differ). */
ETX_TEST(test_walkthrough_rows, .rows = 5)
{
    const int32_t n = 400;
    const int64_t n_edges = 900;
    scoped struct scored_edge *edges =
        new_random_edges(n, n_edges, (uint32_t)_i);
    const etx_label_options options =
        label_options(ETX_LABEL_WALKTHROUGH, 0.1f, 1);
    struct etx_random random;
    int32_t labels[400], moved[400], row[400], other[400];
    float position[3 * 400] = {0.0f};

    label_edges(labels, n, n_edges, edges, ETX_LABEL_WALKTHROUGH, 0.1f, 1);
    for (int32_t i = 0; i < n; i++)
        row[i] = i;
    etx_random_init(&random, 4, (uint32_t)_i, 0);
    etx_random_shuffle(&random, row, n);
    for (int32_t i = 0; i < n; i++)
        position[3 * row[i]] = (float)(i + 1);
    for (int64_t e = 0; e < n_edges; e++) {
        edges[e].src = row[edges[e].src];
        edges[e].dst = row[edges[e].dst];
    }
    label_at(moved, n, n_edges, edges, position, &options);
    memset(other, 0xff, sizeof other);
    for (int32_t i = 0; i < n; i++) {
        if (other[labels[i]] < 0)
            other[labels[i]] = moved[row[i]];
        ck_assert_int_eq(moved[row[i]], other[labels[i]]);
    }
}
