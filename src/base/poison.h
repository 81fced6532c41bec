/* base/poison.h -- tell AddressSanitizer which bytes nobody may touch.
 *
 * Nothing happens in a build without it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_BASE_POISON_H
#define ETX_BASE_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ETX_HAS_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ETX_HAS_ASAN 1
#endif

#if defined(ETX_HAS_ASAN)
#include <sanitizer/asan_interface.h>
static inline void etx_poison(const volatile void *memory, size_t size)
{
    __asan_poison_memory_region(memory, size);
}
static inline void etx_unpoison(const volatile void *memory, size_t size)
{
    __asan_unpoison_memory_region(memory, size);
}
#else
static inline void etx_poison(const volatile void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
static inline void etx_unpoison(const volatile void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
#endif

#endif
