/* test_memory.c -- checked sizes, allocations, the hook and the arena.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/heap.h"
#include "base/poison.h"
#include "base/random.h"
#include "base/status.h"
#include "memory/arena.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- sizes -- */

ETX_TEST(test_memory_sizes)
{
    size_t out = 77;

    ck_assert_ok(etx_size_mul(&out, SIZE_MAX / 2, 2, "x"));
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert_refused(
        etx_size_mul(&out, SIZE_MAX / 4 + 1, 4, "weights"), "weights");
    ck_assert_uint_eq(out, SIZE_MAX - 1);
    ck_assert_ok(etx_size_mul(&out, 0, SIZE_MAX, "x"));
    ck_assert_uint_eq(out, 0);
    ck_assert_ok(etx_size_add(&out, SIZE_MAX - 1, 1, "x"));
    ck_assert_refused(etx_size_add(&out, SIZE_MAX, 1, "header"), "header");
    ck_assert_uint_eq(out, SIZE_MAX);
}

static const struct {
    int64_t count;
    size_t size;
    etx_status status;
} refused[] = {
    {-1, 4, ETX_ERR_ARGUMENT},
    {INT64_MIN, 1, ETX_ERR_ARGUMENT},
    {INT64_MAX, 4, ETX_ERR_ARGUMENT},   /* the product overflows */
    {INT64_MAX / 2, 2, ETX_ERR_MEMORY}, /* no such address space */
    {INT64_MAX, 1, ETX_ERR_MEMORY},     /* with the header it wraps */
    {INT64_MAX - 100, 1, ETX_ERR_MEMORY},
};

ETX_TEST(test_memory_refused, .rows = ROWS(refused))
{
    char untouched = 'u';
    void *memory = &untouched;

    ck_assert_fails(
        etx_alloc(&memory, refused[_i].count, refused[_i].size, "positions"),
        refused[_i].status, "positions");
    ck_assert_ptr_eq(memory, &untouched);
    memory = NULL;
    ck_assert_status(etx_resize(&memory, 0, refused[_i].count, refused[_i].size,
                         "positions"),
        refused[_i].status);
    ck_assert_ptr_null(memory);
}

/* ---------------------------------------------------------- allocation -- */

ETX_TEST(test_memory_alloc)
{
    static const int64_t counts[] = {0, 1, 3, 64, 1000, 100000};
    const int64_t before = etx_heap_in_use();

    for (size_t k = 0; k < ROWS(counts); k++) {
        int32_t *values = NULL;

        ck_assert_ok(etx_alloc(&values, counts[k], sizeof *values, "x"));
        ck_assert_ptr_nonnull(values);
        ck_assert_uint_eq((uintptr_t)values % 64, 0);
        ck_assert_int_eq(etx_heap_in_use(), before + 4 * counts[k]);
        for (int64_t i = 0; i < counts[k]; i++) {
            ck_assert_int_eq(values[i], 0);
            values[i] = -1;
        }
        etx_free(values);
        ck_assert_int_eq(etx_heap_in_use(), before);
    }
    etx_free(NULL);
}

ETX_TEST(test_memory_peak)
{
    void *a = NULL;
    void *b = NULL;

    etx_heap_reset_peak();
    const int64_t before = etx_heap_peak();
    ck_assert_int_eq(before, etx_heap_in_use());
    ck_assert_ok(etx_alloc(&a, 1000, 1, "a"));
    ck_assert_ok(etx_alloc(&b, 500, 1, "b"));
    etx_free(a);
    etx_free(b);
    ck_assert_int_eq(etx_heap_peak(), before + 1500);
    etx_heap_reset_peak();
    ck_assert_int_eq(etx_heap_peak(), before);
}

