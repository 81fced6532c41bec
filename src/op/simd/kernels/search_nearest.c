/* op/simd/kernels/search_nearest.c -- the nearest points within a radius.
 *
 * Branch and bound: for every point a depth-first search of the boxes, nearest
 * box first, keeps the nearest points so far; their largest distance bounds the
 * boxes that are still visited. Among equal points the bound is 0 and excludes
 * none of them; then boxes without a smaller index than the best are left out.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/neighbours.h"

#include "base/check.h"
#include "base/select.h"
#include "op/simd/leaf_distances.h"

#include <string.h>

#define BLOCK_LEAVES 4 /* of points in a block */

/* The best neighbours of a point so far: the keys are (s, index). */
struct nearest {
    uint64_t *key; /* [capacity] */
    int64_t n, capacity;
    int64_t wanted;
    float bound;     /* largest squared distance that is still kept */
    float limit;     /* the same for boxes */
    int32_t last;    /* largest index that is still kept */
    vec x[ETX_AXES]; /* the point in the axes, in every lane */
};

struct job {
    struct etx_neighbour_search *search;
    uint64_t **key; /* [workers, capacity] */
    int64_t wanted, capacity;
};

static float distance_of_key(uint64_t key)
{
    const uint32_t bits = (uint32_t)(key >> 32);
    float s;

    memcpy(&s, &bits, sizeof s);
    return s;
}

/* Keep the wanted smallest keys only and shrink the bound to them. */
static void shrink(struct nearest *nearest, const struct etx_leaves *leaves)
{
    uint64_t largest = 0;

    if (nearest->n < nearest->wanted)
        return;
    etx_select(nearest->key, nearest->n, nearest->wanted);
    nearest->n = nearest->wanted;
    for (int64_t t = 0; t < nearest->n; t++)
        largest = nearest->key[t] > largest ? nearest->key[t] : largest;
    nearest->bound = distance_of_key(largest);
    if (nearest->bound == 0.0f)
        nearest->last = (int32_t)(uint32_t)largest;
    nearest->limit = ETX_ISA_NAME(leaves_limit)(leaves, nearest->bound);
}

/* Points of a leaf that are nearer than the worst so far. */
static void visit_leaf(struct nearest *nearest,
    const struct etx_neighbour_search *search, int64_t leaf, int64_t from,
    int32_t lane)
{
    const struct etx_leaves *leaves = &search->leaves;
    const int32_t n_dim = leaves->n_dim;
    const float *x = leaves->point + from * n_dim * ETX_LEAF + lane;
    vec s[ETX_LEAF_VECTORS];
    uint32_t distance[ETX_LEAF];
    uint32_t bits = leaf_distances(s, x, NULL,
        leaves->point + leaf * n_dim * ETX_LEAF, n_dim, nearest->bound);

    if (leaf == from)
        bits &= ~(1u << lane);
    if (bits == 0)
        return;
    memcpy(distance, s, sizeof distance);
    for (; bits != 0; bits &= bits - 1) {
        const int32_t t = __builtin_ctz(bits);
        const int32_t index = leaves->id[leaf * ETX_LEAF + t];
        if (index <= nearest->last)
            nearest->key[nearest->n++] =
                (uint64_t)distance[t] << 32 | (uint32_t)index;
    }
    /* The first time with the wanted number of keys, then at capacity. */
    if (nearest->n + ETX_LEAF > nearest->capacity ||
        (nearest->n >= nearest->wanted && nearest->bound == search->bound))
        shrink(nearest, leaves);
}

