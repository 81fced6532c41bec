/* api/arguments.c -- begin, argument checks and end of the public functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/arguments.h"

#include "backend/backend.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/float_environment.h"
#include "base/heap.h"
#include "base/options.h"
#include "base/status.h"
#include "data/event.h"
#include "data/graph.h"
#include "data/tracks.h"
#include "memory/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#define MAX_PARTS 65536

/* Pairs of a name and a pointer, up to a name that is NULL. */
static etx_status check_list(const char *function, va_list list)
{
    const char *name;

    while ((name = va_arg(list, const char *)) != NULL)
        if (va_arg(list, const void *) == NULL)
            return etx_fail(ETX_ERR_ARGUMENT, "%s: %s is NULL", function, name);
    return ETX_OK;
}

etx_status etx_check_given(const char *function, ...)
{
    etx_status status;
    va_list list;

    va_start(list, function);
    status = check_list(function, list);
    va_end(list);
    return status;
}

etx_status etx_call_begin(fenv_t *host, const char *function, ...)
{
    etx_status status;
    va_list list;

    etx_float_environment_enter(host);
    etx_cancel_begin();
    va_start(list, function);
    status = check_list(function, list);
    va_end(list);
    return status;
}

etx_status etx_call_end(const fenv_t *host, etx_status status)
{
    etx_float_environment_leave(host);
    return status;
}

struct etx_cancel etx_cancel_enter(const etx_context *context)
{
    const struct etx_cancel of_context = {
        context->options.cancel, context->options.cancel_user};
    const struct etx_cancel before = etx_cancel_replace(of_context);

    if (of_context.poll == NULL)
        (void)etx_cancel_replace(before);
    return before;
}

etx_status etx_call_settle(const etx_context *context, etx_status status)
{
    char message[ETX_MESSAGE_SIZE];

    if (status == ETX_OK || context == NULL || context->stream->memory == NULL)
        return status;
    memcpy(message, etx_last_error(), strlen(etx_last_error()) + 1);
    (void)etx_memory_synchronize(context->stream->memory);
    return etx_fail(status, "%s", message);
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

etx_status etx_check_on_device(const char *function, const char *name,
    const etx_context *context, const void *array, int64_t count, size_t size,
    void *stream)
{
    const struct etx_memory *memory = context->stream->memory;
    etx_status status;

    if (memory == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the context is on the CPU: it has no device for %s", function,
            name);
    ETX_CHECK(etx_check_array(function, name, array, count, size));
    if (count > 0)
        ETX_CHECK(memory->accept(memory, array, stream, name));
done:
    return status;
}

etx_status etx_copy_from_device(void *out, const char *function,
    const char *name, const etx_context *context, const void *array,
    int64_t count, size_t size, void *stream)
{
    const struct etx_memory *memory = context->stream->memory;
    void *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_check_on_device(
        function, name, context, array, count, size, stream));
    ETX_CHECK(etx_alloc_uncleared(&copy, count, size, name));
    ETX_CHECK(etx_memory_to_host(memory, copy, array, count, size));
    memcpy(out, &copy, sizeof copy);
    copy = NULL;
done:
    etx_free(copy);
    return status;
}

etx_status etx_check_ranges(
    const char *function, const struct etx_range *range, size_t n)
{
    for (; n > 0; range++, n--) {
        if (range->value >= range->low && range->value <= range->high)
            continue;
        if (range->high >= INT32_MAX && range->value < range->low)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: %s %" PRId64 " is below %" PRId64, function, range->name,
                range->value, range->low);
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: %s %" PRId64 " is not in %" PRId64 "..%" PRId64, function,
            range->name, range->value, range->low, range->high);
    }
    return ETX_OK;
}

etx_status etx_check_events(
    const char *function, const etx_event *const *events, int64_t n_events)
{
    etx_status status = ETX_OK;

    if (n_events < 1)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: n_events %" PRId64 " is not at least 1", function, n_events);
    ETX_CHECK(
        etx_check_array(function, ETX_ARRAY(events, n_events, etx_event *)));
    for (int64_t e = 0; e < n_events; e++)
        if (events[e] == NULL)
            return etx_fail(
                ETX_ERR_ARGUMENT, "%s: event %" PRId64 " is NULL", function, e);
done:
    return status;
}

etx_status etx_check_learned(const char *function, const void *table,
    const char *what, const char *learn)
{
    if (table == NULL)
        return etx_fail(ETX_ERR_ARGUMENT, "%s: the model has no %s: see %s",
            function, what, learn);
    return ETX_OK;
}

etx_status etx_check_modules(const char *function, const etx_event *event)
{
    if (event->layer_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the event has no modules: see etx_event_set_modules",
            function);
    return ETX_OK;
}

etx_status etx_check_hits(
    const char *function, int64_t n_nodes, const etx_event *event)
{
    if (n_nodes != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the graph has %" PRId64 " nodes and the event %" PRId64
            " hits",
            function, n_nodes, event->n_hits);
    return ETX_OK;
}

etx_status etx_check_tracks(
    const char *function, const etx_tracks *tracks, const etx_event *event)
{
    if (tracks->n_hits != event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the tracks are of %" PRId64 " hits and the event has %" PRId64,
            function, tracks->n_hits, event->n_hits);
    return ETX_OK;
}

etx_status etx_check_scored(const char *function, const etx_graph *graph)
{
    const struct etx_graph *arrays =
        graph->src == NULL && graph->mirror != NULL ? graph->mirror : graph;

    if (arrays->score == NULL && graph->n_edges > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: the graph is not scored: its %" PRId64 " edges have no scores",
            function, graph->n_edges);
    return ETX_OK;
}

etx_status etx_check_part(
    const char *function, int32_t n_parts, int32_t part, int32_t order)
{
    const struct etx_range ranges[] = {
        {"n_parts", n_parts, 1, MAX_PARTS},
        {"part", part, 0, (int64_t)n_parts - 1},
        {"order", order, ETX_PARTITION_PHI, ETX_PARTITION_KD},
    };

    return etx_check_ranges(function, ranges, sizeof ranges / sizeof *ranges);
}

etx_status etx_read_exchange(etx_part_exchange *out, const char *function,
    const etx_part_exchange *exchange)
{
    etx_status status;

    *out = (etx_part_exchange){.struct_size = sizeof *out};
    ETX_CHECK(etx_check_given(function, ETX_GIVEN(exchange), ETX_END));
    ETX_CHECK(
        etx_options_copy(out, sizeof *out, exchange, exchange->struct_size,
            ETX_SIZE_UP_TO(etx_part_exchange, user), "exchange of parts"));
    if (out->reserved != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: exchange->reserved is %d and must be 0", function,
            (int)out->reserved);
    if (out->swap == NULL)
        return etx_fail(
            ETX_ERR_ARGUMENT, "%s: exchange->swap is NULL", function);
done:
    return status;
}