ETX_TEST(test_memory_resize)
{
    int64_t *values = NULL;

    ck_assert_ok(etx_resize(&values, 0, 5, sizeof *values, "values"));
    for (int64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(values[i], 0);
        values[i] = i;
    }
    ck_assert_ok(etx_resize(&values, 5, 100, sizeof *values, "values"));
    for (int64_t i = 0; i < 100; i++)
        ck_assert_int_eq(values[i], i < 5 ? i : 0);
    ck_assert_ok(etx_resize(&values, 100, 3, sizeof *values, "values"));
    ck_assert_int_eq(values[2], 2);

    int64_t *const kept = values;
    etx_test_allocator_fail(0);
    ck_assert_fails(etx_resize(&values, 3, 10, sizeof *values, "values"),
        ETX_ERR_MEMORY, "values");
    etx_test_allocator_restore();
    ck_assert_ptr_eq(values, kept);
    ck_assert_int_eq(values[2], 2);
    etx_free(values);
}

ETX_TEST(test_memory_copy)
{
    static const int32_t source[] = {1, 2, 3};
    int32_t *copy = NULL;

    ck_assert_ok(etx_alloc_copy(&copy, source, 3, sizeof *copy, "copy"));
    ck_assert_mem_eq(copy, source, sizeof source);
    etx_free(copy);
    ck_assert_ok(etx_alloc_copy(&copy, NULL, 0, sizeof *copy, "copy"));
    ck_assert_ptr_nonnull(copy);
    etx_free(copy);
}

/* ------------------------------------------------------------ the hook -- */

/* An allocator that counts, and gives dirty memory that is aligned to 16
 * bytes but not to 64. */
struct counter {
    int64_t n_allocated, n_released;
};

static void *allocate(size_t size, void *user)
{
    struct counter *counter = user;
    char *start = malloc(size + 80);

    if (start == NULL)
        return NULL;
    char *memory = start + 16;
    if ((uintptr_t)memory % 64 == 0)
        memory += 16;
    memset(memory, 0xa5, size);
    memory[-1] = (char)(memory - start);
    counter->n_allocated++;
    return memory;
}

static void release(void *memory, void *user)
{
    struct counter *counter = user;
    char *bytes = memory;

    counter->n_released++;
    free(bytes - bytes[-1]);
}

ETX_TEST(test_memory_hook)
{
    struct counter counter = {0, 0};
    unsigned char *bytes = NULL;
    unsigned char *later = NULL;

    ck_assert_ok(etx_set_allocator(allocate, release, &counter));
    ck_assert_ok(etx_alloc(&bytes, 100, 1, "bytes"));
    ck_assert_ok(etx_alloc(&later, 100, 1, "bytes"));
    ck_assert_uint_eq((uintptr_t)bytes % 64, 0);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(bytes[i], 0);
    etx_free(bytes);
    ck_assert_int_eq(counter.n_allocated, 2);
    ck_assert_int_eq(counter.n_released, 1);

    /* What the hook gave goes back to it, whatever is set by then. */
    ck_assert_ok(etx_set_allocator(NULL, NULL, NULL));
    etx_free(later);
    ck_assert_int_eq(counter.n_released, 2);
}

ETX_TEST(test_memory_hook_refused)
{
    ck_assert_refused(etx_set_allocator(allocate, NULL, NULL), "release");
    ck_assert_refused(etx_set_allocator(NULL, release, NULL), "allocate");
}

/* --------------------------------------------------------------- arena -- */

ETX_TEST(test_memory_arena_alloc)
{
    struct etx_arena *arena = NULL;
    char *before = NULL;
    const int64_t in_use = etx_heap_in_use();

    ck_assert_ok(etx_arena_create(&arena, 0));
    ck_assert_int_eq(etx_arena_in_use(arena), 0);
    for (int64_t count = 0; count < 300; count++) {
        char *bytes = NULL;

        ck_assert_ok(etx_arena_alloc(&bytes, arena, count, 1, "bytes"));
        ck_assert_ptr_nonnull(bytes);
        ck_assert_ptr_ne(bytes, before);
        ck_assert_uint_eq((uintptr_t)bytes % 64, 0);
        memset(bytes, 1, (size_t)count);
        before = bytes;
    }
    ck_assert_int_ge(etx_arena_in_use(arena), 299 * 300 / 2);
    ck_assert_int_eq(etx_arena_peak(arena), etx_arena_in_use(arena));
    etx_arena_free(arena);
    etx_arena_free(NULL);
    ck_assert_int_eq(etx_heap_in_use(), in_use);
}

