/* base/options.c -- the struct_size rule of public structs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include "base/check.h"
#include "base/status.h"

#include <string.h>

/* No struct will ever be as large; a size beyond it was never initialised. */
#define MAX_BYTES 4096

static etx_status check_size(
    size_t struct_size, size_t first_size, const char *name)
{
    if (struct_size < first_size)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: struct_size %zu is below %zu: fill the struct with its _init "
            "or set it to the size of the struct",
            name, struct_size, first_size);
    if (struct_size > MAX_BYTES)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: struct_size %zu is above %d: fill the struct with its _init "
            "or set it to the size of the struct",
            name, struct_size, MAX_BYTES);
    return ETX_OK;
}

etx_status etx_options_init(void *options, size_t struct_size,
    const void *defaults, size_t known_size, size_t first_size,
    const char *name)
{
    etx_status status = ETX_OK;
    const size_t kept = struct_size < known_size ? struct_size : known_size;
    const uint32_t size = (uint32_t)struct_size;

    if (options == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: options is NULL", name);
    ETX_CHECK(check_size(struct_size, first_size, name));
    memset(options, 0, struct_size);
    memcpy(options, defaults, kept);
    memcpy(options, &size, sizeof size);
done:
    return status;
}

etx_status etx_options_copy(void *known, size_t known_size, const void *options,
    size_t struct_size, size_t first_size, const char *name)
{
    etx_status status = ETX_OK;
    const size_t kept = struct_size < known_size ? struct_size : known_size;
    const char *bytes = options;
    uint32_t size;

    ETX_CHECK(check_size(struct_size, first_size, name));
    for (size_t i = known_size; i < struct_size; i++)
        if (bytes[i] != 0)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: byte %zu of %zu is set, but this library knows only the "
                "first %zu: the caller needs a newer library",
                name, i, struct_size, known_size);
    memcpy(&size, known, sizeof size);
    memcpy(known, options, kept);
    memcpy(known, &size, sizeof size);
done:
    return status;
}

etx_status etx_report_check(
    const void *report, size_t first_size, const char *name)
{
    uint32_t size;

    memcpy(&size, report, sizeof size);
    return check_size(size, first_size, name);
}

void etx_report_write(void *report, const void *known, size_t known_size)
{
    uint32_t size;

    memcpy(&size, report, sizeof size);
    memcpy(report, known, size < known_size ? size : known_size);
    memcpy(report, &size, sizeof size);
}
