/* memory/arena.c -- scratch memory of one event: mark, allocate, reset.
 *
 * A request goes to the current block, else to the first later block with
 * enough free bytes, else to a new one. When the arena is emptied and has more
 * than one block, all are freed, and the next block is as large as the most
 * that was ever in use: from the second event on there is one block, where the
 * limit, of which a device keeps half for graphs, allows it. Guarded, each
 * array has a block of its own, freed by the reset.
 *
 * On the host the limit is one of the bytes in use, so that the same requests
 * get the same answer whatever blocks earlier events left. With what is left
 * over at the ends of blocks they are at most twice as many. On a device,
 * where memory is scarce, the limit is one of the blocks.
 *
 *   block 0          block 1 (current)      block 2
 *   +--------------+ +--------+-----------+ +------------------+
 *   | used         | | used   | free      | | free             |
 *   +--------------+ +--------+-----------+ +------------------+
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/arena.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/poison.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define ALIGNMENT        ((size_t)64)
#define DEVICE_ALIGNMENT ((size_t)256)
#define MIN_BLOCK        ((size_t)1 << 20)
#define MAX_BLOCKS       256 /* guarded; else each doubles the size, or halves */
                             /* what is left */
#define WHAT "scratch memory"

struct block {
    char *memory;
    size_t size;
    size_t used;
};

struct etx_arena {
    const struct etx_memory *memory; /* NULL: the host */
    size_t alignment;
    size_t min_block; /* bytes of the smallest block */
    struct block block[MAX_BLOCKS];
    bool is_guarded;
    int64_t n_blocks;
    int64_t current; /* blocks after it are unused */
    size_t size;     /* sum of the blocks' sizes */
    size_t limit;    /* PTRDIFF_MAX = none */
    size_t in_use;
    size_t peak;
    size_t highest; /* in_use ever reached */
};

etx_status etx_arena_create_at(struct etx_arena **out, int64_t limit,
    size_t min_block, const struct etx_memory *memory)
{
    struct etx_arena *arena = NULL;
    etx_status status = ETX_OK;

    if (limit < 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "memory limit %" PRId64 " bytes is negative", limit);
    ETX_NEW(arena, 1, WHAT);
    arena->memory = memory;
    arena->alignment = memory == NULL ? ALIGNMENT : DEVICE_ALIGNMENT;
    arena->min_block = min_block > 0 ? min_block : MIN_BLOCK;
    arena->limit = limit == 0 ? (size_t)PTRDIFF_MAX : (size_t)limit;
    *out = arena;
done:
    return status;
}

etx_status etx_arena_create(struct etx_arena **out, int64_t limit)
{
    return etx_arena_create_at(out, limit, 0, NULL);
}

void etx_arena_guard(struct etx_arena *arena)
{
    arena->is_guarded = true;
}

/* Only memory of the host can be poisoned; guarded there is none that is free.
 */
static bool is_poisoned(const struct etx_arena *arena)
{
    return arena->memory == NULL && !arena->is_guarded;
}

static void poison(
    const struct etx_arena *arena, const void *memory, size_t bytes)
{
    if (is_poisoned(arena))
        etx_poison(memory, bytes);
}

static void unpoison(
    const struct etx_arena *arena, const void *memory, size_t bytes)
{
    if (is_poisoned(arena))
        etx_unpoison(memory, bytes);
}

/* Free the blocks from first on. */
static void drop_blocks(struct etx_arena *arena, int64_t first)
{
    while (arena->n_blocks > first) {
        struct block *block = &arena->block[--arena->n_blocks];

        unpoison(arena, block->memory, block->size);
        etx_memory_free(arena->memory, block->memory);
        arena->size -= block->size;
    }
    if (arena->current >= first)
        arena->current = first > 0 ? first - 1 : 0;
}

