/* op/x86/simd/radius_graph.c -- all pairs of points within a radius.
 *
 * For every leaf of ETX_LEAF points the hierarchy of boxes gives the leaves
 * that may hold neighbours; then one vector holds the distances from a query
 * to a whole leaf, computed from the original coordinates by the normative
 * chain of fused multiply-adds. With a cap on the neighbours a depth-first
 * search, nearest box first, keeps the best so far and shrinks its bound.
 *
 * Without a cap the relation is symmetric: every query lists the sources of
 * the edges into it, sorted, and the lists one after the other are the
 * result. With a cap a query lists its targets, and a pass over the queries
 * in ascending order appends each to the lists of its targets, which sorts
 * the result by (dst, src). Neither depends on the order of work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "backend/backend.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/status.h"
#include "op/x86/leaves.h"
#include "op/x86/select.h"
#include "op/x86/sort.h"
#include "op/x86/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define BLOCK_LEAVES 8 /* leaves of queries that make a block of work */
#define VECTORS      (ETX_LEAF / VEC_WIDTH) /* of a leaf */
#define USUAL_DIM    8  /* coordinates of the embeddings of most models */
#define CHECK_DIMS   16 /* coordinates between two looks at the bound */

/* The other ends of the edges of the queries of one block; from etx_alloc. */
struct list {
    int32_t *end; /* [capacity] */
    int64_t n, capacity;
};

/* The best neighbours of a query so far: the keys are (s, index). */
struct nearest {
    uint64_t *key; /* [capacity] */
    int64_t n, capacity;
    int64_t wanted;
    float bound; /* squared distance that a better one does not exceed */
    float limit; /* the same for boxes */
};

/* Scratch of one worker. */
struct scratch {
    int32_t *leaf;         /* [n_leaves] that may hold neighbours */
    struct etx_boxes near; /* the boxes of these */
    int32_t *found;        /* [found_capacity] of one query, not sorted */
    int64_t found_capacity;
    struct nearest nearest;
};

struct job {
    const struct etx_radius_graph_args *args;
    struct etx_leaves leaves;
    float bound;             /* radius * radius */
    float limit;             /* the same for boxes */
    struct scratch *scratch; /* [workers] */
    struct list *list;       /* [n_blocks] */
    const int32_t **end;     /* [n_points] the other ends of its edges */
    int32_t *n_ends;         /* [n_points] */
    _Atomic int64_t n_edges;
    int64_t *place;     /* [n_points + 1] of the next edge into a target */
    int32_t *src, *dst; /* the result */
};

/* radius * radius in float32, without raising overflow. */
static float squared(float radius)
{
    return radius > 1.8446743e19f ? INFINITY : radius * radius;
}

/* --------------------------------------------------------------- boxes -- */

/* Squared distances of the boxes of a group from the box low .. high
 * [ETX_AXES]. */
INLINE void box_distances(vec out[VECTORS], const struct etx_boxes *boxes,
    int64_t group, const float *low, const float *high)
{
    const float *group_low = boxes->low + group * ETX_AXES * ETX_LEAF;
    const float *group_high = boxes->high + group * ETX_AXES * ETX_LEAF;

    for (int32_t v = 0; v < VECTORS; v++) {
        vec s = v_zero();
        for (int32_t c = 0; c < ETX_AXES; c++) {
            const int32_t at = c * ETX_LEAF + v * VEC_WIDTH;
            const vec above = v_load(group_low + at) - v_set1(high[c]);
            const vec below = v_set1(low[c]) - v_load(group_high + at);
            const vec gap = v_max(v_max(above, below), v_zero());
            s = v_fma(gap, gap, s);
        }
        out[v] = s;
    }
}

/* Lanes of the group that are boxes. */
static uint32_t boxes_of(const struct etx_boxes *boxes, int64_t group)
{
    const int64_t left = boxes->n_boxes - group * ETX_LEAF;

    return left >= ETX_LEAF ? (1u << ETX_LEAF) - 1u : (1u << left) - 1u;
}

/* Append the leaves below a group of level `level` that are within the limit
 * of the box low .. high; returns the new number. */
