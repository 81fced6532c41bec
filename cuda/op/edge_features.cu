/* cuda/op/edge_features.cu -- geometry of an edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#include "op/shared/near_edge.h"

#define FAR ETX_EDGE_HELIX_CURVATURE /* from here on in float64 */

/* The lists of the operator, which are in the memory of the host. */
struct feature_list {
    int32_t feature[ETX_N_EDGE_FEATURES];
    float scale[ETX_N_EDGE_FEATURES];
    float inverse[ETX_N_EDGE_FEATURES];
};

/* Row e in float64: beyond any detector, or the helix and what is read. */
__device__ static void write_far(float *row,
    const struct etx_edge_features_args &args, const struct feature_list &list,
    int64_t e, int32_t first)
{
    const struct etx_edge edge = etx_edge_at(&args, e);

    for (int32_t k = 0; k < args.n_features; k++)
        if (list.feature[k] >= first)
            row[k] =
                etx_scaled_edge_feature(&edge, list.feature[k], list.scale[k]);
}

__global__ static void edge_features_kernel(struct etx_edge_features_args args,
    struct feature_list list, int32_t has_far)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        float *const row = args.out + e * args.n_features;
        struct etx_near_edge edge;
        const bool is_near = etx_near_edge_read(&edge, &args, e);

        if (is_near) {
            etx_near_edge_describe(&edge);
            for (int32_t k = 0; k < args.n_features; k++)
                if (list.feature[k] < FAR)
                    row[k] = list.inverse[k] * etx_near_edge_feature(&edge,
                                                   &args, e, list.feature[k]);
        }
        if (!is_near || has_far)
            write_far(row, args, list, e, is_near ? FAR : 0);
    }
}

etx_status etx_cuda_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    struct feature_list list = {};
    int32_t has_far = 0;

    if (args->n_features > ETX_N_EDGE_FEATURES)
        return etx_fail(ETX_ERR_ARGUMENT,
            "edge_features: %d features are more than %d",
            (int)args->n_features, (int)ETX_N_EDGE_FEATURES);
    for (int32_t k = 0; k < args->n_features; k++) {
        list.feature[k] = args->feature[k];
        list.scale[k] = args->scale[k];
        list.inverse[k] = 1.0f / args->scale[k];
        has_far |= args->feature[k] >= FAR;
    }
    return etx_launch(
        stream, args->n_edges, edge_features_kernel, *args, list, has_far);
}
