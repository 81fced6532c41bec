/* stage/graph_construction/embedding.c -- hits to points of a learned space.
 *
 * Hits of one particle are trained to lie close together (metric learning,
 * Choma et al., arXiv:2007.00149).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"
#include "stage/precision.h"

/* A network can give NaN or infinity for features far from those it learned. */
etx_status etx_stage_check_points(const int64_t *bad, int64_t n_dim)
{
    if (bad == NULL || *bad < 0)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "embedding: hit row %lld has a point that is not finite",
        (long long)(*bad / n_dim));
}

etx_status etx_stage_embed(float **out, const int64_t **bad,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const float *features = NULL;
    const int64_t *found = NULL;
    float *point = NULL;
    const struct etx_network *network = model->embedding.network;
    struct etx_network device_network;
    struct etx_stage_clock clock = {.stage = ETX_STAGE_EMBEDDING};
    struct etx_network_input input = {0};

    if (network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no embedding");
    ETX_CHECK(
        etx_stage_node_features(&features, context, &model->embedding, event));
    clock = etx_stage_begin(context, ETX_STAGE_EMBEDDING);
    ETX_CHECK(etx_stage_network_to_device(&device_network, context, network));
    ETX_SCRATCH(point, context->stream->arena, event->n_hits * network->n_out,
        "embedded points");
    input.n_nodes = event->n_hits;
    input.node_features = features;
    ETX_CHECK(
        network->arch->forward(&device_network, context, &input, NULL, point));
    ETX_CHECK(etx_stage_find_not_finite(
        &found, bad, context, point, event->n_hits * network->n_out, NULL));
    ETX_CHECK(etx_stage_check_points(found, network->n_out));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
    *out = point;
done:
    return status;
}

etx_status etx_stage_infer_points(float **out, const int64_t **bad,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_status status;

    etx_stage_precision_begin(context, 0);
    status = etx_stage_embed(out, bad, context, model, event);
    etx_stage_precision_end(context);
    return status;
}
