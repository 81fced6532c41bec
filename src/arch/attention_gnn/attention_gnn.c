/* arch/attention_gnn/attention_gnn.c -- the forward.
 *
 * The attention GNN of HEP.TrkX and Exa.TrkX ("ResAGNN"): an edge network
 * gives every edge a weight, nodes add up their neighbours by weight and
 * update themselves, and the logits of the same edge network after the last
 * iteration are the result. README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/attention_gnn/network.h"

#include "arch/edge_steps.h"
#include "arch/halo.h"

#include "base/check.h"

#define ALIGNMENT 16 /* floats */

extern const struct etx_arch etx_arch_attention_gnn;

static int64_t align(int64_t n)
{
    return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Counts are below 2^31, widths at most 2^12 and slots at most 65: products
 * fit an int64_t. */
struct etx_attention_run etx_attention_open(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    int32_t keep_all)
{
    const struct etx_attention *state = network->state;
    struct etx_attention_run run = {
        .network = network,
        .state = state,
        .context = context,
        .input = input,
        .n_nodes = input->n_nodes,
        .n_edges = input->graph->n_edges,
        .n_short = state->shortcut ? network->n_node_features : 0,
        .n_slots = (int64_t)state->n_iterations + 1,
    };

    if (!keep_all && run.n_slots > 2)
        run.n_slots = 2;
    run.u_size = align(run.n_nodes * state->hidden);
    run.s_size = align(run.n_nodes * run.n_short);
    run.logit_size = align(run.n_edges);
    return run;
}

static float *slot(const struct etx_attention_run *run, int32_t k)
{
    return run->latents +
           k % run->n_slots * (run->u_size + run->s_size + run->logit_size);
}

float *etx_attention_u(const struct etx_attention_run *run, int32_t k)
{
    return slot(run, k);
}

float *etx_attention_s(const struct etx_attention_run *run, int32_t k)
{
    return slot(run, k) + run->u_size;
}

float *etx_attention_logit(const struct etx_attention_run *run, int32_t k)
{
    return slot(run, k) + run->u_size + run->s_size;
}

void etx_attention_encoder_parts(
    struct etx_mlp_input *out, const struct etx_attention_run *run)
{
    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_nodes}};
    etx_mlp_part(
        out, run->input->node_features, NULL, run->network->n_node_features);
}

void etx_attention_edge_parts(
    struct etx_mlp_input *out, const struct etx_attention_run *run, int32_t k)
{
    const int32_t hidden = run->state->hidden;
    const float *u = etx_attention_u(run, k);
    const float *s = etx_attention_s(run, k);
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->state->order);

    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_edges}};
    etx_mlp_part(out, u, &ends.first, hidden);
    etx_mlp_part(out, s, &ends.first, run->n_short);
    etx_mlp_part(out, u, &ends.second, hidden);
    etx_mlp_part(out, s, &ends.second, run->n_short);
}

void etx_attention_node_parts(struct etx_mlp_input *out, int32_t *u_part,
    int32_t *message_part, const struct etx_attention_run *run, int32_t k,
    const struct etx_attention_messages *messages)
{
    const int32_t hidden = run->state->hidden;
    const int32_t per_latent = run->n_short > 0 ? 2 : 1;

    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_nodes}};
    *message_part = run->state->messages_first ? 0 : per_latent;
    *u_part = per_latent - *message_part;
    for (int32_t half = 0; half < 2; half++) {
        const int32_t is_message = half * per_latent == *message_part;

        etx_mlp_part(out, is_message ? messages->u : etx_attention_u(run, k),
            NULL, hidden);
        etx_mlp_part(out, is_message ? messages->s : etx_attention_s(run, k),
            NULL, run->n_short);
    }
}

etx_status etx_attention_propagate(float *out, int32_t add,
    const struct etx_attention_run *run, const float *weight, const float *x,
    int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input->graph;
    struct etx_segment_reduce_args args = {
        .n_segments = run->n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .add = add,
        .offset = graph->in_offset,
        .gather = graph->src,
        .weight = weight,
        .x = x,
        .out = out,
    };

    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    args.add = 1;
    args.offset = graph->out_offset;
    args.order = graph->out_edge;
    args.gather = graph->dst;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
done:
    return status;
}