ETX_TEST(test_memory_arena_marks)
{
    scoped_arena *arena = NULL;
    int64_t *first = NULL, *second = NULL, *third = NULL;
    const int64_t many = 300000; /* more than a block */

    ck_assert_ok(etx_arena_create(&arena, 0));
    const struct etx_arena_mark start = etx_arena_mark(arena);
    ck_assert_ok(etx_arena_alloc(&first, arena, 10, sizeof *first, "a"));
    for (int64_t i = 0; i < 10; i++)
        first[i] = i;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t in_use = etx_arena_in_use(arena);

    ck_assert_ok(etx_arena_alloc(&second, arena, many, sizeof *second, "b"));
    memset(second, 7, (size_t)many * sizeof *second);
    ck_assert_ok(etx_arena_alloc(&third, arena, many, sizeof *third, "c"));
    memset(third, 8, (size_t)many * sizeof *third);
    ck_assert_int_eq(second[0], 0x0707070707070707);
    ck_assert_int_eq(second[many - 1], 0x0707070707070707);

    etx_arena_reset(arena, mark);
    ck_assert_int_eq(etx_arena_in_use(arena), in_use);
    ck_assert_int_ge(etx_arena_peak(arena), 2 * 8 * many);
    etx_arena_reset_peak(arena);
    ck_assert_int_eq(etx_arena_peak(arena), in_use);
    for (int64_t i = 0; i < 10; i++)
        ck_assert_int_eq(first[i], i);
    ck_assert_ok(etx_arena_alloc(&second, arena, many, sizeof *second, "b"));
    memset(second, 9, (size_t)many * sizeof *second);

    etx_arena_reset(arena, start);
    ck_assert_int_eq(etx_arena_in_use(arena), 0);
}

/* The second event of the same size needs no new memory. */
ETX_TEST(test_memory_arena_stops_growing)
{
    scoped_arena *arena = NULL;
    int64_t in_use[4] = {0, 0, 0, 0};

    ck_assert_ok(etx_arena_create(&arena, 0));
    for (int event = 0; event < 4; event++) {
        const struct etx_arena_mark mark = etx_arena_mark(arena);

        for (int64_t k = 0; k < 20; k++) {
            char *bytes = NULL;

            ck_assert_ok(
                etx_arena_alloc(&bytes, arena, 300000 * (20 - k), 1, "x"));
            bytes[0] = bytes[300000 * (20 - k) - 1] = 1;
        }
        in_use[event] = etx_heap_in_use();
        etx_arena_reset(arena, mark);
    }
    ck_assert_int_le(in_use[1], in_use[0]);
    ck_assert_int_eq(in_use[2], in_use[1]);
    ck_assert_int_eq(in_use[3], in_use[1]);
}

#define DEVICE_BYTES ((size_t)64 << 20)

/* A device that has `left` bytes; each array is after its size. */
struct small_device {
    struct etx_memory memory;
    size_t left;
};

static etx_status device_alloc(
    void **out, const struct etx_memory *memory, size_t bytes, const char *what)
{
    struct small_device *device = (struct small_device *)memory->device;

    if (bytes > device->left)
        return etx_fail(ETX_ERR_MEMORY, "%s: the device is full", what);
    char *const array = aligned_alloc(256, 256 + (bytes + 255) / 256 * 256);
    ck_assert_ptr_nonnull(array);
    memcpy(array, &bytes, sizeof bytes);
    device->left -= bytes;
    *out = array + 256;
    return ETX_OK;
}

static void device_free(const struct etx_memory *memory, void *address)
{
    struct small_device *device = (struct small_device *)memory->device;
    char *const array = (char *)address - 256;
    size_t bytes;

    memcpy(&bytes, array, sizeof bytes);
    device->left += bytes;
    free(array);
}

/* Small arrays on a device that is nearly full: until nothing is left, and the
 * arena goes on when some are freed. */
