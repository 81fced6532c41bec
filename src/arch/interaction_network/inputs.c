/* arch/interaction_network/inputs.c -- the inputs of the perceptrons.
 *
 * Each is a concatenation of columns, in the order of the first weight's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/steps.h"

#include "base/check.h"

/* Append latents k and, if initial is nonzero, latents 0 (concat_initial). The
 * gradient of the first is added to d_latents, of the second to d_initial. */
static void append(struct etx_mlp_input *input, struct etx_run *run,
    int32_t kind, int32_t k, const struct etx_edge_end *end, int32_t initial)
{
    struct etx_interaction_own *own = run->own;

    etx_run_append(input, run, kind, k, end, &run->d_latents[kind]);
    if (initial)
        etx_run_append(input, run, kind, 0, end, &own->d_initial[kind]);
}

static void append_ends(struct etx_mlp_input *input, struct etx_run *run,
    int32_t k, int32_t initial)
{
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, etx_interaction_state(run)->order);

    append(input, run, ETX_NODES, k, &ends.first, initial);
    append(input, run, ETX_NODES, k, &ends.second, initial);
}

etx_status etx_interaction_edge_encoder_input(
    struct etx_mlp_input *out, struct etx_run *run)
{
    etx_status status = ETX_OK;
    const struct etx_interaction *state = etx_interaction_state(run);
    const int32_t n = run->network->n_node_features;
    const float *x = run->input.node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, state->order);
    float *features = NULL;

    *out = etx_run_rows(run->input.graph->n_edges);
    if (state->edge_from_latents)
        append_ends(out, run, 0, 0);
    if (state->edge_from_nodes) {
        etx_mlp_append(out, x, &ends.first, n);
        etx_mlp_append(out, x, &ends.second, n);
    }
    if (state->edge_from_features) {
        ETX_CHECK(etx_edge_features_make(
            &features, run->network, run->context, &run->input));
        etx_mlp_append(
            out, features, NULL, run->network->edge_features.n_features);
    }
done:
    return status;
}

struct etx_mlp_input etx_interaction_edge_input(
    struct etx_run *run, int32_t k, int32_t k_nodes)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    const int32_t initial = state->concat_initial;
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    if (state->edge_first)
        append(&input, run, ETX_EDGES, k, NULL, initial);
    append_ends(&input, run, k_nodes, initial);
    if (!state->edge_first)
        append(&input, run, ETX_EDGES, k, NULL, initial);
    return input;
}

struct etx_mlp_input etx_interaction_node_input(
    struct etx_run *run, int32_t k, struct etx_interaction_messages *messages)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    const int32_t initial = state->concat_initial;
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_nodes);

    if (!state->messages_first)
        append(&input, run, ETX_NODES, k, NULL, initial);
    for (int32_t p = 0; p < messages->n_parts; p++)
        etx_mlp_append_with_sum(&input, messages->part[p], NULL, state->hidden,
            &messages->d_part[p]);
    if (state->messages_first)
        append(&input, run, ETX_NODES, k, NULL, initial);
    return input;
}

struct etx_mlp_input etx_interaction_decoder_input(struct etx_run *run)
{
    const struct etx_interaction *state = etx_interaction_state(run);
    const int32_t last = state->n_iterations;
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    if (state->decode_edge || state->edge_first)
        append(&input, run, ETX_EDGES, last, NULL, 0);
    if (!state->decode_edge)
        append_ends(&input, run, last, 0);
    if (!state->decode_edge && !state->edge_first)
        append(&input, run, ETX_EDGES, last, NULL, 0);
    return input;
}

struct etx_mlp_input etx_interaction_pt_input(struct etx_run *run)
{
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    append(&input, run, ETX_EDGES, etx_interaction_state(run)->n_iterations,
        NULL, 0);
    return input;
}
