/* arch/graph_convolution/graph_convolution.c -- the forward.
 *
 * The graph convolutional network of Kipf and Welling (arXiv:1609.02907,
 * equation 2) over the edges in both directions, and a perceptron that scores
 * an edge by its two ends. README.md has the equations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/graph_convolution/network.h"

#include "arch/edge_steps.h"
#include "arch/halo.h"

#include "base/check.h"

#define ALIGNMENT 16 /* floats */

extern const struct etx_arch etx_arch_graph_convolution;

/* degree [n_nodes]: edges in and out and the loop. A part does not have all
 * edges of its halo, so the owners send. */
static etx_status count_degrees(
    float *degree, const struct etx_convolution_run *run)
{
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input->graph;
    const struct etx_degrees_args args = {.n_nodes = run->n_nodes,
        .in_offset = graph->in_offset,
        .out_offset = graph->out_offset,
        .degree = degree};
    etx_status status;

    ETX_CHECK(context->ops->degrees(context->stream, &args));
    ETX_CHECK(etx_halo_update(context, graph, degree, 1));
done:
    return status;
}

/* Room for the weights. */
static etx_status take_weights(struct etx_convolution_run *run)
{
    struct etx_arena *arena = run->context->stream->arena;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&run->edge_weight, arena, run->n_edges,
        sizeof *run->edge_weight, "weights of edges"));
    ETX_CHECK(etx_arena_alloc(&run->loop_weight, arena, run->n_nodes,
        sizeof *run->loop_weight, "weights of loops"));
    ETX_CHECK(etx_arena_alloc(&run->loop_offset, arena, run->n_nodes + 1,
        sizeof *run->loop_offset, "offsets of loops"));
done:
    return status;
}

static etx_status weigh(struct etx_convolution_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input->graph;
    float *degree = NULL;

    ETX_CHECK(take_weights(run));
    ETX_CHECK(etx_arena_alloc(&degree, context->stream->arena, run->n_nodes,
        sizeof *degree, "edges of nodes"));
    ETX_CHECK(count_degrees(degree, run));
    const struct etx_degree_weights_args args = {.n_nodes = run->n_nodes,
        .n_edges = run->n_edges,
        .src = graph->src,
        .dst = graph->dst,
        .degree = degree,
        .edge_weight = run->edge_weight,
        .loop_weight = run->loop_weight,
        .loop_offset = run->loop_offset};
    ETX_CHECK(context->ops->degree_weights(context->stream, &args));
done:
    return status;
}

/* Counts are below 2^31, widths at most 2^12 and slots at most 65: products
 * fit an int64_t. */
etx_status etx_convolution_open(struct etx_convolution_run *run,
    const struct etx_network *network, struct etx_context *context,
    const struct etx_network_input *input, int32_t keep_all)
{
    const struct etx_convolution *state = network->state;
    const int64_t n = input->n_nodes * state->hidden;

    *run = (struct etx_convolution_run){
        .network = network,
        .state = state,
        .context = context,
        .input = input,
        .n_nodes = input->n_nodes,
        .n_edges = input->graph->n_edges,
        .n_slots = (int64_t)state->n_iterations + 1,
        .stride = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
    };
    if (!keep_all && run->n_slots > 2)
        run->n_slots = 2;
    return weigh(run);
}

static float *slot(const struct etx_convolution_run *run, int32_t k)
{
    return run->latents + k % run->n_slots * run->stride;
}

const float *etx_convolution_latent(
    const struct etx_convolution_run *run, int32_t k)
{
    return k == 0 && !run->state->has_encoder ? run->input->node_features
                                              : slot(run, k);
}

etx_status etx_convolution_propagate(float *out,
    const struct etx_convolution_run *run, const float *x, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input->graph;
    struct etx_segment_reduce_args args = {
        .n_segments = run->n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .offset = run->loop_offset,
        .weight = run->loop_weight,
        .x = x,
        .out = out,
    };

    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    args.add = 1;
    args.weight = run->edge_weight;
    args.offset = graph->in_offset;
    args.gather = graph->src;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
    args.offset = graph->out_offset;
    args.order = graph->out_edge;
    args.gather = graph->dst;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &args));
done:
    return status;
}

