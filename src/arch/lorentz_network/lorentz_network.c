/* arch/lorentz_network/lorentz_network.c -- the Lorentz group equivariant
 * network of Gong et al. (arXiv:2201.08187, "LorentzNet"), for edges.
 *
 * Every node has latents, which are scalars, and a four-vector. Edges see the
 * four-vectors of their ends by Lorentz products only, and a four-vector moves
 * along its neighbours, so that a Lorentz transformation of the
 * input transforms the four-vectors of all iterations and changes no score.
 * README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/lorentz_network/network.h"

#include "arch/halo.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_lorentz_network;

/* Latents: h [n_nodes, hidden], four-vectors x [n_nodes, 4]. */
enum { H, X };

/* etx_run.own: the edge features, which every iteration reads. */
struct own {
    float *features; /* [n_edges, n_edge_features] or NULL */
};

static const struct etx_lorentz *state_of(const struct etx_run *run)
{
    return run->network->state;
}

static etx_status open(struct etx_run *run)
{
    struct own *own = run->own;
    struct etx_latents_shape shape = {.n_rows = run->input.n_nodes,
        .width = state_of(run)->hidden,
        .n_iterations = state_of(run)->n_iterations,
        .n_slots = 2,
        .is_of_nodes = 1,
        .has_gradient = 1};

    etx_run_add_latents(run, &shape);
    shape.width = ETX_LORENTZ_WIDTH;
    etx_run_add_latents(run, &shape);
    return etx_edge_features_make(
        &own->features, run->network, run->context, &run->input);
}

/* ------------------------------------------------------ inputs of blocks -- */

/* Of the encoder: x . x and the features after the four-vector. */
static etx_status encoder_input(struct etx_mlp_input *out, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n = run->input.n_nodes;
    const int32_t n_features = run->network->n_node_features;
    const int32_t n_others = n_features - ETX_LORENTZ_WIDTH;
    const float *x = etx_run_latents(run, X, 0);
    float *lowered = NULL, *square = NULL, *others = NULL;

    ETX_CHECK(etx_floats_alloc(
        &lowered, context, n * ETX_LORENTZ_WIDTH, "four-vectors"));
    ETX_CHECK(etx_floats_alloc(&square, context, n, "squares of four-vectors"));
    ETX_CHECK(etx_floats_alloc(&others, context, n * n_others, "features"));
    ETX_CHECK(etx_lorentz_lower(lowered, run, x, n));
    const struct etx_row_dot_args dot = {.n_rows = n,
        .width = ETX_LORENTZ_WIDTH,
        .a = lowered,
        .b = x,
        .out = square};
    const struct etx_columns_args columns = {.n_rows = n,
        .width = n_others,
        .x_stride = n_features,
        .y_stride = n_others,
        .x = run->input.node_features + ETX_LORENTZ_WIDTH,
        .y = others};

    ETX_CHECK(context->ops->row_dot(context->stream, &dot));
    if (n_others > 0)
        ETX_CHECK(context->ops->columns(context->stream, &columns));
    *out = etx_run_rows(n);
    etx_mlp_append(out, square, NULL, 1);
    etx_mlp_append(out, others, NULL, n_others);
done:
    return status;
}

/* Of the messages of iteration k, and of the decoder: latents of both ends,
 * scalars of the edge, edge features. */
static struct etx_mlp_input edge_input(
    struct etx_run *run, int32_t k, struct etx_lorentz_scalars *scalars)
{
    const struct own *own = run->own;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, state_of(run)->order);
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    etx_run_append(&input, run, H, k, &ends.first, &run->d_latents[H]);
    etx_run_append(&input, run, H, k, &ends.second, &run->d_latents[H]);
    for (int32_t s = 0; s < ETX_LORENTZ_SCALARS; s++)
        etx_mlp_append_with_sum(
            &input, scalars->value[s], NULL, 1, &scalars->d_value[s]);
    etx_mlp_append(
        &input, own->features, NULL, run->network->edge_features.n_features);
    return input;
}

/* What iteration k computes of the edges and sums at the nodes, in the arena;
 * sums of gradients only in a backward. */
struct messages {
    struct etx_lorentz_scalars scalars;
    struct etx_sum edge; /* [n_edges, hidden] the gradient of */
    float *message;      /* [n_edges, hidden] these */
    float *weight;       /* [n_edges] of the four-vectors */
    float *in, *out;     /* [n_nodes, hidden] messages over edges in, out */
    struct etx_sum d_in, d_out;
};

static struct etx_mlp_input message_rows(
    const struct etx_run *run, struct messages *messages)
{
    struct etx_mlp_input input = etx_run_rows(run->input.graph->n_edges);

    etx_mlp_append_with_sum(&input, messages->message, NULL,
        state_of(run)->hidden, &messages->edge);
    return input;
}

static struct etx_mlp_input node_input(
    struct etx_run *run, int32_t k, struct messages *messages)
{
    const int32_t hidden = state_of(run)->hidden;
    struct etx_mlp_input input = etx_run_rows(run->input.n_nodes);

