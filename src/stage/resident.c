/* stage/resident.c -- what a stage reads, at the place where it computes.
 *
 * Events, models and the graphs of callers are on the host. On the CPU they
 * are used as they are; on a device they are copied for the stage. The
 * parameters of a model are copied once for all events, on the CPU as well, as
 * what is derived from them is kept beside them. A context that keeps graphs
 * uses what it kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/device_copy.h"
#include "data/graph_place.h"

etx_status etx_stage_bring(const float **out, struct etx_context *context,
    const float *values, int64_t n, const char *what)
{
    etx_status status = ETX_OK;
    const struct etx_memory *memory = context->stream->memory;
    float *copy = NULL;

    *out = values;
    if (memory == NULL || values == NULL)
        return ETX_OK;
    if (values == context->held.values && n <= context->held.n) {
        *out = context->held.here;
        return ETX_OK;
    }
    ETX_CHECK(
        etx_arena_alloc(&copy, context->stream->arena, n, sizeof *copy, what));
    ETX_CHECK(etx_memory_to_device(memory, copy, values, n, sizeof *copy));
    *out = copy;
done:
    return status;
}

etx_status etx_stage_hold(struct etx_context *context, const float *values,
    int64_t n, const char *what)
{
    const float *here = NULL;
    etx_status status = ETX_OK;

    if (context->stream->memory == NULL)
        return ETX_OK;
    ETX_CHECK(etx_stage_bring(&here, context, values, n, what));
    context->held.values = values;
    context->held.here = here;
    context->held.n = n;
done:
    return status;
}

void etx_stage_let_go(struct etx_context *context)
{
    context->held = (struct etx_held){.values = NULL};
}

etx_status etx_stage_network(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network)
{
    struct etx_stream *stream = context->stream;
    float *value = NULL;
    etx_status status = ETX_OK;

    *out = *network;
    if (network->frozen_id != 0)
        ETX_CHECK(etx_weight_cache_parameters(&value, stream->weight_cache,
            network->frozen_id, network->value, network->n_values));
    if (value == NULL)
        ETX_CHECK(etx_arena_to_device(&value, stream->arena, network->value,
            network->n_values, sizeof *value, "network parameters"));
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
    if (context->stream->memory == graph->memory)
        return ETX_OK;
    *out = etx_device_copy_of(graph, context);
    if (*out != NULL)
        return ETX_OK;
    ETX_CHECK(etx_graph_to_device(copy, context, graph));
    *out = *copy;
done:
    return status;
}

etx_status etx_stage_leave(struct etx_graph **graph)
{
    etx_status status = ETX_OK;
    struct etx_graph *copy = NULL;

    if ((*graph)->memory == NULL)
        return ETX_OK;
    status = etx_graph_to_host(&copy, *graph);
    etx_graph_free(*graph);
    *graph = copy;
    return status;
}

etx_status etx_stage_hand_out(
    struct etx_graph **graph, struct etx_context *context)
{
    etx_status status = ETX_OK;
    struct etx_graph *host = NULL;

    if ((*graph)->memory == NULL || !context->options.keep_graphs)
        return etx_stage_leave(graph);
    ETX_CHECK(etx_graph_to_host(&host, *graph));
    ETX_CHECK(etx_device_copy_keep(host, context, *graph));
    *graph = host;
    host = NULL;
done:
    etx_graph_free(host);
    if (status != ETX_OK) {
        etx_graph_free(*graph);
        *graph = NULL;
    }
    return status;
}
