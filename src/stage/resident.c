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

static void drop(struct etx_context *context, struct etx_resident *resident)
{
    etx_memory_free(context->stream->memory, resident->value);
    *resident = (struct etx_resident){0};
}

/* Room for the parameters of a network among those that stay; when a device has
 * none, without the others. */
static etx_status take_resident(struct etx_resident **out,
    struct etx_context *context, const struct etx_network *network)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_resident *resident = &context->resident[context->next_resident];
    const int64_t n_room = etx_derived_room(context->stream, network->n_values);
    const int64_t n = network->n_values + n_room;
    etx_status status;

    drop(context, resident);
    status = etx_memory_alloc(&resident->value, memory, n,
        sizeof *resident->value, "network parameters");
    if (status == ETX_ERR_MEMORY && memory != NULL) {
        for (int32_t k = 0; k < ETX_MAX_RESIDENT; k++)
            drop(context, &context->resident[k]);
        status = etx_memory_alloc(&resident->value, memory, n,
            sizeof *resident->value, "network parameters");
    }
    if (status != ETX_OK)
        return status;
    etx_memory_set_immutable(memory, resident->value);
    resident->n_room = n_room;
    context->next_resident = (context->next_resident + 1) % ETX_MAX_RESIDENT;
    *out = resident;
    return ETX_OK;
}

/* Parameters that are final are copied once and stay. */
static etx_status keep_network(
    float **out, struct etx_context *context, const struct etx_network *network)
{
    struct etx_resident *resident = NULL;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < ETX_MAX_RESIDENT; k++)
        if (context->resident[k].stamp == network->stamp) {
            *out = context->resident[k].value;
            return ETX_OK;
        }
    status = take_resident(&resident, context, network);
    if (status == ETX_ERR_MEMORY && context->stream->memory == NULL) {
        /* On the host the model's own will do, and nothing is kept. */
        *out = network->value;
        return ETX_OK;
    }
    ETX_CHECK(status);
    status = etx_memory_to_device(context->stream->memory, resident->value,
        network->value, network->n_values, sizeof *resident->value);
    if (status != ETX_OK) {
        drop(context, resident);
        return status;
    }
    resident->stamp = network->stamp;
    resident->n_values = network->n_values;
    *out = resident->value;
done:
    return status;
}

etx_status etx_stage_network(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network)
{
    const struct etx_memory *memory = context->stream->memory;
    float *value = NULL;
    etx_status status = ETX_OK;

    *out = *network;
    if (network->stamp != 0)
        return keep_network(&out->value, context, network);
    if (memory == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&value, context->stream->arena, network->n_values,
        sizeof *value, "network parameters"));
    ETX_CHECK(etx_memory_to_device(
        memory, value, network->value, network->n_values, sizeof *value));
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
