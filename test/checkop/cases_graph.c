/* checkop/cases_graph.c -- cases of the operators that make and cut graphs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "memory/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From where the operator made it to the host. */
static void copy_out(
    const struct etx_stream *stream, void *to, const void *from, size_t bytes)
{
    checkop_must(
        etx_memory_to_host(stream->memory, to, from, (int64_t)bytes, 1));
}

/* What lies after the selection may be anything: clear it, once it is there.
 */
static void clear_rest(const struct etx_stream *stream, int32_t *selected,
    int64_t n_selected, int64_t n_edges)
{
    checkop_must(etx_memory_synchronize(stream->memory));
    if (n_selected >= 0 && n_selected < n_edges)
        memset(selected + n_selected, 0,
            (size_t)(n_edges - n_selected) * sizeof *selected);
}

static etx_status run_select(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const struct etx_edge_select_args *args = self->args;
    const etx_status status = ops->edge_select(stream, args);

    clear_rest(stream, args->selected, *args->n_selected, args->n_edges);
    return status;
}

static etx_status run_best(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const struct etx_mutual_best_args *args = self->args;
    const etx_status status = ops->mutual_best(stream, args);

    clear_rest(stream, args->selected, *args->n_selected, args->n_edges);
    return status;
}

void checkop_take_edges(struct checkop_edges *edges,
    const struct etx_stream *stream, const struct etx_edge_list *list)
{
    edges->n_edges = list->n_edges;
    if (list->n_edges > 0 && list->n_edges <= edges->capacity) {
        const size_t bytes = (size_t)list->n_edges * sizeof *list->src;

        copy_out(stream, edges->src, list->src, bytes);
        copy_out(stream, edges->dst, list->dst, bytes);
    }
    etx_memory_free(stream->memory, list->src);
    etx_memory_free(stream->memory, list->dst);
}

struct checkop_edges *checkop_edge_outputs(
    struct checkop_case *out, int64_t capacity)
{
    struct checkop_edges *edges = checkop_buffer(1, sizeof *edges);

    edges->capacity = capacity;
    edges->src = checkop_buffer(capacity, sizeof *edges->src);
    edges->dst = checkop_buffer(capacity, sizeof *edges->dst);
    out->more = edges;
    checkop_add_output(
        out, "n_edges", &edges->n_edges, 1, sizeof edges->n_edges);
    CHECKOP_OUTPUT(out, edges->src, capacity);
    CHECKOP_OUTPUT(out, edges->dst, capacity);
    return edges;
}

static etx_status run_radius(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    struct etx_radius_graph_args args =
        *(const struct etx_radius_graph_args *)self->args;
    struct etx_edge_list list = {-1, NULL, NULL};

    args.out = &list;
    const etx_status status = ops->radius_graph(stream, &args);
    checkop_take_edges(self->more, stream, &list);
    return status;
}

/* Points around centres, so that degrees vary. */
static float *make_points(int64_t n_points, int32_t n_dim)
{
    const int64_t n_centres = n_points / 10 + 1;
    float *centre = checkop_floats(n_centres * n_dim);
    float *point = checkop_floats(n_points * n_dim);

    for (int64_t i = 0; i < n_points; i++)
        for (int32_t k = 0; k < n_dim; k++)
            point[i * n_dim + k] = 0.1f * point[i * n_dim + k] +
                                   centre[(i % n_centres) * n_dim + k];
    return point;
}

