/* cuda/op/longest_paths.cuh -- disjoint paths of largest score, best first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_CUDA_OP_LONGEST_PATHS_CUH
#define ETX_CUDA_OP_LONGEST_PATHS_CUH

#include "cuda/backend/launch.cuh"

/* As struct etx_dag of op/ref/longest_paths.h, on the device. */
struct etx_cuda_dag {
    int32_t n_nodes;
    int32_t n_edges;
    int32_t *out_offset; /* [n_nodes + 1] */
    int32_t *head;       /* [n_edges] */
    float *score;        /* [n_edges] */
    int32_t *in_offset;  /* [n_nodes + 1] */
    int32_t *tail;       /* [n_edges] */
    int32_t n_components;
    int32_t *first; /* [n_components] */
};

/* start [n_nodes] as etx_longest_paths gives it, to the last one. */
etx_status etx_cuda_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_cuda_dag *dag, int64_t work_budget);

#endif
