/* arch/votes.c -- Hough votes: the number of edges that point like an edge.
 *
 * Cells must equal the CPU's to the last bit of atan2 and asinh, which a
 * device rounds differently: the edges of a device are copied to the host,
 * which counts, and their votes back.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_steps.h"

#include "base/check.h"

#include <string.h>

/* A copy of values [n] of a device in the host's arena. */
static etx_status copy_to_host(void *out_pointer, struct etx_context *context,
    const void *values, int64_t n, size_t size)
{
    etx_status status;
    char *copy = NULL;

    ETX_CHECK(etx_arena_alloc(
        &copy, etx_host_of(context)->stream->arena, n, size, "Hough votes"));
    ETX_CHECK(
        etx_memory_to_host(context->stream->memory, copy, values, n, size));
    memcpy(out_pointer, &copy, sizeof copy);
done:
    return status;
}

/* args of the device; votes are written to its memory. */
static etx_status count_on_host(struct etx_context *context,
    const struct etx_hough_votes_args *args, int64_t n_nodes)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n = args->n_edges;
    struct etx_hough_votes_args host_args = {.n_edges = n};
    etx_status status;

    ETX_CHECK(copy_to_host(&host_args.position, context, args->position,
        3 * n_nodes, sizeof(float)));
    ETX_CHECK(
        copy_to_host(&host_args.src, context, args->src, n, sizeof *args->src));
    ETX_CHECK(
        copy_to_host(&host_args.dst, context, args->dst, n, sizeof *args->dst));
    ETX_SCRATCH(host_args.votes, arena, n, "Hough votes");
    ETX_CHECK(host->ops->hough_votes(host->stream, &host_args));
    ETX_CHECK(etx_memory_to_device(context->stream->memory, args->votes,
        host_args.votes, n, sizeof *args->votes));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_network_votes(const float **out,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input)
{
    struct etx_hough_votes_args args = {.n_edges = input->graph->n_edges,
        .position = input->position,
        .src = input->graph->src,
        .dst = input->graph->dst};
    etx_status status = ETX_OK;

    if (input->position != NULL &&
        etx_network_needs(network, ETX_EDGE_LOG_HOUGH_VOTES)) {
        ETX_CHECK(etx_floats_alloc(
            &args.votes, context, args.n_edges, "Hough votes"));
        if (context->stream->memory == NULL)
            ETX_CHECK(context->ops->hough_votes(context->stream, &args));
        else
            ETX_CHECK(count_on_host(context, &args, input->n_nodes));
    }
    *out = args.votes;
done:
    return status;
}
