/* arch/interaction_network/run.c -- one run over one graph.
 *
 * Latents lie in one block whose layout follows from the sizes and the choices
 * of the tape alone, so that its state is one pointer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/run.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/status.h"

#include <assert.h>

/* The votes of an edge are those of its reverse, too. */
static etx_status double_votes(
    struct etx_interaction_run *run, int64_t n_edges, const float *votes)
{
    etx_status status = ETX_OK;

    if (votes == NULL)
        return ETX_OK;
    ETX_CHECK(etx_alloc(&run->votes, 2 * n_edges, sizeof *run->votes,
        "votes of doubled edges"));
    for (int64_t e = 0; e < n_edges; e++) {
        run->votes[run->place[e]] = votes[e];
        run->votes[run->place[n_edges + e]] = votes[e];
    }
    run->input.votes = run->votes;
done:
    return status;
}

/* Replace the graph by the one with both directions of every edge, scores
 * included. Runs on the host, as etx_graph_double does. */
static etx_status double_graph(
    struct etx_interaction_run *run, const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    if (graph->place != NULL)
        return etx_fail(ETX_ERR_UNSUPPORTED,
            "%s: a graph with both directions of every edge is made on the "
            "CPU only: the option 'direction' must be directed on a device",
            run->network->arch->name);
    ETX_CHECK(etx_alloc(&run->place, 2 * graph->n_edges, sizeof *run->place,
        "places of doubled edges"));
    ETX_CHECK(etx_graph_double(&run->doubled, run->place, graph));
    if (graph->halo != NULL) {
        run->halo = *graph->halo;
        run->halo.whole_edges *= 2;
        run->doubled->halo = &run->halo;
    }
    run->input.graph = run->doubled;
    ETX_CHECK(double_votes(run, graph->n_edges, run->input.votes));
done:
    return status;
}

etx_status etx_interaction_open(struct etx_interaction_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, const struct etx_tape *tape)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = network->state;
    struct etx_latents_shape shape = {.n_iterations = state->n_iterations,
        .has_first = state->concat_initial};

    *run = (struct etx_interaction_run){
        .network = network,
        .state = state,
        .context = context,
        .input = *input,
        .n_edges_out = input->graph->n_edges,
    };
    if (state->direction != ETX_DIRECTED)
        ETX_CHECK(double_graph(run, input->graph));
    run->is_half = context->stream->is_half && tape == NULL;
    shape.is_float16 = run->is_half;
    run->n_nodes = run->input.graph->n_nodes;
    run->n_edges = run->input.graph->n_edges;
    shape.n_values = run->n_nodes * state->hidden;
    shape.n_turns = 2;
    etx_latents_open(&run->nodes, &shape, tape);
    shape.n_values = run->n_edges * state->hidden;
    shape.n_turns = 1;
    shape.can_recompute = 1;
    etx_latents_open(&run->edges, &shape, tape);
done:
    return status;
}

void etx_interaction_close(struct etx_interaction_run *run)
{
    etx_graph_free(run->doubled);
    etx_release(run->place);
    etx_release(run->votes);
}

int64_t etx_interaction_latent_bytes(const struct etx_interaction_run *run)
{
    return etx_latents_bytes(&run->nodes) + etx_latents_bytes(&run->edges);
}

void etx_interaction_place(struct etx_interaction_run *run, void *memory)
{
    etx_latents_place(&run->nodes, memory);
    etx_latents_place(
        &run->edges, (char *)memory + etx_latents_bytes(&run->nodes));
}

void *etx_interaction_node(const struct etx_interaction_run *run, int32_t k)
{
    return etx_latents_at(&run->nodes, k);
}

void *etx_interaction_edge(const struct etx_interaction_run *run, int32_t k)
{
    return etx_latents_at(&run->edges, k);
}

/* Make the edge latents after the border below k again, to the end of their
 * segment. Nodes are kept for every iteration, so that edges alone are
 * computed. */
