/* arch/graph_convolution/graph_convolution.c -- the graph convolutional network
 * of Kipf and Welling (arXiv:1609.02907, equation 2).
 *
 * Convolutions run over the edges in both directions; a perceptron scores an
 * edge by its two ends. README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/graph_convolution/network.h"

#include "arch/halo.h"
#include "arch/message_passing.h"

#include "base/check.h"

extern const struct etx_arch etx_arch_graph_convolution;

/* Latents: h [n_nodes, hidden]; without encoder latent 0 is the caller's
 * features. */
enum { H };

/* The normalised adjacency D^-1/2 A D^-1/2: its values, by edge and at the
 * diagonal. */
struct adjacency {
    float *edge_weight;   /* [n_edges] 1 / sqrt(degree degree) of the ends */
    float *loop_weight;   /* [n_nodes] 1 / degree */
    int64_t *loop_offset; /* [n_nodes + 1] 0, 1, 2, ...: one loop per node */
};

static const struct etx_convolution *state_of(const struct etx_run *run)
{
    return run->network->state;
}

/* degree [n_nodes]: edges in and out and the loop. A partition does not have
 * all edges of its halo, so the owners send. */
static etx_status count_degrees(float *degree, struct etx_run *run)
{
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    const struct etx_degrees_args args = {.n_nodes = run->input.n_nodes,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .degree = degree};
    etx_status status;

    ETX_CHECK(context->ops->degrees(context->stream, &args));
    ETX_CHECK(etx_halo_update(context, graph, degree, 1));
done:
    return status;
}

static etx_status normalise(struct adjacency *out, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_graph *graph = run->input.graph;
    const int64_t n_nodes = run->input.n_nodes;
    float *degree = NULL;

    ETX_SCRATCH(out->edge_weight, arena, graph->n_edges, "weights of edges");
    ETX_SCRATCH(out->loop_weight, arena, n_nodes, "weights of loops");
    ETX_SCRATCH(out->loop_offset, arena, n_nodes + 1, "offsets of loops");
    const struct etx_arena_mark mark = etx_arena_mark(arena);

    ETX_SCRATCH(degree, arena, n_nodes, "edges of nodes");
    ETX_CHECK(count_degrees(degree, run));
    const struct etx_degree_weights_args args = {.n_nodes = n_nodes,
        .n_edges = graph->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .degree = degree,
        .edge_weight = out->edge_weight,
        .loop_weight = out->loop_weight,
        .loop_offset = out->loop_offset};
    ETX_CHECK(context->ops->degree_weights(context->stream, &args));
    etx_arena_reset(arena, mark);
done:
    return status;
}

static etx_status open(struct etx_run *run)
{
    const struct etx_latents_shape shape = {.n_rows = run->input.n_nodes,
        .width = state_of(run)->hidden,
        .n_iterations = state_of(run)->n_iterations,
        .n_slots = 2,
        .is_of_nodes = 1,
        .has_gradient = 1};

    etx_run_add_latents(run, &shape);
    return normalise(run->own, run);
}

/* out [n_nodes, width] = D^-1/2 A D^-1/2 x [n_nodes, width]: the loops, then
 * the edges in both directions. The matrix is symmetric: its own adjoint. */
static etx_status propagate(
    float *out, struct etx_run *run, const float *x, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct adjacency *adjacency = run->own;
    const struct etx_segment_reduce_args loops = {
        .n_segments = run->input.n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .offset = adjacency->loop_offset,
        .weight = adjacency->loop_weight,
        .x = x,
        .out = out,
    };

    ETX_CHECK(context->ops->segment_reduce(context->stream, &loops));
    ETX_CHECK(etx_propagate(
        out, 1, context, run->input.graph, adjacency->edge_weight, x, width));
done:
    return status;
}

/* --------------------------------------------- latents, inputs of blocks -- */

static int32_t is_input(const struct etx_run *run, int32_t k)
{
    return k == 0 && !state_of(run)->has_encoder;
}

static const float *latent(const struct etx_run *run, int32_t k)
{
    return is_input(run, k) ? run->input.node_features
                            : etx_run_latents(run, H, k);
}

static int32_t is_residual(const struct etx_run *run, int32_t k)
{
    return state_of(run)->residual &&
           etx_convolution_width(run->network, k) == state_of(run)->hidden;
}

/* Nothing reads the gradient of the caller's features. */
static struct etx_sum *gradient_of(struct etx_run *run, int32_t k)
{
    return is_input(run, k) ? NULL : &run->d_latents[H];
}

/* *out: what was propagated from the latents k, in the arena. */
static etx_status convolution_input(struct etx_mlp_input *out,
    struct etx_run *run, int32_t k, struct etx_sum *d_propagated)
{
    etx_status status = ETX_OK;
    const int32_t width = etx_convolution_width(run->network, k);
    float *propagated = NULL;