    etx_run_append(&input, run, H, k, NULL, &run->d_latents[H]);
    etx_mlp_append_with_sum(
        &input, messages->in, NULL, hidden, &messages->d_in);
    etx_mlp_append_with_sum(
        &input, messages->out, NULL, hidden, &messages->d_out);
    return input;
}

/* --------------------------------------------------------------- forward -- */

static etx_status alloc_messages(struct messages *messages, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n_edges = run->input.graph->n_edges;
    const int64_t n_of_edges = n_edges * state_of(run)->hidden;
    const int64_t n_of_nodes = run->input.n_nodes * state_of(run)->hidden;

    ETX_CHECK(
        etx_floats_alloc(&messages->message, context, n_of_edges, "messages"));
    ETX_CHECK(etx_floats_alloc(
        &messages->weight, context, n_edges, "weights of edges"));
    ETX_CHECK(etx_floats_alloc(&messages->in, context, n_of_nodes, "messages"));
    ETX_CHECK(
        etx_floats_alloc(&messages->out, context, n_of_nodes, "messages"));
    if (run->gradient == NULL)
        return ETX_OK;
    ETX_CHECK(etx_sum_alloc(
        &messages->edge, context, n_of_edges, "gradients of messages"));
    ETX_CHECK(etx_sum_alloc(
        &messages->d_in, context, n_of_nodes, "gradients of messages"));
    ETX_CHECK(etx_sum_alloc(
        &messages->d_out, context, n_of_nodes, "gradients of messages"));
done:
    return status;
}

/* in, out = the sums of the messages over the edges into and out of nodes. */
static etx_status sum_messages(struct messages *messages, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    struct etx_segment_reduce_args sum = {.n_segments = graph->n_nodes,
        .width = state_of(run)->hidden,
        .reduce = ETX_REDUCE_SUM,
        .offset = graph->in_offset,
        .x = messages->message,
        .out = messages->in};

    ETX_CHECK(context->ops->segment_reduce(context->stream, &sum));
    sum.offset = graph->out_offset;
    sum.order = graph->out_edge;
    sum.out = messages->out;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &sum));
done:
    return status;
}

static etx_status make_messages(
    struct messages *messages, struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_lorentz *state = state_of(run);
    struct etx_context *context = run->context;
    struct etx_mlp_input input;

    *messages = (struct messages){.message = NULL};
    ETX_CHECK(alloc_messages(messages, run));
    const struct etx_scale_args step = {.n = run->input.graph->n_edges,
        .factor = state->step,
        .y = messages->weight};

    ETX_CHECK(etx_lorentz_scalars_make(
        &messages->scalars, run, etx_run_latents(run, X, k)));
    input = edge_input(run, k, &messages->scalars);
    ETX_CHECK(etx_run_block(run, etx_mlp_blocks_at(&state->messages, k), &input,
        messages->message));
    input = message_rows(run, messages);
    ETX_CHECK(etx_run_block(
        run, etx_mlp_blocks_at(&state->steps, k), &input, messages->weight));
    ETX_CHECK(context->ops->scale(context->stream, &step));
    ETX_CHECK(sum_messages(messages, run));
done:
    return status;
}

static etx_status encode(struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_mlp_input input;
    const struct etx_columns_args vector = {.n_rows = run->input.n_nodes,
        .width = ETX_LORENTZ_WIDTH,
        .x_stride = run->network->n_node_features,
        .y_stride = ETX_LORENTZ_WIDTH,
        .x = run->input.node_features,
        .y = etx_run_latents(run, X, 0)};

    ETX_CHECK(context->ops->columns(context->stream, &vector));
    ETX_CHECK(encoder_input(&input, run));
    ETX_CHECK(etx_run_update(run, H, 0, &state_of(run)->encoder, &input, NULL));
done:
    return status;
}

/* Four-vectors k + 1: k, and the neighbours by weight. */
static etx_status move_vectors(
    struct etx_run *run, int32_t k, const struct messages *messages)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    const float *x = etx_run_latents(run, X, k);
    float *moved = etx_run_latents(run, X, k + 1);

    ETX_CHECK(etx_copy_values(
        context, moved, x, run->input.n_nodes * ETX_LORENTZ_WIDTH));
    ETX_CHECK(etx_propagate(
        moved, 1, context, graph, messages->weight, x, ETX_LORENTZ_WIDTH));
    ETX_CHECK(etx_halo_update(context, graph, moved, ETX_LORENTZ_WIDTH));
done:
    return status;
}

static etx_status iterate(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct messages messages;
    struct etx_mlp_input input;

    ETX_CHECK(make_messages(&messages, run, k));
    ETX_CHECK(move_vectors(run, k, &messages));
    input = node_input(run, k, &messages);
    ETX_CHECK(etx_run_update(run, H, k + 1,
        etx_mlp_blocks_at(&state_of(run)->nodes, k), &input,
        etx_run_latents(run, H, k)));
done:
    return status;
}

