/* memory/arena.h -- scratch memory of one event: mark, take, go back.
 *
 * A chain of blocks from etx_alloc, or from a device's memory; pointers stay
 * valid until the arena goes back past them. One thread at a time. Under
 * AddressSanitizer what is not handed out is poisoned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_MEMORY_ARENA_H
#define ETX_MEMORY_ARENA_H

#include "memory/memory.h"

struct etx_arena;

/* A place in the arena to go back to. */
struct etx_arena_mark {
    int64_t block;
    size_t used;
};

/* limit bytes at most, 0 = no limit. */
etx_status etx_arena_create(struct etx_arena **out, int64_t limit);
/* The same in the memory of a place, which outlives the arena; aligned to 256
 * bytes there. */
etx_status etx_arena_create_at(
    struct etx_arena **out, int64_t limit, const struct etx_memory *memory);
void etx_arena_free(struct etx_arena *arena);

/* count * size bytes, 64-byte aligned, not cleared. ETX_ERR_MEMORY beyond the
 * limit or when the allocator fails. */
etx_status etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what);

struct etx_arena_mark etx_arena_mark(const struct etx_arena *arena);
void etx_arena_reset(struct etx_arena *arena, struct etx_arena_mark mark);

/* 1: a limit was given. */
int32_t etx_arena_has_limit(const struct etx_arena *arena);

/* Bytes handed out now, and the highest since the last reset of the peak. */
int64_t etx_arena_in_use(const struct etx_arena *arena);
int64_t etx_arena_peak(const struct etx_arena *arena);
void etx_arena_reset_peak(struct etx_arena *arena);

#endif
