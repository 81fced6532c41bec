/* op/x86/simd/radius_graph.c -- all pairs of points within a radius.
 *
 * For every leaf of ETX_LEAF points the hierarchy of boxes gives the leaves
 * that may hold neighbours; then one vector holds the distances from a query
 * to a whole leaf, computed from the original coordinates by the normative
 * chain of fused multiply-adds. With a cap on the neighbours a depth-first
 * search, nearest box first, keeps the best so far and shrinks its bound.
 *
 * Every query gives the list of its edges. A pass over the queries in
 * ascending order appends each to the lists of its targets, which sorts the
 * result by (dst, src). The result does not depend on the order of work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/x86/operators.h"

#include "backend/backend.h"
#include "base/check.h"
#include "base/memory.h"
#include "base/status.h"
#include "op/x86/leaves.h"
#include "op/x86/select.h"
#include "op/x86/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

#define BLOCK_LEAVES 8 /* leaves of queries that make a block of work */
#define VECTORS      (ETX_LEAF / VEC_WIDTH) /* of a leaf */
#define CHECK_DIMS   16 /* coordinates between two looks at the bound */

/* The edges of the queries of one block; owned by etx_alloc. */
struct list {
    int32_t *target; /* [capacity] */
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
    int32_t *leaf; /* [n_leaves] that may hold neighbours */
    struct nearest nearest;
};

struct job {
    const struct etx_radius_graph_args *args;
    struct etx_leaves leaves;
    float bound;             /* radius * radius */
    float limit;             /* the same for boxes */
    struct scratch *scratch; /* [workers] */
    struct list *list;       /* [n_blocks] */
    const int32_t **target;  /* [n_points] the edges of a query */
    int32_t *n_targets;      /* [n_points] */
    _Atomic int64_t n_edges;
    int64_t *place; /* [n_points + 1] of the next edge into a target */
    int32_t n_shares;
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

/* Squared distances s from the query x (coordinates x[k * ETX_LEAF]) to the
 * points of a leaf, by the normative chain. Returns the lanes with
 * s <= bound; s is complete for these only. */
INLINE uint32_t distances(vec s[VECTORS], const float *x, const float *leaf,
    const int32_t n_dim, float bound)
{
    uint32_t bits = 0;

    for (int32_t v = 0; v < VECTORS; v++) {
        const float *y = leaf + v * VEC_WIDTH;
        vec d = v_set1(x[0]) - v_load(y);
        vec sum = d * d;
        uint32_t some = 1;
        for (int32_t k = 1; k < n_dim && some != 0; k++) {
            d = v_set1(x[k * ETX_LEAF]) - v_load(y + k * ETX_LEAF);
            sum = v_fma(d, d, sum);
            if (k % CHECK_DIMS == 0)
                some = v_bits(v_less_equal(sum, v_set1(bound)));
        }
        s[v] = sum;
        bits |= v_bits(v_less_equal(sum, v_set1(bound))) << (v * VEC_WIDTH);
    }
    return bits;
}

/* Lanes of a leaf that query `lane` of leaf `from` has an edge to, were they
 * near. */
static uint32_t oriented(
    const struct job *job, int64_t from, int32_t lane, int64_t leaf)
{
    const struct etx_leaves *leaves = &job->leaves;
    const int32_t i = leaves->id[from * ETX_LEAF + lane];
    const int32_t *id = leaves->id + leaf * ETX_LEAF;
    uint32_t bits = 0;

    if (job->args->key == NULL && job->args->both)
        return UINT32_MAX;
    for (int32_t v = 0; v < VECTORS; v++) {
        uint32_t after =
            v_bits(vi_less(vi_set1(i), vi_load(id + v * VEC_WIDTH)));
        if (leaves->key != NULL) {
            const vec mine = v_set1(leaves->key[from * ETX_LEAF + lane]);
            const vec other =
                v_load(leaves->key + leaf * ETX_LEAF + v * VEC_WIDTH);
            const uint32_t not_below = v_bits(v_less_equal(mine, other));
            const uint32_t above = v_bits(v_less(mine, other));
            after = above | (not_below & after);
        }
        bits |= after << (v * VEC_WIDTH);
    }
    return bits;
}

/* ------------------------------------------------------ all neighbours -- */

/* The edges of one query to out; returns their number. n_dim is a constant
 * where this is inlined. */
INLINE int64_t neighbours(int32_t *out, const struct job *job,
    const int32_t *near, int64_t n_near, int64_t from, int32_t lane,
    const int32_t n_dim)
{
    const struct etx_leaves *leaves = &job->leaves;
    const float *x = leaves->point + from * n_dim * ETX_LEAF + lane;
    int64_t n = 0;

    for (int64_t t = 0; t < n_near; t++) {
        const int64_t leaf = near[t];
        vec s[VECTORS];
        uint32_t bits = distances(
            s, x, leaves->point + leaf * n_dim * ETX_LEAF, n_dim, job->bound);
        if (leaf == from)
            bits &= ~(1u << lane);
        if (bits == 0)
            continue;
        bits &= oriented(job, from, lane, leaf);
        for (int32_t v = 0; v < VECTORS; v++)
            n += v_pick(out + n, leaves->id + leaf * ETX_LEAF + v * VEC_WIDTH,
                bits >> (v * VEC_WIDTH) & ((1u << VEC_WIDTH) - 1u));
    }
    return n;
}

/* Room for `more` targets behind those of the list. */
static etx_status make_room(struct list *list, int64_t more)
{
    int64_t larger = list->capacity < 1024 ? 1024 : list->capacity;
    etx_status status = ETX_OK;

    if (list->n + more <= list->capacity)
        return ETX_OK;
    while (larger < list->n + more)
        larger *= 2;
    ETX_CHECK(etx_resize(&list->target, list->capacity, larger,
        sizeof *list->target, "edges of queries"));
    list->capacity = larger;
done:
    return status;
}

static etx_status all_of_leaf(
    struct list *list, struct job *job, struct scratch *scratch, int64_t from)
{
    const struct etx_leaves *leaves = &job->leaves;
    const struct etx_boxes *boxes = &leaves->level[0];
    const int32_t top = leaves->n_levels - 1;
    const int64_t box = from / ETX_LEAF * ETX_AXES * ETX_LEAF + from % ETX_LEAF;
    float low[ETX_AXES], high[ETX_AXES];
    etx_status status = ETX_OK;

