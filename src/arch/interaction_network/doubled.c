/* arch/interaction_network/doubled.c -- a graph with both directions of every
 * edge.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/steps.h"

#include "base/check.h"
#include "data/graph_double.h"

/* An edge and its reverse have the same votes. */
static etx_status double_votes(struct etx_run *run, const float *votes)
{
    etx_status status = ETX_OK;
    struct etx_interaction_own *own = run->own;

    if (votes == NULL)
        return ETX_OK;
    ETX_ALLOC(own->votes, run->context->stream->memory, 2 * own->n_edges_out,
        "votes of doubled edges");
    ETX_CHECK(etx_graph_double_values(
        own->votes, run->context, own->slot, votes, own->n_edges_out));
    run->input.votes = own->votes;
done:
    return status;
}

etx_status etx_interaction_double(struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_interaction_own *own = run->own;
    const struct etx_graph *graph = run->input.graph;

    ETX_ALLOC(own->slot, run->context->stream->memory, 2 * own->n_edges_out,
        "slots of doubled edges");
    ETX_CHECK(etx_graph_double(&own->doubled, own->slot, run->context, graph));
    if (graph->halo != NULL) {
        own->halo = *graph->halo;
        own->halo.whole_edges *= 2;
        own->doubled->halo = &own->halo;
    }
    run->input.graph = own->doubled;
    ETX_CHECK(double_votes(run, run->input.votes));
done:
    return status;
}

void etx_interaction_double_free(struct etx_run *run)
{
    struct etx_interaction_own *own = run->own;
    const struct etx_memory *memory = run->context->stream->memory;

    etx_graph_free(own->doubled);
    etx_memory_free(memory, own->slot);
    etx_memory_free(memory, own->votes);
}

etx_status etx_interaction_undouble(
    float *out, struct etx_run *run, float *doubled, int32_t is_mean)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_own *own = run->own;
    const int64_t n = own->n_edges_out;
    const struct etx_op_table *ops = run->context->ops;
    struct etx_stream *stream = run->context->stream;
    struct etx_gather_args args = {
        .n_rows = n, .width = 1, .x = doubled, .index = own->slot, .y = out};
    const struct etx_add_args halve = {
        .n = n, .alpha = -0.5f, .x = doubled, .y = out};

    ETX_CHECK(ops->gather(stream, &args));
    if (!is_mean)
        goto done;
    args.add = 1;
    args.index = own->slot + n;
    ETX_CHECK(ops->gather(stream, &args));
    ETX_CHECK(etx_copy_values(run->context, doubled, out, n));
    ETX_CHECK(ops->add(stream, &halve));
done:
    return status;
}

etx_status etx_interaction_undouble_backward(
    float *d_doubled, struct etx_run *run, const float *d_out, int32_t is_mean)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_own *own = run->own;
    const int64_t n = own->n_edges_out;
    struct etx_context *context = run->context;
    const struct etx_fill_args zero = {.n = 2 * n, .y = d_doubled};
    const struct etx_scale_args halve = {
        .n = 2 * n, .factor = 0.5f, .y = d_doubled};
    const struct etx_scatter_args first_half = {.n_rows = n,
        .width = 1,
        .x = d_out,
        .index = own->slot,
        .y = d_doubled};

    if (is_mean) {
        ETX_CHECK(
            etx_graph_double_values(d_doubled, context, own->slot, d_out, n));
        ETX_CHECK(context->ops->scale(context->stream, &halve));
    } else {
        ETX_CHECK(context->ops->fill(context->stream, &zero));
        ETX_CHECK(context->ops->scatter(context->stream, &first_half));
    }
done:
    return status;
}
