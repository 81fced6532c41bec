/* cuda_shim/launch.cpp -- kernels on the CPU.
 *
 * A thread that waits for its warp or block leaves its stack to wait there and
 * the next one starts on another; threads that never wait run one after the
 * other on one stack, which is a call each. Blocks, warps and lanes come in an
 * order by chance, and a warp that waits for its lanes may let others run
 * first, so that a kernel whose result depends on it shows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/mma.cuh"
#include "cuda_runtime.h"
#include "parts.h"

extern "C" {
#include "base/float16.h"
}

#include <numeric>
#include <vector>

#include <stdlib.h>
#include <sys/mman.h>

#define WARP         32
#define MAX_LANES    1024
#define MAX_WARPS    (MAX_LANES / WARP)
#define MAX_STACKS   (MAX_LANES + 1)
#define STACK_BYTES  ((size_t)128 << 10)
#define TILE_PRODUCT (-1) /* the mask of who waits for one */
#define WARP_BARRIER 0    /* the mask of __syncwarp() */
#define SCATTER      ((uint64_t)0x9E3779B97F4A7C15) /* 2^64 / golden ratio */

enum state { IS_NEW, IS_READY, WAITS_FOR_WARP, WAITS_FOR_BLOCK, IS_DONE };

/* A thread of the block. */
struct lane {
    enum state state;
    struct stack *stack; /* where it waits */
    uint64_t value;      /* to exchange */
    int mask;
    uint16_t barrier, warp_barrier; /* that it has passed */
};

struct stack {
    void *top;          /* where it stopped */
    struct stack *next; /* that is free, too */
};

#define INDEX __attribute__((section("shim_index")))

INDEX dim3 threadIdx, blockIdx, blockDim, gridDim;

static struct lane lanes[MAX_LANES];
static struct stack *free_stacks;
static struct stack scheduler;
static struct stack *running; /* the stack and the lane that run */
static int32_t running_lane;
static int32_t warp_first;         /* of the warp that runs */
static int32_t n_begun[MAX_WARPS]; /* of its lanes */
static int32_t lane_order;         /* lanes begin in the order of their number
                                    * xor this */
static void (*run_body)(void *kernel);
static void *run_kernel;
static uint64_t n_launches, n_draws;
static size_t shared_allowed = SHIM_SHARED_ALWAYS;
static size_t shared_bytes; /* by the launch */
static char *stack_memory;  /* [MAX_STACKS, STACK_BYTES] */
static int32_t n_stacks;
alignas(256) static unsigned char shared_memory[SHIM_MAX_SHARED];

/* A number below n, by chance but on every run the same. */
static uint32_t draw(uint32_t n)
{
    return (uint32_t)((++n_draws * SCATTER >> 32) * n >> 32);
}

/* Go on where `to` stopped, and come back when something goes on here. */
extern "C" void shim_switch(struct stack *from, const struct stack *to);
__asm__(".text\n"
        ".globl shim_switch\n"
        ".type shim_switch, @function\n"
        "shim_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size shim_switch, . - shim_switch\n");

/* The lane of the warp that comes at this turn. */
static int32_t lane_at(int32_t turn)
{
    return warp_first + (turn ^ lane_order);
}

/* The lanes of a warp begin in turn. */
static int32_t next_new_lane(void)
{
    const int32_t n = n_begun[warp_first / WARP];

    return n < WARP ? lane_at(n) : -1;
}

/* What every stack does: the threads that have not begun, then wait. */
static void work(void)
{
    for (;;) {
        for (int32_t l = next_new_lane(); l >= 0; l = next_new_lane()) {
            running_lane = l;
            threadIdx = dim3((unsigned)l);
            n_begun[warp_first / WARP]++;
            run_body(run_kernel);
            lanes[running_lane].state = IS_DONE;
        }
        running->next = free_stacks;
        free_stacks = running;
        shim_switch(running, &scheduler);
    }
}

struct shim_range shim_stacks(void)
{
    const size_t bytes = MAX_STACKS * STACK_BYTES;

    if (stack_memory == NULL) {
        void *const memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
            shim_abort("no addresses for stacks");
        stack_memory = static_cast<char *>(memory);
    }
    return {stack_memory, bytes};
}

static struct stack *alloc_stack(void)
{
    struct stack *stack = free_stacks;

    if (stack != NULL) {
        free_stacks = stack->next;
        return stack;
    }
    stack = static_cast<struct stack *>(malloc(sizeof *stack));
    if (stack == NULL || n_stacks == MAX_STACKS)
        shim_abort("no memory for a stack");
    char *const memory = const_cast<char *>(shim_stacks().begin) +
                         STACK_BYTES * (size_t)n_stacks++;

    /* As if work had been called: six registers and where to return to, with
     * the stack as a called function finds it. */
    void **const top =
        reinterpret_cast<void **>(memory + STACK_BYTES - sizeof(void *));