    ETX_CHECK(etx_floats_alloc(&propagated, run->context,
        run->input.n_nodes * width, "propagated latents"));
    ETX_CHECK(propagate(propagated, run, latent(run, k), width));
    *out = etx_run_rows(run->input.n_nodes);
    etx_mlp_append_with_sum(out, propagated, NULL, width, d_propagated);
done:
    return status;
}

static etx_status decoder_input(struct etx_mlp_input *out, struct etx_run *run)
{
    etx_status status = ETX_OK;
    const int32_t last = state_of(run)->n_iterations;
    const int32_t width = etx_convolution_width(run->network, last);
    const float *h = latent(run, last);
    struct etx_sum *d_h = gradient_of(run, last);
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input.graph, state_of(run)->order);
    float *features = NULL;

    ETX_CHECK(etx_edge_features_make(
        &features, run->network, run->context, &run->input));
    *out = etx_run_rows(run->input.graph->n_edges);
    etx_mlp_append_with_sum(out, h, &ends.first, width, d_h);
    etx_mlp_append_with_sum(out, h, &ends.second, width, d_h);
    etx_mlp_append(out, features, NULL, run->network->edge_features.n_features);
done:
    return status;
}

/* --------------------------------------------------------------- forward -- */

static etx_status encode(struct etx_run *run)
{
    struct etx_mlp_input input = etx_run_node_features(run);

    if (!state_of(run)->has_encoder)
        return ETX_OK;
    return etx_run_update(run, H, 0, &state_of(run)->encoder, &input, NULL);
}

static etx_status iterate(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input input;

    ETX_CHECK(convolution_input(&input, run, k, NULL));
    ETX_CHECK(etx_run_update(run, H, k + 1,
        etx_mlp_blocks_at(&state_of(run)->convolutions, k), &input,
        is_residual(run, k) ? latent(run, k) : NULL));
done:
    return status;
}

static etx_status decode(struct etx_run *run, float *out)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input input;

    ETX_CHECK(decoder_input(&input, run));
    ETX_CHECK(etx_run_block(run, &state_of(run)->decoder, &input, out));
done:
    return status;
}

/* -------------------------------------------------------------- backward -- */

static etx_status decode_backward(struct etx_run *run, const float *d_out)
{
    etx_status status = ETX_OK;
    struct etx_mlp_input input;

    ETX_CHECK(decoder_input(&input, run));
    ETX_CHECK(
        etx_run_block_backward(run, &state_of(run)->decoder, &input, d_out));
done:
    return status;
}

/* From the gradient of what was propagated to that of the latents k. */
static etx_status propagate_backward(
    struct etx_run *run, int32_t k, const struct etx_sum *d_propagated)
{
    etx_status status = ETX_OK;
    const int32_t width = etx_convolution_width(run->network, k);
    struct etx_sum *d_h = &run->d_latents[H];
    float *term = d_h->data;

    if (d_h->is_started)
        ETX_CHECK(etx_floats_alloc(
            &term, run->context, d_h->n, "gradients of latents"));
    ETX_CHECK(propagate(term, run, d_propagated->data, width));
    if (d_h->is_started)
        ETX_CHECK(etx_sum_add(d_h, run->context, term));
    d_h->is_started = 1;
done:
    return status;
}

static etx_status iterate_backward(struct etx_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    const int32_t width = etx_convolution_width(run->network, k);
    struct etx_sum d_propagated;
    struct etx_mlp_input input;

    if (!is_input(run, k))
        ETX_CHECK(etx_sum_alloc(&d_propagated, run->context,
            run->input.n_nodes * width, "gradients of latents"));
    ETX_CHECK(convolution_input(
        &input, run, k, is_input(run, k) ? NULL : &d_propagated));
    ETX_CHECK(etx_run_update_backward(run, H,
        etx_mlp_blocks_at(&state_of(run)->convolutions, k), &input,
        is_residual(run, k)));
    if (!is_input(run, k))
        ETX_CHECK(propagate_backward(run, k, &d_propagated));
done:
    return status;
}

static etx_status encode_backward(struct etx_run *run)
{
    const struct etx_mlp_input input = etx_run_node_features(run);

    if (!state_of(run)->has_encoder)
        return ETX_OK;
    return etx_run_block_backward(
        run, &state_of(run)->encoder, &input, run->d_latents[H].data);
}

static const struct etx_steps steps = {
    .own_size = sizeof(struct adjacency),
    .open = open,
    .encode = encode,
    .iterate = iterate,
    .decode = decode,
    .decode_backward = decode_backward,
    .iterate_backward = iterate_backward,
    .encode_backward = encode_backward,
};

const struct etx_arch etx_arch_graph_convolution = {
    .name = "graph_convolution",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_convolution_configure,
    .forward = etx_run_forward,
    .backward = etx_run_backward,
    .steps = &steps,
};