static int64_t near_leaves(int32_t *out, int64_t n, const struct job *job,
    int32_t level, int64_t group, const float *low, const float *high)
{
    const struct etx_boxes *boxes = &job->leaves.level[level];
    vec s[VECTORS];
    uint32_t bits = 0;

    box_distances(s, boxes, group, low, high);
    for (int32_t v = 0; v < VECTORS; v++)
        bits |= v_bits(v_less_equal(s[v], v_set1(job->limit)))
                << (v * VEC_WIDTH);
    bits &= boxes_of(boxes, group);
    for (; bits != 0; bits &= bits - 1) {
        const int64_t box = group * ETX_LEAF + __builtin_ctz(bits);
        if (level == 0)
            out[n++] = (int32_t)box;
        else
            n = near_leaves(out, n, job, level - 1, box, low, high);
    }
    return n;
}

/* ----------------------------------------------------------- distances -- */

/* Squared distances s from a query to the points of a leaf, by the normative
 * chain. The query's coordinates are x[k * ETX_LEAF], or q[k] in every lane
 * when q is not NULL. Returns the lanes with s <= bound; s is complete for
 * these only. */
INLINE uint32_t distances(vec s[VECTORS], const float *x, const vec *q,
    const float *leaf, const int32_t n_dim, float bound)
{
    uint32_t bits = 0;

    for (int32_t v = 0; v < VECTORS; v++) {
        const float *y = leaf + v * VEC_WIDTH;
        vec d = (q != NULL ? q[0] : v_set1(x[0])) - v_load(y);
        vec sum = d * d;
        uint32_t some = 1;
        for (int32_t k = 1; k < n_dim && some != 0; k++) {
            d = (q != NULL ? q[k] : v_set1(x[k * ETX_LEAF])) -
                v_load(y + k * ETX_LEAF);
            sum = v_fma(d, d, sum);
            if (k % CHECK_DIMS == 0)
                some = v_bits(v_less_equal(sum, v_set1(bound)));
        }
        s[v] = sum;
        bits |= v_bits(v_less_equal(sum, v_set1(bound))) << (v * VEC_WIDTH);
    }
    return bits;
}

/* Lanes of a leaf from which an edge would go to query `lane` of leaf
 * `from`. */
static uint32_t sources(
    const struct job *job, int64_t from, int32_t lane, int64_t leaf)
{
    const struct etx_leaves *leaves = &job->leaves;
    const int64_t query = from * ETX_LEAF + lane;
    uint32_t bits = 0;

    if (job->args->key == NULL && job->args->both)
        return UINT32_MAX;
    for (int32_t v = 0; v < VECTORS; v++) {
        const int64_t at = leaf * ETX_LEAF + v * VEC_WIDTH;
        uint32_t before = v_bits(
            vi_less(vi_load(leaves->id + at), vi_set1(leaves->id[query])));
        if (leaves->key != NULL) {
            const vec key = v_load(leaves->key + at);
            const vec mine = v_set1(leaves->key[query]);
            before = v_bits(v_less(key, mine)) |
                     (v_bits(v_less_equal(key, mine)) & before);
        }
        bits |= before << (v * VEC_WIDTH);
    }
    return bits;
}

/* ------------------------------------------------------ all neighbours -- */

