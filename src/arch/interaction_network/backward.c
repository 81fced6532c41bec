/* arch/interaction_network/backward.c -- gradients of the parameters.
 *
 * The forward's steps in reverse, from the latents on the tape; everything
 * inside a step is computed again. A gradient that nothing has reached yet is
 * not zeroed but marked as not started, and its first term overwrites it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/interaction_network/run.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "data/graph_place.h"

#include <assert.h>
#include <string.h>

/* A gradient of latents that terms are added to. */
struct sum {
    float *data; /* [n] */
    int64_t n;
    int32_t started;
};

struct back {
    struct etx_interaction_run run;
    float *gradient;           /* of all parameters */
    struct sum nodes, edges;   /* of the latents where the walk is */
    struct sum nodes0, edges0; /* of the initial ones, by concatenation */
};

static struct etx_arena *arena_of(const struct back *back)
{
    return back->run.context->stream->arena;
}

static etx_status add_term(
    const struct back *back, struct sum *sum, const float *term)
{
    struct etx_context *context = back->run.context;

    if (sum->started)
        return etx_add_values(context, sum->data, term, sum->n);
    sum->started = 1;
    return etx_copy_values(context, sum->data, term, sum->n);
}

/* The gradients of the parts, in the arena, and of the parameters. */
static etx_status block_backward(struct back *back,
    const struct etx_mlp_block *block, struct etx_interaction_parts *parts,
    const float *d_out)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    const struct etx_mlp_args *args = &parts->input.args;

    for (int32_t p = 0; p < args->n_parts; p++) {
        const struct etx_edge_end *end = &parts->input.end[p];
        const int64_t n_rows = end->index != NULL ? end->n_nodes : args->n_rows;

        if (parts->role[p] == ETX_ROLE_INPUT)
            continue;
        ETX_CHECK(etx_arena_alloc(&parts->gradient[p], arena_of(back),
            n_rows * args->part[p].width, sizeof(float),
            "gradients of latents"));
    }
    ETX_CHECK(etx_mlp_block_backward(run->context, block, run->network->value,
        back->gradient, &parts->input, d_out, parts->gradient));
done:
    return status;
}

static const float *find(
    const struct etx_interaction_parts *parts, enum etx_interaction_role role)
{
    for (int32_t p = 0; p < parts->input.args.n_parts; p++) {
        if (parts->role[p] == (int32_t)role)
            return parts->gradient[p];
    }
    return NULL;
}

/* Add the gradients of an edge network's parts to the sums. */
static etx_status add_edge_parts(
    struct back *back, const struct etx_interaction_parts *parts)
{
    etx_status status = ETX_OK;
    const struct {
        enum etx_interaction_role role;
        struct sum *sum;
    } ways[] = {
        {ETX_ROLE_EDGE, &back->edges},
        {ETX_ROLE_EDGE0, &back->edges0},
        {ETX_ROLE_FIRST, &back->nodes},
        {ETX_ROLE_SECOND, &back->nodes},
        {ETX_ROLE_FIRST0, &back->nodes0},
        {ETX_ROLE_SECOND0, &back->nodes0},
    };

    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        const float *term = find(parts, ways[w].role);

        if (term != NULL)
            ETX_CHECK(add_term(back, ways[w].sum, term));
    }
done:
    return status;
}

static etx_status decoder_backward(struct back *back, const float *d_logit)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    const int32_t last = back->run.state->n_iterations;
    struct etx_interaction_parts parts;

    ETX_CHECK(etx_interaction_load_edges(&back->run, last));
    if (etx_interaction_reads_last_nodes(back->run.state))
        ETX_CHECK(etx_interaction_load_nodes(&back->run, last));
    etx_interaction_decoder_parts(&parts, &back->run);
    ETX_CHECK(block_backward(back, &back->run.state->decoder, &parts, d_logit));
    ETX_CHECK(add_edge_parts(back, &parts));
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

static etx_status pt_backward(struct back *back, const float *d_pt)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    struct etx_interaction_parts parts;

    etx_interaction_pt_parts(&parts, &back->run);
    ETX_CHECK(block_backward(back, &back->run.state->pt_head, &parts, d_pt));
    ETX_CHECK(add_edge_parts(back, &parts));
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

/* From the gradient of the edges k + 1 to that of the edges k and the nodes
 * that they were made of. */
