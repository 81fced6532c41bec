/* cuda/op/radius_graph.cu -- all pairs of points within a radius.
 *
 * A warp has the 32 points of a leaf of the tree (point_tree.cuh), one a lane.
 * It tests the boxes of 32 branches, then of 32 leaves, against its own in one
 * step, and computes the distances of its points to every point of the leaves
 * that are near, as op/graph.h defines them.
 *
 * * All neighbours: several warps share the leaves that are near. One walk
 *   appends the sources of the edges into each point to its slots, in any
 *   order; where the slots of points do not suffice, a second walk of their
 *   leaves alone appends all of theirs. A warp then sorts the sources of a
 *   point.
 * * k nearest: one walk keeps the k nearest points so far in a heap; once it is
 *   full, the distance of the farthest is the new radius. A radix sort orders
 *   the edges by (dst, src). Its key is the edge:
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
#define SLOT_BYTES ((int64_t)256 << 20) /* of all slots */
#define MAX_SLOTS  256 /* of a point: dense events have up to some 200 edges */
#define N_PARTS    4   /* warps that share the leaves near one */

/* What every kernel of a search needs. */
struct search {
    struct etx_point_tree tree;
    const float *key; /* [n_points] or NULL */
    int32_t both;
    float limit;   /* squared radius */
    int32_t shift; /* an edge is dst << shift | src */
};

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

/* The walk of a warp: of all its lanes together. A lane whose limit is negative
 * has no point. QUADS: float4 of a point, which registers then hold; 0: any. */
template <int QUADS, typename Visit> struct walk {
    const struct etx_point_tree &tree;
    Visit &visit;
    int64_t own;  /* leaf */
    int32_t part; /* of N_PARTS; or -1: all leaves */
    int64_t t;    /* the point of the lane */
    float4 held[QUADS > 0 ? QUADS : 1];

    __device__ walk(const struct etx_point_tree &of, Visit &with, int64_t leaf,
        int32_t which)
        : tree(of), visit(with), own(leaf), part(which),
          t(leaf * ETX_LEAF_POINTS + etx_lane())
    {
        if (t >= tree.n_points)
            t = tree.n_points - 1;
        for (int32_t q = 0; q < QUADS; q++)
            held[q] = tree.point[t * QUADS + q];
    }

    __device__ int32_t n_quads() const
    {
        return QUADS > 0 ? QUADS : tree.n_quads;
    }

    __device__ const float4 *point() const
    {
        return QUADS > 0 ? held : tree.point + t * tree.n_quads;
    }

    /* Whether a box is within the squared distance limit of that of the leaf.
     */
    __device__ bool is_near(const float4 *box, float limit) const
    {
        const float4 *const low = tree.leaf + own * 2 * n_quads();

        return etx_box_distance<QUADS>(low, low + n_quads(), box,
                   box + n_quads(), n_quads()) <= limit;
    }

    __device__ void leaf(int64_t l)
    {
        const float4 *const box = tree.leaf + l * 2 * n_quads();
        const int64_t first = l * ETX_LEAF_POINTS;
        const int64_t end = first + ETX_LEAF_POINTS < tree.n_points
                                ? first + ETX_LEAF_POINTS
                                : tree.n_points;
        const bool is_close = etx_box_distance<QUADS>(point(), point(), box,
                                  box + n_quads(), n_quads()) <= visit.limit;

        if (!__any_sync(ETX_CUDA_ALL_LANES, is_close))
            return;
        for (int64_t u = first; u < end; u++) {
            const float s = etx_squared_distance<QUADS>(
                point(), tree.point + u * n_quads(), n_quads());

            if (s <= visit.limit && u != t)
                visit.add(s, tree.order[u]);
        }
    }

    __device__ void branch(int64_t b)
    {
        const int64_t first = b * ETX_BRANCH_LEAVES;
        const int64_t l = first + etx_lane();
        const float limit = visit.widest();
        unsigned near = __ballot_sync(ETX_CUDA_ALL_LANES,
            l < tree.n_leaves && is_near(tree.leaf + l * 2 * n_quads(), limit));

        if (part >= 0)
            near &= 0x11111111u << part;
        for (; near != 0; near &= near - 1)
            leaf(first + __ffs((int)near) - 1);
    }

    /* The branch of the leaf itself first: it has most of the near points. */
    __device__ void run()
    {
        const int64_t home = own / ETX_BRANCH_LEAVES;

        branch(home);
        for (int64_t first = 0; first < tree.n_branches;
             first += ETX_CUDA_WARP) {
            const int64_t b = first + etx_lane();
            const float limit = visit.widest();
            unsigned near = __ballot_sync(ETX_CUDA_ALL_LANES,
                b < tree.n_branches && b != home &&
                    is_near(tree.branch + b * 2 * n_quads(), limit));

            for (; near != 0; near &= near - 1)
                branch(first + __ffs((int)near) - 1);
        }
    }
};

