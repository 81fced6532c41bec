/* cuda_shim/device_edges.c -- contexts on an emulated device, and edges of a
 * caller to pass to them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_edges.h"

etx_context *shim_context(int32_t index, int32_t keep_graphs)
{
    etx_context_options options;
    etx_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    options.device_index = index;
    options.precision = ETX_PRECISION_FLOAT32;
    options.keep_graphs = keep_graphs;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

struct edges *make_edges(void)
{
    struct edges *edges = etx_test_alloc(1, sizeof *edges);
    uint32_t random = 1;

    for (int32_t e = 0; e < N_EDGES; e++) {
        random = random * 1664525u + 1013904223u;
        edges->src[e] = (int32_t)(random >> 8) % N_NODES;
        edges->dst[e] = (int32_t)(random >> 20) % 64;
        edges->index[e] = edges->src[e];
        edges->index[N_EDGES + e] = edges->dst[e];
        edges->score[e] = (float)(e % 100) / 100.0f;
    }
    return edges;
}
