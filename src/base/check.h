/* base/check.h -- leave a function when a call fails; arrays of one type.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_CHECK_H
#define ETX_BASE_CHECK_H

/* Evaluate call into the local `status`; on failure go to the local `done`. */
#define ETX_CHECK(call)                                                        \
    do {                                                                       \
        status = (call);                                                       \
        if (status != ETX_OK)                                                  \
            goto done;                                                         \
    } while (0)

/* Fail here: the arguments of etx_fail, whose status is that of the function.
 */
#define ETX_FAIL(...)                                                          \
    do {                                                                       \
        status = etx_fail(__VA_ARGS__);                                        \
        goto done;                                                             \
    } while (0)

/* pointer = n cleared elements of the heap (base/heap.h), n elements of scratch
 * (memory/arena.h) or of a memory space (memory/memory.h), not cleared; what
 * names them in the message. The size is that of an element: it cannot differ
 * from the type of the pointer. */
#define ETX_NEW(pointer, n, what)                                              \
    ETX_CHECK(etx_alloc(&(pointer), n, sizeof *(pointer), what))
#define ETX_SCRATCH(pointer, arena, n, what)                                   \
    ETX_CHECK(etx_arena_alloc(&(pointer), arena, n, sizeof *(pointer), what))
#define ETX_ALLOC(pointer, memory, n, what)                                    \
    ETX_CHECK(etx_memory_alloc(&(pointer), memory, n, sizeof *(pointer), what))

#endif
