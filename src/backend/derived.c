/* backend/derived.c -- what is derived from parameters that a context keeps.
 *
 * Room for it lies behind the parameters, in the same piece of memory, and goes
 * with them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#define ALIGNMENT 64 /* floats: the 256 bytes of an allocation */

int64_t etx_derived_room(int64_t n_values)
{
    return n_values + ETX_MOST_DERIVED * ALIGNMENT;
}

/* The kept parameters that hold `from`, or NULL. */
static struct etx_resident *find_resident(
    struct etx_context *context, const float *from)
{
    for (int32_t k = 0; k < ETX_MOST_RESIDENT; k++) {
        struct etx_resident *resident = &context->resident[k];

        if (resident->stamp != 0 && from >= resident->value &&
            from < resident->value + resident->n_values)
            return resident;
    }
    return NULL;
}

float *etx_derived_find(
    struct etx_context *context, const float *from, uint32_t how)
{
    const struct etx_resident *resident = find_resident(context, from);

    for (int32_t d = 0; resident != NULL && d < resident->n_derived; d++)
        if (resident->derived[d].from == from &&
            resident->derived[d].how == how)
            return resident->derived[d].value;
    return NULL;
}

/* The first place behind what is there already. */
static float *find_end(const struct etx_resident *resident)
{
    const int64_t end = resident->n_values + resident->n_taken;

    return resident->value + (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

float *etx_derived_open(
    struct etx_context *context, const float *from, int64_t n)
{
    const struct etx_resident *resident = find_resident(context, from);

    if (resident == NULL || resident->n_derived == ETX_MOST_DERIVED)
        return NULL;
    float *const at = find_end(resident);
    const int64_t n_all =
        resident->n_values + etx_derived_room(resident->n_values);

    return n <= n_all - (at - resident->value) ? at : NULL;
}

void etx_derived_close(
    struct etx_context *context, const float *from, uint32_t how, int64_t n)
{
    struct etx_resident *resident = find_resident(context, from);

    if (resident == NULL)
        return;
    float *const at = find_end(resident);

    resident->derived[resident->n_derived++] =
        (struct etx_derived){.from = from, .how = how, .value = at};
    resident->n_taken = at + n - (resident->value + resident->n_values);
}
