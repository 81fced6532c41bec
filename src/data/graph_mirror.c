/* data/graph_mirror.c -- copies of graphs between the host and a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/graph_mirror.h"

#include "base/check.h"
#include "base/status.h"

/* etx_memory_to_device or etx_memory_to_host. */
typedef etx_status (*copy_function)(const struct etx_memory *memory, void *to,
    const void *from, int64_t count, size_t size);

static etx_status copy_arrays(struct etx_graph *to,
    const struct etx_graph *from, const struct etx_memory *memory,
    copy_function copy)
{
    const int64_t n = from->n_edges;
    const int64_t n_offsets = from->n_nodes + 1;
    etx_status status;

    ETX_CHECK(copy(memory, to->src, from->src, n, sizeof *to->src));
    ETX_CHECK(copy(memory, to->dst, from->dst, n, sizeof *to->dst));
    ETX_CHECK(
        copy(memory, to->out_edge, from->out_edge, n, sizeof *to->out_edge));
    ETX_CHECK(copy(memory, to->in_offset, from->in_offset, n_offsets,
        sizeof *to->in_offset));
    ETX_CHECK(copy(memory, to->out_offset, from->out_offset, n_offsets,
        sizeof *to->out_offset));
    if (from->score != NULL)
        ETX_CHECK(copy(memory, to->score, from->score, n, sizeof *to->score));
    if (from->features != NULL)
        ETX_CHECK(copy(memory, to->features, from->features, n,
            (size_t)from->n_features * sizeof *to->features));
done:
    return status;
}

static etx_status copy_graph(struct etx_graph **out,
    const struct etx_graph *graph, const struct etx_memory *target,
    const struct etx_memory *device, copy_function copy_values)
{
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_graph_alloc(
        &copy, target, graph->n_nodes, graph->n_edges, graph->score != NULL));
    ETX_CHECK(etx_graph_alloc_features(copy, graph->n_features));
    ETX_CHECK(copy_arrays(copy, graph, device, copy_values));
    *out = copy;
    copy = NULL;
done:
    etx_graph_free(copy);
    return status;
}

etx_status etx_graph_to_device(struct etx_graph **out,
    const struct etx_context *context, const struct etx_graph *graph)
{
    const struct etx_memory *memory = context->stream->memory;

    return copy_graph(out, graph, memory, memory, etx_memory_to_device);
}

etx_status etx_graph_to_host(
    struct etx_graph **out, const struct etx_graph *graph)
{
    return copy_graph(out, graph, NULL, graph->memory, etx_memory_to_host);
}

void etx_graph_mirror_set(struct etx_graph *host, struct etx_context *context,
    struct etx_graph *device)
{
    etx_graph_drop_mirror(host);
    host->mirror = device;
    host->mirror_context = context;
    host->next_mirrored = context->mirrored;
    context->mirrored = host;
}

struct etx_graph *etx_graph_mirror_of(
    const struct etx_graph *host, const struct etx_context *context)
{
    return host->mirror_context == context ? host->mirror : NULL;
}

etx_status etx_graph_check_on_host(const struct etx_graph *graph)
{
    if (graph->src != NULL)
        return ETX_OK;
    return etx_fail(ETX_ERR_ARGUMENT,
        "the graph has no arrays on the host: a context with keep_graphs 2 "
        "made it, and only calls with that context read it");
}

/* *out [n_edges]: the scores of host in the memory of its mirror. The caller
 * may change its own as soon as this returns. */
static etx_status copy_scores(float **out, const struct etx_graph *host)
{
    const struct etx_memory *memory = host->mirror->memory;
    float *score = NULL;
    etx_status status;

    ETX_ALLOC(score, memory, host->n_edges, "edge scores");
    ETX_CHECK(etx_memory_to_device(
        memory, score, host->score, host->n_edges, sizeof *score));
    ETX_CHECK(etx_memory_synchronize(memory));
    *out = score;
    score = NULL;
done:
    etx_memory_free(memory, score);
    return status;
}

void etx_graph_mirror_scores(struct etx_graph *host)
{
    float *score = NULL;

    if (host->mirror == NULL)
        return;
    if (host->score != NULL && copy_scores(&score, host) != ETX_OK) {
        etx_graph_drop_mirror(host);
        return;
    }
    etx_memory_free(host->mirror->memory, host->mirror->score);
    host->mirror->score = score;
}

void etx_graph_mirrors_free(struct etx_context *context)
{
    while (context->mirrored != NULL)
        etx_graph_drop_mirror(context->mirrored);
}
