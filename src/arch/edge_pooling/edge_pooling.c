/* arch/edge_pooling/edge_pooling.c -- the forward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/status.h"

extern const struct etx_arch etx_arch_edge_pooling;

etx_status etx_pooling_edge_parts(
    struct etx_mlp_input *out, const struct etx_pooling_run *run)
{
    const int64_t n_edges = run->input->graph->n_edges;
    const int32_t n = run->network->edge_features.n_features;
    const float *x = run->input->node_features;
    const struct etx_edge_ends ends =
        etx_edge_ends(run->input->graph, run->state->order);
    float *features = NULL;
    etx_status status = ETX_OK;

    if (n > 0) {
        ETX_CHECK(etx_arena_alloc(&features, run->context->stream->arena,
            n_edges * n, sizeof *features, "edge features"));
        ETX_CHECK(etx_edge_feature_rows(
            features, run->network, run->context, run->input, 0, n_edges));
    }
    *out = (struct etx_mlp_input){.args = {.n_rows = n_edges}};
    etx_mlp_part(out, x, &ends.first, run->network->n_node_features);
    etx_mlp_part(out, x, &ends.second, run->network->n_node_features);
    etx_mlp_part(out, features, NULL, n);
done:
    return status;
}

/* out [n_edges]: what the ends and the features of an edge say. */
static etx_status score_edges(float *out, const struct etx_pooling_run *run)
{
    struct etx_mlp_input parts;
    etx_status status;

    ETX_CHECK(etx_pooling_edge_parts(&parts, run));
    parts.args.out = out;
    ETX_CHECK(etx_mlp_block_forward(
        run->context, &run->state->edges, run->network->value, &parts));
done:
    return status;
}

/* out [n_edges] += the logits of the edges between their clusters. */
static etx_status add_coarse(
    float *out, const struct etx_pooling_run *run, struct etx_tape *tape)
{
    const struct etx_network_input input = etx_pooling_input(run);
    float *logit;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&logit, run->context->stream->arena,
        run->graph->n_edges, sizeof *logit, "logits of clusters"));
    ETX_CHECK(run->coarse.arch->forward(
        &run->coarse, run->context, &input, tape, logit));
    for (int64_t e = 0; e < run->input->graph->n_edges; e++)
        if (run->coarse_edge[e] >= 0)
            out[e] += logit[run->coarse_edge[e]];
done:
    return status;
}

static etx_status forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_pooling_run run = {.graph = NULL};
    struct etx_tape *kept = NULL;
    etx_status status = ETX_OK;

    if (tape != NULL)
        tape->state = NULL;
    if (input->graph->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(etx_pooling_open(&run, network, context, input));
    ETX_CHECK(etx_arena_alloc(&kept, arena, 1, sizeof *kept, "tape"));
    *kept = (struct etx_tape){.state = NULL};
    ETX_CHECK(score_edges(out, &run));
    ETX_CHECK(add_coarse(out, &run, tape == NULL ? NULL : kept));
    if (tape != NULL)
        tape->state = kept;
done:
    etx_pooling_close(&run);
    if (tape == NULL || status != ETX_OK)
        etx_arena_reset(arena, mark);
    return status;
}

const struct etx_arch etx_arch_edge_pooling = {
    .name = "edge_pooling",
    .kind = ETX_NETWORK_EDGE,
    .configure = etx_pooling_configure,
    .release = etx_pooling_release,
    .forward = forward,
    .backward = etx_pooling_backward,
    .is_host_only = 1,
};
