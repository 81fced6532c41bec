/* memory/arena.h -- scratch memory of one event: mark, allocate, reset.
 *
 * A chain of blocks on the host or in a device's memory; pointers stay valid
 * until the arena is reset to a mark before them. One thread at a time. Under
 * AddressSanitizer free bytes are poisoned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_MEMORY_ARENA_H
#define ETX_MEMORY_ARENA_H

#include "memory/memory.h"

struct etx_arena;

/* A state of the arena to reset it to. */
struct etx_arena_mark {
    int64_t block;
    size_t used;
};

/* At most limit bytes in use on the host; 0 = no limit. */
etx_status etx_arena_create(struct etx_arena **out, int64_t limit);
/* The same in a memory space, which outlives the arena. Blocks have at least
 * min_block bytes; 0 = 1 MiB. */
etx_status etx_arena_create_at(struct etx_arena **out, int64_t limit,
    size_t min_block, const struct etx_memory *memory);
void etx_arena_free(struct etx_arena *arena);
/* From now on each array is an allocation of its own, of its bytes alone, so
 * that what checks bounds of allocations checks every array: on a device,
 * where free bytes cannot be poisoned. Before the first array. */
void etx_arena_guard(struct etx_arena *arena);

/* count * size bytes, not cleared, aligned to 64 bytes (device: 256).
 * ETX_ERR_MEMORY beyond the limit or when the allocator fails. */
etx_status etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what);

/* *out_pointer = values [count] of the host in the arena's memory: a copy on a
 * device; on the host values themselves. NULL stays NULL. */
etx_status etx_arena_to_device(void *out_pointer, struct etx_arena *arena,
    const void *values, int64_t count, size_t size, const char *what);

struct etx_arena_mark etx_arena_mark(const struct etx_arena *arena);
void etx_arena_reset(struct etx_arena *arena, struct etx_arena_mark mark);

/* 1: address lies in memory that is allocated from the arena. */
int32_t etx_arena_contains(const struct etx_arena *arena, const void *address);

/* 1: a limit was given. */
int32_t etx_arena_has_limit(const struct etx_arena *arena);

/* Bytes allocated now, and their maximum since the last reset of the peak. */
int64_t etx_arena_in_use(const struct etx_arena *arena);
int64_t etx_arena_peak(const struct etx_arena *arena);
void etx_arena_reset_peak(struct etx_arena *arena);

#endif
