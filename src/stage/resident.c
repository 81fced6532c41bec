/* stage/resident.c -- what a stage reads, at the place where it computes.
 *
 * Events, models and the graphs of callers are on the host. On the CPU they
 * are used as they are; on a device they are copied for the stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/graph_place.h"

etx_status etx_stage_bring(const float **out, struct etx_context *context,
    const float *values, int64_t n, const char *what)
{
    etx_status status = ETX_OK;
    const struct etx_place *place = context->stream->place;
    float *copy = NULL;

    *out = values;
    if (place == NULL || values == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_take(
        &copy, context->stream->arena, n, sizeof *copy, what));
    ETX_CHECK(etx_place_put(place, copy, values, n, sizeof *copy));
    *out = copy;
done:
    return status;
}

etx_status etx_stage_network(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network)
{
    etx_status status = ETX_OK;
    const struct etx_place *place = context->stream->place;
    float *value = NULL;

    *out = *network;
    if (place == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_take(&value, context->stream->arena,
        network->n_values, sizeof *value, "network parameters"));
    ETX_CHECK(etx_place_put(
        place, value, network->value, network->n_values, sizeof *value));
    out->value = value;
done:
    return status;
}

etx_status etx_stage_enter(const struct etx_graph **out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    *out = graph;
    *copy = NULL;
    if (context->stream->place == graph->place)
        return ETX_OK;
    ETX_CHECK(etx_graph_to_place(copy, context, graph));
    *out = *copy;
done:
    return status;
}

etx_status etx_stage_leave(struct etx_graph **graph)
{
    etx_status status = ETX_OK;
    struct etx_graph *copy = NULL;

    if ((*graph)->place == NULL)
        return ETX_OK;
    status = etx_graph_to_host(&copy, *graph);
    etx_graph_free(*graph);
    *graph = copy;
    return status;
}
