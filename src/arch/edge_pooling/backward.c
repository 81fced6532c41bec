/* arch/edge_pooling/backward.c -- gradients of the parameters.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_pooling/network.h"

#include "base/check.h"

#include <string.h>

/* The gradient of an edge between clusters is the sum of those of its edges. */
static etx_status coarse_backward(const struct etx_pooling_run *run,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    const struct etx_network_input input = etx_pooling_input(run);
    const int64_t n = run->graph->n_edges;
    float *d_logit;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&d_logit, run->context->stream->arena, n,
        sizeof *d_logit, "gradients of clusters"));
    memset(d_logit, 0, (size_t)n * sizeof *d_logit);
    for (int64_t e = 0; e < run->input->graph->n_edges; e++)
        if (run->coarse_edge[e] >= 0)
            d_logit[run->coarse_edge[e]] += d_out[e];
    ETX_CHECK(run->coarse.arch->backward(&run->coarse, run->context, &input,
        tape, d_logit, gradient + run->state->coarse.offset));
done:
    return status;
}

etx_status etx_pooling_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_pooling_run run = {.graph = NULL};
    struct etx_mlp_input parts;
    etx_status status = ETX_OK;

    if (input->graph->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_pooling_open(&run, network, context, input));
    ETX_CHECK(coarse_backward(&run, tape->state, d_out, gradient));
    ETX_CHECK(etx_pooling_edge_parts(&parts, &run));
    ETX_CHECK(etx_mlp_block_backward(context, &run.state->edges, network->value,
        gradient, &parts, d_out, NULL));
done:
    etx_pooling_close(&run);
    etx_arena_reset(arena, mark);
    return status;
}