void etx_arena_free(struct etx_arena *arena)
{
    if (arena == NULL)
        return;
    drop_blocks(arena, 0);
    etx_free(arena);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* What is left of the limit when `taken` bytes are. */
static size_t find_left(const struct etx_arena *arena, size_t taken)
{
    return taken < arena->limit ? arena->limit - taken : 0;
}

static etx_status over_limit(
    const struct etx_arena *arena, size_t bytes, const char *what)
{
    return etx_fail(ETX_ERR_MEMORY,
        "%s: %zu bytes of scratch on top of %zu are more than the context's "
        "memory limit of %zu",
        what, bytes, arena->in_use, arena->limit);
}

static etx_status check_n_blocks(
    const struct etx_arena *arena, size_t bytes, const char *what)
{
    if (arena->n_blocks < MAX_BLOCKS)
        return ETX_OK;
    return etx_fail(ETX_ERR_MEMORY,
        "%s: %zu bytes of scratch would take more than %d blocks", what, bytes,
        MAX_BLOCKS);
}

static void append_block(struct etx_arena *arena, struct block block)
{
    arena->size += block.size;
    arena->current = arena->n_blocks;
    arena->block[arena->n_blocks++] = block;
}

/* A block that counts as `rounded` bytes, but has as many as the array. */
static etx_status add_guarded(
    struct etx_arena *arena, size_t bytes, size_t rounded, const char *what)
{
    etx_status status = ETX_OK;
    struct block block = {.size = rounded};

    if (rounded > arena->limit - arena->size)
        return over_limit(arena, rounded, what);
    ETX_CHECK(check_n_blocks(arena, rounded, what));
    ETX_CHECK(etx_memory_alloc(
        &block.memory, arena->memory, (int64_t)larger(bytes, 1), 1, what));
    append_block(arena, block);
done:
    return status;
}

/* Make a new block of at least this many bytes the current one. */
static etx_status add_block(
    struct etx_arena *arena, size_t bytes, const char *what)
{
    etx_status status = ETX_OK;
    const bool is_empty = arena->in_use == 0;
    const bool is_on_host = arena->memory == NULL;
    struct block block = {.used = 0};

    if (bytes > find_left(arena, arena->size))
        drop_blocks(arena, is_empty ? 0 : arena->current + 1);
    if (!is_on_host && bytes > find_left(arena, arena->size))
        return over_limit(arena, bytes, what);
    ETX_CHECK(check_n_blocks(arena, bytes, what));

    /* Beyond the request there is a reserve, as far as the limit allows. It
     * costs nothing on the host; on a device graphs need memory, too. The block
     * that goes beyond the limit has all that may still be requested. */
    block.size = larger(bytes, arena->min_block);
    if (arena->n_blocks > 0)
        block.size = larger(block.size, arena->size);
    else
        block.size = larger(block.size, arena->highest);
    const size_t left = find_left(arena, arena->size);
    const size_t most = !is_on_host     ? left / 2
                        : bytes <= left ? left
                                        : find_left(arena, arena->in_use);
    if (block.size > most || bytes > left)
        block.size = larger(bytes, most);
    status = etx_memory_alloc(
        &block.memory, arena->memory, (int64_t)block.size, 1, what);
    while (status == ETX_ERR_MEMORY && !is_on_host && block.size > bytes) {
        block.size = larger(bytes, block.size / 2);
        status = etx_memory_alloc(
            &block.memory, arena->memory, (int64_t)block.size, 1, what);
    }
    ETX_CHECK(status);
    poison(arena, block.memory, block.size);
    append_block(arena, block);
done:
    return status;
}

/* Advance to a block with this many free bytes; false when there is none. */
static bool find_block(struct etx_arena *arena, size_t bytes)
{
    for (int64_t i = arena->current; i < arena->n_blocks; i++)
        if (bytes <= arena->block[i].size - arena->block[i].used) {
            arena->current = i;
            return true;
        }
    return false;
}

etx_status etx_arena_alloc(void *out_pointer, struct etx_arena *arena,
    int64_t count, size_t size, const char *what)
{
    etx_status status = ETX_OK;
    size_t bytes = 0;
    size_t rounded = 0;

    if (count < 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "%s: count %" PRId64 " is negative", what, count);
    ETX_CHECK(etx_size_mul(&bytes, (size_t)count, size, what));
    ETX_CHECK(etx_size_add(&rounded, bytes, arena->alignment - 1, what));
    rounded &= ~(arena->alignment - 1);
    if (rounded == 0)
        rounded =
            arena->alignment; /* distinct, non-NULL pointers for no elements */
    if (arena->memory == NULL && rounded > find_left(arena, arena->in_use))
        return over_limit(arena, rounded, what);
    if (arena->is_guarded)
        ETX_CHECK(add_guarded(arena, bytes, rounded, what));
    else if (!find_block(arena, rounded))
        ETX_CHECK(add_block(arena, rounded, what));

    struct block *block = &arena->block[arena->current];
    void *memory = block->memory + block->used;

    block->used += rounded;
    arena->in_use += rounded;
    arena->peak = larger(arena->peak, arena->in_use);
    arena->highest = larger(arena->highest, arena->in_use);
    unpoison(arena, memory, bytes);
    memcpy(out_pointer, &memory, sizeof memory);
done:
    return status;
}

etx_status etx_arena_to_device(void *out_pointer, struct etx_arena *arena,
    const void *values, int64_t count, size_t size, const char *what)
{
    void *copy = NULL;
    etx_status status = ETX_OK;

    if (arena->memory == NULL || values == NULL) {
        memcpy(out_pointer, &values, sizeof values);
        return ETX_OK;
    }
    ETX_CHECK(etx_arena_alloc(&copy, arena, count, size, what));
    ETX_CHECK(etx_memory_to_device(arena->memory, copy, values, count, size));
    memcpy(out_pointer, &copy, sizeof copy);
done:
    return status;
}

int32_t etx_arena_contains(const struct etx_arena *arena, const void *address)
{
    const uintptr_t a = (uintptr_t)address;

    for (int64_t i = 0; i < arena->n_blocks; i++) {
        const uintptr_t begin = (uintptr_t)arena->block[i].memory;

        if (a >= begin && a - begin < arena->block[i].used)
            return 1;
    }
    return 0;
}

int32_t etx_arena_has_limit(const struct etx_arena *arena)
{
    return arena->limit < PTRDIFF_MAX;
}

struct etx_arena_mark etx_arena_mark(const struct etx_arena *arena)
{
    struct etx_arena_mark mark = {.block = arena->current, .used = 0};

    if (arena->n_blocks > 0)
        mark.used = arena->block[arena->current].used;
    return mark;
}

void etx_arena_reset(struct etx_arena *arena, struct etx_arena_mark mark)
{
    for (int64_t i = arena->n_blocks - 1; i >= mark.block; i--) {
        struct block *block = &arena->block[i];
        const size_t kept = i == mark.block ? mark.used : 0;

        arena->in_use -= block->used - kept;
        poison(arena, block->memory + kept, block->used - kept);
        block->used = kept;
    }
    if (arena->n_blocks > 0)
        arena->current = mark.block;
    if (arena->is_guarded)
        drop_blocks(arena, mark.block + (mark.used > 0));
    if (arena->in_use == 0 && arena->n_blocks > 1)
        drop_blocks(arena, 0);
}

int64_t etx_arena_in_use(const struct etx_arena *arena)
{
    return (int64_t)arena->in_use;
}

int64_t etx_arena_peak(const struct etx_arena *arena)
{
    return (int64_t)arena->peak;
}

void etx_arena_reset_peak(struct etx_arena *arena)
{
    arena->peak = arena->in_use;
}
