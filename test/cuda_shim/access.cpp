/* cuda_shim/access.cpp -- every access of a kernel to memory is checked.
 *
 * In the program cuda-shim-checked the sources of cuda/ are compiled with
 * -fsanitize=thread, which calls a function before each access. The functions
 * below are not ThreadSanitizer's: they know the threads of a device. An
 * access ends the test that
 *
 * - races: two threads of a launch touch the same bytes, at least one writes,
 * not both are atomic or volatile, and neither __syncthreads nor, within a
 * warp,
 *   __syncwarp lies between. Shuffles and tile products order no memory;
 * - is outside of an allocation or of the shared memory of the launch, or
 *   touches memory of another device;
 * - is not aligned to its size;
 * - touches memory of the host that is not pinned.
 *
 * Of every four bytes the last write and the last two readers are kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WARP     32
#define WORD     ((size_t)4)
#define N_PLANES 4 /* accesses by where in a word they begin */

enum kind { READS = 0, WRITES = 1, IS_ATOMIC = 2 };

struct record {
    struct shim_position at;
    uint32_t code; /* address of the access in the program */
    uint8_t kind, first, bytes;
};

struct cell {
    struct record write, reader[2];
};

/* Memory with cells; of_block: each block has its own. */
struct region {
    struct shim_range range;
    struct cell *cells[N_PLANES];
    bool of_block;
};

enum which { HEAP, DYNAMIC_SHARED, STATIC_SHARED, N_REGIONS };

/* The section of __shared__ variables, and of the indices of threads. */
extern "C" char __start_shim_shared[] __attribute__((weak));
extern "C" char __stop_shim_shared[] __attribute__((weak));
extern "C" char __start_shim_index[], __stop_shim_index[];

static struct region regions[N_REGIONS];
static struct shim_range stacks, parameters;
static bool is_checked; /* sources are compiled for it */
static uint32_t narrow; /* the last launch that accessed parts of words */
static int launch_device;
static thread_local bool is_in_kernel;

static bool contains(const struct shim_range &range, const char *at)
{
    return at >= range.begin && at < range.begin + range.bytes;
}

/* --------------------------------------------------------------- reports -- */

/* Text, the lines of the sources, and the end of the test. */
__attribute__((noreturn)) static void report(
    const char *what, uint32_t code, uint32_t other)
{
    char command[300];

    is_in_kernel = false;
    fprintf(stderr, "cuda_shim: %s\n", what);
    snprintf(command, sizeof command,
        "addr2line -Cfpie /proc/%d/exe %x %x >&2 2>/dev/null", (int)getpid(),
        code, other);
    if (system(command) != 0)
        fprintf(stderr, "at %x and %x\n", code, other);
    abort();
}

static const char *name_of(uint8_t kind)
{
    static const char *const names[] = {
        "read", "write", "atomic read", "atomic write"};

    return names[kind];
}

__attribute__((noreturn)) static void report_race(
    const struct record &a, const struct record &b)
{
    char text[200];

    snprintf(text, sizeof text,
        "a race of a kernel: %s of block %u thread %u, then %s of block %u "
        "thread %u",
        name_of(a.kind), a.at.block, a.at.thread, name_of(b.kind), b.at.block,
        b.at.thread);
    report(text, a.code, b.code);
}

/* ----------------------------------------------------------------- cells -- */