/* Everything below a group, nearest box first. */
static void visit_group(struct nearest *nearest,
    const struct etx_neighbour_search *search, int32_t level, int64_t group,
    int64_t from, int32_t lane)
{
    const struct etx_boxes *boxes = &search->leaves.level[level];
    vec s[ETX_LEAF_VECTORS];
    float distance[ETX_LEAF];

    leaf_point_to_boxes(s, boxes, group, nearest->x);
    memcpy(distance, s, sizeof distance);
    uint32_t left = leaf_within(s, nearest->limit) & leaf_boxes(boxes, group);
    while (left != 0) {
        int32_t best = __builtin_ctz(left);
        for (uint32_t rest = left; rest != 0; rest &= rest - 1)
            if (distance[__builtin_ctz(rest)] < distance[best])
                best = __builtin_ctz(rest);
        if (!(distance[best] <= nearest->limit))
            return;
        left &= ~(1u << best);
        if (boxes->first[group * ETX_LEAF + best] > nearest->last)
            continue;
        if (level == 0)
            visit_leaf(nearest, search, group * ETX_LEAF + best, from, lane);
        else
            visit_group(nearest, search, level - 1, group * ETX_LEAF + best,
                from, lane);
    }
}

/* Whether the edge i -> j has the wanted orientation. */
static int32_t is_kept(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    if (args->key == NULL)
        return args->both || i < j;
    if (args->key[i] != args->key[j])
        return args->key[i] < args->key[j];
    return i < j;
}

/* The edges from point i to its nearest. */
static etx_status add_edges(struct etx_edge_writer *writer,
    struct etx_neighbour_search *search, int32_t i,
    const struct nearest *nearest)
{
    int64_t n_edges = 0;
    etx_status status = ETX_OK;

    for (int64_t t = 0; t < nearest->n; t++) {
        const uint32_t j = (uint32_t)nearest->key[t];
        if (!is_kept(search->args, i, (int32_t)j))
            continue;
        ETX_CHECK(etx_edge_bins_add(
            &search->bins, writer, search->bins.pack, (uint32_t)i, j));
        n_edges++;
    }
    status = ETX_ISA_NAME(search_count)(search, n_edges);
done:
    return status;
}

static etx_status search_leaf(
    const struct job *job, int64_t from, int32_t worker)
{
    struct etx_neighbour_search *search = job->search;
    const struct etx_leaves *leaves = &search->leaves;
    struct nearest nearest = {.key = job->key[worker],
        .capacity = job->capacity,
        .wanted = job->wanted};
    etx_status status = ETX_OK;

    for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
        const int32_t i = leaves->id[from * ETX_LEAF + lane];
        if (i < 0)
            break;
        for (int32_t c = 0; c < ETX_AXES; c++)
            nearest.x[c] =
                v_set1(leaves->axis[(from * ETX_AXES + c) * ETX_LEAF + lane]);
        nearest.n = 0;
        nearest.bound = search->bound;
        nearest.limit = search->limit;
        nearest.last = INT32_MAX;
        visit_group(&nearest, search, leaves->n_levels - 1, 0, from, lane);
        if (nearest.n > nearest.wanted)
            shrink(&nearest, leaves);
        ETX_CHECK(add_edges(&search->bins.writer[worker], search, i, &nearest));
    }
done:
    return status;
}

static etx_status search_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_cancelled(job->search->stream));
    for (int64_t leaf = begin; leaf < end; leaf++)
        ETX_CHECK(search_leaf(job, leaf, worker));
done:
    return status;
}

etx_status ETX_ISA_NAME(search_nearest)(struct etx_neighbour_search *search)
{
    struct etx_arena *arena = search->stream->arena;
    struct etx_pool *pool = search->stream->pool;
    const int32_t n_workers = etx_pool_n_threads(pool);
    const int64_t n = search->args->n_points;
    const int64_t max = search->args->max_neighbours;
    struct job job = {.search = search, .wanted = max < n ? max : n};
    etx_status status;

    job.capacity = 2 * job.wanted + 2 * ETX_LEAF;
    ETX_SCRATCH(job.key, arena, n_workers, "nearest points");
    for (int32_t w = 0; w < n_workers; w++)
        ETX_SCRATCH(job.key[w], arena, job.capacity, "nearest points");
    ETX_CHECK(etx_parallel_ranges(
        pool, search->leaves.n_leaves, BLOCK_LEAVES, search_block, &job));
done:
    return status;
}
