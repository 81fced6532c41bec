/* cuda/op/edge_list.cuh -- what operators that sort and return edges share:
 * widths of keys, scores as keys, arrays that outlive the call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_EDGE_LIST_CUH
#define ETX_CUDA_OP_EDGE_LIST_CUH

#include "cuda/backend/launch.cuh"

/* Bits that the numbers 0 .. n - 1 need. */
static inline int32_t etx_bits_of(int64_t n)
{
    int32_t bits = 1;

    while (bits < 62 && ((int64_t)1 << bits) < n)
        bits++;
    return bits;
}

/* A key for a radix sort: ascends with x; equal for -0 and 0. x is no NaN. */
__device__ static inline uint32_t etx_ordered(float x)
{
    const uint32_t bits = __float_as_uint(x + 0.0f);

    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/* Ascends with the score of edge e; of equal ones the first is the largest. */
__device__ static inline unsigned long long etx_rank(float score, int64_t e)
{
    return (unsigned long long)etx_ordered(score) << 32 |
           (0xFFFFFFFFu - (uint32_t)e);
}

/* offset [n_nodes + 1] of the runs of equal ends >> shift in ends [n_edges],
 * which ascend; for every e up to n_edges: edge e begins the runs of all nodes
 * after the end before it. */
template <typename End>
__device__ static inline void etx_begin_runs(int64_t *offset, const End *ends,
    int32_t shift, int64_t e, int64_t n_nodes, int64_t n_edges)
{
    const int64_t before = e == 0 ? -1 : (int64_t)(ends[e - 1] >> shift);
    const int64_t node = e == n_edges ? n_nodes : (int64_t)(ends[e] >> shift);

    for (int64_t i = before + 1; i <= node; i++)
        offset[i] = e;
}

/* Memory that an operator returns: freed at the end of the scope unless
 * released, as std::unique_ptr. */
template <typename T> struct etx_cuda_owned {
    explicit etx_cuda_owned(const struct etx_memory *of)
        : data(NULL), memory(of)
    {
    }
    ~etx_cuda_owned()
    {
        etx_memory_free(memory, data);
    }
    etx_cuda_owned(const etx_cuda_owned &) = delete;
    etx_cuda_owned &operator=(const etx_cuda_owned &) = delete;

    etx_status alloc(int64_t count, const char *what)
    {
        return etx_memory_alloc(&data, memory, count, sizeof(T), what);
    }
    T *release()
    {
        T *out = data;

        data = NULL;
        return out;
    }
    T *data;

  private:
    const struct etx_memory *memory;
};

/* edge_list.cu: *out = the edges dst << shift | src of edge [n_edges], sorted,
 * owned by the caller. */
etx_status etx_cuda_return_edges(struct etx_stream *stream,
    struct etx_edge_list *out, const uint64_t *edge, int64_t n_edges,
    int32_t shift);

#endif