void etx_convolution_encoder_parts(
    struct etx_mlp_input *out, const struct etx_convolution_run *run)
{
    etx_convolution_parts(
        out, run, run->input->node_features, run->network->n_node_features);
}

void etx_convolution_parts(struct etx_mlp_input *out,
    const struct etx_convolution_run *run, const float *propagated,
    int32_t width)
{
    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_nodes}};
    etx_mlp_part(out, propagated, NULL, width);
}

void etx_convolution_decoder_parts(struct etx_mlp_input *out,
    const struct etx_convolution_run *run, const float *features)
{
    const int32_t last = run->state->n_iterations;
    const int32_t width = etx_convolution_width(run->network, last);
    const float *latent = etx_convolution_latent(run, last);
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->state->order);

    *out = (struct etx_mlp_input){.args = {.n_rows = run->n_edges}};
    etx_mlp_part(out, latent, &ends.first, width);
    etx_mlp_part(out, latent, &ends.second, width);
    etx_mlp_part(out, features, NULL, run->network->edge_features.n_features);
}

etx_status etx_convolution_features(
    float **out, const struct etx_convolution_run *run)
{
    etx_status status = ETX_OK;
    const int32_t n = run->network->edge_features.n_features;
    float *features = NULL;

    if (n > 0) {
        ETX_CHECK(etx_arena_alloc(&features, run->context->stream->arena,
            run->n_edges * n, sizeof *features, "edge features"));
        ETX_CHECK(etx_edge_feature_rows(
            features, run->network, run->context, run->input, 0, run->n_edges));
    }
    *out = features;
done:
    return status;
}

static etx_status encode(const struct etx_convolution_run *run)
{
    struct etx_mlp_input rows;

    if (!run->state->has_encoder)
        return ETX_OK;
    etx_convolution_encoder_parts(&rows, run);
    rows.args.out = slot(run, 0);
    return etx_mlp_block_forward(
        run->context, &run->state->encoder, run->network->value, &rows);
}

static etx_status iterate(const struct etx_convolution_run *run, int32_t k)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int32_t width = etx_convolution_width(run->network, k);
    const float *latent = etx_convolution_latent(run, k);
    float *propagated = NULL;
    struct etx_mlp_input rows;

    ETX_CHECK(etx_check_cancelled(run->context->stream));
    ETX_CHECK(etx_arena_alloc(&propagated, arena, run->n_nodes * width,
        sizeof *propagated, "propagated latents"));
    ETX_CHECK(etx_convolution_propagate(propagated, run, latent, width));
    etx_convolution_parts(&rows, run, propagated, width);
    if (etx_convolution_is_residual(run->network, k))
        rows.args.residual = latent;
    rows.args.out = slot(run, k + 1);
    ETX_CHECK(etx_mlp_block_forward(run->context,
        etx_convolution_block(run->state, k), run->network->value, &rows));
    ETX_CHECK(etx_halo_update(
        run->context, run->input->graph, slot(run, k + 1), run->state->hidden));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status decode(const struct etx_convolution_run *run, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    float *features = NULL;
    struct etx_mlp_input rows;

    ETX_CHECK(etx_convolution_features(&features, run));
    etx_convolution_decoder_parts(&rows, run, features);
    rows.args.out = out;
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &run->state->decoder, run->network->value, &rows));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_convolution_run run;

    if (tape != NULL)
        tape->state = NULL;
    if (input->graph->n_edges == 0 && !etx_halo_waits(input->graph))
        return ETX_OK;
    ETX_CHECK(
        etx_convolution_open(&run, network, context, input, tape != NULL));
    ETX_CHECK(etx_arena_alloc(&run.latents, arena, run.n_slots * run.stride,
        sizeof(float), "latents"));
    ETX_CHECK(encode(&run));
    for (int32_t k = 0; k < run.state->n_iterations; k++)
        ETX_CHECK(iterate(&run, k));
    ETX_CHECK(decode(&run, out));
    if (tape != NULL)
        tape->state = run.latents;
done:
    if (tape == NULL || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_graph_convolution = {
    .name = "graph_convolution",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_convolution_configure,
    .release = etx_convolution_release,
    .forward = forward,
    .backward = etx_convolution_backward,
};