static void open_region(
    struct region *region, const char *begin, size_t bytes, bool of_block)
{
    region->range = {begin, bytes};
    region->of_block = of_block;
    for (struct cell *&cells : region->cells) {
        void *const memory = mmap(NULL,
            (bytes / WORD + 1) * sizeof(struct cell), PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            shim_abort("no addresses to note accesses");
        cells = static_cast<struct cell *>(memory);
    }
}

static void open_regions(void)
{
    const struct shim_heap *const heap = shim_heap();
    const struct shim_range dynamic = shim_dynamic_shared();

    stacks = shim_stacks();
    open_region(&regions[HEAP], heap->begin, heap->bytes, false);
    open_region(&regions[DYNAMIC_SHARED], dynamic.begin, SHIM_MAX_SHARED, true);
    open_region(&regions[STATIC_SHARED], __start_shim_shared,
        (size_t)(__stop_shim_shared - __start_shim_shared), true);
}

void shim_check_launch(const struct shim_range *of_launch, int device)
{
    if (!is_checked)
        return;
    if (regions[HEAP].range.begin == NULL)
        open_regions();
    is_in_kernel = of_launch != NULL;
    if (of_launch == NULL)
        return;
    parameters = *of_launch;
    launch_device = device;
    regions[DYNAMIC_SHARED].range = shim_dynamic_shared();
}

/* Whether one of them comes before the other for all threads to see. */
static bool are_ordered(
    const struct shim_position &a, const struct shim_position &b, bool of_block)
{
    if (a.launch != b.launch || (of_block && a.block != b.block))
        return true;
    if (a.block != b.block)
        return false;
    if (a.thread == b.thread || a.barrier != b.barrier)
        return true;
    return a.thread / WARP == b.thread / WARP &&
           a.warp_barrier != b.warp_barrier;
}

static bool is_race(
    const struct record &a, const struct record &b, bool of_block)
{
    return ((a.kind | b.kind) & WRITES) != 0 &&
           (a.kind & b.kind & IS_ATOMIC) == 0 && a.first < b.first + b.bytes &&
           b.first < a.first + a.bytes && !are_ordered(a.at, b.at, of_block);
}

static void compare(
    const struct cell &cell, const struct record &now, bool of_block)
{
    if (is_race(cell.write, now, of_block))
        report_race(cell.write, now);
    for (const struct record &reader : cell.reader)
        if (is_race(reader, now, of_block))
            report_race(reader, now);
}

static void keep(struct cell *cell, const struct record &now)
{
    if ((now.kind & WRITES) != 0) {
        cell->write = now;
        return;
    }
    /* Of one thread the last alone, or it would hide another thread's. */
    if (cell->reader[0].at.launch == now.at.launch &&
        cell->reader[0].at.block == now.at.block &&
        cell->reader[0].at.thread != now.at.thread)
        cell->reader[1] = cell->reader[0];
    cell->reader[0] = now;
}

/* The part of an access in one word. */
static void access_word(
    const struct region &region, size_t offset, struct record now)
{
    const size_t word = offset / WORD;

    now.first = (uint8_t)(offset % WORD);
    if (now.bytes < WORD)
        narrow = now.at.launch;
    for (size_t plane = 0; plane < N_PLANES; plane++)
        if (plane == 0 || narrow == now.at.launch)
            compare(region.cells[plane][word], now, region.of_block);
    keep(&region.cells[now.first][word], now);
}

/* ---------------------------------------------------------------- bounds -- */

static void check_heap(const char *at, size_t bytes, uint32_t code)
{
    const struct shim_heap *const heap = shim_heap();
    const size_t offset = (size_t)(at - heap->begin);
    const struct shim_granule granule = heap->granule[offset / SHIM_GRANULE];
    const size_t end = offset % SHIM_GRANULE + bytes;

    /* A piece goes on in the next granule, where this one is full. */
    if (granule.n_used < (end < SHIM_GRANULE ? end : SHIM_GRANULE))
        report("a kernel accesses memory out of bounds", code, code);
    if (end > SHIM_GRANULE &&
        heap->granule[offset / SHIM_GRANULE + 1].n_used < end - SHIM_GRANULE)
        report("a kernel accesses memory out of bounds", code, code);
    if (granule.owner != SHIM_PINNED && granule.owner != launch_device)
        report("a kernel accesses memory of another device", code, code);
}

/* The region of the access; NULL: of the thread alone. */
static const struct region *find_region(
    const char *at, size_t bytes, uint32_t code)
{
    if (contains(stacks, at) || contains(parameters, at) ||
        (at >= __start_shim_index && at < __stop_shim_index))
        return NULL;
    if (contains(regions[HEAP].range, at)) {
        check_heap(at, bytes, code);
        return &regions[HEAP];
    }
    for (int r = DYNAMIC_SHARED; r < N_REGIONS; r++)
        if (contains(regions[r].range, at)) {
            if (at + bytes > regions[r].range.begin + regions[r].range.bytes)
                break;
            return &regions[r];
        }
    if (at >= regions[DYNAMIC_SHARED].range.begin &&
        at < regions[DYNAMIC_SHARED].range.begin + SHIM_MAX_SHARED)
        report("a kernel accesses shared memory out of bounds", code, code);
    report("a kernel accesses memory of the host", code, code);
}

static void access(const void *address, size_t bytes, int kind,
    const void *code_address, bool is_aligned)
{
    const char *const at = static_cast<const char *>(address);
    const uint32_t code = (uint32_t)(uintptr_t)code_address - 1;

    if (!is_in_kernel)
        return;
    const struct region *const region = find_region(at, bytes, code);

    if (region == NULL)
        return;
    if (is_aligned && (uintptr_t)at % bytes != 0)
        report("a kernel accesses memory that is not aligned", code, code);
    for (size_t done = 0; done < bytes;) {
        const size_t offset = (size_t)(at + done - region->range.begin);
        const size_t in_word = WORD - offset % WORD;
        const size_t n = in_word < bytes - done ? in_word : bytes - done;

        access_word(*region, offset,
            {shim_position(), code, (uint8_t)kind, 0, (uint8_t)n});
        done += n;
    }
}

/* ------------------------------------------------------- what is called -- */

#define CODE __builtin_return_address(0)
#define ACCESS(name, bytes, kind)                                              \
    void __tsan_##name(void *at)                                               \
    {                                                                          \
        access(at, bytes, kind, CODE, true);                                   \
    }
#define ACCESSES(bytes)                                                        \
    ACCESS(read##bytes, bytes, READS)                                          \
    ACCESS(write##bytes, bytes, WRITES)                                        \
    ACCESS(unaligned_read##bytes, bytes, READS)                                \
    ACCESS(unaligned_write##bytes, bytes, WRITES)                              \
    ACCESS(volatile_read##bytes, bytes, READS | IS_ATOMIC)                     \
    ACCESS(volatile_write##bytes, bytes, WRITES | IS_ATOMIC)

extern "C" {

void shim_atomic(void *at, size_t bytes, void *code)
{
    access(at, bytes, WRITES | IS_ATOMIC, code, true);
}

void __tsan_init(void)
{
    is_checked = true;
}

/* Host code of the same sources, where nothing is checked. */
int __tsan_atomic32_fetch_add(volatile int *at, int value, int)
{
    return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}

void __tsan_vptr_update(void **, void *)
{
}

void __tsan_vptr_read(void **)
{
}

void __tsan_func_entry(void *)
{
}

void __tsan_func_exit(void)
{
}

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *at, size_t bytes)
{
    access(at, bytes, READS, CODE, false);
}

void __tsan_write_range(void *at, size_t bytes)
{
    access(at, bytes, WRITES, CODE, false);
}
}
