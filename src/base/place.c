/* base/place.c -- where arrays live: the host, or the memory of a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/place.h"

#include "base/check.h"
#include "base/memory.h"

#include <string.h>

etx_status etx_place_alloc(void *out_pointer, const struct etx_place *place,
    int64_t count, size_t size, const char *what)
{
    etx_status status = ETX_OK;
    size_t bytes = 0;
    void *memory = NULL;

    if (place == NULL)
        return etx_alloc_uncleared(out_pointer, count, size, what);
    ETX_CHECK(etx_size_mul(&bytes, (size_t)count, size, what));
    ETX_CHECK(place->take(&memory, place, bytes > 0 ? bytes : 1, what));
    memcpy(out_pointer, &memory, sizeof memory);
done:
    return status;
}

void etx_place_release(const struct etx_place *place, void *memory)
{
    if (memory == NULL)
        return;
    if (place == NULL)
        etx_release(memory);
    else
        place->give(place, memory);
}

etx_status etx_place_put(const struct etx_place *place, void *to,
    const void *from, int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size;

    if (bytes == 0)
        return ETX_OK;
    if (place != NULL)
        return place->put(place, to, from, bytes);
    memcpy(to, from, bytes);
    return ETX_OK;
}

etx_status etx_place_get(const struct etx_place *place, void *to,
    const void *from, int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size;

    if (bytes == 0)
        return ETX_OK;
    if (place != NULL)
        return place->get(place, to, from, bytes);
    memcpy(to, from, bytes);
    return ETX_OK;
}

void etx_place_settle(const struct etx_place *place, void *memory)
{
    if (place != NULL)
        place->settle(place, memory);
}

etx_status etx_place_finish(const struct etx_place *place)
{
    return place == NULL ? ETX_OK : place->finish(place);
}

int64_t etx_place_peak(const struct etx_place *place)
{
    return place == NULL ? etx_memory_peak() : place->peak(place);
}

void etx_place_reset_peak(const struct etx_place *place)
{
    if (place == NULL)
        etx_memory_reset_peak();
    else
        place->reset_peak(place);
}