/* The boxes of the leaves nearby, side by side. */
static void copy_boxes(
    struct scratch *scratch, const struct job *job, int64_t n_near)
{
    const struct etx_boxes *boxes = &job->leaves.level[0];

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

/* Adds the sources in one leaf of edges into a query to out [n]; returns the
 * new number. n_dim is a constant where this is inlined. */
INLINE int64_t search_leaf(int32_t *out, int64_t n, const struct job *job,
    int64_t leaf, int64_t from, int32_t lane, const vec *q, const int32_t n_dim)
{
    const struct etx_leaves *leaves = &job->leaves;
    const float *x = leaves->point + from * n_dim * ETX_LEAF + lane;
    vec s[VECTORS];
    uint32_t bits = distances(
        s, x, q, leaves->point + leaf * n_dim * ETX_LEAF, n_dim, job->bound);

    if (leaf == from)
        bits &= ~(1u << lane);
    if (bits == 0)
        return n;
    bits &= sources(job, from, lane, leaf);
    for (int32_t v = 0; v < VECTORS; v++)
        n += v_pick(out + n, leaves->id + leaf * ETX_LEAF + v * VEC_WIDTH,
            bits >> (v * VEC_WIDTH) & ((1u << VEC_WIDTH) - 1u));
    return n;
}

/* The sources of all edges into a query to scratch->found; returns their
 * number. n_dim is a constant where this is inlined. */
INLINE int64_t search_near(const struct scratch *scratch, const struct job *job,
    int64_t from, int32_t lane, const int32_t n_dim)
{
    const int64_t n_groups = (scratch->near.n_boxes + ETX_LEAF - 1) / ETX_LEAF;
    const float *axis = job->leaves.axis + from * ETX_AXES * ETX_LEAF + lane;
    const float *point = job->leaves.point + from * n_dim * ETX_LEAF + lane;
    const vec limit = v_set1(job->limit);
    float x[ETX_AXES];
    vec q[USUAL_DIM];
    int64_t n = 0;

    /* In registers, when the compiler knows how many. */
    for (int32_t k = 0; n_dim == USUAL_DIM && k < USUAL_DIM; k++)
        q[k] = v_set1(point[k * ETX_LEAF]);
    for (int32_t c = 0; c < ETX_AXES; c++)
        x[c] = axis[c * ETX_LEAF];
    for (int64_t g = 0; g < n_groups; g++) {
        vec s[VECTORS];
        uint32_t bits = 0;
        box_distances(s, &scratch->near, g, x, x);
        for (int32_t v = 0; v < VECTORS; v++)
            bits |= v_bits(v_less_equal(s[v], limit)) << (v * VEC_WIDTH);
        bits &= boxes_of(&scratch->near, g);
        for (; bits != 0; bits &= bits - 1)
            n = search_leaf(scratch->found, n, job,
                scratch->leaf[g * ETX_LEAF + __builtin_ctz(bits)], from, lane,
                n_dim == USUAL_DIM ? q : NULL, n_dim);
    }
    return n;
}

/* Room for n elements. */
static etx_status make_room(int32_t **array, int64_t *capacity, int64_t n)
{
    int64_t larger = *capacity < 1024 ? 1024 : *capacity;
    etx_status status = ETX_OK;

    if (n <= *capacity)
        return ETX_OK;
    while (larger < n)
        larger *= 2;
    ETX_CHECK(etx_resize(
        array, *capacity, larger, sizeof **array, "edges of queries"));
    *capacity = larger;
done:
    return status;
}

static etx_status all_of_leaf(
    struct list *list, struct job *job, struct scratch *scratch, int64_t from)
{
    const struct etx_leaves *leaves = &job->leaves;
    const struct etx_boxes *boxes = &leaves->level[0];
    const int64_t box = from / ETX_LEAF * ETX_AXES * ETX_LEAF + from % ETX_LEAF;
    float low[ETX_AXES], high[ETX_AXES];
    etx_status status = ETX_OK;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        low[c] = boxes->low[box + c * ETX_LEAF];
        high[c] = boxes->high[box + c * ETX_LEAF];
    }
    const int64_t n_near =
        near_leaves(scratch->leaf, 0, job, leaves->n_levels - 1, 0, low, high);
    copy_boxes(scratch, job, n_near);
    ETX_CHECK(make_room(
        &scratch->found, &scratch->found_capacity, (n_near + 1) * ETX_LEAF));
    for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
        const int32_t i = leaves->id[from * ETX_LEAF + lane];
        if (i < 0)
            break;
        const int64_t n =
            leaves->n_dim == USUAL_DIM
                ? search_near(scratch, job, from, lane, USUAL_DIM)
                : search_near(scratch, job, from, lane, leaves->n_dim);
        ETX_CHECK(make_room(&list->end, &list->capacity, list->n + n));
        ETX_ISA_NAME(sort_unique)(list->end + list->n, scratch->found, n);
        job->n_ends[i] = (int32_t)n;
        list->n += n;
    }
done:
    return status;
}

/* -------------------------------------------------- nearest neighbours -- */

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
    nearest->limit = ETX_ISA_NAME(leaves_limit)(leaves, nearest->bound);
}

