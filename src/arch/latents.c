/* arch/latents.c -- latents of the iterations of a network, and which are kept.
 *
 * Counts are below 2^31, widths at most 2^12 and latents at most 65: their
 * products fit an int64_t.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/latents.h"

#include <assert.h>

#define ALIGNMENT 16 /* floats */

/* Latents that are kept with this stride: 0, stride, ... and the others of one
 * segment. */
static int32_t count_kept(int32_t n_iterations, int32_t stride)
{
    return n_iterations / stride + 1 + stride - 1;
}

/* The stride that keeps the fewest; of several the largest, as the last segment
 * is not computed again. */
static int32_t choose_stride(int32_t n_iterations)
{
    int32_t best = 1;

    for (int32_t stride = 2; stride <= n_iterations; stride++)
        if (count_kept(n_iterations, stride) <= count_kept(n_iterations, best))
            best = stride;
    return best;
}

struct etx_tape etx_tape_of(
    const struct etx_network *network, const struct etx_tape *tape)
{
    struct etx_tape same = {.state = NULL};

    if (tape != NULL)
        same.is_forward_only = tape->is_forward_only;
    if (tape != NULL && network->arch->saves_memory) {
        same.recomputes = tape->recomputes;
        same.half = tape->half;
    }
    return same;
}

/* Without the padding, which is never set. */
static int64_t count_values(const struct etx_latents_shape *shape)
{
    return shape->n_rows * shape->width;
}

void etx_latents_open(struct etx_latents *latents,
    const struct etx_latents_shape *shape, const struct etx_tape *tape)
{
    const int64_t n = count_values(shape);

    *latents = (struct etx_latents){.shape = *shape,
        .keeps = tape != NULL && !tape->is_forward_only,
        .half = tape != NULL ? tape->half : ETX_HALF_NONE,
        .stride = 1,
        .loaded = {-1, -1, -1},
        .n_values = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT};
    latents->shape.is_float16 = shape->is_float16 && tape == NULL;
    if (tape != NULL && tape->recomputes && shape->can_recompute)
        latents->stride = choose_stride(shape->n_iterations);
    if (shape->n_iterations > 0)
        latents->segment = (shape->n_iterations - 1) / latents->stride;
}

static int32_t n_kept(const struct etx_latents *latents)
{
    return latents->keeps
               ? count_kept(latents->shape.n_iterations, latents->stride)
               : 0;
}

/* The index of latent k among the kept ones. */
static int32_t kept_index(const struct etx_latents *latents, int32_t k)
{
    const int32_t n_segments =
        latents->shape.n_iterations / latents->stride + 1;

    return k % latents->stride == 0 ? k / latents->stride
                                    : n_segments + k % latents->stride - 1;
}

static int32_t uses_slots(const struct etx_latents *latents)
{
    return !latents->keeps || latents->half != ETX_HALF_NONE;
}

static int32_t n_slots_used(const struct etx_latents *latents)
{
    const int32_t n_all = latents->shape.n_iterations + 1;
    const int32_t n = latents->shape.n_slots + (latents->shape.has_first != 0);

    return n < n_all ? n : n_all;
}

static int32_t slot_of(const struct etx_latents *latents, int32_t k)
{
    if (!latents->shape.has_first)
        return k % latents->shape.n_slots;
    return k == 0 ? 0 : 1 + (k - 1) % latents->shape.n_slots;
}

/* n_values are a multiple of ALIGNMENT. */
static int64_t latent_bytes(const struct etx_latents *latents)
{
    return latents->n_values * (int64_t)(latents->shape.is_float16
                                             ? sizeof(uint16_t)
                                             : sizeof(float));
}

static int64_t bytes_of_values(const struct etx_latents *latents)
{
    const int32_t n =
        uses_slots(latents) ? n_slots_used(latents) : n_kept(latents);

    return n * latent_bytes(latents);
}

int64_t etx_latents_bytes(const struct etx_latents *latents)
{
    const int64_t n_halves = latents->half != ETX_HALF_NONE
                                 ? n_kept(latents) * latents->n_values
                                 : 0;
    const int64_t unit = ALIGNMENT * (int64_t)sizeof(float);
    const int64_t bytes =
        bytes_of_values(latents) + n_halves * (int64_t)sizeof(uint16_t);

    return (bytes + unit - 1) / unit * unit;
}

void etx_latents_set_memory(struct etx_latents *latents, void *memory)
{
    latents->value = memory;
    latents->kept =
        (uint16_t *)(void *)(latents->value + bytes_of_values(latents));
}

void *etx_latents_at(const struct etx_latents *latents, int32_t k)
{
    const int32_t slot =
        uses_slots(latents) ? slot_of(latents, k) : kept_index(latents, k);

    return latents->value + slot * latent_bytes(latents);
}

/* ------------------------------------------------------ keep and load -- */

static uint16_t *find_kept(const struct etx_latents *latents, int32_t k)
{
    return latents->kept + kept_index(latents, k) * latents->n_values;
}

etx_status etx_latents_keep(
    struct etx_latents *latents, struct etx_context *context, int32_t k)
{
    struct etx_narrow_args args = {
        .n = count_values(&latents->shape), .format = latents->half};

    if (k % latents->stride != 0)
        latents->segment = k / latents->stride;
    if (latents->half == ETX_HALF_NONE)
        return ETX_OK;
    args.x = etx_latents_at(latents, k);
    args.y = find_kept(latents, k);
    latents->loaded[slot_of(latents, k)] = k;
    return context->ops->narrow(context->stream, &args);
}

etx_status etx_latents_load(
    struct etx_latents *latents, struct etx_context *context, int32_t k)
{
    struct etx_widen_args args = {
        .n = count_values(&latents->shape), .format = latents->half};

    assert(etx_latents_has(latents, k));
    if (latents->half == ETX_HALF_NONE ||
        latents->loaded[slot_of(latents, k)] == k)
        return ETX_OK;
    args.x = find_kept(latents, k);
    args.y = etx_latents_at(latents, k);
    latents->loaded[slot_of(latents, k)] = k;
    return context->ops->widen(context->stream, &args);
}

int32_t etx_latents_has(const struct etx_latents *latents, int32_t k)
{
    return k % latents->stride == 0 || k / latents->stride == latents->segment;
}

int32_t etx_latents_segment_begin(const struct etx_latents *latents, int32_t k)
{
    return k / latents->stride * latents->stride;
}