static etx_status edges_backward(struct back *back, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    const struct etx_interaction *state = run->state;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    struct etx_interaction_parts parts;

    assert(back->edges.started);
    etx_interaction_edge_parts(&parts, run,
        etx_interaction_node(run, etx_interaction_ends_of(state, k)),
        etx_interaction_edge(run, k));
    ETX_CHECK(block_backward(back, etx_mlp_blocks_at(&state->edge_networks, k),
        &parts, back->edges.data));
    back->edges.started = state->edge_residual;
    ETX_CHECK(add_edge_parts(back, &parts));
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

/* A node update on its way back: the messages and their gradients, which lie
 * in the arena until the iteration ends. */
struct node_step {
    struct etx_interaction_messages messages;
    float *d_part[ETX_INTERACTION_MAX_SIDES];
    const float *edges; /* what the messages were made of */
    int32_t is_used;
};

/* From the gradient of the nodes k + 1 to that of the nodes k and of the
 * messages, which are of the edges after so many iterations. */
static etx_status nodes_backward(
    struct node_step *step, struct back *back, int32_t k, int32_t k_edges)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    const float *edges = etx_interaction_edge(run, k_edges);
    const struct etx_interaction *state = run->state;
    const float *nodes = etx_interaction_node(run, k);
    struct etx_interaction_parts parts;
    int32_t n_messages = 0;

    *step = (struct node_step){.edges = edges, .is_used = back->nodes.started};
    if (!step->is_used)
        return ETX_OK;
    ETX_CHECK(etx_halo_return(
        run->context, run->input.graph, back->nodes.data, state->hidden));
    ETX_CHECK(etx_interaction_aggregate(&step->messages, run, edges, NULL));
    etx_interaction_node_parts(&parts, run, nodes, &step->messages);
    ETX_CHECK(block_backward(back, etx_mlp_blocks_at(&state->node_networks, k),
        &parts, back->nodes.data));
    back->nodes.started = state->node_residual;
    ETX_CHECK(add_term(back, &back->nodes, find(&parts, ETX_ROLE_NODE)));
    if (state->concat_initial) {
        ETX_CHECK(add_term(back, &back->nodes0, find(&parts, ETX_ROLE_NODE0)));
    }
    for (int32_t p = 0; p < parts.input.args.n_parts; p++) {
        if (parts.role[p] == ETX_ROLE_MESSAGE)
            step->d_part[n_messages++] = parts.gradient[p];
    }
done:
    return status;
}

/* From the gradient of the messages to that of the edges. */
static etx_status messages_backward(
    struct back *back, const struct node_step *step)
{
    const int32_t add = back->edges.started;

    if (!step->is_used)
        return ETX_OK;
    back->edges.started = 1;
    return etx_interaction_aggregate_backward(back->edges.data, add, &back->run,
        &step->messages, step->edges, step->d_part);
}

/* Bring latents of nodes and of edges to their places; the edges first, as
 * making them again may move the nodes. */
static etx_status load(
    struct etx_interaction_run *run, int32_t k_nodes, int32_t k_edges)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_interaction_load_edges(run, k_edges));
    ETX_CHECK(etx_interaction_load_nodes(run, k_nodes));
done:
    return status;
}

static etx_status iteration_backward(struct back *back, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_interaction_run *run = &back->run;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    struct node_step step;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    switch ((enum etx_interaction_update)run->state->edge_update) {
    case ETX_UPDATE_FIRST:
        ETX_CHECK(load(run, k, k + 1));
        ETX_CHECK(nodes_backward(&step, back, k, k + 1));
        ETX_CHECK(messages_backward(back, &step));
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(edges_backward(back, k));
        break;
    case ETX_UPDATE_OLD:
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(nodes_backward(&step, back, k, k));
        ETX_CHECK(edges_backward(back, k));
        ETX_CHECK(messages_backward(back, &step));
        break;
    case ETX_UPDATE_NEW:
        ETX_CHECK(load(run, k, k));
        ETX_CHECK(etx_interaction_load_nodes(run, k + 1));
        ETX_CHECK(edges_backward(back, k));
        ETX_CHECK(nodes_backward(&step, back, k, k));
        ETX_CHECK(messages_backward(back, &step));
        break;
    }
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

static etx_status encoders_backward(struct back *back)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    const struct etx_arena_mark mark = etx_arena_mark(arena_of(back));
    struct etx_interaction_parts parts;
    float *features = NULL;

    if (back->nodes0.started)
        ETX_CHECK(add_term(back, &back->nodes, back->nodes0.data));
    if (back->edges0.started)
        ETX_CHECK(add_term(back, &back->edges, back->edges0.data));
    ETX_CHECK(etx_interaction_load_nodes(&back->run, 0));
    ETX_CHECK(etx_interaction_features(&features, run));
    etx_interaction_edge_encoder_parts(&parts, run, features);
    ETX_CHECK(block_backward(
        back, &run->state->edge_encoder, &parts, back->edges.data));
    ETX_CHECK(add_edge_parts(back, &parts));
    if (!back->nodes.started)
        goto done;
    etx_interaction_node_encoder_parts(&parts, run);
    ETX_CHECK(block_backward(
        back, &run->state->node_encoder, &parts, back->nodes.data));
done:
    etx_arena_reset(arena_of(back), mark);
    return status;
}

