/* stage/graph_construction/embedding.c -- hits to points of a learned space.
 *
 * Hits of one particle are trained to lie close together (metric learning,
 * Choma et al., arXiv:2007.00149).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"

/* A network can give NaN or infinity for features far from those it learned;
 * the neighbour search needs numbers. */
static etx_status check_finite(struct etx_context *context, const float *point,
    int64_t n_hits, int64_t n_dim)
{
    int64_t index = -1;
    const struct etx_find_not_finite_args args = {
        .n = n_hits * n_dim, .x = point, .index = &index};
    etx_status status;

    ETX_CHECK(context->ops->find_not_finite(context->stream, &args));
    if (index >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "embedding: hit row %lld has a point that is not finite",
            (long long)(index / n_dim));
done:
    return status;
}

etx_status etx_stage_embed(float **out, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const float *features = NULL;
    float *point = NULL;
    const struct etx_network *network = model->embedding.network;
    struct etx_network device_network;
    struct etx_stage_clock clock = {0.0, 0.0, ETX_STAGE_EMBEDDING};
    struct etx_network_input input = {0};

    if (network == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "the model has no embedding");
    ETX_CHECK(
        etx_stage_node_features(&features, context, &model->embedding, event));
    clock = etx_stage_begin(context, ETX_STAGE_EMBEDDING);
    ETX_CHECK(etx_stage_network_to_device(&device_network, context, network));
    ETX_CHECK(etx_arena_alloc(&point, context->stream->arena,
        event->n_hits * network->n_out, sizeof *point, "embedded points"));
    input.n_nodes = event->n_hits;
    input.node_features = features;
    ETX_CHECK(
        network->arch->forward(&device_network, context, &input, NULL, point));
    ETX_CHECK(check_finite(context, point, event->n_hits, network->n_out));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
    *out = point;
done:
    return status;
}

etx_status etx_stage_infer_points(float **out, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    struct etx_stream *stream = context->stream;
    etx_status status;

    stream->is_tf32 = context->options.precision == ETX_PRECISION_TF32;
    stream->is_bfloat16 = context->options.precision == ETX_PRECISION_BFLOAT16;
    status = etx_stage_embed(out, context, model, event);
    stream->is_tf32 = 0;
    stream->is_bfloat16 = 0;
    return status;
}
