/* arch/interaction_network/messages.c -- latents of edges, aggregated at the
 * nodes that they join.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/steps.h"

#include "base/check.h"

static int32_t n_sides(const struct etx_interaction *state)
{
    const int32_t ends = state->aggregate_at == ETX_AT_TARGET ? 1 : 2;

    return ends * state->n_aggregates;
}

/* Values of a row for every node. */
static int64_t n_node_values(const struct etx_run *run)
{
    return run->input.graph->n_nodes * etx_interaction_state(run)->hidden;
}

/* The reduction of side s: over the edges in for the first n_aggregates. */
static struct etx_segment_reduce_args describe_side(
    const struct etx_run *run, int32_t s, const void *edges, float *out)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    const struct etx_graph *graph = run->input.graph;
    const int32_t is_out = s >= state->n_aggregates;
    const int32_t is_float16 = run->latents[ETX_EDGES].shape.is_float16;

    return (struct etx_segment_reduce_args){
        .n_segments = graph->n_nodes,
        .width = state->hidden,
        .reduce = state->aggregate[s % state->n_aggregates],
        .offset = is_out ? graph->out_offset : graph->in_offset,
        .order = is_out ? graph->out_edge : NULL,
        .segment = is_out ? graph->src : NULL,
        .x = is_float16 ? NULL : edges,
        .half = is_float16 ? edges : NULL,
        .out = out,
    };
}

/* Is the sum over the edges out added to the array of that over the edges in?
 * The backward of a sum does not read it. */
static int32_t is_added_in_place(const struct etx_interaction *state, int32_t s)
{
    return state->aggregate_at == ETX_AT_BOTH_SUMMED &&
           s >= state->n_aggregates &&
           state->aggregate[s % state->n_aggregates] == ETX_REDUCE_SUM;
}

/* part[a] = side[a] + side[n_aggregates + a]. */
static etx_status add_sides(
    struct etx_interaction_messages *messages, struct etx_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    const int32_t n = state->n_aggregates;
    const int64_t n_values = n_node_values(run);

    for (int32_t a = 0; a < n; a++) {
        float *sum = NULL;

        if (is_added_in_place(state, n + a))
            continue;
        ETX_CHECK(etx_floats_alloc(&sum, run->context, n_values, "messages"));
        ETX_CHECK(
            etx_copy_values(run->context, sum, messages->side[a], n_values));
        ETX_CHECK(
            etx_add_values(run->context, sum, messages->side[n + a], n_values));
        messages->part[a] = sum;
    }
    messages->n_parts = n;
done:
    return status;
}

etx_status etx_interaction_describe(struct etx_interaction_messages *out,
    struct etx_run *run, const void *edges)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);

    *out = (struct etx_interaction_messages){.n_parts = n_sides(state)};
    for (int32_t s = 0; s < out->n_parts; s++) {
        const int32_t is_added = is_added_in_place(state, s);

        if (is_added)
            out->side[s] = out->side[s - state->n_aggregates];
        else
            ETX_CHECK(etx_floats_alloc(
                &out->side[s], run->context, n_node_values(run), "messages"));
        out->part[s] = out->side[s];
        out->reduce[s] = describe_side(run, s, edges, out->side[s]);
        out->reduce[s].add = is_added;
        if (s > 0)
            out->reduce[s - 1].next = &out->reduce[s];
    }
done:
    return status;
}

etx_status etx_interaction_aggregate(struct etx_interaction_messages *out,
    struct etx_run *run, int32_t is_reduced)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;

    if (!is_reduced)
        ETX_CHECK(context->ops->segment_reduce(context->stream, out->reduce));
    if (etx_interaction_state(run)->aggregate_at == ETX_AT_BOTH_SUMMED)
        ETX_CHECK(add_sides(out, run));
done:
    return status;
}

/* Edges in and out that were summed share a part, so side s reads the gradient
 * of part s modulo n_parts. The first term overwrites, the others add. */
etx_status etx_interaction_aggregate_backward(struct etx_run *run,
    const struct etx_interaction_messages *messages, const void *edges)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_sum *d_edges = &run->d_latents[ETX_EDGES];

    for (int32_t s = 0; s < n_sides(etx_interaction_state(run)); s++) {
        const struct etx_segment_reduce_backward_args args = {
            .forward = describe_side(run, s, edges, messages->side[s]),
            .d_out = messages->d_part[s % messages->n_parts].data,
            .d_x = d_edges->data,
            .add = d_edges->is_started,
        };

        ETX_CHECK(
            context->ops->segment_reduce_backward(context->stream, &args));
        d_edges->is_started = 1;
    }
done:
    return status;
}