static etx_status remake_edges(struct etx_interaction_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int32_t first = etx_latents_border(&run->edges, k);
    const int32_t last = run->state->n_iterations;

    ETX_CHECK(etx_latents_load(&run->edges, context, first));
    for (int32_t i = first;
        i < last && etx_latents_border(&run->edges, i + 1) == first; i++) {
        ETX_CHECK(etx_check_cancelled(context->stream));
        ETX_CHECK(etx_interaction_load_nodes(
            run, etx_interaction_ends_of(run->state, i)));
        ETX_CHECK(etx_interaction_update_edges(run, i));
        ETX_CHECK(etx_latents_keep(&run->edges, context, i + 1));
    }
done:
    return status;
}

etx_status etx_interaction_load_nodes(
    struct etx_interaction_run *run, int32_t k)
{
    return etx_latents_load(&run->nodes, run->context, k);
}

etx_status etx_interaction_load_edges(
    struct etx_interaction_run *run, int32_t k)
{
    etx_status status = ETX_OK;

    if (!etx_latents_has(&run->edges, k))
        ETX_CHECK(remake_edges(run, k));
    ETX_CHECK(etx_latents_load(&run->edges, run->context, k));
done:
    return status;
}

int32_t etx_interaction_ends_of(const struct etx_interaction *state, int32_t k)
{
    return state->edge_update == ETX_UPDATE_NEW ? k + 1 : k;
}

etx_status etx_interaction_run_block(const struct etx_interaction_run *run,
    const struct etx_mlp_block *block, struct etx_interaction_parts *parts,
    float *out)
{
    parts->input.args.out = out;
    return etx_mlp_block_forward(
        run->context, block, run->network->value, &parts->input);
}

etx_status etx_interaction_make_latents(const struct etx_interaction_run *run,
    const struct etx_mlp_block *block, struct etx_interaction_parts *parts,
    const void *residual, void *out)
{
    struct etx_mlp_args *args = &parts->input.args;

    if (run->is_half) {
        args->half_residual = residual;
        args->half_out = out;
    } else {
        args->residual = residual;
        args->out = out;
    }
    return etx_mlp_block_forward(
        run->context, block, run->network->value, &parts->input);
}

etx_status etx_interaction_update_edges(
    const struct etx_interaction_run *run, int32_t k)
{
    const struct etx_interaction *state = run->state;
    const void *nodes =
        etx_interaction_node(run, etx_interaction_ends_of(state, k));
    const void *edges = etx_interaction_edge(run, k);
    struct etx_interaction_parts parts;

    etx_interaction_edge_parts(&parts, run, nodes, edges);
    return etx_interaction_make_latents(run,
        etx_interaction_edge_network(state, k), &parts,
        state->edge_residual ? edges : NULL, etx_interaction_edge(run, k + 1));
}

int32_t etx_interaction_reads_last_nodes(const struct etx_interaction *state)
{
    return !state->decode_edge || state->edge_update == ETX_UPDATE_NEW;
}

/* ----------------------------------------------------------- messages -- */

static int32_t n_sides(const struct etx_interaction *state)
{
    const int32_t ends = state->aggregate_at == ETX_AT_TARGET ? 1 : 2;

    return ends * state->n_aggregates;
}

/* The reduction of side s: over the edges in for the first n_aggregates. */
static struct etx_segment_reduce_args describe_side(
    const struct etx_interaction_run *run, int32_t s, const void *edges,
    float *out)
{
    const struct etx_interaction *state = run->state;
    const struct etx_graph *graph = run->input.graph;
    const int32_t is_out = s >= state->n_aggregates;

    return (struct etx_segment_reduce_args){
        .n_segments = run->n_nodes,
        .width = state->hidden,
        .reduce = state->aggregate[s % state->n_aggregates],
        .offset = is_out ? graph->out_offset : graph->in_offset,
        .order = is_out ? graph->out_edge : NULL,
        .x = run->is_half ? NULL : edges,
        .half = run->is_half ? edges : NULL,
        .out = out,
    };
}

/* Is the sum over the edges out added to that over the edges in where it lies?
 * The backward of a sum does not read it. */