/* ------------------------------------------------------ all neighbours -- */

/* Where the sources of the edges into point i are appended: slots i * n_slots
 * .., or from offset[i] on the sources of the points that these do not suffice
 * for.
 */
struct rows {
    int32_t *source;
    int32_t n_slots;
    const int64_t *offset; /* [n_points], or NULL: slots */
    const int64_t *wanted; /* [n_points] with offset: edges into a point */
    int64_t *n_short;      /* 1 if the slots of a point do not suffice */
};

/* Appends the sources of the edges into point i. */
struct collector {
    const struct search &search;
    const struct rows &rows;
    float limit;
    int32_t i;
    int64_t *count; /* of i, also of other warps */

    __device__ float widest() const
    {
        return search.limit;
    }

    __device__ void add(float, int32_t j)
    {
        if (!is_kept(search, j, i))
            return;
        const int64_t at = etx_append(count);

        if (rows.offset != NULL)
            rows.source[rows.offset[i] + at] = j;
        else if (at < rows.n_slots)
            rows.source[(int64_t)i * rows.n_slots + at] = j;
        else
            etx_write_same(rows.n_short, (int64_t)1);
    }
};

/* count [n_points], 0 before, becomes the number of edges into each point that
 * is appended. */
template <int QUADS>
__global__ static void append_kernel(
    int64_t *count, struct rows rows, struct search search)
{
    const struct etx_point_tree &tree = search.tree;

    for (int64_t w = etx_first_warp_item(); w < tree.n_leaves * N_PARTS;
         w += etx_warp_item_step()) {
        struct collector collector = {search, rows, -1.0f, 0, NULL};
        struct walk<QUADS, struct collector> walk(
            tree, collector, w / N_PARTS, (int32_t)(w % N_PARTS));
        const int64_t t = w / N_PARTS * ETX_LEAF_POINTS + etx_lane();

        collector.i = tree.order[walk.t];
        collector.count = count + collector.i;
        if (t < tree.n_points &&
            (rows.offset == NULL || rows.wanted[collector.i] > rows.n_slots))
            collector.limit = search.limit;
        if (__any_sync(ETX_CUDA_ALL_LANES, collector.limit >= 0.0f))
            walk.run();
    }
}

/* src and dst of the edges into each point, by source: a warp per point. */
__global__ static void order_kernel(int32_t *src, int32_t *dst,
    const int64_t *count, const int64_t *offset, struct rows slots,
    const int32_t *rest, int64_t n_points)
{
    for (int64_t i = etx_first_warp_item(); i < n_points;
         i += etx_warp_item_step()) {
        const int64_t n = count[i];
        const int32_t *const source = n > slots.n_slots
                                          ? rest + offset[i]
                                          : slots.source + i * slots.n_slots;

        for (int64_t k = etx_lane(); k < n; k += ETX_CUDA_WARP) {
            int64_t at = offset[i];

            for (int64_t m = 0; m < n; m++)
                at += source[m] < source[k];
            src[at] = source[k];
            dst[at] = (int32_t)i;
        }
    }
}

/* -------------------------------------------------- nearest neighbours -- */

/* The nearest so far, as s << 32 | j, the farthest on top of a heap. Squared
 * distances are not negative, so their bits ascend with them. */
struct nearest {
    float limit; /* largest squared distance that may enter the heap */
    int32_t max, n;
    uint64_t *heap; /* [max] */

    __device__ float widest() const
    {
        float out = limit;

        for (int32_t step = ETX_CUDA_WARP / 2; step > 0; step /= 2)
            out = fmaxf(out, __shfl_xor_sync(ETX_CUDA_ALL_LANES, out, step));
        return out;
    }

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

/* For the points first .. first + n - 1 of the tree, first that of a leaf,
 * which find their neighbours in heap [n, max]: append their edges to edge
 * [*n_edges], in any order. */
template <int QUADS>
__global__ static void nearest_kernel(uint64_t *edge, int64_t *n_edges,
    uint64_t *heap, int32_t max, int64_t first, int64_t n, struct search search)
{
    const int64_t n_leaves = (n + ETX_LEAF_POINTS - 1) / ETX_LEAF_POINTS;

    for (int64_t w = etx_first_warp_item(); w < n_leaves;
         w += etx_warp_item_step()) {
        const int64_t t = w * ETX_LEAF_POINTS + etx_lane();
        struct nearest nearest = {
            t < n ? search.limit : -1.0f, max, 0, heap + t * max};
        struct walk<QUADS, struct nearest> walk(
            search.tree, nearest, first / ETX_LEAF_POINTS + w, -1);

        walk.run();
        const int32_t i = search.tree.order[walk.t];

        for (int32_t m = 0; t < n && m < nearest.n; m++) {
            const int32_t j = (int32_t)(uint32_t)nearest.heap[m];

            if (is_kept(search, i, j))
                edge[etx_append(n_edges)] =
                    (uint64_t)(uint32_t)j << search.shift | (uint32_t)i;
        }
    }
}

/* ----------------------------------------------------------- distances -- */

/* Counts the pairs of point i with points of lower rows by the bin of their
 * distance. */
struct binned {
    const struct etx_distance_bins_args &args;
    int64_t *count;
    float limit, most;
    int32_t i;