void checkop_radius_graph(struct checkop_case *out, int64_t n_points,
    int32_t n_dim, float radius, int32_t max_neighbours, int32_t both,
    int32_t with_key)
{
    struct etx_radius_graph_args *args =
        checkop_begin(out, "radius_graph", sizeof *args);
    const int64_t all = n_points * (n_points - 1);
    const struct checkop_edges *const edges =
        checkop_edge_outputs(out, n_points > 3000 ? 100 * n_points : all);

    *args = (struct etx_radius_graph_args){.n_points = n_points,
        .n_dim = n_dim,
        .max_neighbours = max_neighbours,
        .both = both,
        .radius = radius,
        .point = make_points(n_points, n_dim),
        .key = with_key ? checkop_floats(n_points) : NULL,
        .max_edges = edges->capacity};
    out->run = run_radius;
    checkop_label(out, "points=%d dim=%d radius=%.3g k=%d both=%d key=%d",
        (int)n_points, (int)n_dim, (double)radius, (int)max_neighbours,
        (int)both, (int)with_key);
}

/* The graph comes in memory of its own: copy it, then release it. */
static etx_status run_line(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    struct etx_line_graph_args args =
        *(const struct etx_line_graph_args *)self->args;
    struct checkop_line *line = self->more;
    const size_t offsets = (size_t)(args.n_doublets + 1) * sizeof(int64_t);
    struct etx_line_graph graph = {.n_edges = -1};

    args.out = &graph;
    const etx_status status = ops->line_graph(stream, &args);
    line->graph.n_edges = graph.n_edges;
    if (status == ETX_OK && graph.n_edges <= line->capacity) {
        const size_t bytes = (size_t)graph.n_edges * sizeof *graph.src;
        copy_out(stream, line->graph.src, graph.src, bytes);
        copy_out(stream, line->graph.dst, graph.dst, bytes);
        copy_out(stream, line->graph.out_edge, graph.out_edge, bytes);
        copy_out(stream, line->graph.in_offset, graph.in_offset, offsets);
        copy_out(stream, line->graph.out_offset, graph.out_offset, offsets);
    }
    etx_memory_free(stream->memory, graph.src);
    etx_memory_free(stream->memory, graph.dst);
    etx_memory_free(stream->memory, graph.out_edge);
    etx_memory_free(stream->memory, graph.in_offset);
    etx_memory_free(stream->memory, graph.out_offset);
    return status;
}

static int by_value(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

    return (one > two) - (one < two);
}

/* Random doublets of args, sorted and reachable from both ends. */
static void make_doublets(struct etx_line_graph_args *args)
{
    const int64_t n = args->n_doublets;
    int64_t *key = checkop_buffer(n, sizeof *key);
    int64_t *in = checkop_buffer(args->n_nodes + 1, sizeof *in);
    int64_t *out = checkop_buffer(args->n_nodes + 1, sizeof *out);
    int32_t *src = checkop_indices(n, (int32_t)args->n_nodes);
    int32_t *dst = checkop_indices(n, (int32_t)args->n_nodes);
    int32_t *doublet = checkop_buffer(n, sizeof *doublet);

    for (int64_t e = 0; e < n; e++)
        key[e] = dst[e] * args->n_nodes + src[e];
    qsort(key, (size_t)n, sizeof *key, by_value);
    for (int64_t e = 0; e < n; e++) {
        src[e] = (int32_t)(key[e] % args->n_nodes);
        dst[e] = (int32_t)(key[e] / args->n_nodes);
        in[dst[e] + 1]++;
        out[src[e] + 1]++;
        key[e] = src[e] * n + e;
    }
    for (int64_t i = 0; i < args->n_nodes; i++) {
        in[i + 1] += in[i];
        out[i + 1] += out[i];
    }
    qsort(key, (size_t)n, sizeof *key, by_value);
    for (int64_t e = 0; e < n; e++)
        doublet[e] = (int32_t)(key[e] % n);
    args->src = src;
    args->dst = dst;
    args->in_offset = in;
    args->out_offset = out;
    args->out_doublet = doublet;
}

void checkop_line_graph(
    struct checkop_case *out, int64_t n_nodes, int64_t n_doublets)
{
    struct etx_line_graph_args *args =
        checkop_begin(out, "line_graph", sizeof *args);
    struct checkop_line *line = checkop_buffer(1, sizeof *line);
    struct etx_line_graph *graph = &line->graph;

