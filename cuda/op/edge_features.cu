/* cuda/op/edge_features.cu -- geometry of an edge.
 *
 * The formulas of the reference, in float64. A float32 version would save, on
 * paper, 0.2 of the 6.7 ms that the networks of a full event take
 * (docs/tables/cuda-instructions.md); no device has measured it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#include "op/shared/edge_features.h"

/* The lists of the operator, which are in the memory of the host. */
struct feature_list {
    int32_t feature[ETX_N_EDGE_FEATURES];
    float scale[ETX_N_EDGE_FEATURES];
};

__global__ static void edge_features_kernel(
    struct etx_edge_features_args args, struct feature_list list)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        float *const row = args.out + e * args.n_features;
        const struct etx_edge edge = etx_edge_at(&args, e);

        for (int32_t k = 0; k < args.n_features; k++)
            row[k] =
                etx_scaled_edge_feature(&edge, list.feature[k], list.scale[k]);
    }
}

etx_status etx_cuda_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    struct feature_list list = {};

    if (args->n_features > ETX_N_EDGE_FEATURES)
        return etx_fail(ETX_ERR_ARGUMENT,
            "edge_features: %d features are more than %d",
            (int)args->n_features, (int)ETX_N_EDGE_FEATURES);
    for (int32_t k = 0; k < args->n_features; k++) {
        list.feature[k] = args->feature[k];
        list.scale[k] = args->scale[k];
    }
    return etx_launch(stream, args->n_edges, edge_features_kernel, *args, list);
}
