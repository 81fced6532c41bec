/* op/ref/edge_features.c -- geometry of an edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

#include "op/shared/edge_features.h"

_Static_assert(ETX_EDGE_OWN_0 + ETX_N_OWN_EDGE_FEATURES == ETX_N_EDGE_FEATURES,
    "ETX_OWN_EDGE_FEATURES ends ETX_EDGE_FEATURES: add others before it");

etx_status etx_ref_edge_features(
    struct etx_stream *stream, const struct etx_edge_features_args *args)
{
    (void)stream;
    for (int64_t e = 0; e < args->n_edges; e++) {
        const struct etx_edge edge = etx_edge_at(args, e);
        float *out = args->out + e * args->n_features;

        for (int32_t k = 0; k < args->n_features; k++)
            out[k] = etx_scaled_edge_feature(
                &edge, args->feature[k], args->scale[k]);
    }
    return ETX_OK;
}
