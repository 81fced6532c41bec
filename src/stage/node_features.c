/* stage/node_features.c -- the features of the hits that a network reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/hit_features.h"

etx_status etx_stage_node_features(float **out, struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event)
{
    etx_status status = ETX_OK;
    float *features = NULL;
    const struct etx_feature_list *list = &stage->node_features;
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FEATURES);

    ETX_CHECK(etx_arena_take(&features, context->stream->arena,
        event->n_hits * list->n_features, sizeof *features, "node features"));
    ETX_CHECK(etx_hit_features(
        features, context->stream->pool, event, list));
    *out = features;
done:
    etx_stage_end(context, &clock, 0);
    return status;
}