    for (int32_t c = 0; c < ETX_AXES; c++) {
        low[c] = boxes->low[box + c * ETX_LEAF];
        high[c] = boxes->high[box + c * ETX_LEAF];
    }
    const int64_t n_near =
        near_leaves(scratch->leaf, 0, job, top, 0, low, high);
    for (int32_t lane = 0; lane < ETX_LEAF; lane++) {
        const int32_t i = leaves->id[from * ETX_LEAF + lane];
        if (i < 0)
            break;
        ETX_CHECK(make_room(list, (n_near + 1) * ETX_LEAF));
        int32_t *out = list->target + list->n;
        const int64_t n =
            leaves->n_dim == 8
                ? neighbours(out, job, scratch->leaf, n_near, from, lane, 8)
                : neighbours(out, job, scratch->leaf, n_near, from, lane,
                      leaves->n_dim);
        job->n_targets[i] = (int32_t)n;
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
    uint32_t bits = distances(
        s, x, leaves->point + leaf * n_dim * ETX_LEAF, n_dim, nearest->bound);

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
        ETX_CHECK(make_room(list, nearest->n));
        for (int64_t t = 0; t < nearest->n; t++) {
            const int32_t j = (int32_t)(uint32_t)nearest->key[t];
            if (is_kept(job->args, i, j))
                list->target[list->n++] = j;
        }
        job->n_targets[i] = (int32_t)(list->n - before);
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
    /* Only now do the targets stay where they are. */
    const int32_t *next = list->target;
    for (int64_t t = begin * ETX_LEAF; t < end * ETX_LEAF; t++) {
        const int32_t i = job->leaves.id[t];
        if (i < 0)
            break;
        job->target[i] = next;
        next += job->n_targets[i];
    }
done:
    return status;
}

/* -------------------------------------------------------------- result -- */

/* Targets first .. last - 1 that share `share` looks after. */
static void share_of(
    int32_t *first, int32_t *last, const struct job *job, int64_t share)
{
    const int64_t n = job->args->n_points;

    *first = (int32_t)(n * share / job->n_shares);
    *last = (int32_t)(n * (share + 1) / job->n_shares);
}

/* place[j + 1] = edges into j. */
static etx_status count_share(void *argument, int64_t share, int32_t worker)
{
    struct job *job = argument;
    int64_t *count = job->place + 1;
    int32_t first, last;

    (void)worker;
    share_of(&first, &last, job, share);
    for (int64_t i = 0; i < job->args->n_points; i++) {
        const int32_t *target = job->target[i];
        const int32_t n = job->n_targets[i];
        for (int32_t t = 0; t < n; t++)
            if (target[t] >= first && target[t] < last)
                count[target[t]]++;
    }
    return ETX_OK;
}

static etx_status fill_dst(void *argument, int64_t share, int32_t worker)
{
    struct job *job = argument;
    int32_t first, last;

    (void)worker;
    share_of(&first, &last, job, share);
    for (int32_t j = first; j < last; j++)
        for (int64_t e = job->place[j]; e < job->place[j + 1]; e++)
            job->dst[e] = j;
    return ETX_OK;
}

/* Moves place on; nobody may read it meanwhile. */
static etx_status fill_src(void *argument, int64_t share, int32_t worker)
{
    struct job *job = argument;
    int64_t *place = job->place;
    int32_t *src = job->src;
    int32_t first, last;

    (void)worker;
    share_of(&first, &last, job, share);
    for (int32_t i = 0; i < (int32_t)job->args->n_points; i++) {
        const int32_t *target = job->target[i];
        const int32_t n = job->n_targets[i];
        for (int32_t t = 0; t < n; t++)
            if (target[t] >= first && target[t] < last)
                src[place[target[t]]++] = i;
    }
    return ETX_OK;
}

/* src and dst from the lists of the queries, sorted by (dst, src). */
static etx_status write_edges(struct job *job, struct etx_stream *stream)
{
    const int64_t n = job->args->n_points;
    const int64_t n_edges = job->n_edges;
    etx_status status;

    ETX_CHECK(etx_arena_take(&job->place, stream->arena, n + 1,
        sizeof *job->place, "edges of every target"));
    memset(job->place, 0, (size_t)(n + 1) * sizeof *job->place);
    job->n_shares = etx_pool_n_threads(stream->pool);
    ETX_CHECK(etx_parallel_for(stream->pool, job->n_shares, count_share, job));
    for (int64_t j = 0; j < n; j++)
        job->place[j + 1] += job->place[j];
    ETX_CHECK(
        etx_alloc(&job->src, n_edges, sizeof *job->src, "sources of edges"));
    ETX_CHECK(
        etx_alloc(&job->dst, n_edges, sizeof *job->dst, "targets of edges"));
    ETX_CHECK(etx_parallel_for(stream->pool, job->n_shares, fill_dst, job));
    ETX_CHECK(etx_parallel_for(stream->pool, job->n_shares, fill_src, job));
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
    ETX_CHECK(etx_arena_take(&job->target, stream->arena, n,
        sizeof *job->target, "edges of every query"));
    ETX_CHECK(etx_arena_take(&job->n_targets, stream->arena, n,
        sizeof *job->n_targets, "edges of every query"));
    ETX_CHECK(etx_arena_take(&job->scratch, stream->arena, n_workers,
        sizeof *job->scratch, "scratch of the search"));
    for (int32_t w = 0; w < n_workers; w++) {
        struct scratch *scratch = &job->scratch[w];
        struct nearest *nearest = &scratch->nearest;
        *scratch = (struct scratch){NULL, {.wanted = wanted < n ? wanted : n}};
        ETX_CHECK(etx_arena_take(&scratch->leaf, stream->arena,
            job->leaves.n_leaves, sizeof *scratch->leaf, "leaves nearby"));
        if (wanted == 0)
            continue;
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
        etx_release(job.list[b].target);
    etx_release(job.src);
    etx_release(job.dst);
    etx_arena_reset(stream->arena, mark);
    return status;
}
