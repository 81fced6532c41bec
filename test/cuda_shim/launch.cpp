/* cuda_shim/launch.cpp -- kernels on the CPU.
 *
 * A thread that waits for its warp or block leaves its stack to wait there and
 * the next one starts on another; threads that never wait run one after the
 * other on one stack, which is a call each. From launch to launch blocks,
 * warps and lanes come in another order, so that a kernel whose result depends
 * on it shows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda_runtime.h"
#include "shim.h"

#include <stdlib.h>

#define WARP        32
#define MOST_LANES  1024
#define STACK_BYTES ((size_t)128 << 10)
#define SCATTER     ((uint64_t)0x9E3779B97F4A7C15) /* 2^64 / golden ratio */

enum state { IS_NEW, IS_READY, WAITS_FOR_WARP, WAITS_FOR_BLOCK, IS_DONE };

/* A thread of the block. */
struct lane {
    enum state state;
    struct stack *stack; /* where it waits */
    uint64_t value;      /* to exchange */
    int mask;
};

struct stack {
    void *top;          /* where it stopped */
    struct stack *next; /* that is free, too */
};

dim3 threadIdx, blockIdx, blockDim, gridDim;

static struct lane lanes[MOST_LANES];
static struct stack *free_stacks;
static struct stack scheduler;
static struct stack *running; /* the stack and the lane that run */
static int32_t running_lane;
static int32_t warp_first; /* of the warp that runs */
static int32_t n_begun;    /* of its lanes */
static int32_t is_backward;
static void (*run_body)(void *kernel);
static void *run_kernel;
static uint64_t n_launches;

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
    return warp_first + (is_backward ? WARP - 1 - turn : turn);
}

/* The lanes of a warp begin in turn. */
static int32_t next_new_lane(void)
{
    return n_begun < WARP ? lane_at(n_begun) : -1;
}

/* What every stack does: the threads that have not begun, then wait. */
static void work(void)
{
    for (;;) {
        for (int32_t l = next_new_lane(); l >= 0; l = next_new_lane()) {
            running_lane = l;
            threadIdx = dim3((unsigned)l);
            n_begun++;
            run_body(run_kernel);
            lanes[running_lane].state = IS_DONE;
        }
        running->next = free_stacks;
        free_stacks = running;
        shim_switch(running, &scheduler);
    }
}

static struct stack *take_stack(void)
{
    struct stack *stack = free_stacks;

    if (stack != NULL) {
        free_stacks = stack->next;
        return stack;
    }
    stack = static_cast<struct stack *>(malloc(sizeof *stack));
    char *const memory = static_cast<char *>(malloc(STACK_BYTES));

    if (stack == NULL || memory == NULL)
        shim_abort("no memory for a stack");
    /* As if work had been called: six registers and where to return to, with
     * the stack as a called function finds it. */
    void **const top = reinterpret_cast<void **>(
        memory + STACK_BYTES - sizeof(void *));

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
    return lanes[l].value;
}

void __syncthreads(void)
{
    wait(WAITS_FOR_BLOCK);
}

/* The lanes of the warp have all come to an exchange: make it. */
static void exchange(void)
{
    uint64_t value[WARP];

    for (int32_t l = 0; l < WARP; l++) {
        struct lane *const lane = &lanes[warp_first + l];

        if (lane->state != WAITS_FOR_WARP ||
            lane->mask != lanes[warp_first].mask)
            shim_abort("a warp that is apart where it must be together");
        value[l] = lane->value;
    }
    for (int32_t l = 0; l < WARP; l++) {
        lanes[warp_first + l].value = value[l ^ lanes[warp_first].mask];
        lanes[warp_first + l].state = IS_READY;
    }
}

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
        go_on(take_stack());
    for (int32_t turn = 0; turn < WARP; turn++)
        if (lanes[lane_at(turn)].state == IS_READY)
            go_on(lanes[lane_at(turn)].stack);
}

/* The warp until all of it is done or waits for the block. */
static void run_warp(int32_t first)
{
    warp_first = first;
    n_begun = lanes[first].state == IS_NEW ? 0 : WARP;
    run_lanes();
    while (count(first, WARP, WAITS_FOR_WARP) > 0) {
        exchange();
        run_lanes();
    }
}

static void run_block(unsigned block, int32_t n_threads)
{
    blockIdx = dim3(block);
    for (int32_t l = 0; l < n_threads; l++)
        lanes[l].state = IS_NEW;
    for (;;) {
        for (int32_t w = 0; w < n_threads; w += WARP)
            run_warp(is_backward ? n_threads - WARP - w : w);
        const int32_t n_waiting = count(0, n_threads, WAITS_FOR_BLOCK);

        if (n_waiting == 0)
            return;
        if (n_waiting < n_threads)
            shim_abort("a block that is apart where it must be together");
        for (int32_t l = 0; l < n_threads; l++)
            lanes[l].state = IS_READY;
    }
}

static bool is_possible(const struct cudaLaunchConfig_t *config)
{
    return config->blockDim.x > 0 && config->blockDim.x <= MOST_LANES &&
           config->blockDim.x % WARP == 0 && config->blockDim.y == 1 &&
           config->blockDim.z == 1 && config->gridDim.x > 0 &&
           config->gridDim.x <= 0x7FFFFFFFu && config->gridDim.y == 1 &&
           config->gridDim.z == 1;
}

cudaError_t shim_launch(const struct cudaLaunchConfig_t *config,
    void (*body)(void *kernel), void *kernel)
{
    /* The stream counts the launch as a call and may make it fail. */
    const cudaError_t error = cudaStreamSynchronize(config->stream);

    if (error != cudaSuccess)
        return error;
    if (!is_possible(config))
        shim_abort("a launch of a size that is not possible");
    gridDim = config->gridDim;
    blockDim = config->blockDim;
    run_body = body;
    run_kernel = kernel;
    is_backward = (int32_t)(++n_launches * SCATTER >> 63);
    shim_enter();
    for (unsigned b = 0; b < gridDim.x; b++)
        run_block(is_backward ? gridDim.x - 1 - b : b, (int32_t)blockDim.x);
    shim_leave();
    return cudaSuccess;
}