    top[0] = NULL;
    top[-1] = reinterpret_cast<void *>(work);
    for (int32_t r = 2; r <= 7; r++)
        top[-r] = NULL;
    stack->top = top - 7;
    return stack;
}

static void go_on(struct stack *stack)
{
    running = stack;
    shim_switch(&scheduler, stack);
}

static void wait(enum state for_what)
{
    const int32_t l = running_lane;

    lanes[l].state = for_what;
    lanes[l].stack = running;
    shim_switch(running, &scheduler);
    running_lane = l;
    threadIdx = dim3((unsigned)l);
}

uint64_t shim_exchange(uint64_t value, int mask)
{
    const int32_t l = running_lane;

    lanes[l].value = value;
    lanes[l].mask = mask;
    wait(WAITS_FOR_WARP);
    lanes[l].warp_barrier += mask == WARP_BARRIER;
    return lanes[l].value;
}

void __syncthreads(void)
{
    wait(WAITS_FOR_BLOCK);
    lanes[running_lane].barrier++;
}

struct shim_position shim_position(void)
{
    const struct lane &lane = lanes[running_lane];

    return {(uint32_t)n_launches, blockIdx.x, (uint16_t)running_lane,
        lane.barrier, lane.warp_barrier};
}

/* ------------------------------------------------------- tile products -- */

/* Arguments of a lane to one. */
struct tile_part {
    float *d;          /* [4] */
    const uint32_t *a; /* [4] */
    const uint32_t *b; /* [2] */
};

void etx_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    const struct tile_part part = {d, a, b};

    (void)shim_exchange((uint64_t)(uintptr_t)&part, TILE_PRODUCT);
}

/* The number in the lower or the upper half of a word. */
static float half_of(uint32_t word, int32_t upper)
{
    return etx_float16_to_float((uint16_t)(upper ? word >> 16 : word));
}

/* Row i, column k of a; and row k, column j of b. */
static void unpack(float (&a)[16][16], float (&b)[16][8],
    const struct tile_part *const (&part)[WARP])
{
    for (int32_t l = 0; l < WARP; l++)
        for (int32_t w = 0; w < 4; w++)
            for (int32_t h = 0; h < 2; h++) {
                const int32_t k = l % 4 * 2 + h + w / 2 * 8;

                a[l / 4 + w % 2 * 8][k] = half_of(part[l]->a[w], h);
                if (w < 2)
                    b[l % 4 * 2 + h + w * 8][l / 4] = half_of(part[l]->b[w], h);
            }
}

static void multiply_tiles(const uint64_t *value)
{
    const struct tile_part *part[WARP];
    float a[16][16], b[16][8];

    for (int32_t l = 0; l < WARP; l++)
        part[l] =
            reinterpret_cast<const struct tile_part *>((uintptr_t)value[l]);
    unpack(a, b, part);
    for (int32_t l = 0; l < WARP; l++)
        for (int32_t s = 0; s < 4; s++)
            for (int32_t k = 0; k < 16; k++)
                part[l]->d[s] +=
                    a[l / 4 + s / 2 * 8][k] * b[k][l % 4 * 2 + s % 2];
}

/* The lanes of the warp have all come to an exchange: make it. */
static void exchange(void)
{
    const int32_t mask = lanes[warp_first].mask;
    uint64_t value[WARP];

    for (int32_t l = 0; l < WARP; l++) {
        struct lane *const lane = &lanes[warp_first + l];

        if (lane->state != WAITS_FOR_WARP || lane->mask != mask)
            shim_abort("a diverged warp at a warp-wide operation");
        value[l] = lane->value;
    }
    if (mask == TILE_PRODUCT)
        multiply_tiles(value);
    for (int32_t l = 0; l < WARP; l++) {
        if (mask != TILE_PRODUCT)
            lanes[warp_first + l].value = value[l ^ mask];
        lanes[warp_first + l].state = IS_READY;
    }
}

/* -------------------------------------------------------- shared memory -- */

static size_t opted_in; /* bytes of a block with opt-in; 0: not yet known */

size_t shim_shared_memory(void)
{
    const char *const wanted = getenv("ETX_SHIM_SHARED");

    if (opted_in == 0 && wanted != NULL)
        opted_in = (size_t)atoi(wanted) << 10;
    if (opted_in == 0 || opted_in > SHIM_MAX_SHARED)
        opted_in = SHIM_SHARED_BYTES;
    return opted_in;
}

struct shim_range shim_dynamic_shared(void)
{
    return {reinterpret_cast<const char *>(shared_memory), shared_bytes};
}

cudaError_t shim_allow_shared_memory(int bytes)
{
    int unused;

    if ((size_t)bytes > shim_shared_memory())
        return cudaErrorInvalidValue;
    if ((size_t)bytes > shared_allowed)
        shared_allowed = (size_t)bytes;
    /* Counted with the calls of the runtime, and made to fail like them. */
    return cudaGetDevice(&unused);
}

uint4 *etx_shared_memory()
{
    return reinterpret_cast<uint4 *>(shared_memory);
}

