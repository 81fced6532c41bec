/* checkop/cases_chains.c -- cases of the operators that join edges to chains,
 * and of those that take edges in both directions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "memory/memory.h"
#include "op/ref/ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *make_scores(int64_t n)
{
    float *score = checkop_uniform(n, 0.0f, 1.0f);

    for (int64_t e = 0; e < n; e++)
        if (e % 2)
            score[e] = roundf(score[e] * 8.0f) / 8.0f; /* ties */
    return score;
}

/* ------------------------------------------------------- outward_edges -- */

/* What lies after the last edge may be anything. */
static etx_status run_outward(const struct etx_op_table *ops,
    struct etx_stream *stream, struct checkop_case *self)
{
    const struct etx_outward_edges_args *args = self->args;
    const etx_status status = ops->outward_edges(stream, args);

    checkop_must(etx_memory_synchronize(stream->memory));
    const size_t rest = (size_t)(args->n_edges - *args->n);

    memset(args->tail + *args->n, 0, rest * sizeof *args->tail);
    memset(args->head + *args->n, 0, rest * sizeof *args->head);
    memset(args->score + *args->n, 0, rest * sizeof *args->score);
    return status;
}

void checkop_outward_edges(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_outward_edges_args *args =
        checkop_begin(out, "outward_edges", sizeof *args);
    float *key = checkop_uniform(n_nodes, 0.0f, 8.0f);

    for (int64_t i = 0; i < n_nodes; i += 2)
        key[i] = roundf(key[i]); /* ties */
    *args = (struct etx_outward_edges_args){.n_edges = n_edges,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = checkop_indices(n_edges, (int32_t)n_nodes),
        .edge_score = make_scores(n_edges),
        .cut = 0.375f,
        .key = key,
        .tail = checkop_buffer(n_edges, sizeof(int32_t)),
        .head = checkop_buffer(n_edges, sizeof(int32_t)),
        .score = checkop_buffer(n_edges, sizeof(float)),
        .n = checkop_buffer(1, sizeof(int64_t))};
    out->run = run_outward;
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->n, 1);
    CHECKOP_OUTPUT(out, args->tail, n_edges);
    CHECKOP_OUTPUT(out, args->head, n_edges);
    CHECKOP_OUTPUT(out, args->score, n_edges);
}

/* ----------------------------------------------------------- best_first -- */

/* Edges from a smaller node to one a few nodes on, as between layers; nodes
 * lie near a line, so that the kink of links decides. */
void checkop_best_first(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_best_first_args *args =
        checkop_begin(out, "best_first", sizeof *args);
    int32_t *tail = checkop_indices(n_edges, (int32_t)n_nodes);
    int32_t *head = checkop_buffer(n_edges, sizeof *head);
    float *position = checkop_uniform(3 * n_nodes, -20.0f, 20.0f);
    int64_t *n = checkop_buffer(1, sizeof *n);

    *n = n_edges - n_edges / 8; /* fewer than there may be */
    for (int64_t e = 0; e < n_edges; e++) {
        tail[e] = (int32_t)((int64_t)tail[e] * (n_nodes - 1) / n_nodes);
        head[e] =
            tail[e] + 1 +
            (int32_t)etx_random_below(&check.random,
                (uint32_t)(n_nodes - 1 - tail[e] < 12 ? n_nodes - 1 - tail[e]
                                                      : 12));
    }
    for (int64_t i = 0; i < n_nodes; i++)
        position[3 * i] += 10.0f * (float)i;
    *args = (struct etx_best_first_args){.n_nodes = n_nodes,
        .max_edges = n_edges,
        .n_edges = n,
        .tail = tail,
        .head = head,
        .score = make_scores(n_edges),
        .position = position,
        .sure_cut = 0.875f,
        .strong_cut = 0.625f,
        .max_curvature_change = 20.0f,
        .max_polar_change = 0.9f,
        .support_hits = 2,
        .group = checkop_buffer(n_nodes, sizeof(int32_t))};
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->group, n_nodes);
}

/* --------------------------------------------------------- both directions */

static int by_value(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

    return (one > two) - (one < two);
}

/* Random edges, some of them more than once, with their index. */
static struct etx_graph_index_args make_edges(int64_t n_nodes, int64_t n_edges)
{
    int64_t *key = checkop_buffer(n_edges, sizeof *key);
    int32_t *src = checkop_indices(n_edges, (int32_t)n_nodes);
    int32_t *dst = checkop_indices(n_edges, (int32_t)n_nodes);
    const struct etx_graph_index_args index = {.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = src,
        .dst = dst,
        .in_offset = checkop_buffer(n_nodes + 1, sizeof(int64_t)),
        .out_offset = checkop_buffer(n_nodes + 1, sizeof(int64_t)),
        .out_edge = checkop_buffer(n_edges, sizeof(int32_t))};

    for (int64_t e = 0; e < n_edges; e++)
        key[e] = e % 7 == 6 ? key[e - 1] : dst[e] * n_nodes + src[e];
    qsort(key, (size_t)n_edges, sizeof *key, by_value);
    for (int64_t e = 0; e < n_edges; e++) {
        src[e] = (int32_t)(key[e] % n_nodes);
        dst[e] = (int32_t)(key[e] / n_nodes);
    }
    checkop_must(etx_ref_graph_index(&check.stream[0], &index));
    return index;
}

void checkop_double_edges(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_double_edges_args *args =
        checkop_begin(out, "double_edges", sizeof *args);
    const struct etx_graph_index_args index = make_edges(n_nodes, n_edges);

    *args = (struct etx_double_edges_args){.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = index.src,
        .dst = index.dst,
        .in_offset = index.in_offset,
        .out_offset = index.out_offset,
        .out_edge = index.out_edge,
        .both_src = checkop_buffer(2 * n_edges, sizeof(int32_t)),
        .both_dst = checkop_buffer(2 * n_edges, sizeof(int32_t)),
        .slot = checkop_buffer(2 * n_edges, sizeof(int32_t))};
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->both_src, 2 * n_edges);
    CHECKOP_OUTPUT(out, args->both_dst, 2 * n_edges);
    CHECKOP_OUTPUT(out, args->slot, 2 * n_edges);
}

/* -------------------------------------------------------------- degrees -- */

void checkop_degrees(struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_degrees_args *args = checkop_begin(out, "degrees", sizeof *args);
    const struct etx_graph_index_args index = make_edges(n_nodes, n_edges);

    *args = (struct etx_degrees_args){.n_nodes = n_nodes,
        .in_offset = index.in_offset,
        .out_offset = index.out_offset,
        .degree = checkop_floats(n_nodes)};
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->degree, n_nodes);
}

void checkop_degree_weights(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_degree_weights_args *args =
        checkop_begin(out, "degree_weights", sizeof *args);
    float *degree = checkop_uniform(n_nodes, 1.0f, 40.0f);

    for (int64_t i = 0; i < n_nodes; i++)
        degree[i] = floorf(degree[i]);
    *args = (struct etx_degree_weights_args){.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = checkop_indices(n_edges, (int32_t)n_nodes),
        .degree = degree,
        .edge_weight = checkop_floats(n_edges),
        .loop_weight = checkop_floats(n_nodes),
        .loop_offset = checkop_buffer(n_nodes + 1, sizeof(int64_t))};
    checkop_label(out, "nodes=%d edges=%d", (int)n_nodes, (int)n_edges);
    CHECKOP_OUTPUT(out, args->edge_weight, n_edges);
    CHECKOP_OUTPUT(out, args->loop_weight, n_nodes);
    CHECKOP_OUTPUT(out, args->loop_offset, n_nodes + 1);
}
