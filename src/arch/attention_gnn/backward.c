/* arch/attention_gnn/backward.c -- gradients of the parameters.
 *
 * The shortcut s of the latents is a multiple of the input and has no
 * gradient of its own, but the weights of the edges have one through the
 * messages of s. Messages are linear in the latents and symmetric in the two
 * ends of an edge, so their gradient is propagated as they are.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/attention_gnn/network.h"

#include "arch/edge_steps.h"
#include "arch/halo.h"

#include "base/check.h"

struct back {
    struct etx_attention_run run;
    float *gradient; /* of all parameters */
    float *d_u;      /* [n_nodes, hidden] of the latents where the walk is */
    int32_t started; /* d_u has been written */
};

static etx_status take(
    float **out, const struct back *back, int64_t n, const char *what)
{
    return etx_arena_alloc(
        out, back->run.context->stream->arena, n, sizeof(float), what);
}

/* From the gradient of the logits of k to that of u of k. */
static etx_status edges_backward(
    struct back *back, int32_t k, const float *d_logit)
{
    etx_status status = ETX_OK;
    const struct etx_attention_run *run = &back->run;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n = run->n_nodes * run->state->hidden;
    const int32_t second = run->n_short > 0 ? 2 : 1;
    float *d_part[ETX_MAX_PARTS] = {NULL};
    struct etx_mlp_input rows;

    etx_attention_edge_parts(&rows, run, k);
    ETX_CHECK(take(&d_part[0], back, n, "gradients of latents"));
    ETX_CHECK(take(&d_part[second], back, n, "gradients of latents"));
    ETX_CHECK(etx_mlp_block_backward(run->context, &run->state->edge_network,
        run->network->value, back->gradient, &rows, d_logit, d_part));
    ETX_CHECK(back->started
                  ? etx_add_values(run->context, back->d_u, d_part[0], n)
                  : etx_copy_values(run->context, back->d_u, d_part[0], n));
    ETX_CHECK(etx_add_values(run->context, back->d_u, d_part[second], n));
    back->started = 1;
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* d_weight (+)= d_message[to] . x[from] for both directions of every edge. */
static etx_status weight_gradient(float *d_weight, int32_t add,
    const struct back *back, const float *d_message, const float *x,
    int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_context *context = back->run.context;
    const struct etx_graph *graph = back->run.input->graph;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct etx_row_dot_args dot = {
        .n_rows = graph->n_edges, .width = width, .a = d_message, .b = x};
    float *term = NULL;

    ETX_CHECK(take(&term, back, graph->n_edges, "gradients of edge weights"));
    for (int32_t way = 0; way < 2; way++) {
        dot.a_index = way == 0 ? graph->dst : graph->src;
        dot.b_index = way == 0 ? graph->src : graph->dst;
        dot.out = add || way > 0 ? term : d_weight;
        ETX_CHECK(context->ops->row_dot(context->stream, &dot));
        if (dot.out == term) {
            ETX_CHECK(etx_add_values(context, d_weight, term, graph->n_edges));
        }
    }
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

/* From the gradients of the messages to that of the logits of k, and of u. */
static etx_status messages_backward(float *d_logit, struct back *back,
    int32_t k, const struct etx_attention_messages *messages,
    const struct etx_attention_messages *d_messages)
{
    etx_status status = ETX_OK;
    const struct etx_attention_run *run = &back->run;
    struct etx_context *context = run->context;
    const int32_t hidden = run->state->hidden;
    const struct etx_activation_backward_args sigmoid = {
        .n = run->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = etx_attention_logit(run, k),
        .d_y = d_logit,
        .d_x = d_logit,
    };

    ETX_CHECK(weight_gradient(
        d_logit, 0, back, d_messages->u, etx_attention_u(run, k), hidden));
    if (run->n_short > 0) {
        ETX_CHECK(weight_gradient(d_logit, 1, back, d_messages->s,
            etx_attention_s(run, k), run->n_short));
    }
    ETX_CHECK(context->ops->activation_backward(context->stream, &sigmoid));
    ETX_CHECK(etx_attention_propagate(back->d_u, back->started, run,
        messages->weight, d_messages->u, hidden));
    back->started = 1;
done:
    return status;
}

/* From the gradient of u of k + 1 to those of the messages of k and of u. */
static etx_status nodes_backward(struct etx_attention_messages *d_messages,
    struct back *back, int32_t k, const struct etx_attention_messages *messages)
{
    etx_status status = ETX_OK;
    const struct etx_attention_run *run = &back->run;
    const int64_t n = run->n_nodes * run->state->hidden;
    float *d_part[ETX_MAX_PARTS] = {NULL};
    struct etx_mlp_input rows;
    int32_t u_part = 0;
    int32_t message_part = 0;

    etx_attention_node_parts(&rows, &u_part, &message_part, run, k, messages);
    ETX_CHECK(take(&d_part[u_part], back, n, "gradients of latents"));
    ETX_CHECK(take(&d_part[message_part], back, n, "gradients of messages"));
    if (run->n_short > 0) {
        ETX_CHECK(take(&d_part[message_part + 1], back,
            run->n_nodes * run->n_short, "gradients of messages"));
    }
    ETX_CHECK(etx_mlp_block_backward(run->context, &run->state->node_network,
        run->network->value, back->gradient, &rows, back->d_u, d_part));
    if (run->state->residual)
        ETX_CHECK(etx_add_values(run->context, back->d_u, d_part[u_part], n));
    else
        ETX_CHECK(etx_copy_values(run->context, back->d_u, d_part[u_part], n));
    d_messages->u = d_part[message_part];
    d_messages->s = run->n_short > 0 ? d_part[message_part + 1] : NULL;
done:
    return status;
}

static etx_status iteration_backward(struct back *back, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_attention_run *run = &back->run;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_attention_messages messages;
    struct etx_attention_messages d_messages = {.weight = NULL};
    float *d_logit = NULL;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    ETX_CHECK(etx_halo_return(
        run->context, run->input->graph, back->d_u, run->state->hidden));
    ETX_CHECK(etx_attention_send(&messages, run, k));
    ETX_CHECK(nodes_backward(&d_messages, back, k, &messages));
    ETX_CHECK(take(&d_logit, back, run->n_edges, "gradients of logits"));
    ETX_CHECK(messages_backward(d_logit, back, k, &messages, &d_messages));
    ETX_CHECK(edges_backward(back, k, d_logit));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_attention_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct back back = {
        .run = etx_attention_open(network, context, input, 1),
        .gradient = gradient,
    };
    const struct etx_attention *state = back.run.state;
    struct etx_mlp_input rows;

    if (back.run.n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    back.run.latents = tape->state;
    ETX_CHECK(take(&back.d_u, &back, back.run.n_nodes * state->hidden,
        "gradients of latents"));
    ETX_CHECK(edges_backward(&back, state->n_iterations, d_out));
    for (int32_t k = state->n_iterations - 1; k >= 0; k--)
        ETX_CHECK(iteration_backward(&back, k));
    etx_attention_encoder_parts(&rows, &back.run);
    ETX_CHECK(etx_mlp_block_backward(context, &state->encoder, network->value,
        gradient, &rows, back.d_u, NULL));
done:
    etx_arena_reset(arena, mark);
    return status;
}