static int32_t is_added_in_place(const struct etx_interaction *state, int32_t s)
{
    return state->aggregate_at == ETX_AT_BOTH_SUMMED &&
           s >= state->n_aggregates &&
           state->aggregate[s % state->n_aggregates] == ETX_REDUCE_SUM;
}

/* part[a] = side[a] + side[n_aggregates + a]. */
static etx_status add_sides(struct etx_interaction_messages *messages,
    const struct etx_interaction_run *run)
{
    etx_status status = ETX_OK;
    const int32_t n = run->state->n_aggregates;
    const int64_t n_values = run->n_nodes * run->state->hidden;

    for (int32_t a = 0; a < n; a++) {
        float *sum = NULL;

        if (is_added_in_place(run->state, n + a))
            continue;
        ETX_CHECK(etx_arena_take(&sum, run->context->stream->arena, n_values,
            sizeof *sum, "messages"));
        ETX_CHECK(etx_copy_values(
            run->context, sum, messages->side[a], n_values));
        ETX_CHECK(etx_add_values(
            run->context, sum, messages->side[n + a], n_values));
        messages->part[a] = sum;
    }
    messages->n_parts = n;
done:
    return status;
}

etx_status etx_interaction_aggregate(struct etx_interaction_messages *out,
    const struct etx_interaction_run *run, const void *edges)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n_values = run->n_nodes * run->state->hidden;
    struct etx_interaction_messages messages = {
        .n_parts = n_sides(run->state)};

    for (int32_t s = 0; s < messages.n_parts; s++) {
        const int32_t is_added = is_added_in_place(run->state, s);
        struct etx_segment_reduce_args args;

        if (is_added)
            messages.side[s] = messages.side[s - run->state->n_aggregates];
        else
            ETX_CHECK(etx_arena_take(&messages.side[s], context->stream->arena,
                n_values, sizeof(float), "messages"));
        args = describe_side(run, s, edges, messages.side[s]);
        args.add = is_added;
        ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
        messages.part[s] = messages.side[s];
    }
    if (run->state->aggregate_at == ETX_AT_BOTH_SUMMED)
        ETX_CHECK(add_sides(&messages, run));
    *out = messages;
done:
    return status;
}

etx_status etx_interaction_aggregate_backward(float *d_edges, int32_t add,
    const struct etx_interaction_run *run,
    const struct etx_interaction_messages *messages, const void *edges,
    float *const *d_part)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;

    for (int32_t s = 0; s < n_sides(run->state); s++) {
        const struct etx_segment_reduce_backward_args args = {
            .forward = describe_side(run, s, edges, messages->side[s]),
            .d_out = d_part[s % messages->n_parts],
            .d_x = d_edges,
            .add = add || s > 0,
        };

        ETX_CHECK(
            context->ops->segment_reduce_backward(context->stream, &args));
    }
done:
    return status;
}

/* -------------------------------------------------------------- parts -- */

static void append(struct etx_interaction_parts *parts,
    enum etx_interaction_role role, const float *data,
    const struct etx_edge_end *end, int32_t width)
{
    const int32_t p = parts->input.args.n_parts;

    etx_mlp_part(&parts->input, data, end, width);
    if (parts->input.args.n_parts > p)
        parts->role[p] = (int32_t)role;
}

/* Latents, in the type that they have in this run. */
static void append_latents(struct etx_interaction_parts *parts,
    const struct etx_interaction_run *run, enum etx_interaction_role role,
    const void *latents, const struct etx_edge_end *end)
{
    struct etx_mlp_args *args = &parts->input.args;

    append(parts, role, run->is_half ? NULL : latents, end,
        run->state->hidden);
    if (run->is_half)
        args->part[args->n_parts - 1].half = latents;
}

void etx_interaction_node_encoder_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run)
{
    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_nodes}}};
    append(out, ETX_ROLE_INPUT, run->input.node_features, NULL,
        run->network->n_node_features);
}

