/* op/simd/kernels/search_pairs.c -- all pairs of points within a radius.
 *
 * A dual-tree search: for every leaf, the hierarchy of boxes gives the later
 * leaves with possible neighbours; for every point of it, their boxes exclude
 * most of these. One vector then holds the distances from the point to a whole
 * leaf, computed from the original coordinates by the chain of fused
 * multiply-adds that op/graph.h prescribes. A pair is tested once, from the
 * point in the earlier leaf or lane.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/neighbours.h"

#include "base/check.h"
#include "op/simd/leaf_distances.h"

#include <string.h>

#define BLOCK_LEAVES 4 /* of points in a block */

/* Scratch of one worker. */
struct scratch {
    int32_t *leaf;         /* [n_leaves] that may have neighbours */
    struct etx_boxes near; /* the boxes of these */
    int32_t *candidate;    /* [n_leaves + ETX_LEAF] indices of leaf */
    int32_t *near_leaf;    /* [n_leaves + 1] that have neighbours */
    uint16_t *near_lanes;  /* [n_leaves + 1] a bit for each lane that is one */
    int32_t *found;        /* [lanes + ETX_LEAF] of neighbours of a point */
};

struct job {
    struct etx_neighbour_search *search;
    struct scratch *scratch; /* [workers] */
};

/* Append the leaves after `from` that lie below a group of level `level` and
 * within the limit of the box low .. high; returns the new number. */
static int64_t near_leaves(int32_t *out, int64_t n,
    const struct etx_neighbour_search *search, int32_t level, int64_t group,
    int64_t from, const float *low, const float *high)
{
    const struct etx_boxes *boxes = &search->leaves.level[level];
    /* The first box that holds a leaf after `from`. */
    int64_t first = from + 1;
    vec s[ETX_LEAF_VECTORS];

    for (int32_t l = 0; l < level; l++)
        first /= ETX_LEAF;
    leaf_box_to_boxes(s, boxes, group, low, high);
    uint32_t bits = leaf_within(s, search->limit) & leaf_boxes(boxes, group);
    if (first > group * ETX_LEAF)
        bits &= UINT32_MAX << (first - group * ETX_LEAF);
    for (; bits != 0; bits &= bits - 1) {
        const int64_t box = group * ETX_LEAF + __builtin_ctz(bits);
        if (level == 0)
            out[n++] = (int32_t)box;
        else
            n = near_leaves(out, n, search, level - 1, box, from, low, high);
    }
    return n;
}

/* The boxes of the leaves nearby, side by side. */
static void copy_boxes(struct scratch *scratch,
    const struct etx_neighbour_search *search, int64_t n_near)
{
    const struct etx_boxes *boxes = &search->leaves.level[0];

    scratch->near.n_boxes = n_near;
    for (int64_t t = 0; t < n_near; t++) {
        const int64_t leaf = scratch->leaf[t];
        const int64_t from =
            leaf / ETX_LEAF * ETX_AXES * ETX_LEAF + leaf % ETX_LEAF;
        const int64_t to = t / ETX_LEAF * ETX_AXES * ETX_LEAF + t % ETX_LEAF;
        for (int64_t c = 0; c < ETX_AXES; c++) {
            scratch->near.low[to + c * ETX_LEAF] =
                boxes->low[from + c * ETX_LEAF];
            scratch->near.high[to + c * ETX_LEAF] =
                boxes->high[from + c * ETX_LEAF];
        }
    }
}

/* The lanes of a leaf, or boxes of a group, whose bit is set, to out; writes
 * up to VEC_WIDTH more and returns their number. */
ETX_INLINE int64_t pick_lanes(int32_t *out, int64_t leaf, uint32_t bits)
{
    int64_t n = 0;

    for (int32_t v = 0; v < ETX_LEAF_VECTORS; v++)
        n += v_pick(out + n, (int32_t)leaf * ETX_LEAF + v * VEC_WIDTH,
            bits >> (v * VEC_WIDTH));
    return n;
}

/* scratch->candidate = the leaves whose boxes may hold neighbours of a point;
 * returns their number. */
static int64_t find_candidates(const struct scratch *scratch,
    const struct etx_neighbour_search *search, int64_t from, int32_t lane)
{
    const int64_t n_groups = (scratch->near.n_boxes + ETX_LEAF - 1) / ETX_LEAF;
    const float *axis = search->leaves.axis + from * ETX_AXES * ETX_LEAF + lane;
    vec x[ETX_AXES];
    int64_t n = 0;

    for (int32_t c = 0; c < ETX_AXES; c++)
        x[c] = v_set1(axis[c * ETX_LEAF]);
    for (int64_t g = 0; g < n_groups; g++) {
        vec s[ETX_LEAF_VECTORS];
        leaf_point_to_boxes(s, &scratch->near, g, x);
        n += pick_lanes(scratch->candidate + n, g,
            leaf_within(s, search->limit) & leaf_boxes(&scratch->near, g));
    }
    return n;
}

/* scratch->found = the lanes of later points near a point; returns their
 * number. n_dim is a constant where this is inlined. */
