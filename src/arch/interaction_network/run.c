/* arch/interaction_network/run.c -- one run over one graph.
 *
 * Latents lie in one block whose layout follows from the sizes and the choices
 * of the tape alone, so that its state is one pointer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/run.h"

#include "base/check.h"
#include "data/graph_place.h"

/* The votes of an edge are those of its reverse, too. */
static etx_status double_votes(
    struct etx_interaction_run *run, int64_t n_edges, const float *votes)
{
    etx_status status = ETX_OK;

    if (votes == NULL)
        return ETX_OK;
    ETX_CHECK(etx_memory_alloc(&run->votes, run->context->stream->memory,
        2 * n_edges, sizeof *run->votes, "votes of doubled edges"));
    ETX_CHECK(etx_graph_double_values(
        run->votes, run->context, run->slot, votes, n_edges));
    run->input.votes = run->votes;
done:
    return status;
}

/* Replace the graph by the one with both directions of every edge, scores
 * included. */
static etx_status double_graph(
    struct etx_interaction_run *run, const struct etx_graph *graph)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_memory_alloc(&run->slot, run->context->stream->memory,
        2 * graph->n_edges, sizeof *run->slot, "places of doubled edges"));
    ETX_CHECK(etx_graph_double(&run->doubled, run->slot, run->context, graph));
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
    struct etx_latents_shape shape = {.width = state->hidden,
        .n_iterations = state->n_iterations,
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
    shape.n_rows = run->n_nodes;
    shape.n_slots = 2;
    etx_latents_open(&run->nodes, &shape, tape);
    shape.n_rows = run->n_edges;
    shape.n_slots = 1;
    shape.can_recompute = 1;
    etx_latents_open(&run->edges, &shape, tape);
done:
    return status;
}

void etx_interaction_close(struct etx_interaction_run *run)
{
    const struct etx_memory *memory = run->context->stream->memory;

    etx_graph_free(run->doubled);
    etx_memory_free(memory, run->slot);
    etx_memory_free(memory, run->votes);
}

int64_t etx_interaction_latent_bytes(const struct etx_interaction_run *run)
{
    return etx_latents_bytes(&run->nodes) + etx_latents_bytes(&run->edges);
}

void etx_interaction_place(struct etx_interaction_run *run, void *memory)
{
    etx_latents_set_memory(&run->nodes, memory);
    etx_latents_set_memory(
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
        ETX_CHECK(etx_interaction_update_edges(run, i, NULL));
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

etx_status etx_interaction_update_edges(const struct etx_interaction_run *run,
    int32_t k, const struct etx_segment_reduce_args *reduce)
{
    const struct etx_interaction *state = run->state;
    const void *nodes =
        etx_interaction_node(run, etx_interaction_ends_of(state, k));
    const void *edges = etx_interaction_edge(run, k);
    struct etx_interaction_parts parts;

    etx_interaction_edge_parts(&parts, run, nodes, edges);
    parts.input.args.reduce = reduce;
    return etx_interaction_make_latents(run,
        etx_mlp_blocks_at(&state->edge_networks, k), &parts,
        state->edge_residual ? edges : NULL, etx_interaction_edge(run, k + 1));
}

int32_t etx_interaction_reads_last_nodes(const struct etx_interaction *state)
{
    return !state->decode_edge || state->edge_update == ETX_UPDATE_NEW;
}
