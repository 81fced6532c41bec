/* api/arguments.h -- what the public functions check first.
 *
 * function and name stand in the messages. A function that checks several
 * arguments calls these inside ETX_CHECK.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_API_ARGUMENTS_H
#define ETX_API_ARGUMENTS_H

#include <exatrkx/graph.h>

/* Of the first release of etx_label_options; see base/options.h. */
#define ETX_LABEL_FIRST_SIZE ETX_SIZE_UP_TO(etx_label_options, min_hits)

/* An object or output that must be there. */
etx_status etx_check_given(
    const char *function, const char *name, const void *pointer);

/* A number of things in 0 .. 2^31 - 1: negative is ETX_ERR_ARGUMENT, more is
 * ETX_ERR_LIMIT. */
etx_status etx_check_count(
    const char *function, const char *name, int64_t count);

/* An array of count elements: there, unless count is 0, and aligned to
 * alignment bytes. */
etx_status etx_check_array(const char *function, const char *name,
    const void *array, int64_t count, size_t alignment);

/* values [n_rows, n_columns]: as etx_check_array, and finite. */
etx_status etx_check_finite(const char *function, const char *name,
    const float *values, int64_t n_rows, int64_t n_columns);

/* A part of so many, and a partition's order (ETX_PARTITION_). */
etx_status etx_check_part(
    const char *function, int32_t n_parts, int32_t part, int32_t order);

/* Copy a caller's exchange to out, its struct_size bytes of it, and check
 * it. */
etx_status etx_read_exchange(etx_part_exchange *out, const char *function,
    const etx_part_exchange *exchange);

#endif
