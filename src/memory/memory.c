/* memory/memory.c -- memory spaces: the host's, or that of a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/memory.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

etx_status etx_memory_alloc(void *out_pointer, const struct etx_memory *memory,
    int64_t count, size_t size, const char *what)
{
    etx_status status = ETX_OK;
    size_t bytes = 0;
    void *address = NULL;

    if (memory == NULL)
        return etx_alloc_uncleared(out_pointer, count, size, what);
    ETX_CHECK(etx_size_mul(&bytes, (size_t)count, size, what));
    ETX_CHECK(memory->alloc(&address, memory, bytes > 0 ? bytes : 1, what));
    memcpy(out_pointer, &address, sizeof address);
done:
    return status;
}

void etx_memory_free(const struct etx_memory *memory, void *address)
{
    if (address == NULL)
        return;
    if (memory == NULL)
        etx_free(address);
    else
        memory->free(memory, address);
}

etx_status etx_memory_to_device(const struct etx_memory *memory, void *to,
    const void *from, int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size;

    if (bytes == 0)
        return ETX_OK;
    if (memory != NULL)
        return memory->to_device(memory, to, from, bytes);
    memcpy(to, from, bytes);
    return ETX_OK;
}

etx_status etx_memory_to_host(const struct etx_memory *memory, void *to,
    const void *from, int64_t count, size_t size)
{
    const size_t bytes = (size_t)count * size;

    if (bytes == 0)
        return ETX_OK;
    if (memory != NULL)
        return memory->to_host(memory, to, from, bytes);
    memcpy(to, from, bytes);
    return ETX_OK;
}

etx_status etx_memory_fetch(
    const int64_t **out, const struct etx_memory *memory, const int64_t *from)
{
    if (memory != NULL)
        return memory->fetch(out, memory, from);
    *out = from;
    return ETX_OK;
}

etx_status etx_memory_synchronize(const struct etx_memory *memory)
{
    return memory == NULL ? ETX_OK : memory->synchronize(memory);
}

int64_t etx_memory_peak(const struct etx_memory *memory)
{
    return memory == NULL ? etx_heap_peak() : memory->peak(memory);
}

void etx_memory_reset_peak(const struct etx_memory *memory)
{
    if (memory == NULL)
        etx_heap_reset_peak();
    else
        memory->reset_peak(memory);
}
