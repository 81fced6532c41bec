/* cuda/op/hit_features.cu -- what networks read of a hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

#include "op/shared/hit_features.h"

/* The list of the operator, which is in the memory of the host. */
struct column_list {
    struct etx_hit_column column[ETX_MAX_HIT_COLUMNS];
};

__global__ static void hit_features_kernel(
    struct etx_hit_features_args args, struct column_list list)
{
    for (int64_t i = etx_first_item(); i < args.n_hits; i += etx_item_step()) {
        const struct etx_hit_point hit =
            etx_hit_point_at(args.position + 3 * i);

        for (int32_t k = 0; k < args.n_columns; k++)
            args.out[i * args.n_columns + k] =
                etx_hit_feature(&args, i, &hit, &list.column[k]);
    }
}

etx_status etx_cuda_hit_features(
    struct etx_stream *stream, const struct etx_hit_features_args *args)
{
    struct column_list list = {};

    for (int32_t k = 0; k < args->n_columns; k++)
        list.column[k] = args->column[k];
    return etx_launch(stream, args->n_hits, hit_features_kernel, *args, list);
}