etx_status etx_attention_send(struct etx_attention_messages *out,
    const struct etx_attention_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_arena *arena = context->stream->arena;
    const int32_t hidden = run->state->hidden;
    struct etx_attention_messages messages = {.weight = NULL};
    struct etx_activation_args sigmoid = {.n = run->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = etx_attention_logit(run, k)};

    ETX_CHECK(etx_arena_alloc(&messages.weight, arena, run->n_edges,
        sizeof(float), "weights of edges"));
    sigmoid.y = messages.weight;
    ETX_CHECK(context->ops->activation(context->stream, &sigmoid));
    ETX_CHECK(etx_arena_alloc(
        &messages.u, arena, run->n_nodes * hidden, sizeof(float), "messages"));
    ETX_CHECK(etx_attention_propagate(
        messages.u, 0, run, messages.weight, etx_attention_u(run, k), hidden));
    if (run->n_short > 0) {
        ETX_CHECK(etx_arena_alloc(&messages.s, arena,
            run->n_nodes * run->n_short, sizeof(float), "messages"));
        ETX_CHECK(etx_attention_propagate(messages.s, 0, run, messages.weight,
            etx_attention_s(run, k), run->n_short));
    }
    *out = messages;
done:
    return status;
}

static etx_status edge_logits(
    const struct etx_attention_run *run, int32_t k, float *out)
{
    struct etx_mlp_input rows;

    etx_attention_edge_parts(&rows, run, k);
    rows.args.out = out;
    return etx_mlp_block_forward(
        run->context, &run->state->edge_network, run->network->value, &rows);
}

/* The shortcut of k + 1: the input once more on top of that of k. */
static etx_status step_shortcut(const struct etx_attention_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const int64_t n = run->n_nodes * run->n_short;
    const float *x = run->input->node_features;
    float *next = etx_attention_s(run, k + 1);

    if (n == 0)
        return ETX_OK;
    if (!run->state->residual)
        return etx_copy_values(run->context, next, x, n);
    ETX_CHECK(etx_copy_values(run->context, next, etx_attention_s(run, k), n));
    ETX_CHECK(etx_add_values(run->context, next, x, n));
done:
    return status;
}

static etx_status iterate(const struct etx_attention_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_attention_messages messages;
    struct etx_mlp_input rows;
    int32_t u_part = 0;
    int32_t message_part = 0;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    ETX_CHECK(edge_logits(run, k, etx_attention_logit(run, k)));
    ETX_CHECK(etx_attention_send(&messages, run, k));
    etx_attention_node_parts(&rows, &u_part, &message_part, run, k, &messages);
    rows.args.residual = run->state->residual ? etx_attention_u(run, k) : NULL;
    rows.args.out = etx_attention_u(run, k + 1);
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &run->state->node_network, run->network->value, &rows));
    ETX_CHECK(etx_halo_update(run->context, run->input->graph,
        etx_attention_u(run, k + 1), run->state->hidden));
    ETX_CHECK(step_shortcut(run, k));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status encode(const struct etx_attention_run *run)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input rows;

    etx_attention_encoder_parts(&rows, run);
    rows.args.out = etx_attention_u(run, 0);
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &run->state->encoder, run->network->value, &rows));
    if (run->n_short > 0) {
        ETX_CHECK(etx_copy_values(run->context, etx_attention_s(run, 0),
            run->input->node_features, run->n_nodes * run->n_short));
    }
done:
    return status;
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_attention_run run =
        etx_attention_open(network, context, input, tape != NULL);

    if (tape != NULL)
        tape->state = NULL;
    if (run.n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&run.latents, arena,
        run.n_slots * (run.u_size + run.s_size + run.logit_size), sizeof(float),
        "latents"));
    ETX_CHECK(encode(&run));
    for (int32_t k = 0; k < run.state->n_iterations; k++)
        ETX_CHECK(iterate(&run, k));
    ETX_CHECK(edge_logits(&run, run.state->n_iterations, out));
    if (tape != NULL)
        tape->state = run.latents;
done:
    if (tape == NULL || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_attention_gnn = {
    .name = "attention_gnn",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_attention_configure,
    .release = etx_network_release_state,
    .forward = forward,
    .backward = etx_attention_backward,
};
