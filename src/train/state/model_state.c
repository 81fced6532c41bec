/* train/state/model_state.c -- parameters, moments and gradient of a training.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/model_state.h"

#include "base/check.h"
#include "base/heap.h"
#include "memory/memory.h"

#define ALIGNMENT  64 /* floats: the 256 bytes of an allocation */
#define N_OWN      2  /* gradient and decays */
#define N_MIRRORED 4  /* parameters, moments and the largest second ones */

/* An array [n_values] of the host and its copy where the context computes;
 * NULL where the training has none. */
struct mirror {
    float *host, *device;
};

static etx_status copy_mirrors(
    const struct etx_train_state *state, int32_t to_device)
{
    const struct etx_moments *host = &state->moments;
    const struct etx_moments *device = &state->device_moments;
    const struct mirror mirror[N_MIRRORED] = {
        {state->network->value, state->device_network.value},
        {host->m, device->m}, {host->v, device->v},
        {host->v_max, device->v_max}};
    const int64_t n = state->network->n_values;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < N_MIRRORED; k++) {
        float *const a = mirror[k].host;
        float *const b = mirror[k].device;

        if (a != b)
            ETX_CHECK(
                to_device
                    ? etx_memory_to_device(state->memory, b, a, n, sizeof *a)
                    : etx_memory_to_host(state->memory, a, b, n, sizeof *a));
    }
done:
    return status;
}

/* Weight decay is of weights, not of biases and norms. */
static etx_status write_decays(
    float *decays, const struct etx_train_state *state, struct etx_arena *arena)
{
    const struct etx_network *network = state->network;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    float *value;
    etx_status status;

    ETX_SCRATCH(value, arena, network->n_values, "weight decay");
    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = network->parameter + p;
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;

        for (int64_t k = 0; k < n; k++)
            value[parameter->offset + k] = parameter->decays ? 1.0f : 0.0f;
    }
    ETX_CHECK(etx_memory_to_device(
        state->memory, decays, value, network->n_values, sizeof *value));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status alloc_moments(
    struct etx_moments *moments, int64_t n, int32_t amsgrad)
{
    etx_status status;

    ETX_CHECK(etx_alloc(&moments->m, n, sizeof(float), "moments"));
    ETX_CHECK(etx_alloc(&moments->v, n, sizeof(float), "moments"));
    if (amsgrad)
        ETX_CHECK(etx_alloc(&moments->v_max, n, sizeof(float), "moments"));
done:
    return status;
}

/* One allocation, arrays at multiples of stride:
 *   gradient | decays | parameters | m | v | v_max
 * of which a CPU has the first two, as the others are the host's own. */
static etx_status alloc_device(struct etx_train_state *state, float **decays)
{
    const int64_t n = state->network->n_values;
    const int64_t stride = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const int64_t n_arrays = state->memory == NULL ? N_OWN : N_OWN + N_MIRRORED;
    float *mirrored;
    etx_status status;

    ETX_CHECK(etx_memory_alloc(&state->device_arrays, state->memory,
        n_arrays * stride, sizeof(float), "state of the training"));
    mirrored = state->device_arrays + N_OWN * stride;
    state->gradient = state->device_arrays;
    *decays = state->device_arrays + stride;
    state->decays = *decays;
    state->device_network = *state->network;
    state->device_moments = state->moments;
    if (state->memory != NULL) {
        state->device_network.value = mirrored;
        state->device_moments.m = mirrored + stride;
        state->device_moments.v = mirrored + 2 * stride;
        if (state->moments.v_max != NULL)
            state->device_moments.v_max = mirrored + 3 * stride;
    }
done:
    return status;
}

etx_status etx_train_state_open(struct etx_train_state *state,
    struct etx_context *context, struct etx_network *network, int32_t amsgrad)
{
    float *decays;
    etx_status status;

    state->memory = context->stream->memory;
    state->network = network;
    ETX_CHECK(alloc_moments(&state->moments, network->n_values, amsgrad));
    ETX_CHECK(alloc_device(state, &decays));
    ETX_CHECK(write_decays(decays, state, etx_host_of(context)->stream->arena));
    ETX_CHECK(etx_train_state_to_device(state));
done:
    return status;
}

void etx_train_state_close(struct etx_train_state *state)
{
    etx_memory_free(state->memory, state->device_arrays);
    etx_free(state->moments.m);
    etx_free(state->moments.v);
    etx_free(state->moments.v_max);
}

etx_status etx_train_state_to_device(const struct etx_train_state *state)
{
    return copy_mirrors(state, 1);
}

etx_status etx_train_state_to_host(const struct etx_train_state *state)
{
    return copy_mirrors(state, 0);
}
