/* cuda/op/radius_graph.cu -- all pairs of points within a radius.
 *
 * One thread per point walks the tree (point_tree.cuh): it skips branches and
 * leaves whose boxes are beyond the radius and computes the distances to the
 * points of the other leaves, as op/graph.h defines them.
 *
 * * All neighbours: the first walk counts the edges of every point, a prefix
 *   sum of the counts gives offsets, the second walk writes the edges.
 * * k nearest: one walk keeps the k nearest points so far in a heap; once it is
 *   full, the distance of the farthest is the new radius.
 *
 * A radix sort orders the edges by (dst, src). Its key is the edge:
 *
 *     bit  2 * shift - 1 .. shift   shift - 1 .. 0
 *          dst                      src
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/point_tree.cuh"
#include "cuda/op/primitives.h"

#include <inttypes.h>
#include <math.h>

#define HEAP_BYTES ((int64_t)256 << 20) /* of the heaps of one block */

/* What every kernel of a search needs. */
struct search {
    struct etx_point_tree tree;
    const float *key; /* [n_points] or NULL */
    int32_t both;
    float limit;   /* squared radius */
    int32_t shift; /* an edge is dst << shift | src */
};

__device__ static float squared_distance(
    const float *a, const float *b, int32_t n_dim, float limit)
{
    float s = 0.0f;

    for (int32_t k = 0; k < n_dim && !(s > limit); k++) {
        const float d = a[k] - b[k];

        s = k == 0 ? d * d : fmaf(d, d, s);
    }
    return s;
}

/* Whether the edge i -> j has the wanted orientation. */
__device__ static int32_t is_kept(
    const struct search &search, int32_t i, int32_t j)
{
    if (search.key == NULL)
        return search.both || i < j;
    if (search.key[i] != search.key[j])
        return search.key[i] < search.key[j];
    return i < j;
}

/* visit(s, j) of the points of leaf l other than that at index t. */
template <typename Visit>
__device__ static void walk_leaf(
    const struct etx_point_tree &tree, int64_t t, int64_t l, Visit &visit)
{
    const float *point = tree.point + t * tree.n_dim;
    const int64_t first = l * ETX_LEAF_POINTS;
    const int64_t end = first + ETX_LEAF_POINTS < tree.n_points
                            ? first + ETX_LEAF_POINTS
                            : tree.n_points;

    if (etx_is_beyond(
            tree.leaf + l * 2 * tree.n_dim, point, tree.n_dim, visit.limit))
        return;
    for (int64_t u = first; u < end; u++) {
        const float s = squared_distance(
            point, tree.point + u * tree.n_dim, tree.n_dim, visit.limit);

        if (u != t && s <= visit.limit)
            visit.add(s, tree.order[u]);
    }
}

template <typename Visit>
__device__ static void walk_branch(
    const struct etx_point_tree &tree, int64_t t, int64_t b, Visit &visit)
{
    const int64_t first = b * ETX_BRANCH_LEAVES;
    const int64_t end = first + ETX_BRANCH_LEAVES < tree.n_leaves
                            ? first + ETX_BRANCH_LEAVES
                            : tree.n_leaves;

    if (etx_is_beyond(tree.branch + b * 2 * tree.n_dim,
            tree.point + t * tree.n_dim, tree.n_dim, visit.limit))
        return;
    for (int64_t l = first; l < end; l++)
        walk_leaf(tree, t, l, visit);
}

/* The branch of the point itself first: it has most of the near points. */
template <typename Visit>
__device__ static void walk(
    const struct etx_point_tree &tree, int64_t t, Visit &visit)
{
    const int64_t own = t / (ETX_LEAF_POINTS * ETX_BRANCH_LEAVES);

    walk_branch(tree, t, own, visit);
    for (int64_t b = 0; b < tree.n_branches; b++)
        if (b != own)
            walk_branch(tree, t, b, visit);
}

/* ------------------------------------------------------ all neighbours -- */

/* Counts the edges of point i or, with `out`, writes them. */
struct edge_writer {
    const struct search &search;
    float limit;
    int32_t i;
    int64_t count;
    uint64_t *out;

    __device__ void add(float, int32_t j)
    {
        if (!is_kept(search, i, j))
            return;
        if (out != NULL)
            out[count] = (uint64_t)(uint32_t)j << search.shift | (uint32_t)i;
        count++;
    }
};

/* count [n_points + 1], the last 0. */
__global__ static void count_kernel(int64_t *count, struct search search)
{
    for (int64_t t = etx_first_item(); t <= search.tree.n_points;
         t += etx_item_step()) {
        if (t == search.tree.n_points) {
            count[t] = 0;
            continue;
        }
        struct edge_writer writer = {
            search, search.limit, search.tree.order[t], 0, NULL};

        walk(search.tree, t, writer);
        count[t] = writer.count;
    }
}