void etx_interaction_edge_encoder_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const float *features)
{
    const struct etx_interaction *state = run->state;
    const int32_t n = run->network->n_node_features;
    const float *input = run->input.node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, state->order);

    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_edges}}};
    if (state->edge_from_latents) {
        const void *nodes = etx_interaction_node(run, 0);

        append_latents(out, run, ETX_ROLE_FIRST, nodes, &ends.first);
        append_latents(out, run, ETX_ROLE_SECOND, nodes, &ends.second);
    }
    if (state->edge_from_nodes) {
        append(out, ETX_ROLE_INPUT, input, &ends.first, n);
        append(out, ETX_ROLE_INPUT, input, &ends.second, n);
    }
    if (state->edge_from_features) {
        append(out, ETX_ROLE_INPUT, features, NULL,
            run->network->edge_features.n_features);
    }
}

static void append_edges(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *edges, int32_t initial)
{
    append_latents(out, run, ETX_ROLE_EDGE, edges, NULL);
    if (initial) {
        append_latents(
            out, run, ETX_ROLE_EDGE0, etx_interaction_edge(run, 0), NULL);
    }
}

static void append_ends(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes, int32_t initial)
{
    const void *nodes0 = etx_interaction_node(run, 0);
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, run->state->order);

    append_latents(out, run, ETX_ROLE_FIRST, nodes, &ends.first);
    if (initial)
        append_latents(out, run, ETX_ROLE_FIRST0, nodes0, &ends.first);
    append_latents(out, run, ETX_ROLE_SECOND, nodes, &ends.second);
    if (initial)
        append_latents(out, run, ETX_ROLE_SECOND0, nodes0, &ends.second);
}

void etx_interaction_edge_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes,
    const void *edges)
{
    const struct etx_interaction *state = run->state;
    const int32_t initial = state->concat_initial;

    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_edges}}};
    if (state->edge_first)
        append_edges(out, run, edges, initial);
    append_ends(out, run, nodes, initial);
    if (!state->edge_first)
        append_edges(out, run, edges, initial);
}

void etx_interaction_decoder_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run)
{
    const struct etx_interaction *state = run->state;
    const void *nodes = etx_interaction_node(run, state->n_iterations);
    const void *edges = etx_interaction_edge(run, state->n_iterations);

    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_edges}}};
    if (state->decode_edge || state->edge_first)
        append_edges(out, run, edges, 0);
    if (!state->decode_edge)
        append_ends(out, run, nodes, 0);
    if (!state->decode_edge && !state->edge_first)
        append_edges(out, run, edges, 0);
}

void etx_interaction_pt_parts(
    struct etx_interaction_parts *out, const struct etx_interaction_run *run)
{
    const int32_t last = run->state->n_iterations;

    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_edges}}};
    append_edges(out, run, etx_interaction_edge(run, last), 0);
}

static void append_node(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes)
{
    append_latents(out, run, ETX_ROLE_NODE, nodes, NULL);
    if (run->state->concat_initial) {
        append_latents(
            out, run, ETX_ROLE_NODE0, etx_interaction_node(run, 0), NULL);
    }
}

void etx_interaction_node_parts(struct etx_interaction_parts *out,
    const struct etx_interaction_run *run, const void *nodes,
    const struct etx_interaction_messages *messages)
{
    *out = (struct etx_interaction_parts){
        .input = {.args = {.n_rows = run->n_nodes}}};
    if (!run->state->messages_first)
        append_node(out, run, nodes);
    for (int32_t p = 0; p < messages->n_parts; p++) {
        append(out, ETX_ROLE_MESSAGE, messages->part[p], NULL,
            run->state->hidden);
    }
    if (run->state->messages_first)
        append_node(out, run, nodes);
}

etx_status etx_interaction_features(
    float **out, const struct etx_interaction_run *run)
{
    etx_status status = ETX_OK;
    const int32_t n = run->network->edge_features.n_features;
    float *features = NULL;

    if (n > 0 && run->state->edge_from_features) {
        ETX_CHECK(etx_arena_take(&features, run->context->stream->arena,
            run->n_edges * n, sizeof *features, "edge features"));
        ETX_CHECK(etx_edge_feature_rows(features, run->network, run->context,
            &run->input, 0, run->n_edges));
    }
    *out = features;
done:
    return status;
}
