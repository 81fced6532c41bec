/* data/device_copy.c -- what a graph of the host has on a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/device_copy.h"

#include "base/check.h"
#include "base/heap.h"
#include "memory/memory.h"

etx_status etx_device_copy_keep(struct etx_graph *host,
    struct etx_context *context, struct etx_graph *graph)
{
    struct etx_device_copy *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&copy, 1, sizeof *copy, "device copy of a graph"));
    etx_device_copy_drop(host);
    *copy = (struct etx_device_copy){.context = context,
        .host = host,
        .graph = graph,
        .next = context->device_copies};
    context->device_copies = copy;
    host->device_copy = copy;
done:
    return status;
}

struct etx_graph *etx_device_copy_of(
    const struct etx_graph *host, const struct etx_context *context)
{
    const struct etx_device_copy *copy = host->device_copy;

    return copy != NULL && copy->context == context ? copy->graph : NULL;
}

/* *out [n_edges]: the scores of host in the memory of its copy, ready. */
static etx_status put_scores(float **out, const struct etx_graph *host)
{
    const struct etx_memory *memory = host->device_copy->graph->memory;
    float *score = NULL;
    etx_status status;

    ETX_CHECK(etx_memory_alloc(
        &score, memory, host->n_edges, sizeof *score, "edge scores"));
    ETX_CHECK(etx_memory_to_device(
        memory, score, host->score, host->n_edges, sizeof *score));
    ETX_CHECK(etx_memory_synchronize(memory));
    *out = score;
    score = NULL;
done:
    etx_memory_free(memory, score);
    return status;
}

etx_status etx_device_copy_scores(struct etx_graph *host)
{
    etx_status status = ETX_OK;
    struct etx_graph *graph = NULL;
    float *score = NULL;

    if (host->device_copy == NULL)
        return ETX_OK;
    if (host->score != NULL)
        status = put_scores(&score, host);
    if (status != ETX_OK) {
        etx_device_copy_drop(host);
        return status;
    }
    graph = host->device_copy->graph;
    etx_memory_free(graph->memory, graph->score);
    graph->score = score;
    return ETX_OK;
}

/* Out of the list of its context. */
static void unlink_copy(const struct etx_device_copy *copy)
{
    struct etx_device_copy **at = &copy->context->device_copies;

    while (*at != copy)
        at = &(*at)->next;
    *at = copy->next;
}

void etx_device_copy_drop(struct etx_graph *host)
{
    struct etx_device_copy *copy = host->device_copy;

    if (copy == NULL)
        return;
    unlink_copy(copy);
    etx_graph_free(copy->graph);
    etx_free(copy);
    host->device_copy = NULL;
}

void etx_device_copy_drop_all(struct etx_context *context)
{
    while (context->device_copies != NULL)
        etx_device_copy_drop(context->device_copies->host);
}
