/* api/arguments.c -- what the public functions check first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"

#include "base/check.h"
#include "base/finite.h"
#include "base/options.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdalign.h>
#include <stddef.h>

#define MAX_PARTS 65536

etx_status etx_check_given(
    const char *function, const char *name, const void *pointer)
{
    if (pointer == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is NULL", function, name);
    return ETX_OK;
}

etx_status etx_check_count(
    const char *function, const char *name, int64_t count)
{
    if (count < 0)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s %" PRId64 " is negative",
            function, name, count);
    if (count > INT32_MAX)
        return etx_fail(ETX_ERR_LIMIT, "%s: %s %" PRId64 " is above %d",
            function, name, count, INT32_MAX);
    return ETX_OK;
}

etx_status etx_check_array(const char *function, const char *name,
    const void *array, int64_t count, size_t alignment)
{
    if (count == 0)
        return ETX_OK;
    if (array == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s is NULL and should have %" PRId64 " rows", function, name,
            count);
    if ((uintptr_t)array % alignment != 0)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is not aligned to %zu bytes",
            function, name, alignment);
    return ETX_OK;
}

etx_status etx_check_finite(const char *function, const char *name,
    const float *values, int64_t n_rows, int64_t n_columns)
{
    etx_status status = ETX_OK;
    int64_t bad = -1;

    ETX_CHECK(etx_check_array(function, name, values, n_rows, alignof(float)));
    bad = etx_find_not_finite(values, n_rows * n_columns);
    if (bad >= 0)
        status = etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s row %" PRId64 " column %" PRId64 " is not finite", function,
            name, bad / n_columns, bad % n_columns);
done:
    return status;
}

etx_status etx_check_part(
    const char *function, int32_t n_parts, int32_t part, int32_t order)
{
    if (n_parts < 1 || n_parts > MAX_PARTS)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: n_parts %d is not in 1..%d",
            function, (int)n_parts, MAX_PARTS);
    if (part < 0 || part >= n_parts)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: part %d is not in 0..%d",
            function, (int)part, (int)n_parts - 1);
    if (order != ETX_PARTITION_PHI && order != ETX_PARTITION_KD)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: order %d is not in 0..1",
            function, (int)order);
    return ETX_OK;
}

etx_status etx_read_exchange(etx_part_exchange *out, const char *function,
    const etx_part_exchange *exchange)
{
    etx_status status;

    *out = (etx_part_exchange){.struct_size = sizeof *out};
    ETX_CHECK(etx_check_given(function, "exchange", exchange));
    ETX_CHECK(
        etx_options_copy(out, sizeof *out, exchange, exchange->struct_size,
            ETX_SIZE_UP_TO(etx_part_exchange, user), "exchange of parts"));
    if (out->reserved != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: exchange->reserved is %d and must be 0", function,
            (int)out->reserved);
    ETX_CHECK(etx_check_given(
        function, "exchange->swap", out->swap == NULL ? NULL : exchange));
done:
    return status;
}