/* Points of a leaf that are nearer than the worst so far. */
static void visit_leaf(struct nearest *nearest, const struct job *job,
    int64_t leaf, int64_t from, int32_t lane)
{
    const struct etx_leaves *leaves = &job->leaves;
    const int32_t n_dim = leaves->n_dim;
    const float *x = leaves->point + from * n_dim * ETX_LEAF + lane;
    vec s[VECTORS];
    uint32_t distance[ETX_LEAF];
    uint32_t bits = distances(s, x, NULL,
        leaves->point + leaf * n_dim * ETX_LEAF, n_dim, nearest->bound);

    if (leaf == from)
        bits &= ~(1u << lane);
    if (bits == 0)
        return;
    memcpy(distance, s, sizeof distance);
    for (; bits != 0; bits &= bits - 1) {
        const int32_t t = __builtin_ctz(bits);
        const uint32_t index = (uint32_t)leaves->id[leaf * ETX_LEAF + t];
        nearest->key[nearest->n++] = (uint64_t)distance[t] << 32 | index;
    }
    /* At first as soon as there are enough, then when the room is used. */
    if (nearest->n + ETX_LEAF > nearest->capacity ||
        (nearest->n >= nearest->wanted && nearest->bound == job->bound))
        shrink(nearest, leaves);
}

/* Everything below a group, nearest box first; x: the query in the axes. */
static void visit_group(struct nearest *nearest, const struct job *job,
    int32_t level, int64_t group, const float *x, int64_t from, int32_t lane)
{
    const struct etx_boxes *boxes = &job->leaves.level[level];
    vec s[VECTORS];
    float distance[ETX_LEAF];
    uint32_t left = boxes_of(boxes, group);

    box_distances(s, boxes, group, x, x);
    memcpy(distance, s, sizeof distance);
    while (left != 0) {
        int32_t best = __builtin_ctz(left);
        for (uint32_t rest = left; rest != 0; rest &= rest - 1)
            if (distance[__builtin_ctz(rest)] < distance[best])
                best = __builtin_ctz(rest);
        if (!(distance[best] <= nearest->limit))
            return;
        left &= ~(1u << best);
        if (level == 0)
            visit_leaf(nearest, job, group * ETX_LEAF + best, from, lane);
        else
            visit_group(nearest, job, level - 1, group * ETX_LEAF + best, x,
                from, lane);
    }
}

static int32_t is_kept(
    const struct etx_radius_graph_args *args, int32_t i, int32_t j)
{
    if (args->key == NULL)
        return args->both || i < j;
    if (args->key[i] != args->key[j])
        return args->key[i] < args->key[j];
    return i < j;
}

static etx_status nearest_of_leaf(
    struct list *list, struct job *job, struct scratch *scratch, int64_t from)
{
    const struct etx_leaves *leaves = &job->leaves;
    struct nearest *nearest = &scratch->nearest;
    float x[ETX_AXES];
    etx_status status = ETX_OK;

    for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
        const int32_t i = leaves->id[from * ETX_LEAF + lane];
        const int64_t before = list->n;
        if (i < 0)
            break;
        for (int32_t c = 0; c < ETX_AXES; c++)
            x[c] = leaves->axis[(from * ETX_AXES + c) * ETX_LEAF + lane];
        nearest->n = 0;
        nearest->bound = job->bound;
        nearest->limit = job->limit;
        visit_group(nearest, job, leaves->n_levels - 1, 0, x, from, lane);
        if (nearest->n > nearest->wanted)
            shrink(nearest, leaves);
        ETX_CHECK(make_room(&list->end, &list->capacity, list->n + nearest->n));
        for (int64_t t = 0; t < nearest->n; t++) {
            const int32_t j = (int32_t)(uint32_t)nearest->key[t];
            if (is_kept(job->args, i, j))
                list->end[list->n++] = j;
        }
        job->n_ends[i] = (int32_t)(list->n - before);
    }
done:
    return status;
}

/* -------------------------------------------------------------- search -- */

static etx_status too_many(const struct etx_radius_graph_args *args)
{
    return etx_fail(ETX_ERR_LIMIT,
        "radius_graph: more than max_edges = %" PRId64 " edges among %" PRId64
        " points within radius %.9g",
        args->max_edges, args->n_points, (double)args->radius);
}