/* The gradient of the doubled graph's values, of which the caller's are the
 * means of both or those of the edges as they are. */
static etx_status double_gradient(const float **out, const struct back *back,
    const float *d_out, int32_t is_mean)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    struct etx_context *context = run->context;
    const int64_t n = run->n_edges_out;
    struct etx_fill_args zero = {.n = 2 * n};
    struct etx_scale_args halve = {.n = 2 * n, .factor = 0.5f};
    struct etx_scatter_args first_half = {
        .n_rows = n, .width = 1, .x = d_out, .index = run->slot};
    float *d_logit = NULL;

    ETX_CHECK(etx_arena_alloc(&d_logit, arena_of(back), 2 * n, sizeof *d_logit,
        "gradients of doubled edges"));
    zero.y = halve.y = first_half.y = d_logit;
    if (is_mean) {
        ETX_CHECK(
            etx_graph_double_values(d_logit, context, run->slot, d_out, n));
        ETX_CHECK(context->ops->scale(context->stream, &halve));
    } else {
        ETX_CHECK(context->ops->fill(context->stream, &zero));
        ETX_CHECK(context->ops->scatter(context->stream, &first_half));
    }
    *out = d_logit;
done:
    return status;
}

static etx_status take_sums(struct back *back)
{
    etx_status status = ETX_OK;
    const struct etx_interaction_run *run = &back->run;
    const int64_t n_node_values = run->n_nodes * run->state->hidden;
    const int64_t n_edge_values = run->n_edges * run->state->hidden;
    struct sum *sum[4] = {
        &back->nodes, &back->edges, &back->nodes0, &back->edges0};
    const int32_t n_sums = run->state->concat_initial ? 4 : 2;

    for (int32_t s = 0; s < n_sums; s++) {
        sum[s]->n = s % 2 == 0 ? n_node_values : n_edge_values;
        ETX_CHECK(etx_arena_alloc(&sum[s]->data, arena_of(back), sum[s]->n,
            sizeof(float), "gradients of latents"));
    }
done:
    return status;
}

etx_status etx_interaction_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct back back = {.gradient = gradient};
    const float *d_pt = network->has_pt_head ? tape->d_pt : NULL;

    if (input->graph->n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    ETX_CHECK(etx_interaction_open(&back.run, network, context, input, tape));
    etx_interaction_place(&back.run, tape->state);
    ETX_CHECK(load(&back.run, 0, 0));
    ETX_CHECK(take_sums(&back));
    if (back.run.doubled != NULL)
        ETX_CHECK(double_gradient(&d_out, &back, d_out,
            back.run.state->direction == ETX_DOUBLED_MEAN));
    ETX_CHECK(decoder_backward(&back, d_out));
    if (d_pt != NULL && back.run.doubled != NULL)
        ETX_CHECK(double_gradient(&d_pt, &back, d_pt, 0));
    if (d_pt != NULL)
        ETX_CHECK(pt_backward(&back, d_pt));
    for (int32_t k = back.run.state->n_iterations - 1; k >= 0; k--)
        ETX_CHECK(iteration_backward(&back, k));
    ETX_CHECK(encoders_backward(&back));
done:
    etx_interaction_close(&back.run);
    etx_arena_reset(arena, mark);
    return status;
}
