/* train/transfer.c -- what a step reads, where the context computes.
 *
 * Events and graphs of a training are on the host. On a device the network
 * runs on copies of what it reads; on the CPU nothing is copied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "stage/stage.h"

#include <string.h>

struct etx_train_marks etx_train_mark(const struct etx_trainer *trainer)
{
    return (struct etx_train_marks){
        .host = etx_arena_mark(etx_train_host(trainer)->arena),
        .there = etx_arena_mark(trainer->context->stream->arena)};
}

void etx_train_reset(
    const struct etx_trainer *trainer, struct etx_train_marks marks)
{
    etx_arena_reset(trainer->context->stream->arena, marks.there);
    etx_arena_reset(etx_train_host(trainer)->arena, marks.host);
}

etx_status etx_train_zeros(
    float **out, const struct etx_trainer *trainer, int64_t n, const char *what)
{
    struct etx_context *context = trainer->context;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(out, context->stream->arena, n, sizeof **out, what));
    const struct etx_fill_args args = {.n = n, .y = *out};
    ETX_CHECK(context->ops->fill(context->stream, &args));
done:
    return status;
}

etx_status etx_train_gradient_open(
    float **there, const struct etx_trainer *trainer, float *gradient)
{
    *there = gradient;
    if (trainer->context->stream->memory == NULL || trainer->team.n_ranks == 1)
        return ETX_OK;
    return etx_train_zeros(
        there, trainer, trainer->stage->network->n_values, "gradient");
}

etx_status etx_train_gradient_close(
    const struct etx_trainer *trainer, float *gradient, float *there)
{
    const int64_t n = trainer->stage->network->n_values;
    const struct etx_arena_mark mark =
        etx_arena_mark(etx_train_host(trainer)->arena);
    float *here;
    etx_status status;

    if (there == gradient)
        return ETX_OK;
    ETX_CHECK(etx_train_fetch(&here, trainer, there, n, "gradient"));
    for (int64_t k = 0; k < n; k++)
        gradient[k] += here[k];
done:
    etx_arena_reset(etx_train_host(trainer)->arena, mark);
    return status;
}

etx_status etx_train_bring(void *out_pointer, const struct etx_trainer *trainer,
    const void *values, int64_t n, size_t size, const char *what)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    void *copy = NULL;
    etx_status status = ETX_OK;

    if (memory == NULL) {
        memcpy(out_pointer, &values, sizeof values);
        return ETX_OK;
    }
    ETX_CHECK(
        etx_arena_alloc(&copy, trainer->context->stream->arena, n, size, what));
    ETX_CHECK(etx_memory_to_device(memory, copy, values, n, size));
    memcpy(out_pointer, &copy, sizeof copy);
done:
    return status;
}

etx_status etx_train_fetch(float **out, const struct etx_trainer *trainer,
    float *values, int64_t n, const char *what)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    etx_status status = ETX_OK;

    *out = values;
    if (memory == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(
        out, etx_train_host(trainer)->arena, n, sizeof **out, what));
    ETX_CHECK(etx_memory_to_host(memory, *out, values, n, sizeof **out));
done:
    return status;
}

etx_status etx_train_input(struct etx_network_input *out,
    struct etx_graph **copy, struct etx_trainer *trainer,
    const struct etx_sample *sample, const struct etx_graph *graph)
{
    struct etx_context *context = trainer->context;
    const int64_t n = sample->n_hits;
    etx_status status;

    *copy = NULL;
    *out = (struct etx_network_input){.n_nodes = n};
    ETX_CHECK(
        etx_stage_to_device(&out->node_features, context, sample->features,
            n * trainer->stage->network->n_node_features, "node features"));
    ETX_CHECK(etx_stage_to_device(
        &out->position, context, sample->position, 3 * n, "positions of hits"));
    if (graph != NULL)
        ETX_CHECK(etx_stage_graph_to_device(&out->graph, copy, context, graph));
done:
    return status;
}
