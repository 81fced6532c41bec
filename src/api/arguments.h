/* api/arguments.h -- argument checks of the public functions.
 *
 * Every public function that returns an etx_status reads the same: it enters
 * the default floating-point environment, checks its arguments with the
 * functions below, calls inside, and restores the caller's environment at
 * `done`. `function` is __func__ of the public function; messages begin with
 * it. Each check stands inside ETX_CHECK.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_API_ARGUMENTS_H
#define ETX_API_ARGUMENTS_H

#include <exatrkx/graph.h>

#include <stdalign.h>

/* sizeof(etx_label_options) in its first release; see base/options.h. */
#define ETX_LABEL_FIRST_SIZE ETX_SIZE_UP_TO(etx_label_options, min_hits)

/* A pointer argument and its name, for etx_check_given. */
#define ETX_GIVEN(argument) #argument, (const void *)(argument)
/* An array argument, its name, length and alignment, for etx_check_array. */
#define ETX_ARRAY(array, count, type) #array, array, count, alignof(type)

/* Objects and outputs that must not be NULL: a list of ETX_GIVEN(argument) that
 * ends with NULL. */
etx_status etx_check_given(const char *function, const char *name,
    const void *pointer, ...) __attribute__((sentinel));

/* A number of rows in 0 .. 2^31 - 1: ETX_ERR_ARGUMENT when negative,
 * ETX_ERR_LIMIT above. */
etx_status etx_check_count(
    const char *function, const char *name, int64_t count);

/* An array of count elements: not NULL unless count is 0, and aligned to
 * alignment bytes. */
etx_status etx_check_array(const char *function, const char *name,
    const void *array, int64_t count, size_t alignment);

/* values [n_rows, n_columns]: as etx_check_array, and finite. */
etx_status etx_check_finite(const char *function, const char *name,
    const float *values, int64_t n_rows, int64_t n_columns);

/* An integer argument or option, and its bounds. */
struct etx_range {
    const char *name;
    int64_t value, low, high;
};

/* Every value is in low..high; range [n]. */
etx_status etx_check_ranges(
    const char *function, const struct etx_range *range, size_t n);

/* The event has one hit for each of n_nodes nodes of the graph. */
etx_status etx_check_hits(
    const char *function, int64_t n_nodes, const etx_event *event);

/* Bounds of n_parts, part and a partition's order (ETX_PARTITION_). */
etx_status etx_check_part(
    const char *function, int32_t n_parts, int32_t part, int32_t order);

/* Copy the caller's exchange to out, as its struct_size says, and check it. */
etx_status etx_read_exchange(etx_part_exchange *out, const char *function,
    const etx_part_exchange *exchange);

#endif