/* ---------------------------------------------------------------- blocks -- */

static int32_t count(int32_t first, int32_t n, enum state state)
{
    int32_t out = 0;

    for (int32_t l = first; l < first + n; l++)
        out += lanes[l].state == state;
    return out;
}

/* All that can run of the warp until it waits or is done. */
static void run_lanes(void)
{
    while (next_new_lane() >= 0)
        go_on(alloc_stack());
    for (int32_t turn = 0; turn < WARP; turn++)
        if (lanes[lane_at(turn)].state == IS_READY)
            go_on(lanes[lane_at(turn)].stack);
}

/* The warp until all of it is done or waits for the block, or until others
 * come first. */
static void run_warp(int32_t first)
{
    warp_first = first;
    run_lanes();
    while (count(first, WARP, WAITS_FOR_WARP) > 0) {
        exchange();
        if (draw(4) == 0)
            return;
        run_lanes();
    }
}

static bool can_run(int32_t first)
{
    return count(first, WARP, IS_NEW) + count(first, WARP, IS_READY) > 0;
}

/* All warps until they are done or wait for the block. */
static void run_warps(int32_t n_threads)
{
    const int32_t n_warps = n_threads / WARP;

    for (int32_t n_stopped = 0; n_stopped < n_warps;) {
        const int32_t begin = (int32_t)draw((uint32_t)n_warps);

        n_stopped = 0;
        for (int32_t w = 0; w < n_warps; w++) {
            const int32_t first = (begin + w) % n_warps * WARP;

            if (can_run(first))
                run_warp(first);
            n_stopped += !can_run(first);
        }
    }
}

static void begin_block(unsigned block, int32_t n_threads)
{
    blockIdx = dim3(block);
    lane_order = (int32_t)draw(WARP);
    /* No block finds what another left: these are not numbers. */
    memset(shared_memory, 0xFF, shared_bytes);
    for (int32_t l = 0; l < n_threads; l++)
        lanes[l] = {};
    memset(n_begun, 0, sizeof n_begun);
}

static void run_block(unsigned block, int32_t n_threads)
{
    begin_block(block, n_threads);
    for (;;) {
        run_warps(n_threads);
        const int32_t n_waiting = count(0, n_threads, WAITS_FOR_BLOCK);

        if (n_waiting == 0)
            return;
        if (n_waiting < n_threads)
            shim_abort("a diverged block at a barrier");
        for (int32_t l = 0; l < n_threads; l++)
            lanes[l].state = IS_READY;
    }
}

static bool is_possible(const struct cudaLaunchConfig_t *config)
{
    return config->blockDim.x > 0 && config->blockDim.x <= MAX_LANES &&
           config->blockDim.x % WARP == 0 && config->blockDim.y == 1 &&
           config->blockDim.z == 1 && config->gridDim.x > 0 &&
           config->gridDim.x <= 0x7FFFFFFFu && config->gridDim.y == 1 &&
           config->gridDim.z == 1 && config->dynamicSmemBytes <= shared_allowed;
}

/* The blocks, each once: from a random one on, in steps that their number has
 * no divisor with. */
static void run_blocks(int32_t n_threads)
{
    const uint64_t n = gridDim.x;
    uint64_t step = 1 + draw(gridDim.x);
    uint64_t block = draw(gridDim.x);

    while (std::gcd(step, n) != 1)
        step++;
    for (uint64_t b = 0; b < n; b++) {
        run_block((unsigned)block, n_threads);
        block = (block + step) % n;
    }
}

/* A launch that waits in its stream. */
struct launch {
    struct cudaLaunchConfig_t config;
    void (*body)(void *kernel);
    std::vector<uint4> kernel;
    size_t bytes;
    int device;
};

static void run_launch(struct launch &launch)
{
    const struct shim_range parameters = {
        reinterpret_cast<const char *>(launch.kernel.data()), launch.bytes};

    gridDim = launch.config.gridDim;
    blockDim = launch.config.blockDim;
    run_body = launch.body;
    run_kernel = launch.kernel.data();
    shared_bytes = launch.config.dynamicSmemBytes;
    n_launches++;
    shim_enter();
    shim_check_launch(&parameters, launch.device);
    run_blocks((int32_t)blockDim.x);
    shim_check_launch(NULL, launch.device);
    shim_leave();
}

cudaError_t shim_launch(const struct cudaLaunchConfig_t *config,
    void (*body)(void *kernel), const void *kernel, size_t bytes)
{
    const shim_turn turn;
    const cudaError_t error = shim_begin(SHIM_KERNEL, config->stream);
    struct launch launch = {*config, body,
        std::vector<uint4>(bytes / sizeof(uint4) + 1), bytes, shim_device()};

    if (error != cudaSuccess)
        return error;
    if (!is_possible(config))
        shim_abort("a launch of a size that is not possible");
    memcpy(launch.kernel.data(), kernel, bytes);
    shim_queue(config->stream, [launch]() mutable { run_launch(launch); });
    return cudaSuccess;
}
