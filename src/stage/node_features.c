/* stage/node_features.c -- the features of the hits that a network reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/hit_features.h"

static size_t bytes_of(const struct etx_feature_list *list)
{
    return (size_t)list->n_features * sizeof *list->feature;
}

etx_status etx_stage_node_features(const float **out,
    struct etx_context *context, const struct etx_model_stage *stage,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    float *features = NULL;
    const struct etx_feature_list *list = &stage->node_features;
    const struct etx_stream *host = etx_host_of(context)->stream;
    const struct etx_arena_mark mark = etx_arena_mark(host->arena);

    *out = etx_event_cache_find(
        &context->event_cache, list->feature, bytes_of(list));
    if (*out == NULL && event->n_features == list->n_features)
        *out = etx_stage_lent(context, &event->lent_features);
    if (*out != NULL)
        return ETX_OK;
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FEATURES);

    ETX_CHECK(etx_arena_alloc(&features, host->arena,
        event->n_hits * list->n_features, sizeof *features, "node features"));
    ETX_CHECK(etx_hit_features(features, host->pool, event, list));
    ETX_CHECK(etx_stage_to_device(out, context, features,
        event->n_hits * list->n_features, "node features"));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    if (host != context->stream)
        etx_arena_reset(host->arena, mark);
    return status;
}

etx_status etx_stage_cache_features(struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event)
{
    const struct etx_feature_list *list = &stage->node_features;
    const float *features = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_node_features(&features, context, stage, event));
    etx_event_cache_insert(
        &context->event_cache, list->feature, bytes_of(list), features);
done:
    return status;
}
