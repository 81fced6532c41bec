/* cuda/op/column_sums.cuh -- sums over the rows of every column.
 *
 * A reduction in levels, in float64. A thread sums ETX_CHUNK_ROWS rows of one
 * column. While there are more than ETX_CHUNK_ROWS such sums, they are the rows
 * of the next level; at last one thread per column adds those that remain.
 * Every sum is taken in order: the same bits on every run. The summand is a
 * functor term(row, column).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_COLUMN_SUMS_CUH
#define ETX_CUDA_OP_COLUMN_SUMS_CUH

#include "cuda/backend/launch.cuh"

#define ETX_CHUNK_ROWS 128

/* The elements of a matrix. */
struct etx_plain_term {
    const float *x; /* [n_rows, width] */
    int32_t width;

    __device__ double operator()(int64_t i, int32_t k) const
    {
        return (double)x[i * width + k];
    }
};

/* The sums of the level before. */
struct etx_partial_term {
    const double *x; /* [n_rows, width] */
    int32_t width;

    __device__ double operator()(int64_t i, int32_t k) const
    {
        return x[i * width + k];
    }
};

/* part [n_chunks, width]: the sums of chunks of rows. */
template <typename Term>
__global__ static void etx_chunk_sums_kernel(
    double *part, int64_t n_rows, int64_t n_chunks, int32_t width, Term term)
{
    for (int64_t t = etx_first_item(); t < n_chunks * width;
         t += etx_item_step()) {
        const int32_t k = (int32_t)(t % width);
        const int64_t first = t / width * ETX_CHUNK_ROWS;
        double sum = 0.0;

        for (int64_t i = first; i < first + ETX_CHUNK_ROWS && i < n_rows; i++)
            sum += term(i, k);
        part[t] = sum;
    }
}

/* out [width] = the sums of all chunks. */
__global__ static void etx_add_chunks_kernel(
    double *out, const double *part, int64_t n_chunks, int32_t width)
{
    for (int64_t k = etx_first_item(); k < width; k += etx_item_step()) {
        double sum = 0.0;

        for (int64_t c = 0; c < n_chunks; c++)
            sum += part[c * width + k];
        out[k] = sum;
    }
}

/* out [width] += sum, rounded once. */
__global__ static void etx_round_sums_kernel(
    float *out, const double *sum, int32_t width)
{
    for (int64_t k = etx_first_item(); k < width; k += etx_item_step())
        out[k] = (float)((double)out[k] + sum[k]);
}

static inline int64_t etx_chunks_of(int64_t n_rows)
{
    return (n_rows + ETX_CHUNK_ROWS - 1) / ETX_CHUNK_ROWS;
}

/* out [width], on the device, = sum of term(i, k) over the rows i. */
template <typename Term>
etx_status etx_column_sums(struct etx_stream *stream, double *out,
    int64_t n_rows, int32_t width, Term term)
{
    struct etx_cuda_scratch scratch(stream);
    int64_t n_chunks = etx_chunks_of(n_rows);
    double *part = NULL;

    ETX_TRY(scratch.alloc(&part, n_chunks * width, "sums of columns"));
    ETX_TRY(etx_launch(stream, n_chunks * width, etx_chunk_sums_kernel<Term>,
        part, n_rows, n_chunks, width, term));
    while (n_chunks > ETX_CHUNK_ROWS) {
        const struct etx_partial_term partial = {part, width};
        const int64_t n_summed = n_chunks;

        n_chunks = etx_chunks_of(n_summed);
        ETX_TRY(scratch.alloc(&part, n_chunks * width, "sums of columns"));
        ETX_TRY(etx_launch(stream, n_chunks * width,
            etx_chunk_sums_kernel<struct etx_partial_term>, part, n_summed,
            n_chunks, width, partial));
    }
    return etx_launch(stream, width, etx_add_chunks_kernel, out,
        (const double *)part, n_chunks, width);
}

/* out [width] += sum of term(i, k) over the rows i. */
template <typename Term>
etx_status etx_add_column_sums(struct etx_stream *stream, float *out,
    int64_t n_rows, int32_t width, Term term)
{
    struct etx_cuda_scratch scratch(stream);
    double *sum = NULL;

    ETX_TRY(scratch.alloc(&sum, width, "sums of columns"));
    ETX_TRY(etx_column_sums(stream, sum, n_rows, width, term));
    return etx_launch(
        stream, width, etx_round_sums_kernel, out, (const double *)sum, width);
}

#endif