    *args = (struct etx_line_graph_args){
        .n_nodes = n_nodes, .n_doublets = n_doublets, .max_edges = INT32_MAX};
    make_doublets(args);
    for (int64_t b = 0; b < n_doublets; b++)
        line->capacity +=
            args->in_offset[args->src[b] + 1] - args->in_offset[args->src[b]];
    graph->src = checkop_buffer(line->capacity, sizeof *graph->src);
    graph->dst = checkop_buffer(line->capacity, sizeof *graph->dst);
    graph->out_edge = checkop_buffer(line->capacity, sizeof *graph->out_edge);
    graph->in_offset = checkop_buffer(n_doublets + 1, sizeof *graph->in_offset);
    graph->out_offset =
        checkop_buffer(n_doublets + 1, sizeof *graph->out_offset);
    out->run = run_line;
    out->more = line;
    checkop_label(out, "nodes=%d doublets=%d edges=%d", (int)n_nodes,
        (int)n_doublets, (int)line->capacity);
    checkop_add_output(
        out, "n_edges", &graph->n_edges, 1, sizeof graph->n_edges);
    CHECKOP_OUTPUT(out, graph->src, line->capacity);
    CHECKOP_OUTPUT(out, graph->dst, line->capacity);
    CHECKOP_OUTPUT(out, graph->out_edge, line->capacity);
    CHECKOP_OUTPUT(out, graph->in_offset, n_doublets + 1);
    CHECKOP_OUTPUT(out, graph->out_offset, n_doublets + 1);
}

/* Scores with many equal ones, to try ties. */
static float *make_scores(int64_t n_edges)
{
    float *score = checkop_uniform(n_edges, 0.0f, 1.0f);

    for (int64_t e = 0; e < n_edges; e++)
        if (e % 2)
            score[e] = roundf(score[e] * 8.0f) / 8.0f;
    return score;
}

void checkop_connected_components(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges, int32_t scored)
{
    struct etx_connected_components_args *args =
        checkop_begin(out, "connected_components", sizeof *args);

    *args = (struct etx_connected_components_args){.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = checkop_indices(n_edges, (int32_t)n_nodes),
        .score = scored ? make_scores(n_edges) : NULL,
        .cut = 0.5f,
        .label = checkop_buffer(n_nodes, sizeof(int32_t))};
    checkop_label(out, "nodes=%d edges=%d scored=%d", (int)n_nodes,
        (int)n_edges, (int)scored);
    CHECKOP_OUTPUT(out, args->label, n_nodes);
}

void checkop_edge_select(struct checkop_case *out, int64_t n_edges)
{
    struct etx_edge_select_args *args =
        checkop_begin(out, "edge_select", sizeof *args);

    *args = (struct etx_edge_select_args){.n_edges = n_edges,
        .score = make_scores(n_edges),
        .cut = 0.5f,
        .selected = checkop_buffer(n_edges, sizeof(int32_t)),
        .n_selected = checkop_buffer(1, sizeof(int64_t))};
    out->run = run_select;
    checkop_label(out, "edges=%d", (int)n_edges);
    CHECKOP_OUTPUT(out, args->selected, n_edges);
    CHECKOP_OUTPUT(out, args->n_selected, 1);
}

void checkop_mutual_best(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_mutual_best_args *args =
        checkop_begin(out, "mutual_best", sizeof *args);

    *args = (struct etx_mutual_best_args){.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = checkop_indices(n_edges, (int32_t)n_nodes),
        .score = make_scores(n_edges),
        .cut = 0.25f,
        .selected = checkop_buffer(n_edges, sizeof(int32_t)),
        .n_selected = checkop_buffer(1, sizeof(int64_t))};
    out->run = run_best;
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->selected, n_edges);
    CHECKOP_OUTPUT(out, args->n_selected, 1);
}
