/* arch/triplet_gnn/backward.c -- gradients of the parameters.
 *
 * The gradient of a doublet goes to its own network and to its best triplet
 * either way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/triplet_gnn/network.h"

#include "base/check.h"

/* d_logit [n_triplets] (+)= d_out of the doublets that have them as best. */
static etx_status best_backward(float *d_logit, int32_t add,
    const struct etx_triplet_run *run,
    const struct etx_segment_reduce_args *forward, const float *d_out)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_segment_reduce_backward_args args = {
        .forward = *forward, .d_out = d_out, .d_x = d_logit, .add = add};

    ETX_CHECK(context->ops->segment_reduce(context->stream, forward));
    ETX_CHECK(context->ops->segment_reduce_backward(context->stream, &args));
done:
    return status;
}

static etx_status triplets_backward(const struct etx_triplet_run *run,
    const struct etx_triplet_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_network_input input = etx_triplet_input(run, tape->rows);
    struct etx_segment_reduce_args forward;
    float *best = NULL;
    float *d_logit = NULL;

    ETX_CHECK(etx_arena_alloc(
        &best, arena, run->n_doublets, sizeof *best, "best triplets"));
    ETX_CHECK(etx_arena_alloc(&d_logit, arena, run->n_triplets, sizeof *d_logit,
        "gradients of triplets"));
    forward = etx_triplet_best_in(run, tape->logit, best);
    ETX_CHECK(best_backward(d_logit, 0, run, &forward, d_out));
    forward = etx_triplet_best_out(run, tape->logit, best);
    ETX_CHECK(best_backward(d_logit, 1, run, &forward, d_out));
    ETX_CHECK(run->triplets.arch->backward(&run->triplets, run->context, &input,
        &tape->tape, d_logit, gradient + run->state->triplets.offset));
done:
    return status;
}

etx_status etx_triplet_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_triplet_tape *kept = tape->state;
    struct etx_triplet_run run = {.owned = NULL};
    struct etx_mlp_input parts;

    if (input->graph->n_edges == 0)
        return ETX_OK;
    ETX_CHECK(etx_triplet_open(&run, network, context, input, NULL));
    ETX_CHECK(triplets_backward(&run, kept, d_out, gradient));
    etx_triplet_doublet_parts(&parts, &run, kept->rows);
    ETX_CHECK(etx_mlp_block_backward(context, &run.state->doublets,
        network->value, gradient, &parts, d_out, NULL));
done:
    etx_triplet_close(&run);
    etx_arena_reset(arena, mark);
    return status;
}
