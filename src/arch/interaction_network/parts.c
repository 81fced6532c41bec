/* arch/interaction_network/parts.c -- what every perceptron of the network
 * reads, in the order of its weights.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/run.h"

#include "arch/edge_steps.h"

#include "base/check.h"

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

    append(parts, role, run->is_half ? NULL : latents, end, run->state->hidden);
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
    const struct etx_interaction_run *run, const void *nodes, const void *edges)
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
        append(
            out, ETX_ROLE_MESSAGE, messages->part[p], NULL, run->state->hidden);
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
        ETX_CHECK(etx_arena_alloc(&features, run->context->stream->arena,
            run->n_edges * n, sizeof *features, "edge features"));
        ETX_CHECK(etx_edge_feature_rows(features, run->network, run->context,
            &run->input, 0, run->n_edges));
    }
    *out = features;
done:
    return status;
}