__global__ static void write_kernel(
    uint64_t *edge, const int64_t *offset, struct search search)
{
    for (int64_t t = etx_first_item(); t < search.tree.n_points;
         t += etx_item_step()) {
        struct edge_writer writer = {
            search, search.limit, search.tree.order[t], 0, edge + offset[t]};

        walk(search.tree, t, writer);
    }
}

/* -------------------------------------------------- nearest neighbours -- */

/* The nearest so far, as s << 32 | j, the farthest on top of a heap. Squared
 * distances are not negative, so their bits ascend with them. */
struct nearest {
    float limit; /* largest squared distance that may enter the heap */
    int32_t max, n;
    uint64_t *heap; /* [max] */

    __device__ void sift_down(uint64_t entry)
    {
        int64_t hole = 0;

        for (;;) {
            int64_t child = 2 * hole + 1;

            if (child >= n)
                break;
            if (child + 1 < n && heap[child + 1] > heap[child])
                child++;
            if (heap[child] <= entry)
                break;
            heap[hole] = heap[child];
            hole = child;
        }
        heap[hole] = entry;
    }

    __device__ void push(uint64_t entry)
    {
        int64_t hole = n++;

        while (hole > 0 && heap[(hole - 1) / 2] < entry) {
            heap[hole] = heap[(hole - 1) / 2];
            hole = (hole - 1) / 2;
        }
        heap[hole] = entry;
    }

    __device__ void add(float s, int32_t j)
    {
        const uint64_t entry = (uint64_t)__float_as_uint(s) << 32 | (uint32_t)j;

        if (n < max)
            push(entry);
        else if (entry < heap[0])
            sift_down(entry);
        if (n == max)
            limit = __uint_as_float((uint32_t)(heap[0] >> 32));
    }
};

/* For the points first .. first + n - 1 of the tree: heap [n, max] = their
 * edges, count [n] of each. */
__global__ static void nearest_kernel(int64_t *count, uint64_t *heap,
    int32_t max, int64_t first, int64_t n, struct search search)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step()) {
        const int32_t i = search.tree.order[first + t];
        struct nearest nearest = {search.limit, max, 0, heap + t * max};
        int64_t n_kept = 0;

        walk(search.tree, first + t, nearest);
        for (int32_t m = 0; m < nearest.n; m++) {
            const int32_t j = (int32_t)(uint32_t)nearest.heap[m];

            if (is_kept(search, i, j))
                nearest.heap[n_kept++] =
                    (uint64_t)(uint32_t)j << search.shift | (uint32_t)i;
        }
        count[t] = n_kept;
    }
}

/* edge = the edges in the heaps without gaps: count[t] of heap t from offset[t]
 * on. */
__global__ static void collect_kernel(uint64_t *edge, const uint64_t *heap,
    const int64_t *count, const int64_t *offset, int32_t max, int64_t n)
{
    for (int64_t t = etx_first_item(); t < n; t += etx_item_step())
        for (int64_t m = 0; m < count[t]; m++)
            edge[offset[t] + m] = heap[t * max + m];
}

/* ------------------------------------------------------------- results -- */

__global__ static void split_kernel(int32_t *src, int32_t *dst,
    const uint64_t *edge, int64_t n_edges, int32_t shift)
{
    for (int64_t e = etx_first_item(); e < n_edges; e += etx_item_step()) {
        src[e] = (int32_t)(edge[e] & (((uint64_t)1 << shift) - 1));
        dst[e] = (int32_t)(edge[e] >> shift);
    }
}

static etx_status check_limit(
    const struct etx_radius_graph_args *args, int64_t n_edges)
{
    if (n_edges <= args->max_edges)
        return ETX_OK;
    return etx_fail(ETX_ERR_LIMIT,
        "radius_graph: more than max_edges = %" PRId64 " edges among %" PRId64
        " points within radius %.9g",
        args->max_edges, args->n_points, (double)args->radius);
}

/* Sort the edges and return src and dst, owned by the caller. */
static etx_status return_edges(struct etx_stream *stream,
    const struct etx_radius_graph_args *args, const uint64_t *edge,
    int64_t n_edges, int32_t shift)
{
    struct etx_cuda_scratch scratch(stream);
    etx_cuda_owned<int32_t> src(stream->memory);
    etx_cuda_owned<int32_t> dst(stream->memory);
    uint64_t *sorted = NULL;

    ETX_TRY(scratch.alloc(&sorted, n_edges, "edges in order"));
    ETX_TRY(src.alloc(n_edges, "sources of edges"));
    ETX_TRY(dst.alloc(n_edges, "targets of edges"));
    ETX_TRY(etx_cuda_sort(stream, sorted, edge, n_edges, 2 * shift));
    ETX_TRY(etx_launch(stream, n_edges, split_kernel, src.data, dst.data,
        (const uint64_t *)sorted, n_edges, shift));
    args->out->n_edges = n_edges;
    args->out->src = src.release();
    args->out->dst = dst.release();
    return ETX_OK;
}

