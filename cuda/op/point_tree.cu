/* cuda/op/point_tree.cu -- points in the order of a space-filling curve.
 *
 * The order only says which points share a leaf: it decides how much work a
 * search is and never what it finds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/point_tree.cuh"

#include "cuda/op/edge_list.cuh"
#include "cuda/op/primitives.h"

#define MAX_AXES      8    /* of a Morton code: the first of the points */
#define RANGE_THREADS 8192 /* each adds to the range once an axis */
#define TREE_THREADS  512

/* The range of each axis, as numbers that ascend with the floats. */
struct range {
    uint32_t low[MAX_AXES], high[MAX_AXES];
};

__device__ static float float_of(uint32_t ordered)
{
    return __uint_as_float(
        (ordered & 0x80000000u) != 0 ? ordered & 0x7FFFFFFFu : ~ordered);
}

__global__ static void range_kernel(struct range *range, const float *point,
    int64_t n_points, int32_t n_dim, int32_t n_axes)
{
    for (int32_t k = 0; k < n_axes; k++) {
        uint32_t low = 0xFFFFFFFFu;
        uint32_t high = 0;

        for (int64_t i = etx_first_item(); i < n_points; i += etx_item_step()) {
            const uint32_t x = etx_ordered(point[i * n_dim + k]);

            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        atomicMin(&range->low[k], low);
        atomicMax(&range->high[k], high);
    }
}

/* Which of the cells of a range x is in. */
__device__ static uint32_t cell_of(
    float x, uint32_t low, uint32_t high, float n_cells)
{
    const float begin = 0.5f * float_of(low);
    const float size = 0.5f * float_of(high) - begin;
    const float at = 0.5f * x - begin;

    return size > 0.0f ? (uint32_t)fminf(at / size * n_cells, n_cells - 1.0f)
                       : 0;
}

/* Morton code: the bits of the axes interleaved, the highest first. */
__global__ static void codes_kernel(uint64_t *code, int32_t *row,
    const struct range *range, const float *point, int64_t n_points,
    int32_t n_dim, int32_t n_axes)
{
    const int32_t n_bits = 64 / n_axes < 16 ? 64 / n_axes : 16;
    uint32_t cell[MAX_AXES];

    for (int64_t i = etx_first_item(); i < n_points; i += etx_item_step()) {
        uint64_t out = 0;

        for (int32_t k = 0; k < n_axes; k++)
            cell[k] = cell_of(point[i * n_dim + k], range->low[k],
                range->high[k], (float)(1 << n_bits));
        for (int32_t bit = n_bits - 1; bit >= 0; bit--)
            for (int32_t k = 0; k < n_axes; k++)
                out = out << 1 | (cell[k] >> bit & 1u);
        code[i] = out;
        row[i] = (int32_t)i;
    }
}

/* box [2, width] around n members [stride], whose high corners lie `high`
 * elements after their low ones: coordinate k. */
__device__ static void write_box(float *box, const float *member, int64_t n,
    int32_t stride, int32_t high, int32_t k, int32_t width)
{
    float min = member[k];
    float max = member[high + k];

    for (int64_t i = 1; i < n; i++) {
        min = fminf(min, member[i * stride + k]);
        max = fmaxf(max, member[i * stride + high + k]);
    }
    box[k] = min;
    box[width + k] = max;
}

__device__ static int64_t members_of(int64_t first, int64_t n, int64_t max)
{
    return n - first < max ? n - first : max;
}

/* A block per branch: its points in order, n_dim coordinates and zeros, then
 * the boxes of its leaves, then its own. */
__global__ static void __launch_bounds__(TREE_THREADS)
    tree_kernel(float *sorted, float *leaf, float *branch, const float *point,
        struct etx_point_tree tree, int32_t n_dim)
{
    const int32_t width = 4 * tree.n_quads;
    const int64_t b = blockIdx.x;
    const int64_t first_leaf = b * ETX_BRANCH_LEAVES;
    const int64_t first = first_leaf * ETX_LEAF_POINTS;
    const int64_t n_leaves =
        members_of(first_leaf, tree.n_leaves, ETX_BRANCH_LEAVES);
    const int64_t n =
        members_of(first, tree.n_points, ETX_BRANCH_LEAVES * ETX_LEAF_POINTS);

    for (int64_t t = threadIdx.x; t < n * width; t += TREE_THREADS) {
        const int64_t i = first + t / width;
        const int32_t k = (int32_t)(t % width);

        sorted[i * width + k] =
            k < n_dim ? point[(int64_t)tree.order[i] * n_dim + k] : 0.0f;
    }
    __syncthreads();
    for (int64_t t = threadIdx.x; t < n_leaves * width; t += TREE_THREADS) {
        const int64_t l = first_leaf + t / width;
        const int64_t of = l * ETX_LEAF_POINTS;

        write_box(leaf + l * 2 * width, sorted + of * width,
            members_of(of, tree.n_points, ETX_LEAF_POINTS), width, 0,
            (int32_t)(t % width), width);
    }
    __syncthreads();
    for (int32_t k = (int32_t)threadIdx.x; k < width; k += TREE_THREADS)
        write_box(branch + b * 2 * width, leaf + first_leaf * 2 * width,
            n_leaves, 2 * width, width, k, width);
}

static etx_status sort_points(struct etx_stream *stream, int32_t *order,
    const float *point, int64_t n_points, int32_t n_dim)
{
    struct etx_cuda_scratch scratch(stream);
    const int32_t n_axes = n_dim < MAX_AXES ? n_dim : MAX_AXES;
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    struct range *range = NULL;
    uint64_t *code = NULL;
    uint64_t *sorted = NULL;
    int32_t *row = NULL;

    ETX_TRY(scratch.alloc(&range, 1, "range of points"));
    ETX_TRY(scratch.alloc_all(n_points, "Morton codes", &code, &sorted, &row));
    ETX_CUDA(cudaMemsetAsync(range->low, 0xFF, sizeof range->low, queue));
    ETX_CUDA(cudaMemsetAsync(range->high, 0, sizeof range->high, queue));
    ETX_TRY(
        etx_launch(stream, n_points < RANGE_THREADS ? n_points : RANGE_THREADS,
            range_kernel, range, point, n_points, n_dim, n_axes));
    ETX_TRY(etx_launch(stream, n_points, codes_kernel, code, row,
        (const struct range *)range, point, n_points, n_dim, n_axes));
    return etx_cuda_sort_pairs(stream, sorted, code, order, row, n_points, 64);
}

etx_status etx_point_tree_build(struct etx_point_tree *out,
    struct etx_cuda_scratch *scratch, struct etx_stream *stream,
    const float *point, int64_t n_points, int32_t n_dim)
{
    const int64_t n_leaves = (n_points + ETX_LEAF_POINTS - 1) / ETX_LEAF_POINTS;
    const int64_t n_branches =
        (n_leaves + ETX_BRANCH_LEAVES - 1) / ETX_BRANCH_LEAVES;
    const int32_t n_quads = n_dim <= 8 ? 2 : (n_dim + 3) / 4;
    const int32_t width = 4 * n_quads;
    int32_t *order = NULL;
    float *sorted = NULL;
    float *leaf = NULL;
    float *branch = NULL;

    ETX_TRY(scratch->alloc(&order, n_points, "order of points"));
    ETX_TRY(scratch->alloc(&sorted, n_points * width, "points in order"));
    ETX_TRY(scratch->alloc(&leaf, n_leaves * 2 * width, "boxes of leaves"));
    ETX_TRY(
        scratch->alloc(&branch, n_branches * 2 * width, "boxes of branches"));
    ETX_TRY(sort_points(stream, order, point, n_points, n_dim));
    *out = (struct etx_point_tree){n_points, n_leaves, n_branches, n_quads,
        order, reinterpret_cast<const float4 *>(sorted),
        reinterpret_cast<const float4 *>(leaf),
        reinterpret_cast<const float4 *>(branch)};
    return etx_launch_grid(stream, n_branches, TREE_THREADS, 0, tree_kernel,
        sorted, leaf, branch, point, *out, n_dim);
}
