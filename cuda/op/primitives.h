/* cuda/op/primitives.h -- sorting, sums and compaction of whole arrays.
 *
 * Thin functions over CUB, so that one file alone pays for its templates. All
 * arrays are on the device and do not overlap; n is at most 2^31 - 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_PRIMITIVES_H
#define ETX_CUDA_OP_PRIMITIVES_H

#include <stdint.h>

struct etx_stream;

/* out [n] = in [n] ascending by the lowest n_bits bits. */
etx_status etx_cuda_sort(struct etx_stream *stream, uint64_t *out,
    const uint64_t *in, int64_t n, int32_t n_bits);

/* Values with their keys, ascending; equal keys keep their order. */
etx_status etx_cuda_sort_pairs(struct etx_stream *stream, uint64_t *key_out,
    const uint64_t *key, int32_t *value_out, const int32_t *value, int64_t n,
    int32_t n_bits);

/* out[i] = in[0] + ... + in[i - 1] for i < n. */
etx_status etx_cuda_sums_before(
    struct etx_stream *stream, int64_t *out, const int64_t *in, int64_t n);

/* out = the i < n with flag[i] != 0, in order; *n_out, on the device, their
 * number. out [n], n > 0. */
etx_status etx_cuda_pick(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const uint8_t *flag, int64_t n);

/* out = the edges e < n, in order, with score[e] > cut, where src is not NULL
 * without those from a node to itself; *n_out, on the device, their number. */
etx_status etx_cuda_pick_above(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const float *score, float cut, const int32_t *src,
    const int32_t *dst, int64_t n);

/* As etx_cuda_pick, with *n_out on the host. */
etx_status etx_cuda_compact(struct etx_stream *stream, int32_t *out,
    int64_t *n_out, const uint8_t *flag, int64_t n);

#endif