ETX_INLINE int64_t search_point(const struct scratch *scratch,
    const struct etx_neighbour_search *search, int64_t from, int32_t lane,
    const int32_t n_dim)
{
    const float *points = search->leaves.point;
    const float *x = points + from * n_dim * ETX_LEAF + lane;
    const int64_t n_candidates = find_candidates(scratch, search, from, lane);
    const vec *usual = NULL;
    vec s[ETX_LEAF_VECTORS], q[ETX_USUAL_DIM];

    /* In registers, when the compiler knows how many. */
    for (int32_t k = 0; n_dim == ETX_USUAL_DIM && k < ETX_USUAL_DIM; k++)
        q[k] = v_set1(x[k * ETX_LEAF]);
    if (n_dim == ETX_USUAL_DIM)
        usual = q;
    uint32_t bits = leaf_distances(
        s, x, usual, points + from * n_dim * ETX_LEAF, n_dim, search->bound);
    bits &= UINT32_MAX << 1 << lane;
    int64_t n = pick_lanes(scratch->found, from, bits);
    int64_t n_near = 0;

    /* Which leaves hold a neighbour cannot be foreseen: no branch on it. */
    for (int64_t t = 0; t < n_candidates; t++) {
        const int32_t leaf = scratch->leaf[scratch->candidate[t]];
        bits = leaf_distances(s, x, usual,
            points + (int64_t)leaf * n_dim * ETX_LEAF, n_dim, search->bound);
        scratch->near_leaf[n_near] = leaf;
        scratch->near_lanes[n_near] = (uint16_t)bits;
        n_near += bits != 0;
    }
    for (int64_t t = 0; t < n_near; t++)
        n += pick_lanes(
            scratch->found + n, scratch->near_leaf[t], scratch->near_lanes[t]);
    return n;
}

/* The edges between a point and the lanes found [n]. */
static etx_status add_edges(struct etx_edge_writer *writer,
    struct etx_neighbour_search *search, int64_t point, const int32_t *found,
    int64_t n)
{
    const struct etx_radius_graph_args *args = search->args;
    const int32_t both = args->both && args->key == NULL;
    const struct etx_edge_pack pack = search->bins.pack;
    const uint64_t *rank = search->leaves.rank;
    const uint64_t mine = rank[point];
    etx_status status = ETX_OK;

    for (int64_t t = 0; t < n; t++) {
        const uint64_t other = rank[found[t]];
        const uint32_t low = (uint32_t)(mine < other ? mine : other);
        const uint32_t high = (uint32_t)(mine < other ? other : mine);
        ETX_CHECK(etx_edge_bins_add(&search->bins, writer, pack, low, high));
        if (both)
            ETX_CHECK(
                etx_edge_bins_add(&search->bins, writer, pack, high, low));
    }
done:
    return status;
}

static etx_status search_leaf(struct etx_neighbour_search *search,
    struct scratch *scratch, struct etx_edge_writer *writer, int64_t from)
{
    const struct etx_leaves *leaves = &search->leaves;
    const struct etx_boxes *boxes = &leaves->level[0];
    const int64_t box = from / ETX_LEAF * ETX_AXES * ETX_LEAF + from % ETX_LEAF;
    const int64_t ways =
        search->args->both && search->args->key == NULL ? 2 : 1;
    float low[ETX_AXES], high[ETX_AXES];
    int64_t n_edges = 0;
    etx_status status;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        low[c] = boxes->low[box + c * ETX_LEAF];
        high[c] = boxes->high[box + c * ETX_LEAF];
    }
    copy_boxes(scratch, search,
        near_leaves(scratch->leaf, 0, search, leaves->n_levels - 1, 0, from,
            low, high));
    for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
        const int64_t point = from * ETX_LEAF + lane;
        if (leaves->id[point] < 0)
            break;
        const int64_t n =
            leaves->n_dim == ETX_USUAL_DIM
                ? search_point(scratch, search, from, lane, ETX_USUAL_DIM)
                : search_point(scratch, search, from, lane, leaves->n_dim);
        ETX_CHECK(add_edges(writer, search, point, scratch->found, n));
        n_edges += n * ways;
    }
    status = ETX_ISA_NAME(search_count)(search, n_edges);
done:
    return status;
}

static etx_status search_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct job *job = argument;
    struct etx_neighbour_search *search = job->search;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_check_cancelled(search->stream));
    for (int64_t leaf = begin; leaf < end; leaf++)
        ETX_CHECK(search_leaf(
            search, &job->scratch[worker], &search->bins.writer[worker], leaf));
done:
    return status;
}

static etx_status alloc_scratch(struct job *job, struct etx_arena *arena,
    int32_t n_workers, const struct etx_leaves *leaves)
{
    const int64_t n_groups = (leaves->n_leaves + ETX_LEAF - 1) / ETX_LEAF;
    const size_t group = ETX_AXES * ETX_LEAF * sizeof(float);
    etx_status status;

    ETX_SCRATCH(job->scratch, arena, n_workers, "scratch of the search");
    for (int32_t w = 0; w < n_workers; w++) {
        struct scratch *scratch = &job->scratch[w];
        ETX_SCRATCH(scratch->leaf, arena, leaves->n_leaves, "leaves nearby");
        ETX_SCRATCH(scratch->candidate, arena, leaves->n_leaves + ETX_LEAF,
            "leaves nearby");
        ETX_SCRATCH(
            scratch->near_leaf, arena, leaves->n_leaves + 1, "leaves nearby");
        ETX_SCRATCH(
            scratch->near_lanes, arena, leaves->n_leaves + 1, "leaves nearby");
        ETX_CHECK(etx_arena_alloc(
            &scratch->near.low, arena, n_groups, group, "boxes nearby"));
        ETX_CHECK(etx_arena_alloc(
            &scratch->near.high, arena, n_groups, group, "boxes nearby"));
        ETX_SCRATCH(scratch->found, arena, (leaves->n_leaves + 1) * ETX_LEAF,
            "points nearby");
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(search_pairs)(struct etx_neighbour_search *search)
{
    struct etx_pool *pool = search->stream->pool;
    struct job job = {.search = search};
    etx_status status;

    ETX_CHECK(alloc_scratch(&job, search->stream->arena,
        etx_pool_n_threads(pool), &search->leaves));
    ETX_CHECK(etx_parallel_ranges(
        pool, search->leaves.n_leaves, BLOCK_LEAVES, search_block, &job));
done:
    return status;
}
