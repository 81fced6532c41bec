/* arch/message_passing.c -- the run of a message-passing network.
 *
 * All latents are one block of memory. Its layout follows from their shapes and
 * the choices of the tape, so that the state of a tape is one pointer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/message_passing.h"

#include "arch/halo.h"

#include "base/check.h"

#include <assert.h>
#include <string.h>

/* Without edges there is nothing to compute, but other partitions may wait for
 * rows of a partition. */
static int32_t is_empty(
    const struct etx_network *network, const struct etx_network_input *input)
{
    if (network->arch->kind == ETX_NETWORK_POINT)
        return input->n_nodes == 0;
    return input->graph->n_edges == 0 && input->graph->halo == NULL;
}

/* Always close. */
static etx_status open_run(struct etx_run *run)
{
    const struct etx_steps *steps = run->network->arch->steps;
    etx_status status = ETX_OK;

    if (steps->own_size > 0) {
        ETX_CHECK(
            etx_arena_alloc(&run->own, etx_host_of(run->context)->stream->arena,
                1, steps->own_size, "run of a network"));
        memset(run->own, 0, steps->own_size);
    }
    ETX_CHECK(steps->open(run));
done:
    return status;
}

static void close_run(struct etx_run *run)
{
    const struct etx_steps *steps = run->network->arch->steps;

    if (steps->close != NULL && run->own != NULL)
        steps->close(run);
}

void etx_run_add_latents(
    struct etx_run *run, const struct etx_latents_shape *shape)
{
    const struct etx_tape tape = etx_tape_of(run->network, run->tape);

    assert(run->n_latents < ETX_MAX_LATENTS);
    etx_latents_open(&run->latents[run->n_latents++], shape,
        run->tape == NULL ? NULL : &tape);
}

static int64_t latent_bytes(const struct etx_run *run)
{
    int64_t bytes = 0;

    for (int32_t l = 0; l < run->n_latents; l++)
        bytes += etx_latents_bytes(&run->latents[l]);
    return bytes;
}

static void set_memory(struct etx_run *run, char *memory)
{
    for (int32_t l = 0; l < run->n_latents; l++) {
        etx_latents_set_memory(&run->latents[l], memory);
        memory += etx_latents_bytes(&run->latents[l]);
    }
}

static int32_t n_iterations(const struct etx_run *run)
{
    return run->latents[0].shape.n_iterations;
}

static etx_status run_steps(struct etx_run *run, float *out)
{
    const struct etx_steps *steps = run->network->arch->steps;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    etx_status status;

    ETX_CHECK(steps->encode(run));
    for (int32_t k = 0; k < n_iterations(run); k++) {
        etx_arena_reset(arena, mark);
        ETX_CHECK(etx_check_cancelled(run->context->stream));
        ETX_CHECK(steps->iterate(run, k));
    }
    etx_arena_reset(arena, mark);
    ETX_CHECK(steps->decode(run, out));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_run_forward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    struct etx_tape *tape, float *out)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_run run = {
        .network = network, .context = context, .input = *input, .tape = tape};
    void *memory = NULL;

    if (tape != NULL)
        tape->state = NULL;
    if (is_empty(network, input))
        return ETX_OK;
    ETX_CHECK(open_run(&run));
    ETX_CHECK(etx_arena_alloc(
        &memory, context->stream->arena, latent_bytes(&run), 1, "latents"));
    set_memory(&run, memory);
    ETX_CHECK(run_steps(&run, out));
    if (tape != NULL)
        tape->state = memory;
done:
    close_run(&run);
    if (tape == NULL || tape->is_forward_only || status != ETX_OK)
        etx_scratch_reset(context, mark);
    return status;
}

/* ------------------------------------------------------------ backward -- */

/* What every iteration reads, and sums of gradients. */
static etx_status open_backward(struct etx_run *run)
{
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < run->n_latents; l++) {
        const struct etx_latents_shape *shape = &run->latents[l].shape;

        if (shape->has_first)
            ETX_CHECK(etx_latents_load(&run->latents[l], run->context, 0));
        if (shape->has_gradient)
            ETX_CHECK(etx_sum_alloc(&run->d_latents[l], run->context,
                shape->n_rows * shape->width, "gradients of latents"));
    }
done:
    return status;
}

