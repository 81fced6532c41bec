/* arch/votes.c -- how many edges point like an edge.
 *
 * Cells must be those of the CPU to the last bit of atan2 and asinh, which a
 * device rounds otherwise: for a device the edges come to the host, which
 * counts, and their votes go back.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"

#include "base/check.h"

/* Ends and votes [n_edges], positions [n_nodes, 3]. */
struct host_copy {
    float *position, *votes;
    int32_t *src, *dst;
};

static etx_status take_room(struct host_copy *copy, struct etx_arena *arena,
    int64_t n_nodes, int64_t n_edges)
{
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&copy->position, arena, 3 * n_nodes,
        sizeof *copy->position, "positions of hits"));
    ETX_CHECK(etx_arena_alloc(
        &copy->src, arena, n_edges, sizeof *copy->src, "ends of edges"));
    ETX_CHECK(etx_arena_alloc(
        &copy->dst, arena, n_edges, sizeof *copy->dst, "ends of edges"));
    ETX_CHECK(etx_arena_alloc(
        &copy->votes, arena, n_edges, sizeof *copy->votes, "Hough votes"));
done:
    return status;
}

/* args of the device; votes go to its memory. */
static etx_status count_on_host(struct etx_context *context,
    const struct etx_hough_votes_args *args, int64_t n_nodes)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_context *host = etx_host_of(context);
    const struct etx_arena_mark mark = etx_arena_mark(host->stream->arena);
    const int64_t n = args->n_edges;
    struct host_copy copy = {NULL};
    etx_status status;

    ETX_CHECK(take_room(&copy, host->stream->arena, n_nodes, n));
    ETX_CHECK(etx_memory_to_host(
        memory, copy.position, args->position, 3 * n_nodes, sizeof(float)));
    ETX_CHECK(
        etx_memory_to_host(memory, copy.src, args->src, n, sizeof *copy.src));
    ETX_CHECK(
        etx_memory_to_host(memory, copy.dst, args->dst, n, sizeof *copy.dst));
    const struct etx_hough_votes_args here = {.n_edges = n,
        .position = copy.position,
        .src = copy.src,
        .dst = copy.dst,
        .votes = copy.votes};
    ETX_CHECK(host->ops->hough_votes(host->stream, &here));
    ETX_CHECK(etx_memory_to_device(
        memory, args->votes, copy.votes, n, sizeof *copy.votes));
done:
    etx_arena_reset(host->stream->arena, mark);
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
        ETX_CHECK(etx_arena_alloc(&args.votes, context->stream->arena,
            args.n_edges, sizeof *args.votes, "Hough votes"));
        if (context->stream->memory == NULL)
            ETX_CHECK(context->ops->hough_votes(context->stream, &args));
        else
            ETX_CHECK(count_on_host(context, &args, input->n_nodes));
    }
    *out = args.votes;
done:
    return status;
}
