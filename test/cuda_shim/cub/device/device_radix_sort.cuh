/* cuda_shim/cub/device/device_radix_sort.cuh -- sorts by some bits of a key.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_CUB_RADIX_SORT_CUH
#define ETX_SHIM_CUB_RADIX_SORT_CUH

#include "../shim_scratch.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub
{

struct DeviceRadixSort {
    /* Stable; bits begin_bit .. end_bit - 1 alone are looked at. */
    template <typename Key, typename Value>
    static cudaError_t SortPairs(void *scratch, size_t &bytes, const Key *key,
        Key *key_out, const Value *value, Value *value_out, int64_t n,
        int begin_bit, int end_bit, cudaStream_t stream)
    {
        cudaError_t error;

        if (shim_queries_size(&error, scratch, &bytes, stream))
            return error;
        shim_check_overlap(key, key_out, n);
        shim_check_overlap(value, value_out, n);
        shim_queue_cub(stream, [=]() {
            const std::vector<int64_t> order =
                sorted(key, n, begin_bit, end_bit);

            for (int64_t i = 0; i < n; i++) {
                key_out[i] = key[order[(size_t)i]];
                value_out[i] = value[order[(size_t)i]];
            }
        });
        return cudaSuccess;
    }

    template <typename Key>
    static cudaError_t SortKeys(void *scratch, size_t &bytes, const Key *key,
        Key *key_out, int64_t n, int begin_bit, int end_bit,
        cudaStream_t stream)
    {
        cudaError_t error;

        if (shim_queries_size(&error, scratch, &bytes, stream))
            return error;
        shim_check_overlap(key, key_out, n);
        shim_queue_cub(stream, [=]() {
            const std::vector<int64_t> order =
                sorted(key, n, begin_bit, end_bit);

            for (int64_t i = 0; i < n; i++)
                key_out[i] = key[order[(size_t)i]];
        });
        return cudaSuccess;
    }

  private:
    template <typename Key>
    static std::vector<int64_t> sorted(
        const Key *key, int64_t n, int begin_bit, int end_bit)
    {
        std::vector<int64_t> order((size_t)n);
        const int above = (int)(8 * sizeof(Key)) - end_bit;
        const auto part = [=](int64_t i) {
            return (Key)(key[i] << above) >> (above + begin_bit);
        };

        if (begin_bit < 0 || above < 0 || end_bit <= begin_bit)
            shim_abort("bits that a key has not");
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return part(a) < part(b); });
        return order;
    }
};

} // namespace cub

#endif