    __device__ float widest() const
    {
        return most;
    }

    __device__ void add(float, int32_t j)
    {
        const float *const a = args.point + (int64_t)i * args.n_dim;
        const float *const b = args.point + (int64_t)j * args.n_dim;
        const double n_bins = (double)args.n_bins;
        double sum = 0.0;

        for (int32_t k = 0; k < args.n_dim; k++)
            sum +=
                ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
        const double bin =
            n_bins * (sum / ((double)args.radius * (double)args.radius));

        if (j < i)
            (void)etx_append(
                &count[bin < n_bins ? (int32_t)bin : args.n_bins - 1]);
    }
};

template <int QUADS>
__global__ static void distance_bins_kernel(
    int64_t *count, struct etx_distance_bins_args args, struct search search)
{
    const struct etx_point_tree &tree = search.tree;

    for (int64_t w = etx_first_warp_item(); w < tree.n_leaves * N_PARTS;
         w += etx_warp_item_step()) {
        struct binned binned = {args, count, -1.0f, search.limit, 0};
        struct walk<QUADS, struct binned> walk(
            tree, binned, w / N_PARTS, (int32_t)(w % N_PARTS));

        binned.i = tree.order[walk.t];
        if (w / N_PARTS * ETX_LEAF_POINTS + etx_lane() < tree.n_points)
            binned.limit = search.limit;
        walk.run();
    }
}

/* ------------------------------------------------------------- results -- */

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

static etx_status append(struct etx_stream *stream, int64_t *count,
    const struct rows *rows, const struct search *search)
{
    const int64_t n = search->tree.n_points;

    ETX_CUDA(cudaMemsetAsync(count, 0, (size_t)(n + 1) * sizeof *count,
        etx_cuda_of(stream)->stream));
    return etx_launch_warps(stream, search->tree.n_leaves * N_PARTS,
        search->tree.n_quads == 2 ? append_kernel<2> : append_kernel<0>, count,
        *rows, *search);
}

/* The edges from the slots, or from rest the sources of points with more, in
 * order.
 */
static etx_status order_edges(struct etx_stream *stream,
    const struct etx_radius_graph_args *args, const int64_t *count,
    const int64_t *offset, const struct rows *slots, const int32_t *rest,
    int64_t n_edges)
{
    etx_cuda_owned<int32_t> src(stream->memory);
    etx_cuda_owned<int32_t> dst(stream->memory);

    ETX_TRY(src.alloc(n_edges, "sources of edges"));
    ETX_TRY(dst.alloc(n_edges, "targets of edges"));
    ETX_TRY(etx_launch_warps(stream, args->n_points, order_kernel, src.data,
        dst.data, count, offset, *slots, rest, args->n_points));
    args->out->n_edges = n_edges;
    args->out->src = src.release();
    args->out->dst = dst.release();
    return ETX_OK;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static etx_status find_all(struct etx_stream *stream,
    const struct etx_radius_graph_args *args, const struct search *search)
{
    struct etx_cuda_scratch scratch(stream);
    const int64_t n = args->n_points;
    const int64_t fits = SLOT_BYTES / (n * (int64_t)sizeof(int32_t)) + 1;
    struct rows rows = {};
    int32_t *rest = NULL;
    int64_t *count = NULL;
    int64_t *offset = NULL;
    int64_t sizes[2] = {0, 0}; /* edges; whether slots do not suffice */

    rows.n_slots = (int32_t)smaller(smaller(MAX_SLOTS, n - 1), fits);
    ETX_TRY(scratch.alloc(&count, n + 1, "edges into points"));
    ETX_TRY(scratch.alloc(&offset, n + 2, "edges into points"));
    ETX_TRY(scratch.alloc(&rows.source, n * rows.n_slots, "slots of points"));
    rows.n_short = offset + n + 1;
    ETX_CUDA(cudaMemsetAsync(
        rows.n_short, 0, sizeof *rows.n_short, etx_cuda_of(stream)->stream));
    ETX_TRY(append(stream, count, &rows, search));
    ETX_TRY(etx_cuda_sums_before(stream, offset, count, n + 1));
    ETX_TRY(etx_memory_to_host(
        stream->memory, sizes, offset + n, 2, sizeof *sizes));
    ETX_TRY(check_limit(args, sizes[0]));
    if (sizes[1] != 0) {
        struct rows all = rows;
        int64_t *appended = NULL;

        ETX_TRY(scratch.alloc(&rest, sizes[0], "edges"));
        ETX_TRY(scratch.alloc(&appended, n + 1, "edges into points"));
        all.source = rest;
        all.offset = offset;
        all.wanted = count;
        ETX_TRY(append(stream, appended, &all, search));
    }
    return order_edges(stream, args, count, offset, &rows, rest, sizes[0]);
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
    const int64_t fits = HEAP_BYTES / row / ETX_LEAF_POINTS * ETX_LEAF_POINTS;
    const int64_t block = smaller(
        fits > ETX_LEAF_POINTS ? fits : ETX_LEAF_POINTS, args->n_points);
    int64_t n_edges = 0;
    uint64_t *heap = NULL;
    uint64_t *edge = NULL;
    int64_t *count = NULL;

    ETX_TRY(scratch.alloc(&heap, block * max, "nearest points"));
    ETX_TRY(scratch.alloc(&edge, args->n_points * max, "edges"));
    ETX_TRY(scratch.alloc(&count, 1, "number of edges"));
    ETX_CUDA(
        cudaMemsetAsync(count, 0, sizeof *count, etx_cuda_of(stream)->stream));
    for (int64_t first = 0; first < args->n_points; first += block) {
        const int64_t left = args->n_points - first;
        const int64_t n = left < block ? left : block;

        ETX_TRY(etx_cuda_check_cancelled(stream));
        ETX_TRY(etx_launch_warps(stream,
            (n + ETX_LEAF_POINTS - 1) / ETX_LEAF_POINTS,
            search->tree.n_quads == 2 ? nearest_kernel<2> : nearest_kernel<0>,
            edge, count, heap, max, first, n, *search));
    }
    ETX_TRY(
        etx_memory_to_host(stream->memory, &n_edges, count, 1, sizeof n_edges));
    ETX_TRY(check_limit(args, n_edges));
    return etx_cuda_return_edges(
        stream, args->out, edge, n_edges, search->shift);
}

/* radius * radius in float32. */
static float squared(float radius)
{
    const double square = (double)radius * (double)radius;

    return radius > 1.8446743e19f ? INFINITY : (float)square;
}

static etx_status open_search(struct search *search,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const float *point, int64_t n_points, int32_t n_dim, float radius)
{
    search->limit = squared(radius);
    search->shift = etx_bits_of(n_points);
    return etx_point_tree_build(
        &search->tree, scratch, stream, point, n_points, n_dim);
}

etx_status etx_cuda_distance_bins(
    struct etx_stream *stream, const struct etx_distance_bins_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    struct search search = {};
    int64_t *count = NULL;

    ETX_TRY(scratch.alloc(&count, args->n_bins, "pairs by distance"));
    ETX_CUDA(cudaMemsetAsync(count, 0, (size_t)args->n_bins * sizeof *count,
        etx_cuda_of(stream)->stream));
    if (args->n_points > 1) {
        ETX_TRY(open_search(&search, &scratch, stream, args->point,
            args->n_points, args->n_dim, args->radius));
        ETX_TRY(etx_launch_warps(stream, search.tree.n_leaves * N_PARTS,
            search.tree.n_quads == 2 ? distance_bins_kernel<2>
                                     : distance_bins_kernel<0>,
            count, *args, search));
    }
    return etx_memory_to_host(
        stream->memory, args->count, count, args->n_bins, sizeof *args->count);
}

etx_status etx_cuda_radius_graph(
    struct etx_stream *stream, const struct etx_radius_graph_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    struct search search = {};

    if (args->n_points < 2)
        return etx_cuda_return_edges(stream, args->out, NULL, 0, 1);
    ETX_TRY(open_search(&search, &scratch, stream, args->point, args->n_points,
        args->n_dim, args->radius));
    search.key = args->key;
    search.both = args->both;
    if (args->max_neighbours > 0)
        return find_nearest(stream, args, &search);
    return find_all(stream, args, &search);
}
