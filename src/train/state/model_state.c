/* train/state/model_state.c -- the state of a training where the context
 * computes.
 *
 * On a device the parameters, the gradient and the moments stay there from
 * step to step: what the host has of them is from the last time that it asked,
 * which checkpoints, validations and snapshots do. On the CPU both are the
 * same arrays.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#define ALIGNMENT  64 /* floats: the 256 bytes of an allocation */
#define N_OWN      2  /* gradient and decays */
#define N_MIRRORED 4  /* parameters, moments and the largest second ones */

/* Two arrays [n_values] of the same: where the context computes, and on the
 * host; NULL where the training has none. */
struct mirror {
    float *there, *here;
};

static void list_mirrors(
    struct mirror mirror[N_MIRRORED], const struct etx_trainer *trainer)
{
    const struct etx_train_there *there = &trainer->there;

    mirror[0] =
        (struct mirror){there->network.value, trainer->stage->network->value};
    mirror[1] = (struct mirror){there->m, trainer->m};
    mirror[2] = (struct mirror){there->v, trainer->v};
    mirror[3] = (struct mirror){there->v_max, trainer->v_max};
}

/* Weight decay belongs to weights alone. */
static etx_status put_decays(const struct etx_trainer *trainer, float *decays)
{
    const struct etx_network *network = trainer->stage->network;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    float *value;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &value, arena, network->n_values, sizeof *value, "weight decay"));
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = network->parameter + p;
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;

        for (int64_t k = 0; k < n; k++)
            value[parameter->offset + k] = parameter->decays ? 1.0f : 0.0f;
    }
    ETX_CHECK(etx_memory_to_device(trainer->context->stream->memory, decays,
        value, network->n_values, sizeof *value));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_train_state_open(struct etx_trainer *trainer)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    struct etx_train_there *there = &trainer->there;
    const int64_t n = trainer->stage->network->n_values;
    const int64_t stride = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const int64_t n_arrays = memory == NULL ? N_OWN : N_OWN + N_MIRRORED;
    float *at;
    etx_status status;

    ETX_CHECK(etx_memory_alloc(&there->memory, memory, n_arrays * stride,
        sizeof *there->memory, "state of the training"));
    at = there->memory + N_OWN * stride;
    trainer->gradient = there->memory;
    there->decays = there->memory + stride;
    there->network = *trainer->stage->network;
    there->m = trainer->m;
    there->v = trainer->v;
    there->v_max = trainer->v_max;
    if (memory != NULL) {
        there->network.value = at;
        there->m = at + stride;
        there->v = at + 2 * stride;
        there->v_max = trainer->v_max == NULL ? NULL : at + 3 * stride;
    }
    ETX_CHECK(put_decays(trainer, there->memory + stride));
    ETX_CHECK(etx_train_state_put(trainer));
done:
    return status;
}

void etx_train_state_close(struct etx_trainer *trainer)
{
    /* A trainer that was not made whole may have no context any more. */
    if (trainer->there.memory != NULL)
        etx_memory_free(
            trainer->context->stream->memory, trainer->there.memory);
}

etx_status etx_train_state_put(const struct etx_trainer *trainer)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    struct mirror mirror[N_MIRRORED];
    etx_status status = ETX_OK;

    list_mirrors(mirror, trainer);
    for (int32_t k = 0; k < N_MIRRORED; k++)
        if (mirror[k].there != mirror[k].here)
            ETX_CHECK(
                etx_memory_to_device(memory, mirror[k].there, mirror[k].here,
                    trainer->stage->network->n_values, sizeof(float)));
done:
    return status;
}

etx_status etx_train_state_get(const struct etx_trainer *trainer)
{
    const struct etx_memory *memory = trainer->context->stream->memory;
    struct mirror mirror[N_MIRRORED];
    etx_status status = ETX_OK;

    list_mirrors(mirror, trainer);
    for (int32_t k = 0; k < N_MIRRORED; k++)
        if (mirror[k].there != mirror[k].here)
            ETX_CHECK(
                etx_memory_to_host(memory, mirror[k].here, mirror[k].there,
                    trainer->stage->network->n_values, sizeof(float)));
done:
    return status;
}
