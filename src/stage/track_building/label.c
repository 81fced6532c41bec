/* stage/track_building/label.c -- labels of a scored graph, as a stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "stage/track_building/track_building.h"

etx_status etx_stage_label(int32_t *label, struct etx_context *context,
    const struct etx_graph *graph, const struct etx_event *event,
    const etx_label_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_LABEL);
    const struct etx_graph *local = NULL;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_graph_to_device(&local, &copy, context, graph));
    ETX_CHECK(etx_build_tracks(label, local, context,
        event == NULL ? NULL : event->position, options));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    etx_graph_free(copy);
    return status;
}