static etx_status search_block(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    struct list *list = &job->list[block];
    const int64_t begin = block * BLOCK_LEAVES;
    const int64_t left = job->leaves.n_leaves - begin;
    const int64_t end = begin + (left < BLOCK_LEAVES ? left : BLOCK_LEAVES);
    etx_status status = ETX_OK;

    for (int64_t leaf = begin; leaf < end; leaf++) {
        const int64_t before = list->n;
        if (job->args->max_neighbours > 0)
            ETX_CHECK(nearest_of_leaf(list, job, &job->scratch[worker], leaf));
        else
            ETX_CHECK(all_of_leaf(list, job, &job->scratch[worker], leaf));
        const int64_t more = list->n - before;
        if (atomic_fetch_add(&job->n_edges, more) + more > job->args->max_edges)
            ETX_CHECK(too_many(job->args));
    }
    /* Only now do the ends stay where they are. */
    const int32_t *next = list->end;
    for (int64_t t = begin * ETX_LEAF; t < end * ETX_LEAF; t++) {
        const int32_t i = job->leaves.id[t];
        if (i < 0)
            break;
        job->end[i] = next;
        next += job->n_ends[i];
    }
done:
    return status;
}

/* -------------------------------------------------------------- result -- */

#define BLOCK_POINTS 4096

/* Queries first .. last - 1 of a block of work. */
static void block_of(
    int32_t *first, int32_t *last, const struct job *job, int64_t block)
{
    const int64_t begin = block * BLOCK_POINTS;
    const int64_t left = job->args->n_points - begin;

    *first = (int32_t)begin;
    *last = (int32_t)(begin + (left < BLOCK_POINTS ? left : BLOCK_POINTS));
}

static etx_status fill_dst(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    int32_t first, last;

    (void)worker;
    block_of(&first, &last, job, block);
    for (int32_t j = first; j < last; j++)
        for (int64_t e = job->place[j]; e < job->place[j + 1]; e++)
            job->dst[e] = j;
    return ETX_OK;
}

/* The ends are sources. */
static etx_status copy_src(void *argument, int64_t block, int32_t worker)
{
    struct job *job = argument;
    int32_t first, last;

    (void)worker;
    block_of(&first, &last, job, block);
    for (int32_t j = first; j < last; j++)
        if (job->n_ends[j] > 0)
            memcpy(job->src + job->place[j], job->end[j],
                (size_t)job->n_ends[j] * sizeof *job->src);
    return ETX_OK;
}

/* The ends are targets: place[j + 1] = edges into j, and then every query in
 * ascending order behind the sources of its targets. */
static void count_targets(struct job *job)
{
    for (int64_t i = 0; i < job->args->n_points; i++)
        for (int32_t t = 0; t < job->n_ends[i]; t++)
            job->place[job->end[i][t] + 1]++;
}

static void append_to_targets(struct job *job)
{
    for (int32_t i = 0; i < (int32_t)job->args->n_points; i++)
        for (int32_t t = 0; t < job->n_ends[i]; t++)
            job->src[job->place[job->end[i][t]]++] = i;
}

/* src and dst from the lists of the queries, sorted by (dst, src). */
static etx_status write_edges(struct job *job, struct etx_stream *stream)
{
    const int64_t n = job->args->n_points;
    const int64_t n_blocks = (n + BLOCK_POINTS - 1) / BLOCK_POINTS;
    const int64_t n_edges = job->n_edges;
    const int32_t has_cap = job->args->max_neighbours > 0;
    etx_status status;

    ETX_CHECK(etx_arena_take(&job->place, stream->arena, n + 1,
        sizeof *job->place, "edges of every target"));
    memset(job->place, 0, (size_t)(n + 1) * sizeof *job->place);
    if (has_cap)
        count_targets(job);
    for (int64_t j = 0; j < n; j++)
        job->place[j + 1] += job->place[j] + (has_cap ? 0 : job->n_ends[j]);
    ETX_CHECK(
        etx_alloc(&job->src, n_edges, sizeof *job->src, "sources of edges"));
    ETX_CHECK(
        etx_alloc(&job->dst, n_edges, sizeof *job->dst, "targets of edges"));
    ETX_CHECK(etx_parallel_for(stream->pool, n_blocks, fill_dst, job));
    if (has_cap)
        append_to_targets(job);
    else
        ETX_CHECK(etx_parallel_for(stream->pool, n_blocks, copy_src, job));
done:
    return status;
}

