/* dist/fail.c -- errors of libexatrkx_dist, kept where etx_last_error finds
 * them. It sees the public headers of libexatrkx only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "dist/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

etx_status etx_dist_fail(etx_status status, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    etx_set_last_error(text);
    return status;
}

etx_status etx_dist_check_given(
    const char *function, const char *name, const void *pointer)
{
    if (pointer != NULL)
        return ETX_OK;
    return etx_dist_fail(ETX_ERR_ARGUMENT, "%s: %s is NULL", function, name);
}

etx_status etx_dist_alloc(
    void *out_pointer, int64_t count, size_t size, const char *what)
{
    void *memory = NULL;

    if (count >= 0 && (uint64_t)count <= SIZE_MAX / size)
        memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (memory == NULL)
        return etx_dist_fail(ETX_ERR_MEMORY,
            "no memory for %lld x %zu bytes of %s", (long long)count, size,
            what);
    memcpy(out_pointer, &memory, sizeof memory);
    return ETX_OK;
}
