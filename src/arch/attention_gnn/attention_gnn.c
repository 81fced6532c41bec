/* arch/attention_gnn/attention_gnn.c -- the attention GNN of HEP.TrkX and
 * Exa.TrkX ("ResAGNN").
 *
 * An edge network gives every edge a weight, nodes sum their neighbours by
 * weight and update themselves, and the logits of the same edge network after
 * the last iteration are the result. README.md has the equations.
 *
 * The latent of a node is concat[u, s]: u [hidden] is learnt, s is a multiple
 * of the input features, which every iteration adds again (the input
 * shortcut). The two are separate arrays, so that no concatenation is stored.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/attention_gnn/network.h"

#include "arch/message_passing.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_attention_gnn;

/* Latents: u [n_nodes, hidden], s [n_nodes, n_shortcut], logits [n_edges]. */
enum { U, S, LOGIT };

static const struct etx_attention *state_of(const struct etx_run *run)
{
    return run->network->state;
}

static int32_t n_shortcut(const struct etx_run *run)
{
    return state_of(run)->shortcut ? run->network->n_node_features : 0;
}

static etx_status open(struct etx_run *run)
{
    struct etx_latents_shape shape = {.n_rows = run->input.n_nodes,
        .width = state_of(run)->hidden,
        .n_iterations = state_of(run)->n_iterations,
        .n_slots = 2,
        .is_of_nodes = 1,
        .has_gradient = 1};

    etx_run_add_latents(run, &shape);
    shape.width = n_shortcut(run);
    shape.has_gradient = 0;
    etx_run_add_latents(run, &shape);
    shape.n_rows = run->input.graph->n_edges;
    shape.width = 1;
    shape.n_slots = 1;
    shape.is_of_nodes = 0;
    etx_run_add_latents(run, &shape);
    return ETX_OK;
}

/* ------------------------------------------------------ inputs of blocks -- */

/* concat[u, s] of the first end, then of the second. */
static struct etx_mlp_input edge_input(struct etx_run *run, int32_t k)
{
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, state_of(run)->order);
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    etx_run_append(&input, run, U, k, &ends.first, &run->d_latents[U]);
    etx_run_append(&input, run, S, k, &ends.first, NULL);
    etx_run_append(&input, run, U, k, &ends.second, &run->d_latents[U]);
    etx_run_append(&input, run, S, k, &ends.second, NULL);
    return input;
}

/* Messages, summed at the nodes: with w = sigmoid(logit) of the edges, node i
 * gets the sum of w h[src] of the edges into i and of w h[dst] of those out of
 * i. u and s are the messages of the two halves of h = concat[u, s]. */
struct messages {
    float *weight;           /* [n_edges] w */
    float *u, *s;            /* [n_nodes, hidden], [n_nodes, n_shortcut] */
    struct etx_sum d_u, d_s; /* their gradients */
};

static void append_node(
    struct etx_mlp_input *input, struct etx_run *run, int32_t k)
{
    etx_run_append(input, run, U, k, NULL, &run->d_latents[U]);
    etx_run_append(input, run, S, k, NULL, NULL);
}

static struct etx_mlp_input node_input(
    struct etx_run *run, int32_t k, struct messages *messages)
{
    struct etx_mlp_input input = etx_run_rows(run->input.n_nodes);

    if (!state_of(run)->messages_first)
        append_node(&input, run, k);
    etx_mlp_append_with_sum(
        &input, messages->u, NULL, state_of(run)->hidden, &messages->d_u);
    etx_mlp_append_with_sum(
        &input, messages->s, NULL, n_shortcut(run), &messages->d_s);
    if (state_of(run)->messages_first)
        append_node(&input, run, k);
    return input;
}

/* --------------------------------------------------------------- forward -- */

/* *out [n_nodes, width] in the arena: the messages of latents of a kind, U or
 * S; stays NULL for width 0. */
static etx_status sum_messages(float **out, struct etx_run *run, int32_t kind,
    int32_t k, const float *weight)
{
    etx_status status = ETX_OK;
    const int32_t width = run->latents[kind].shape.width;

    if (width == 0)
        return ETX_OK;
    ETX_CHECK(etx_floats_alloc(
        out, run->context, run->input.n_nodes * width, "messages"));
    ETX_CHECK(etx_propagate(*out, 0, run->context, run->input.graph, weight,
        etx_run_latents(run, kind, k), width));
done:
    return status;
}

/* The messages of iteration k from its logits, in the arena. */
static etx_status make_messages(
    struct messages *out, struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_activation_args sigmoid = {.n = run->input.graph->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = etx_run_latents(run, LOGIT, k)};

    *out = (struct messages){.weight = NULL};
    ETX_CHECK(
        etx_floats_alloc(&out->weight, context, sigmoid.n, "weights of edges"));
    sigmoid.y = out->weight;
    ETX_CHECK(context->ops->activation(context->stream, &sigmoid));
    ETX_CHECK(sum_messages(&out->u, run, U, k, out->weight));
    ETX_CHECK(sum_messages(&out->s, run, S, k, out->weight));
done:
    return status;
}

