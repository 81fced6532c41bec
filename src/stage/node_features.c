/* stage/node_features.c -- the features of the hits that a network reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/hit_features.h"

#include <stdbool.h>

static bool is_held(
    const struct etx_context *context, const struct etx_feature_list *list)
{
    const struct etx_feature_list *held = context->held.list;

    if (held == NULL || held->n_features != list->n_features)
        return false;
    for (int32_t k = 0; k < list->n_features; k++)
        if (held->feature[k].id != list->feature[k].id ||
            held->feature[k].scale != list->feature[k].scale)
            return false;
    return true;
}

etx_status etx_stage_node_features(const float **out,
    struct etx_context *context, const struct etx_model_stage *stage,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    float *features = NULL;
    const float *here = NULL;
    const struct etx_feature_list *list = &stage->node_features;
    const struct etx_stream *host = etx_host_of(context)->stream;
    const struct etx_arena_mark mark = etx_arena_mark(host->arena);

    if (is_held(context, list)) {
        *out = context->held.features;
        return ETX_OK;
    }
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FEATURES);

    ETX_CHECK(etx_arena_alloc(&features, host->arena,
        event->n_hits * list->n_features, sizeof *features, "node features"));
    ETX_CHECK(etx_hit_features(features, host->pool, event, list));
    ETX_CHECK(etx_stage_bring(&here, context, features,
        event->n_hits * list->n_features, "node features"));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
    *out = here;
done:
    if (host != context->stream)
        etx_arena_reset(host->arena, mark);
    return status;
}

etx_status etx_stage_hold_features(struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event)
{
    const float *features = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_node_features(&features, context, stage, event));
    context->held.list = &stage->node_features;
    context->held.features = features;
done:
    return status;
}