static etx_status find_all(struct etx_stream *stream,
    const struct etx_radius_graph_args *args, const struct search *search)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_points;
    int64_t *count = NULL;
    int64_t *offset = NULL;
    uint64_t *edge = NULL;
    int64_t n_edges = 0;

    ETX_TRY(scratch.alloc(&count, n + 1, "edges of points"));
    ETX_TRY(scratch.alloc(&offset, n + 1, "edges of points"));
    ETX_TRY(etx_launch(stream, n + 1, count_kernel, count, *search));
    ETX_TRY(etx_cuda_sums_before(stream, offset, count, n + 1));
    ETX_TRY(etx_memory_to_host(
        stream->memory, &n_edges, offset + n, 1, sizeof n_edges));
    ETX_TRY(check_limit(args, n_edges));
    ETX_TRY(scratch.alloc(&edge, n_edges, "edges"));
    ETX_TRY(etx_launch(
        stream, n, write_kernel, edge, (const int64_t *)offset, *search));
    return return_edges(stream, args, edge, n_edges, search->shift);
}

/* Append the edges of the points first .. first + n - 1 to edge [*n_edges].
 * Scratch: heap [n, max], count and offset [n + 1]. */
static etx_status find_nearest_of(struct etx_stream *stream, uint64_t *edge,
    int64_t *n_edges, uint64_t *heap, int64_t *count, int64_t *offset,
    int64_t first, int64_t n, int32_t max, const struct search *search)
{
    int64_t n_found = 0;

    ETX_CUDA(cudaMemsetAsync(
        count + n, 0, sizeof *count, etx_cuda_of(stream)->stream));
    ETX_TRY(etx_launch(
        stream, n, nearest_kernel, count, heap, max, first, n, *search));
    ETX_TRY(etx_cuda_sums_before(stream, offset, count, n + 1));
    ETX_TRY(etx_launch(stream, n, collect_kernel, edge + *n_edges,
        (const uint64_t *)heap, (const int64_t *)count, (const int64_t *)offset,
        max, n));
    ETX_TRY(etx_memory_to_host(
        stream->memory, &n_found, offset + n, 1, sizeof n_found));
    *n_edges += n_found;
    return ETX_OK;
}

static etx_status find_nearest(struct etx_stream *stream,
    const struct etx_radius_graph_args *args, const struct search *search)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t others = args->n_points - 1;
    const int32_t max =
        (int32_t)(args->max_neighbours < others ? args->max_neighbours
                                                : others);
    const int64_t row = (int64_t)max * (int64_t)sizeof(uint64_t);
    const int64_t fits = HEAP_BYTES / row < 1 ? 1 : HEAP_BYTES / row;
    const int64_t block = fits < args->n_points ? fits : args->n_points;
    int64_t n_edges = 0;
    uint64_t *heap = NULL;
    uint64_t *edge = NULL;
    int64_t *count = NULL;
    int64_t *offset = NULL;

    ETX_TRY(scratch.alloc(&heap, block * max, "nearest points"));
    ETX_TRY(scratch.alloc(&edge, args->n_points * max, "edges"));
    ETX_TRY(scratch.alloc(&count, block + 1, "edges of points"));
    ETX_TRY(scratch.alloc(&offset, block + 1, "edges of points"));
    for (int64_t first = 0; first < args->n_points; first += block) {
        const int64_t left = args->n_points - first;

        ETX_TRY(etx_check_cancelled(stream));
        ETX_TRY(find_nearest_of(stream, edge, &n_edges, heap, count, offset,
            first, left < block ? left : block, max, search));
    }
    ETX_TRY(check_limit(args, n_edges));
    return return_edges(stream, args, edge, n_edges, search->shift);
}

/* radius * radius in float32. */
static float squared(float radius)
{
    const double square = (double)radius * (double)radius;

    return radius > 1.8446743e19f ? INFINITY : (float)square;
}

etx_status etx_cuda_radius_graph(
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    struct search search = {};

    if (args->n_points < 2)
        return return_edges(stream, args, NULL, 0, 1);
    ETX_TRY(etx_point_tree_build(&search.tree, &scratch, stream, args->point,
        args->n_points, args->n_dim));
    search.key = args->key;
    search.both = args->both;
    search.limit = squared(args->radius);
    search.shift = etx_bits_of(args->n_points);
    if (args->max_neighbours > 0)
        return find_nearest(stream, args, &search);
    return find_all(stream, args, &search);
}
