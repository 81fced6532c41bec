/* stage/transfer.c -- inputs and outputs of stages between host and device.
 *
 * Events, models and the graphs of callers are on the host. On the CPU they are
 * used as they are; on a device they are copied for the stage, unless a cache
 * of the context has them. Parameters of frozen networks are cached on the CPU,
 * too, with the forms that operators compute from them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/status.h"
#include "data/graph_mirror.h"

etx_status etx_stage_to_device(const float **out, struct etx_context *context,
    const float *values, int64_t n, const char *what)
{
    *out = etx_event_cache_find(&context->event_cache, values, 0);
    if (*out != NULL)
        return ETX_OK;
    return etx_arena_to_device(
        out, context->stream->arena, values, n, sizeof **out, what);
}

etx_status etx_stage_part_nodes_to_device(struct etx_network_input *out,
    struct etx_context *context, const struct etx_graph_part *part,
    const float *features, int32_t n_features, const float *position)
{
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    const int64_t n_nodes = part->graph->n_nodes;
    const float *rows = NULL;
    etx_status status;

    out->n_nodes = n_nodes;
    ETX_CHECK(etx_part_arena_rows(&rows, host, part, features, n_features));
    ETX_CHECK(etx_stage_to_device(&out->node_features, context, rows,
        n_nodes * n_features, "node features"));
    ETX_CHECK(etx_part_arena_rows(&rows, host, part, position, 3));
    ETX_CHECK(etx_stage_to_device(
        &out->position, context, rows, 3 * n_nodes, "positions of hits"));
done:
    return status;
}

const float *etx_stage_borrowed(const struct etx_context *context,
    const struct etx_borrowed_array *borrowed)
{
    const int32_t is_on_device =
        context->stream->memory != NULL &&
        context->options.device_index == borrowed->device_index;

    return is_on_device ? borrowed->values : NULL;
}

etx_status etx_stage_positions(const float **out, struct etx_context *context,
    const struct etx_event *event)
{
    *out = etx_stage_borrowed(context, &event->borrowed_position);
    if (*out != NULL)
        return ETX_OK;
    return etx_stage_to_device(
        out, context, event->position, 3 * event->n_hits, "positions of hits");
}

etx_status etx_stage_find_not_finite(const int64_t **found,
    const int64_t **later, struct etx_context *context, const float *x,
    int64_t n, float *score)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_find_not_finite_args args = {.n = n, .x = x};
    struct etx_activation_args sigmoid = {
        .n = n, .activation = ETX_ACTIVATION_SIGMOID, .x = x, .y = score};
    etx_status status;

    *found = NULL;
    if (later != NULL)
        *later = NULL;
    if (n == 0)
        return ETX_OK;
    ETX_SCRATCH(args.index, context->stream->arena, 1, "index of a number");
    sigmoid.not_finite = args.index;
    if (score != NULL)
        ETX_CHECK(context->ops->activation(context->stream, &sigmoid));
    else
        ETX_CHECK(context->ops->find_not_finite(context->stream, &args));
    ETX_CHECK(etx_memory_fetch(found, memory, args.index));
    if (later == NULL || memory == NULL)
        return etx_memory_synchronize(memory);
    *later = *found;
    *found = NULL;
done:
    return status;
}

etx_status etx_stage_network_to_device(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network)
{
    struct etx_stream *stream = context->stream;
    float *value = NULL;
    etx_status status = ETX_OK;

    if (network->arch->is_host_only && !context->backend->runs_host_networks)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "%s: this network runs on the CPU only", network->arch->name);
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

etx_status etx_stage_graph_to_device(const struct etx_graph **out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    *copy = NULL;
    *out = etx_graph_mirror_of(graph, context);
    if (*out != NULL)
        return ETX_OK;
    ETX_CHECK(etx_graph_check_on_host(graph));
    *out = graph;
    if (context->stream->memory == graph->memory)
        return ETX_OK;
    ETX_CHECK(etx_graph_to_device(copy, context, graph));
    *out = *copy;
done:
    return status;
}

etx_status etx_stage_graph_to_host(struct etx_graph **graph)
{
    struct etx_graph *const device = *graph;
    etx_status status;

    if (device->memory == NULL)
        return ETX_OK;
    *graph = NULL;
    status = etx_graph_to_host(graph, device);
    etx_graph_free(device);
    return status;
}

/* A graph without arrays, for the mirror device, whose values are complete. */
static etx_status stay_on_device(
    struct etx_graph **graph, const struct etx_graph *device)
{
    etx_status status;

    ETX_CHECK(etx_memory_synchronize(device->memory));
    ETX_CHECK(etx_graph_adopt_ends(
        graph, NULL, device->n_nodes, device->n_edges, NULL, NULL));
done:
    return status;
}

etx_status etx_stage_graph_to_caller(
    struct etx_graph **graph, struct etx_context *context)
{
    struct etx_graph *const device = *graph;
    etx_status status;

    if (device->memory == NULL || !context->options.keep_graphs)
        return etx_stage_graph_to_host(graph);
    *graph = NULL;
    if (context->options.keep_graphs == 2)
        status = stay_on_device(graph, device);
    else
        status = etx_graph_to_host(graph, device);
    if (status == ETX_OK)
        etx_graph_mirror_set(*graph, context, device);
    else
        etx_graph_free(device);
    return status;
}