ETX_TEST(test_memory_arena_of_full_device)
{
    struct small_device device = {.left = DEVICE_BYTES};
    struct etx_arena *arena = NULL;
    etx_status status = ETX_OK;
    int n = 0;
    void *array;

    device.memory = (struct etx_memory){
        .alloc = device_alloc, .free = device_free, .device = &device};
    ck_assert_ok(etx_arena_create_at(&arena, 0, 0, &device.memory));
    ck_assert_ok(etx_arena_alloc(&array, arena, 48 << 20, 1, "event"));
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    while (status == ETX_OK && n < 10000) {
        status = etx_arena_alloc(&array, arena, 4096, 1, "small");
        n += status == ETX_OK;
    }
    ck_assert_int_eq(status, ETX_ERR_MEMORY);
    ck_assert_int_gt(n, 3500); /* 16 MiB are 4096 */
    etx_arena_reset(arena, mark);
    ck_assert_ok(etx_arena_alloc(&array, arena, 4096, 1, "small"));
    etx_arena_free(arena);
    ck_assert_uint_eq(device.left, DEVICE_BYTES);
}

ETX_TEST(test_memory_arena_limit)
{
    scoped_arena *arena = NULL;
    char *bytes = NULL;

    ck_assert_refused(etx_arena_create(&arena, -1), "-1");
    ck_assert_ptr_null(arena);
    ck_assert_ok(etx_arena_create(&arena, 3000000));
    const int64_t in_use = etx_heap_in_use();
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 1000000, 1, "x"));
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 1000000, 1, "x"));
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 900000, 1, "x"));
    ck_assert_fails(etx_arena_alloc(&bytes, arena, 1000000, 1, "edges"),
        ETX_ERR_MEMORY, "edges");
    ck_assert_int_le(etx_heap_in_use() - in_use, 3000000);
    etx_arena_reset(arena, mark);
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 900000, 1, "x"));
    etx_arena_reset(arena, (struct etx_arena_mark){0, 0});
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 2900000, 1, "x"));
}

static const int64_t request_bytes[] = {64, 2000000, 2000000};

static etx_status alloc_requests(struct etx_arena *arena)
{
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    etx_status status = ETX_OK;
    char *bytes = NULL;

    for (int k = 0; k < ROWS(request_bytes) && status == ETX_OK; k++)
        status = etx_arena_alloc(&bytes, arena, request_bytes[k], 1, "x");
    etx_arena_reset(arena, mark);
    return status;
}

/* The answer does not depend on the blocks that there are: the first time a
 * small one and two others, later one for the first two requests. */
ETX_TEST(test_memory_arena_limit_repeats, .rows = 2)
{
    scoped_arena *arena = NULL;
    const int64_t needed =
        request_bytes[0] + request_bytes[1] + request_bytes[2];

    ck_assert_ok(etx_arena_create(&arena, needed - _i));
    for (int round = 0; round < 3; round++)
        ck_assert_status(
            alloc_requests(arena), _i == 0 ? ETX_OK : ETX_ERR_MEMORY);
    ck_assert_int_eq(etx_arena_in_use(arena), 0);
}

/* Where blocks are wasted, as many small arrays as the limit allows: one
 * block more, and not one for each. */
ETX_TEST(test_memory_arena_limit_of_small_arrays)
{
    enum { n = 1000, limit = 3000000 + 64 * n };
    scoped_arena *arena = NULL;
    char *bytes = NULL;

    ck_assert_ok(etx_arena_create(&arena, limit));
    const int64_t in_use = etx_heap_in_use();
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 64, 1, "x"));
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 3000000 - 64, 1, "x"));
    for (int k = 0; k < n; k++)
        ck_assert_ok(etx_arena_alloc(&bytes, arena, 64, 1, "x"));
    ck_assert_status(etx_arena_alloc(&bytes, arena, 1, 1, "x"), ETX_ERR_MEMORY);
    ck_assert_int_le(etx_heap_in_use() - in_use, 2 * limit);
}

