/* backend/derived.c -- what is derived from parameters that a context keeps.
 *
 * Room for it lies behind the parameters, in the same piece of memory, and goes
 * with them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "backend/backend.h"

#define ALIGNMENT 64 /* floats: the 256 bytes of an allocation */

/* First layers taken apart, and on the CPU all layers in two more forms; a
 * device packs in memory of its own. */
int64_t etx_derived_room(const struct etx_stream *stream, int64_t n_values)
{
    const int64_t times = stream->memory == NULL ? 3 : 1;

    return times * n_values + ETX_MAX_DERIVED * ALIGNMENT;
}

static int32_t lies_in(
    const struct etx_resident *resident, const float *address)
{
    if (resident->stamp == 0)
        return 0;
    return address >= resident->value &&
           address < resident->value + resident->n_values + resident->n_taken;
}

/* The kept parameters that hold all that is needed, or NULL. */
static struct etx_resident *find_resident(
    const struct etx_stream *stream, const struct etx_derived_key *key)
{
    for (int32_t k = 0; stream->resident != NULL && k < ETX_MAX_RESIDENT; k++)
        if (lies_in(&stream->resident[k], key->from) &&
            (key->with == NULL || lies_in(&stream->resident[k], key->with)))
            return &stream->resident[k];
    return NULL;
}

static int32_t are_equal(
    const struct etx_derived_key *a, const struct etx_derived_key *b)
{
    return a->from == b->from && a->with == b->with && a->form == b->form &&
           a->n == b->n;
}

float *etx_derived_find(
    const struct etx_stream *stream, const struct etx_derived_key *key)
{
    const struct etx_resident *resident = find_resident(stream, key);

    for (int32_t d = 0; resident != NULL && d < resident->n_derived; d++)
        if (are_equal(&resident->derived[d].key, key))
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
    const struct etx_stream *stream, const struct etx_derived_key *key)
{
    const struct etx_resident *resident = find_resident(stream, key);

    if (resident == NULL || resident->n_derived == ETX_MAX_DERIVED)
        return NULL;
    float *const at = find_end(resident);
    const int64_t n_all = resident->n_values + resident->n_room;

    return key->n <= n_all - (at - resident->value) ? at : NULL;
}

void etx_derived_close(
    const struct etx_stream *stream, const struct etx_derived_key *key)
{
    struct etx_resident *resident = find_resident(stream, key);

    if (resident == NULL)
        return;
    float *const at = find_end(resident);

    resident->derived[resident->n_derived++] =
        (struct etx_derived){.key = *key, .value = at};
    resident->n_taken = at + key->n - (resident->value + resident->n_values);
}