/* s of k: the input features added to s of k - 1, or alone. */
static etx_status add_shortcut(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const int64_t n = run->input.n_nodes * n_shortcut(run);
    const float *x = run->input.node_features;
    float *s = etx_run_latents(run, S, k);

    if (n == 0)
        return ETX_OK;
    if (k == 0 || !state_of(run)->residual)
        return etx_copy_values(run->context, s, x, n);
    ETX_CHECK(
        etx_copy_values(run->context, s, etx_run_latents(run, S, k - 1), n));
    ETX_CHECK(etx_add_values(run->context, s, x, n));
done:
    return status;
}

static etx_status encode(struct etx_run *run)
{
    struct etx_mlp_input input = etx_run_node_features(run);
    etx_status status;

    ETX_CHECK(etx_run_update(run, U, 0, &state_of(run)->encoder, &input, NULL));
    ETX_CHECK(add_shortcut(run, 0));
done:
    return status;
}

static etx_status score_edges(struct etx_run *run, int32_t k, float *out)
{
    struct etx_mlp_input input = edge_input(run, k);

    return etx_run_block(run, &state_of(run)->edge_network, &input, out);
}

static etx_status iterate(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_attention *state = state_of(run);
    struct messages messages;
    struct etx_mlp_input input;

    ETX_CHECK(score_edges(run, k, etx_run_latents(run, LOGIT, k)));
    ETX_CHECK(make_messages(&messages, run, k));
    input = node_input(run, k, &messages);
    ETX_CHECK(etx_run_update(run, U, k + 1, &state->node_network, &input,
        state->residual ? etx_run_latents(run, U, k) : NULL));
    ETX_CHECK(add_shortcut(run, k + 1));
done:
    return status;
}

static etx_status decode(struct etx_run *run, float *out)
{
    return score_edges(run, state_of(run)->n_iterations, out);
}

/* -------------------------------------------------------------- backward -- */

/* From the gradient of the logits of iteration k to the gradients of u of k and
 * of the parameters of the edge network. */
static etx_status score_backward(
    struct etx_run *run, int32_t k, const float *d_logit)
{
    const struct etx_mlp_input input = edge_input(run, k);

    return etx_run_block_backward(
        run, &state_of(run)->edge_network, &input, d_logit);
}

static etx_status decode_backward(struct etx_run *run, const float *d_out)
{
    return score_backward(run, state_of(run)->n_iterations, d_out);
}

/* From the gradients of the messages to d_logit [n_edges] of iteration k; adds
 * to the gradient of u. s is a multiple of the input and needs no gradient, but
 * the messages of s contribute to the gradient of the weights w. */
static etx_status messages_backward(float *d_logit, struct etx_run *run,
    int32_t k, const struct messages *messages)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_sum *d_u = &run->d_latents[U];
    const int32_t hidden = state_of(run)->hidden;
    const struct etx_activation_backward_args sigmoid = {
        .n = run->input.graph->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = etx_run_latents(run, LOGIT, k),
        .d_y = d_logit,
        .d_x = d_logit,
    };

    ETX_CHECK(
        etx_propagate_weights_backward(d_logit, 0, context, run->input.graph,
            messages->d_u.data, etx_run_latents(run, U, k), hidden));
    if (messages->s != NULL)
        ETX_CHECK(etx_propagate_weights_backward(d_logit, 1, context,
            run->input.graph, messages->d_s.data, etx_run_latents(run, S, k),
            n_shortcut(run)));
    ETX_CHECK(context->ops->activation_backward(context->stream, &sigmoid));
    ETX_CHECK(etx_propagate(d_u->data, d_u->is_started, context,
        run->input.graph, messages->weight, messages->d_u.data, hidden));
    d_u->is_started = 1;
done:
    return status;
}

static etx_status iterate_backward(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_attention *state = state_of(run);
    const int64_t n_nodes = run->input.n_nodes;
    struct messages messages;
    struct etx_mlp_input input;
    float *d_logit = NULL;

    ETX_CHECK(make_messages(&messages, run, k));
    ETX_CHECK(etx_sum_alloc(&messages.d_u, run->context,
        n_nodes * state->hidden, "gradients of messages"));
    if (messages.s != NULL)
        ETX_CHECK(etx_sum_alloc(&messages.d_s, run->context,
            n_nodes * n_shortcut(run), "gradients of messages"));
    input = node_input(run, k, &messages);
    ETX_CHECK(etx_run_update_backward(
        run, U, &state->node_network, &input, state->residual));
    ETX_CHECK(etx_floats_alloc(&d_logit, run->context,
        run->input.graph->n_edges, "gradients of logits"));
    ETX_CHECK(messages_backward(d_logit, run, k, &messages));
    ETX_CHECK(score_backward(run, k, d_logit));
done:
    return status;
}

static etx_status encode_backward(struct etx_run *run)
{
    const struct etx_mlp_input input = etx_run_node_features(run);

    return etx_run_block_backward(
        run, &state_of(run)->encoder, &input, run->d_latents[U].data);
}

static const struct etx_steps steps = {
    .open = open,
    .encode = encode,
    .iterate = iterate,
    .decode = decode,
    .decode_backward = decode_backward,
    .iterate_backward = iterate_backward,
    .encode_backward = encode_backward,
};

const struct etx_arch etx_arch_attention_gnn = {
    .name = "attention_gnn",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_attention_configure,
    .forward = etx_run_forward,
    .backward = etx_run_backward,
    .steps = &steps,
};