/* Room for the boxes of all leaves. */
static etx_status take_boxes(struct etx_boxes *boxes, struct etx_stream *stream,
    const struct etx_leaves *leaves)
{
    const int64_t n_groups = (leaves->n_leaves + ETX_LEAF - 1) / ETX_LEAF;
    const size_t size = ETX_AXES * ETX_LEAF * sizeof *boxes->low;
    etx_status status;

    ETX_CHECK(etx_arena_take(
        &boxes->low, stream->arena, n_groups, size, "boxes nearby"));
    ETX_CHECK(etx_arena_take(
        &boxes->high, stream->arena, n_groups, size, "boxes nearby"));
done:
    return status;
}

static etx_status take_scratch(
    struct job *job, struct etx_stream *stream, int64_t n_blocks)
{
    const int64_t n = job->args->n_points;
    const int32_t n_workers = etx_pool_n_threads(stream->pool);
    const int64_t wanted = job->args->max_neighbours;
    etx_status status;

    ETX_CHECK(etx_arena_take(&job->list, stream->arena, n_blocks,
        sizeof *job->list, "lists of edges"));
    memset(job->list, 0, (size_t)n_blocks * sizeof *job->list);
    ETX_CHECK(etx_arena_take(
        &job->end, stream->arena, n, sizeof *job->end, "edges of every query"));
    ETX_CHECK(etx_arena_take(&job->n_ends, stream->arena, n,
        sizeof *job->n_ends, "edges of every query"));
    ETX_CHECK(etx_arena_take(&job->scratch, stream->arena, n_workers,
        sizeof *job->scratch, "scratch of the search"));
    memset(job->scratch, 0, (size_t)n_workers * sizeof *job->scratch);
    for (int32_t w = 0; w < n_workers; w++) {
        struct scratch *scratch = &job->scratch[w];
        struct nearest *nearest = &scratch->nearest;
        *scratch =
            (struct scratch){.nearest = {.wanted = wanted < n ? wanted : n}};
        ETX_CHECK(etx_arena_take(&scratch->leaf, stream->arena,
            job->leaves.n_leaves, sizeof *scratch->leaf, "leaves nearby"));
        if (wanted == 0) {
            ETX_CHECK(take_boxes(&scratch->near, stream, &job->leaves));
            continue;
        }
        nearest->capacity = 2 * nearest->wanted + 2 * ETX_LEAF;
        ETX_CHECK(etx_arena_take(&nearest->key, stream->arena,
            nearest->capacity, sizeof *nearest->key, "nearest points"));
    }
done:
    return status;
}

etx_status ETX_ISA_NAME(radius_graph)(
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct job job = {.args = args, .bound = squared(args->radius)};
    const int32_t n_workers = etx_pool_n_threads(stream->pool);
    int64_t n_blocks = 0;
    etx_status status;

    if (args->n_points == 0)
        return etx_op_ref.radius_graph(stream, args);
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(ETX_ISA_NAME(leaves_build)(&job.leaves, stream, args));
    job.limit = ETX_ISA_NAME(leaves_limit)(&job.leaves, job.bound);
    n_blocks = (job.leaves.n_leaves + BLOCK_LEAVES - 1) / BLOCK_LEAVES;
    ETX_CHECK(take_scratch(&job, stream, n_blocks));
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(etx_parallel_for(stream->pool, n_blocks, search_block, &job));
    ETX_CHECK(etx_check_cancelled(stream));
    ETX_CHECK(write_edges(&job, stream));
    *args->out = (struct etx_edge_list){job.n_edges, job.src, job.dst};
    job.src = NULL;
    job.dst = NULL;
done:
    for (int64_t b = 0; job.list != NULL && b < n_blocks; b++)
        etx_release(job.list[b].end);
    for (int32_t w = 0; w < n_workers && job.scratch != NULL; w++)
        etx_release(job.scratch[w].found);
    etx_release(job.src);
    etx_release(job.dst);
    etx_arena_reset(stream->arena, mark);
    return status;
}