static etx_status run_steps_backward(struct etx_run *run, const float *d_out)
{
    const struct etx_steps *steps = run->network->arch->steps;
    struct etx_arena *arena = run->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    etx_status status;

    ETX_CHECK(steps->decode_backward(run, d_out));
    for (int32_t k = n_iterations(run) - 1; k >= 0; k--) {
        etx_arena_reset(arena, mark);
        ETX_CHECK(etx_check_cancelled(run->context->stream));
        ETX_CHECK(steps->iterate_backward(run, k));
    }
    etx_arena_reset(arena, mark);
    ETX_CHECK(steps->encode_backward(run));
done:
    return status;
}

etx_status etx_run_backward(const struct etx_network *network,
    struct etx_context *context, const struct etx_network_input *input,
    const struct etx_tape *tape, const float *d_out, float *gradient)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_run run = {.network = network,
        .context = context,
        .input = *input,
        .tape = tape,
        .gradient = gradient};

    if (is_empty(network, input))
        return ETX_OK;
    ETX_CHECK(open_run(&run));
    set_memory(&run, tape->state);
    ETX_CHECK(open_backward(&run));
    ETX_CHECK(run_steps_backward(&run, d_out));
done:
    close_run(&run);
    etx_scratch_reset(context, mark);
    return status;
}

/* --------------------------------------------------- blocks of a step -- */

void *etx_run_latents(const struct etx_run *run, int32_t kind, int32_t k)
{
    return etx_latents_at(&run->latents[kind], k);
}

struct etx_mlp_input etx_run_rows(int64_t n_rows)
{
    return (struct etx_mlp_input){.args = {.n_rows = n_rows}};
}

struct etx_mlp_input etx_run_node_features(const struct etx_run *run)
{
    struct etx_mlp_input input = etx_run_rows(run->input.n_nodes);

    etx_mlp_append(
        &input, run->input.node_features, NULL, run->network->n_node_features);
    return input;
}

void etx_run_append(struct etx_mlp_input *input, struct etx_run *run,
    int32_t kind, int32_t k, const struct etx_edge_end *end,
    struct etx_sum *sum)
{
    const struct etx_latents *latents = &run->latents[kind];
    const void *data = etx_latents_at(latents, k);
    const int32_t p = input->args.n_parts;

    etx_mlp_append_with_sum(input, latents->shape.is_float16 ? NULL : data, end,
        latents->shape.width, sum);
    if (latents->shape.is_float16)
        input->args.part[p].half = data;
}

etx_status etx_run_block(struct etx_run *run, const struct etx_mlp_block *block,
    struct etx_mlp_input *input, float *out)
{
    input->args.out = out;
    return etx_mlp_block_forward(
        run->context, block, run->network->value, input);
}

etx_status etx_run_block_backward(struct etx_run *run,
    const struct etx_mlp_block *block, const struct etx_mlp_input *input,
    const float *d_out)
{
    return etx_mlp_block_backward(
        run->context, block, run->network->value, run->gradient, input, d_out);
}

etx_status etx_run_update(struct etx_run *run, int32_t kind, int32_t k,
    const struct etx_mlp_block *block, struct etx_mlp_input *input,
    const void *residual)
{
    etx_status status = ETX_OK;
    struct etx_latents *latents = &run->latents[kind];
    void *out = etx_latents_at(latents, k);

    if (latents->shape.is_float16) {
        input->args.half_residual = residual;
        input->args.half_out = out;
    } else {
        input->args.residual = residual;
        input->args.out = out;
    }
    ETX_CHECK(
        etx_mlp_block_forward(run->context, block, run->network->value, input));
    if (latents->shape.is_of_nodes && k > 0)
        ETX_CHECK(etx_halo_update(
            run->context, run->input.graph, out, latents->shape.width));
    ETX_CHECK(etx_latents_keep(latents, run->context, k));
done:
    return status;
}

etx_status etx_run_update_backward(struct etx_run *run, int32_t kind,
    const struct etx_mlp_block *block, const struct etx_mlp_input *input,
    int32_t has_residual)
{
    etx_status status = ETX_OK;
    const struct etx_latents_shape *shape = &run->latents[kind].shape;
    struct etx_sum *d = &run->d_latents[kind];

    assert(d->is_started);
    if (shape->is_of_nodes)
        ETX_CHECK(etx_halo_reduce(
            run->context, run->input.graph, d->data, shape->width));
    d->is_started = has_residual;
    ETX_CHECK(etx_run_block_backward(run, block, input, d->data));
done:
    return status;
}