static etx_status decode(struct etx_run *run, float *out)
{
    etx_status status = ETX_OK;
    const int32_t last = state_of(run)->n_iterations;
    struct etx_lorentz_scalars scalars;
    struct etx_mlp_input input;

    ETX_CHECK(
        etx_lorentz_scalars_make(&scalars, run, etx_run_latents(run, X, last)));
    input = edge_input(run, last, &scalars);
    ETX_CHECK(etx_run_block(run, &state_of(run)->decoder, &input, out));
done:
    return status;
}

/* -------------------------------------------------------------- backward -- */

/* A block of the edges backward: to their latents and four-vectors. */
static etx_status edges_backward(struct etx_run *run, int32_t k,
    const struct etx_mlp_block *block, struct etx_lorentz_scalars *scalars,
    const float *d_out)
{
    etx_status status = ETX_OK;
    const struct etx_mlp_input input = edge_input(run, k, scalars);

    ETX_CHECK(etx_run_block_backward(run, block, &input, d_out));
    ETX_CHECK(etx_lorentz_scalars_backward(&run->d_latents[X], run, scalars));
done:
    return status;
}

static etx_status decode_backward(struct etx_run *run, const float *d_out)
{
    etx_status status = ETX_OK;
    const int32_t last = state_of(run)->n_iterations;
    struct etx_lorentz_scalars scalars;

    ETX_CHECK(
        etx_lorentz_scalars_make(&scalars, run, etx_run_latents(run, X, last)));
    ETX_CHECK(
        edges_backward(run, last, &state_of(run)->decoder, &scalars, d_out));
done:
    return status;
}

/* d_message[e] = d_in[dst] + d_out[src]. */
static etx_status sums_backward(struct messages *messages, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    struct etx_gather_args gather = {.n_rows = graph->n_edges,
        .width = state_of(run)->hidden,
        .x = messages->d_in.data,
        .index = graph->dst,
        .y = messages->edge.data};

    ETX_CHECK(context->ops->gather(context->stream, &gather));
    gather.add = 1;
    gather.x = messages->d_out.data;
    gather.index = graph->src;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
    messages->edge.is_started = 1;
done:
    return status;
}

/* From the gradient of four-vectors k + 1 to that of four-vectors k by their
 * steps, and to d_weight [n_edges]. */
static etx_status vectors_backward(
    float *d_weight, struct etx_run *run, const struct messages *messages)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    struct etx_sum *d_x = &run->d_latents[X];
    const struct etx_scale_args step = {
        .n = graph->n_edges, .factor = state_of(run)->step, .y = d_weight};
    float *moved = NULL; /* the gradient of k + 1 */

    ETX_CHECK(etx_halo_reduce(context, graph, d_x->data, ETX_LORENTZ_WIDTH));
    ETX_CHECK(
        etx_floats_alloc(&moved, context, d_x->n, "gradients of four-vectors"));
    ETX_CHECK(etx_copy_values(context, moved, d_x->data, d_x->n));
    ETX_CHECK(etx_propagate_weights_backward(d_weight, 0, context, graph, moved,
        messages->scalars.x, ETX_LORENTZ_WIDTH));
    ETX_CHECK(context->ops->scale(context->stream, &step));
    ETX_CHECK(etx_propagate(d_x->data, 1, context, graph, messages->weight,
        moved, ETX_LORENTZ_WIDTH));
done:
    return status;
}

static etx_status iterate_backward(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const struct etx_lorentz *state = state_of(run);
    struct messages messages;
    struct etx_mlp_input input;
    float *d_weight = NULL;

    ETX_CHECK(make_messages(&messages, run, k));
    ETX_CHECK(etx_floats_alloc(&d_weight, run->context,
        run->input.graph->n_edges, "gradients of edge weights"));
    input = node_input(run, k, &messages);
    ETX_CHECK(etx_run_update_backward(
        run, H, etx_mlp_blocks_at(&state->nodes, k), &input, 1));
    ETX_CHECK(vectors_backward(d_weight, run, &messages));
    ETX_CHECK(sums_backward(&messages, run));
    input = message_rows(run, &messages);
    ETX_CHECK(etx_run_block_backward(
        run, etx_mlp_blocks_at(&state->steps, k), &input, d_weight));
    ETX_CHECK(edges_backward(run, k, etx_mlp_blocks_at(&state->messages, k),
        &messages.scalars, messages.edge.data));
done:
    return status;
}

static etx_status encode_backward(struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input input;

    ETX_CHECK(encoder_input(&input, run));
    ETX_CHECK(etx_run_block_backward(
        run, &state_of(run)->encoder, &input, run->d_latents[H].data));
done:
    return status;
}

static const struct etx_steps steps = {
    .own_size = sizeof(struct own),
    .open = open,
    .encode = encode,
    .iterate = iterate,
    .decode = decode,
    .decode_backward = decode_backward,
    .iterate_backward = iterate_backward,
    .encode_backward = encode_backward,
};

const struct etx_arch etx_arch_lorentz_network = {
    .name = "lorentz_network",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_lorentz_configure,
    .forward = etx_run_forward,
    .backward = etx_run_backward,
    .steps = &steps,
};
