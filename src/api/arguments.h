/* api/arguments.h -- begin, argument checks and end of the public functions.
 *
 * Every public function that returns an etx_status reads the same:
 *
 *     ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
 *     further checks and the call inside, each in ETX_CHECK
 * done:
 *     free
 *     return etx_call_end(&host, status);
 *
 * `function` is __func__ of the public function; messages begin with it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_API_ARGUMENTS_H
#define ETX_API_ARGUMENTS_H

#include <exatrkx/graph.h>

#include "base/cancel.h"

#include <fenv.h>
#include <stdalign.h>

/* A pointer argument that must not be NULL, and its name. */
#define ETX_GIVEN(argument) #argument, (const void *)(argument)
/* The end of a list of them. */
#define ETX_END (const char *)0
/* An array argument, its name, length and alignment, for etx_check_array. */
#define ETX_ARRAY(array, count, type) #array, array, count, alignof(type)

/* Enter the default floating-point environment, *host gets the caller's, then
 * check objects and outputs: a list of ETX_GIVEN(argument) and ETX_END. */
etx_status etx_call_begin(fenv_t *host, const char *function, ...)
    __attribute__((sentinel));

/* Restore the caller's environment and return status. */
etx_status etx_call_end(const fenv_t *host, etx_status status);

/* The status of a call with this context. One that failed leaves nothing queued
 * on a device that reads or writes arrays of the caller. */
etx_status etx_call_settle(const etx_context *context, etx_status status);

/* A list as above, without the environment. */
etx_status etx_check_given(const char *function, ...) __attribute__((sentinel));

/* The body of a public function that checks objects and outputs, a list of
 * ETX_GIVEN(argument), and makes one call inside. */
#define ETX_FORWARD(call, ...)                                                 \
    etx_status status;                                                         \
    fenv_t host;                                                               \
                                                                               \
    status = etx_call_begin(&host, __func__, __VA_ARGS__, ETX_END);            \
    if (status == ETX_OK)                                                      \
        status = (call);                                                       \
    return etx_call_end(&host, status)

/* The same, for a call that may wait or read files: what polls cancel of the
 * thread polls that of the context meanwhile. */
#define ETX_FORWARD_IN(context, call, ...)                                     \
    struct etx_cancel cancel;                                                  \
    etx_status status;                                                         \
    fenv_t host;                                                               \
                                                                               \
    status = etx_call_begin(&host, __func__, __VA_ARGS__, ETX_END);            \
    if (status == ETX_OK) {                                                    \
        cancel = etx_cancel_enter(context);                                    \
        status = (call);                                                       \
        (void)etx_cancel_replace(cancel);                                      \
    }                                                                          \
    return etx_call_end(&host, status)

/* The callback of the context becomes that of the thread, where it has one;
 * returns the one before. */
struct etx_cancel etx_cancel_enter(const etx_context *context);

/* The getter of a field: type name(const object *), `none` of NULL. */
#define ETX_GETTER(type, name, object, field, none)                            \
    type name(const object *self)                                              \
    {                                                                          \
        return self == NULL ? (none) : self->field;                            \
    }

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

/* array [count], elements of size bytes and that alignment, in memory of the
 * device of context, written in the order of stream, after which work of the
 * context comes from now on. */
etx_status etx_check_on_device(const char *function, const char *name,
    const etx_context *context, const void *array, int64_t count, size_t size,
    void *stream);
/* The same: *out, for etx_free, is a copy on the host. */
etx_status etx_copy_from_device(void *out, const char *function,
    const char *name, const etx_context *context, const void *array,
    int64_t count, size_t size, void *stream);

/* An integer argument or option, and its bounds. */
struct etx_range {
    const char *name;
    int64_t value, low, high;
};

/* ETX_ERR_ARGUMENT unless every value is in low..high; range [n]. A high of
 * INT32_MAX or more is not named to a value below low. */
etx_status etx_check_ranges(
    const char *function, const struct etx_range *range, size_t n);

/* At least one event, and none of them NULL. */
etx_status etx_check_events(
    const char *function, const etx_event *const *events, int64_t n_events);

/* The table, which messages call `what`, that the function `learn` gives a
 * model. */
etx_status etx_check_learned(const char *function, const void *table,
    const char *what, const char *learn);

/* Hits of the event have modules. */
etx_status etx_check_modules(const char *function, const etx_event *event);

/* The event has one hit for each of n_nodes nodes of the graph. */
etx_status etx_check_hits(
    const char *function, int64_t n_nodes, const etx_event *event);

/* The tracks are of the hits of the event, by their number. */
etx_status etx_check_tracks(
    const char *function, const etx_tracks *tracks, const etx_event *event);

/* The graph has edges with scores, or no edges. */
etx_status etx_check_scored(const char *function, const etx_graph *graph);

/* Bounds of n_parts, part and a partition's order (ETX_PARTITION_). */
etx_status etx_check_part(
    const char *function, int32_t n_parts, int32_t part, int32_t order);

/* Copy the caller's exchange to out, as its struct_size says, and check it. */
etx_status etx_read_exchange(etx_part_exchange *out, const char *function,
    const etx_part_exchange *exchange);

#endif
