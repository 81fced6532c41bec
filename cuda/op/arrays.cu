/* cuda/op/arrays.cu -- small work on whole arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/half.cuh"
#include "cuda/backend/launch.cuh"
#include "cuda/op/column_sums.cuh"
#include "cuda/op/operators.h"

#include "op/shared/adamw.h"
#include "op/shared/edge_index.h"

__global__ static void fill_kernel(struct etx_fill_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] = args.value;
}

ETX_CUDA_PER_ITEM(fill, args->n)

/* mean [width] of the columns; matrices of weights have few rows. */
__global__ static void mean_kernel(double *mean, struct etx_columns_args args)
{
    for (int64_t k = etx_first_item(); k < args.width; k += etx_item_step()) {
        double sum = 0.0;

        for (int64_t i = 0; i < args.n_rows; i++)
            sum += (double)args.x[i * args.x_stride + k];
        mean[k] = sum / (double)args.n_rows;
    }
}

__global__ static void columns_kernel(
    struct etx_columns_args args, const double *mean)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int64_t i = t / args.width;
        const int64_t k = t % args.width;
        const float x = args.x[i * args.x_stride + k];
        float *y = args.y + i * args.y_stride + k;

        if (args.add)
            *y += x;
        else
            *y = mean != NULL ? (float)((double)x - mean[k]) : x;
    }
}

etx_status etx_cuda_columns(
    struct etx_stream *stream, const struct etx_columns_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    double *mean = NULL;

    if (args->n_rows == 0)
        return ETX_OK;
    if (args->centre) {
        ETX_TRY(scratch.alloc(&mean, args->width, "means of columns"));
        ETX_TRY(etx_launch(stream, args->width, mean_kernel, mean, *args));
    }
    return etx_launch(stream, args->n_rows * args->width, columns_kernel, *args,
        (const double *)mean);
}

__global__ static void gather_edges_kernel(struct etx_gather_edges_args args)
{
    for (int64_t k = etx_first_item(); k < args.n; k += etx_item_step()) {
        const int32_t e = args.index[k];

        args.src_out[k] = args.src[e];
        if (args.dst != NULL)
            args.dst_out[k] = args.dst[e];
        if (args.score != NULL)
            args.score_out[k] = args.score[e];
    }
}

ETX_CUDA_PER_ITEM(gather_edges, args->n)

/* As activation_kernel: the smallest index, or all bits set. */
__global__ static void read_edge_index_kernel(
    struct etx_read_edge_index_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step())
        if (!etx_read_edge(&args, e))
            atomicMin(reinterpret_cast<unsigned long long *>(args.bad),
                (unsigned long long)e);
}

etx_status etx_cuda_read_edge_index(
    struct etx_stream *stream, const struct etx_read_edge_index_args *args)
{
    ETX_CUDA(cudaMemsetAsync(
        args->bad, 0xFF, sizeof *args->bad, etx_cuda_of(stream)->stream));
    return etx_launch(stream, args->n_edges, read_edge_index_kernel, *args);
}

__global__ static void write_edge_index_kernel(
    struct etx_write_edge_index_args args)
{
    for (int64_t k = etx_first_item(); k < args.n; k += etx_item_step())
        etx_write_edge(&args, k);
}

ETX_CUDA_PER_ITEM(write_edge_index, args->n)

__global__ static void scale_kernel(struct etx_scale_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] *= args.factor;
}

ETX_CUDA_PER_ITEM(scale, args->n)

struct sum_squares_term {
    const float *x;

    __device__ double operator()(int64_t i, int32_t) const
    {
        return (double)x[i] * (double)x[i];
    }
};

etx_status etx_cuda_sum_squares(
    struct etx_stream *stream, const struct etx_sum_squares_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const struct sum_squares_term term = {args->x};
    double *sum = NULL;

    ETX_TRY(scratch.alloc(&sum, 1, "sum of squares"));
    ETX_TRY(etx_column_sums(stream, sum, args->n, 1, term));
    return etx_memory_to_host(stream->memory, args->sum, sum, 1, sizeof *sum);
}

__global__ static void narrow_kernel(struct etx_narrow_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] = args.format == ETX_HALF_BFLOAT16 ? etx_bfloat16(args.x[i])
                                                     : etx_half(args.x[i]);
}

ETX_CUDA_PER_ITEM(narrow, args->n)

__global__ static void widen_kernel(struct etx_widen_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] = args.format == ETX_HALF_BFLOAT16 ? etx_unbfloat16(args.x[i])
                                                     : etx_unhalf(args.x[i]);
}

ETX_CUDA_PER_ITEM(widen, args->n)

__global__ static void outward_key_kernel(struct etx_outward_key_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step()) {
        const float *p = args.position + 3 * i;

        args.key[i] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    }
}

ETX_CUDA_PER_ITEM(outward_key, args->n)

__global__ static void add_kernel(struct etx_add_args args)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        args.y[i] += args.alpha * args.x[i];
}

ETX_CUDA_PER_ITEM(add, args->n)

__global__ static void gather_kernel(struct etx_gather_args args)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int64_t i = t / args.width;
        const int64_t k = t % args.width;
        const float x = args.x[(int64_t)args.index[i] * args.width + k];

        args.y[t] = args.add ? args.y[t] + x : x;
    }
}

ETX_CUDA_PER_ITEM(gather, args->n_rows * args->width)

__global__ static void scatter_kernel(struct etx_scatter_args args)
{
    for (int64_t t = etx_first_item(); t < args.n_rows * args.width;
         t += etx_item_step()) {
        const int64_t i = t / args.width;
        const int64_t k = t % args.width;
        float *y = args.y + (int64_t)args.index[i] * args.width + k;

        *y = args.add ? *y + args.x[t] : args.x[t];
    }
}

ETX_CUDA_PER_ITEM(scatter, args->n_rows * args->width)

__global__ static void row_dot_kernel(struct etx_row_dot_args args)
{
    for (int64_t i = etx_first_warp_item(); i < args.n_rows;
         i += etx_warp_item_step()) {
        const int64_t row_a = args.a_index != NULL ? args.a_index[i] : i;
        const int64_t row_b = args.b_index != NULL ? args.b_index[i] : i;
        const float *a = args.a + row_a * args.width;
        const float *b = args.b + row_b * args.width;
        double sum = 0.0;

        for (int32_t k = etx_lane(); k < args.width; k += ETX_CUDA_WARP)
            sum += (double)a[k] * (double)b[k];
        sum = etx_warp_sum(sum);
        if (etx_lane() == 0)
            args.out[i] = (float)sum;
    }
}

etx_status etx_cuda_row_dot(
    struct etx_stream *stream, const struct etx_row_dot_args *args)
{
    return etx_launch_warps(stream, args->n_rows, row_dot_kernel, *args);
}

__global__ static void adamw_kernel(
    struct etx_adamw_args args, double bias1, double bias2)
{
    for (int64_t i = etx_first_item(); i < args.n; i += etx_item_step())
        etx_adamw_step(&args, i, bias1, bias2);
}

etx_status etx_cuda_adamw(
    struct etx_stream *stream, const struct etx_adamw_args *args)
{
    const double bias1 = 1.0 - pow((double)args->beta1, (double)args->step);
    const double bias2 = 1.0 - pow((double)args->beta2, (double)args->step);

    return etx_launch(stream, args->n, adamw_kernel, *args, bias1, bias2);
}
