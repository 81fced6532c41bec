/* cuda/op/primitives.cu -- sorting, sums and compaction of whole arrays.
 *
 * CUB is first called for the size of its scratch, then to run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/primitives.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

/* run(memory, bytes, queue) of n items in scratch of the size that it returns.
 */
template <typename Run>
static etx_status with_scratch(struct etx_stream *stream, int64_t n, Run run)
{
    struct etx_cuda_scratch scratch(stream);
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    size_t bytes = 0;
    char *memory = NULL;

    if (n == 0)
        return ETX_OK;
    ETX_CUDA(run(memory, bytes, queue));
    ETX_TRY(scratch.alloc(&memory, (int64_t)bytes, "scratch of a sort"));
    ETX_CUDA(run(memory, bytes, queue));
    return ETX_OK;
}

etx_status etx_cuda_sort(struct etx_stream *stream, uint64_t *out,
    const uint64_t *in, int64_t n, int32_t n_bits)
{
    return with_scratch(stream, n, [=](auto memory, auto &bytes, auto queue) {
        return cub::DeviceRadixSort::SortKeys(
            memory, bytes, in, out, n, 0, n_bits, queue);
    });
}

etx_status etx_cuda_sort_pairs(struct etx_stream *stream, uint64_t *key_out,
    const uint64_t *key, int32_t *value_out, const int32_t *value, int64_t n,
    int32_t n_bits)
{
    return with_scratch(stream, n, [=](auto memory, auto &bytes, auto queue) {
        return cub::DeviceRadixSort::SortPairs(
            memory, bytes, key, key_out, value, value_out, n, 0, n_bits, queue);
    });
}

etx_status etx_cuda_sums_before(
    struct etx_stream *stream, int64_t *out, const int64_t *in, int64_t n)
{
    return with_scratch(stream, n, [=](auto memory, auto &bytes, auto queue) {
        return cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, n, queue);
    });
}

etx_status etx_cuda_pick(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const uint8_t *flag, int64_t n)
{
    const thrust::counting_iterator<int32_t> all(0);

    return with_scratch(stream, n, [=](auto memory, auto &bytes, auto queue) {
        return cub::DeviceSelect::Flagged(
            memory, bytes, all, flag, out, n_out, n, queue);
    });
}

/* Whether an edge is above the cut. */
struct is_above {
    const float *score;
    float cut;
    const int32_t *src, *dst;

    __device__ bool operator()(int32_t e) const
    {
        /* Loads that stay where they are: else registers are spilled. */
        return score[e] > cut &&
               (src == NULL || __ldcg(src + e) != __ldcg(dst + e));
    }
};

etx_status etx_cuda_pick_above(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const float *score, float cut, const int32_t *src,
    const int32_t *dst, int64_t n)
{
    const thrust::counting_iterator<int32_t> all(0);
    const struct is_above above = {score, cut, src, dst};

    return with_scratch(stream, n, [=](auto memory, auto &bytes, auto queue) {
        return cub::DeviceSelect::If(
            memory, bytes, all, out, n_out, n, above, queue);
    });
}

etx_status etx_cuda_compact(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const uint8_t *flag, int64_t n)
{
    struct etx_cuda_scratch scratch(stream);
    int64_t *count = NULL;

    *n_out = 0;
    if (n == 0)
        return ETX_OK;
    ETX_TRY(scratch.alloc(&count, 1, "number of selected edges"));
    ETX_TRY(etx_cuda_pick(stream, out, count, flag, n));
    return etx_memory_to_host(stream->memory, n_out, count, 1, sizeof *n_out);
}
