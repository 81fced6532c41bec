/* stage/track_building/track_building.c -- choose the method, number tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_building/track_building.h"

#include "base/check.h"
#include "base/status.h"

#define METHOD(constant, name, needs_positions)                                \
    [ETX_LABEL_##constant] = {needs_positions, etx_group_##name},
#define METHOD_NAME(constant, name, needs_positions)                           \
    [ETX_LABEL_##constant] = #name,

static const struct {
    int32_t needs_positions;
    etx_status (*group)(int32_t *group, struct etx_context *context,
        const struct etx_graph *graph, const float *position,
        const etx_label_options *options);
} methods[ETX_N_LABEL_METHODS] = {ETX_LABEL_METHODS(METHOD)};

const char *const etx_label_method_names[] = {
    ETX_LABEL_METHODS(METHOD_NAME) NULL};

int32_t etx_label_method_needs_positions(int32_t method)
{
    return methods[method].needs_positions;
}

/* Number the groups that are large enough in the order of their first nodes.
 * size, number [n_nodes] are scratch. */
static void label_groups(int32_t *label, const int32_t *group, int32_t *size,
    int32_t *number, int64_t n_nodes, int32_t min_hits)
{
    int32_t n_tracks = 0;

    for (int64_t i = 0; i < n_nodes; i++) {
        size[i] = 0;
        number[i] = -1;
    }
    for (int64_t i = 0; i < n_nodes; i++)
        size[group[i]]++;
    for (int64_t i = 0; i < n_nodes; i++) {
        const int32_t g = group[i];

        if (number[g] < 0 && size[g] >= min_hits)
            number[g] = n_tracks++;
        label[i] = number[g];
    }
}

/* group [n_nodes] on the host, wherever the graph is. */
static etx_status group_nodes(int32_t *group, struct etx_context *context,
    const struct etx_graph *graph, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n = graph->n_nodes;
    int32_t *device_group = group;
    etx_status status;

    if (graph->memory != NULL)
        ETX_CHECK(etx_arena_alloc(
            &device_group, arena, n, sizeof *group, "hit groups"));
    ETX_CHECK(methods[options->method].group(
        device_group, context, graph, position, options));
    if (graph->memory != NULL)
        ETX_CHECK(etx_memory_to_host(
            graph->memory, group, device_group, n, sizeof *group));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_build_tracks(int32_t *label, const struct etx_graph *graph,
    struct etx_context *context, const float *position,
    const etx_label_options *options)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int64_t n_nodes = graph->n_nodes;
    int32_t *group = NULL;
    int32_t *size = NULL;
    int32_t *number = NULL;
    etx_status status;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_SCRATCH(group, arena, n_nodes, "hit groups");
    ETX_CHECK(group_nodes(group, context, graph, position, options));
    ETX_SCRATCH(size, arena, n_nodes, "group sizes");
    ETX_SCRATCH(number, arena, n_nodes, "group numbers");
    label_groups(label, group, size, number, n_nodes, options->min_hits);
done:
    etx_arena_reset(arena, mark);
    return status;
}