ETX_TEST(test_memory_arena_refused)
{
    scoped_arena *arena = NULL;
    char *bytes = NULL;

    ck_assert_ok(etx_arena_create(&arena, 0));
    ck_assert_status(
        etx_arena_alloc(&bytes, arena, -1, 1, "x"), ETX_ERR_ARGUMENT);
    ck_assert_status(
        etx_arena_alloc(&bytes, arena, INT64_MAX, 4, "x"), ETX_ERR_ARGUMENT);
    ck_assert_status(
        etx_arena_alloc(&bytes, arena, INT64_MAX, 1, "x"), ETX_ERR_MEMORY);
    ck_assert_status(
        etx_arena_alloc(&bytes, arena, INT64_MAX / 8, 4, "x"), ETX_ERR_MEMORY);
    ck_assert_ptr_null(bytes);
    ck_assert_ok(etx_arena_alloc(&bytes, arena, 10, 1, "x"));
}

/* Random allocations and resets against a mirror of what must be in them. */
ETX_TEST(test_memory_arena_random)
{
    scoped_arena *arena = NULL;
    struct etx_arena_mark marks[32];
    unsigned char *blocks[32];
    int64_t sizes[32];
    struct etx_random random;
    int depth = 0;

    etx_random_init(&random, 6, 0, 0);
    ck_assert_ok(etx_arena_create(&arena, 0));
    for (int step = 0; step < 3000; step++) {
        if (depth == 32 || (depth > 0 && etx_random_below(&random, 3) == 0)) {
            const int to = (int)etx_random_below(&random, (uint64_t)depth);

            for (int k = 0; k < depth; k++)
                ck_assert(sizes[k] == 0 ||
                          (blocks[k][0] == k && blocks[k][sizes[k] - 1] == k));
            etx_arena_reset(arena, marks[to]);
            depth = to;
            continue;
        }
        sizes[depth] = (int64_t)etx_random_below(&random, 400000);
        marks[depth] = etx_arena_mark(arena);
        ck_assert_ok(
            etx_arena_alloc(&blocks[depth], arena, sizes[depth], 1, "block"));
        if (sizes[depth] > 0)
            blocks[depth][0] = blocks[depth][sizes[depth] - 1] =
                (unsigned char)depth;
        depth++;
    }
}

static etx_status use_arena(void *argument)
{
    struct etx_arena *arena = NULL;
    char *bytes = NULL;

    (void)argument;
    etx_status status = etx_arena_create(&arena, 0);
    for (int k = 0; k < 4 && status == ETX_OK; k++)
        status = etx_arena_alloc(&bytes, arena, 2000000 << k, 1, "x");
    etx_arena_free(arena);
    return status;
}

/* Guarded, arrays are freed by the reset to a mark before them, and count
 * against the limit as others do. */
ETX_TEST(test_memory_arena_guarded)
{
    scoped_arena *arena = NULL;
    char *array[3] = {NULL};

    ck_assert_ok(etx_arena_create(&arena, 1024));
    etx_arena_guard(arena);
    const struct etx_arena_mark start = etx_arena_mark(arena);

    ck_assert_ok(etx_arena_alloc(&array[0], arena, 10, 1, "a"));
    const struct etx_arena_mark mark = etx_arena_mark(arena);

    for (int32_t round = 0; round < 1000; round++) {
        ck_assert_ok(etx_arena_alloc(&array[1], arena, 0, 1, "b"));
        ck_assert_ok(etx_arena_alloc(&array[2], arena, 700, 1, "c"));
        memset(array[2], round, 700);
        ck_assert_fails(etx_arena_alloc(&array[1], arena, 300, 1, "d"),
            ETX_ERR_MEMORY, "memory limit of 1024");
        ck_assert_int_eq(etx_arena_contains(arena, array[2]), 1);
        etx_arena_reset(arena, mark);
        ck_assert_int_eq(etx_arena_in_use(arena), 64);
        memset(array[0], round, 10);
    }
    etx_arena_reset(arena, start);
    ck_assert_int_eq(etx_arena_in_use(arena), 0);
    ck_assert_ok(etx_arena_alloc(&array[0], arena, 1024, 1, "e"));
}

ETX_TEST(test_memory_arena_out_of_memory)
{
    ck_assert_int_ge(etx_test_out_of_memory(use_arena, NULL), 3);
}
