/* checkop/cases_arrays.c -- cases of the small operators on whole arrays, and
 * of the index of a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void checkop_fill(struct checkop_case *out, int64_t n)
{
    struct etx_fill_args *args = checkop_begin(out, "fill", sizeof *args);

    *args =
        (struct etx_fill_args){.n = n, .value = -1.5f, .y = checkop_floats(n)};
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->y, n);
}

/* The mean is a sum of n_rows terms in float64, rounded with the result. */
static void columns_bounds(struct checkop_case *self)
{
    const struct etx_columns_args *args = self->args;
    struct checkop_output *y = &self->output[0];

    checkop_flat_bound(y, 0.0);
    for (int64_t i = 0; args->centre && i < args->n_rows; i++)
        for (int32_t k = 0; k < args->width; k++)
            y->bound[i * args->y_stride + k] =
                CHECKOP_EPS * fabs((double)args->y[i * args->y_stride + k]) +
                1e-12;
}

void checkop_columns(struct checkop_case *out, int64_t n_rows, int32_t width,
    enum checkop_columns how)
{
    struct etx_columns_args *args = checkop_begin(out, "columns", sizeof *args);

    *args = (struct etx_columns_args){.n_rows = n_rows,
        .width = width,
        .centre = how == CHECKOP_COLUMNS_CENTRE,
        .add = how == CHECKOP_COLUMNS_ADD,
        .x_stride = width + 3,
        .y_stride = width + 1};
    args->x = checkop_floats(n_rows * args->x_stride);
    args->y = checkop_floats(n_rows * args->y_stride);
    out->set_bounds = columns_bounds;
    checkop_label(out, "rows=%lld width=%d how=%d", (long long)n_rows,
        (int)width, (int)how);
    CHECKOP_OUTPUT(out, args->y, n_rows * args->y_stride);
}

void checkop_gather_edges(struct checkop_case *out, int64_t n)
{
    struct etx_gather_edges_args *args =
        checkop_begin(out, "gather_edges", sizeof *args);
    const int32_t n_source = (int32_t)(n / 2 + 1);

    *args = (struct etx_gather_edges_args){.n = n,
        .index = checkop_indices(n, n_source),
        .src = checkop_permutation(n_source),
        .src_out = checkop_indices(n, n_source)};
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->src_out, n);
    if (n % 2 == 0)
        return;
    args->dst = checkop_permutation(n_source);
    args->dst_out = checkop_indices(n, n_source);
    args->score = checkop_floats(n_source);
    args->score_out = checkop_floats(n);
    CHECKOP_OUTPUT(out, args->dst_out, n);
    CHECKOP_OUTPUT(out, args->score_out, n);
}

void checkop_read_edge_index(
    struct checkop_case *out, int64_t n, int32_t n_wrong)
{
    enum { N_NODES = 1000 };
    struct etx_read_edge_index_args *args =
        checkop_begin(out, "read_edge_index", sizeof *args);
    const int64_t wrong[] = {-1, N_NODES, INT64_MAX, INT64_C(1) << 32};
    int64_t *const index = checkop_buffer(2 * n, sizeof *index);
    float *const score = checkop_uniform(n, 0.0f, 1.0f);

    for (int64_t k = 0; k < 2 * n; k++)
        index[k] = (int64_t)etx_random_below(&check.random, N_NODES);
    for (int32_t w = 0; w < n_wrong && n > 0; w++)
        index[etx_random_below(&check.random, 2 * (uint64_t)n)] = wrong[w % 4];
    if (n_wrong > 1 && n > 0)
        score[etx_random_below(&check.random, (uint64_t)n)] =
            n_wrong % 2 == 0 ? NAN : 1.5f;
    *args = (struct etx_read_edge_index_args){.n_nodes = N_NODES,
        .n_edges = n,
        .index = index,
        .score = n_wrong == 1 ? NULL : score,
        .src = checkop_indices(n, 1),
        .dst = checkop_indices(n, 1),
        .bad = checkop_buffer(1, sizeof(int64_t))};
    checkop_label(out, "n=%lld wrong=%d", (long long)n, (int)n_wrong);
    CHECKOP_OUTPUT(out, args->src, n);
    CHECKOP_OUTPUT(out, args->dst, n);
    CHECKOP_OUTPUT(out, args->bad, 1);
}

void checkop_write_edge_index(struct checkop_case *out, int64_t n)
{
    struct etx_write_edge_index_args *args =
        checkop_begin(out, "write_edge_index", sizeof *args);
    const int32_t n_source = n % 2 == 0 ? (int32_t)n : (int32_t)(2 * n + 1);

    *args = (struct etx_write_edge_index_args){.n = n,
        .selected = n % 2 == 0 ? NULL : checkop_indices(n, n_source),
        .src = checkop_permutation(n_source),
        .dst = checkop_permutation(n_source),
        .score = n % 4 == 0 ? NULL : checkop_floats(n_source),
        .index = checkop_buffer(2 * n, sizeof(int64_t)),
        .score_out = checkop_floats(n)};
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->index, 2 * n);
    CHECKOP_OUTPUT(out, args->score_out, n);
}

void checkop_find_not_finite(
    struct checkop_case *out, int64_t n, int32_t n_wrong)
{
    static const float wrong[] = {INFINITY, -INFINITY, NAN};
    struct etx_find_not_finite_args *args =
        checkop_begin(out, "find_not_finite", sizeof *args);
    float *x = checkop_floats(n);

    for (int32_t w = 0; w < n_wrong && n > 0; w++)
        x[etx_random_below(&check.random, (uint64_t)n)] = wrong[w % 3];
    *args = (struct etx_find_not_finite_args){
        .n = n, .x = x, .index = checkop_buffer(1, sizeof(int64_t))};
    checkop_label(out, "n=%lld wrong=%d", (long long)n, (int)n_wrong);
    CHECKOP_OUTPUT(out, args->index, 1);
}

void checkop_outward_key(struct checkop_case *out, int64_t n)
{
    struct etx_outward_key_args *args =
        checkop_begin(out, "outward_key", sizeof *args);

    *args = (struct etx_outward_key_args){
        .n = n, .position = checkop_floats(3 * n), .key = checkop_floats(n)};
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->key, n);
}

void checkop_scale(struct checkop_case *out, int64_t n)
{
    struct etx_scale_args *args = checkop_begin(out, "scale", sizeof *args);

    *args = (struct etx_scale_args){
        .n = n, .factor = -0.3f, .y = checkop_floats(n)};
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->y, n);
}

/* A sum of float64, all of one sign. */
static void squares_bounds(struct checkop_case *self)
{
    const struct etx_sum_squares_args *args = self->args;

    checkop_flat_bound(&self->output[0], 0.0);
    self->output[0].bound[0] = (double)args->n * DBL_EPSILON * *args->sum;
}

void checkop_sum_squares(struct checkop_case *out, int64_t n)
{
    struct etx_sum_squares_args *args =
        checkop_begin(out, "sum_squares", sizeof *args);

    *args = (struct etx_sum_squares_args){.n = n,
        .x = checkop_floats(n),
        .sum = checkop_buffer(1, sizeof(double))};
    out->set_bounds = squares_bounds;
    checkop_label(out, "n=%lld", (long long)n);
    CHECKOP_OUTPUT(out, args->sum, 1);
}

void checkop_narrow(struct checkop_case *out, int64_t n, int32_t format)
{
    struct etx_narrow_args *args = checkop_begin(out, "narrow", sizeof *args);

    *args = (struct etx_narrow_args){.n = n,
        .format = format,
        .x = checkop_floats(n),
        .y = checkop_buffer(n, sizeof(uint16_t))};
    checkop_label(out, "n=%lld format=%d", (long long)n, (int)format);
    CHECKOP_OUTPUT(out, args->y, n);
}

/* All bits, but of values that are not numbers. */
void checkop_widen(struct checkop_case *out, int64_t n, int32_t format)
{
    const uint32_t exponent = format == ETX_HALF_BFLOAT16 ? 0x7f80u : 0x7c00u;
    struct etx_widen_args *args = checkop_begin(out, "widen", sizeof *args);
    uint16_t *x = checkop_buffer(n, sizeof *x);

    for (int64_t i = 0; i < n; i++) {
        x[i] = (uint16_t)etx_random_below(&check.random, 65536);
        if ((x[i] & exponent) == exponent)
            x[i] = (uint16_t)(x[i] & (0x8000u | exponent)); /* infinite */
    }
    *args = (struct etx_widen_args){.n = n,
        .format = format,
        .x = x,
        .y = checkop_buffer(n, sizeof(float))};
    checkop_label(out, "n=%lld format=%d", (long long)n, (int)format);
    CHECKOP_OUTPUT(out, args->y, n);
}

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

void checkop_graph_index(
    struct checkop_case *out, int64_t n_nodes, int64_t n_edges)
{
    struct etx_graph_index_args *args =
        checkop_begin(out, "graph_index", sizeof *args);
    int32_t *dst = checkop_indices(n_edges, (int32_t)n_nodes);

    qsort(dst, (size_t)n_edges, sizeof *dst, ascending);
    *args = (struct etx_graph_index_args){.n_nodes = n_nodes,
        .n_edges = n_edges,
        .src = checkop_indices(n_edges, (int32_t)n_nodes),
        .dst = dst,
        .in_offset = checkop_buffer(n_nodes + 1, sizeof(int64_t)),
        .out_offset = checkop_buffer(n_nodes + 1, sizeof(int64_t)),
        .out_edge = checkop_buffer(n_edges, sizeof(int32_t))};
    checkop_label(
        out, "nodes=%lld edges=%lld", (long long)n_nodes, (long long)n_edges);
    CHECKOP_OUTPUT(out, args->in_offset, n_nodes + 1);
    CHECKOP_OUTPUT(out, args->out_offset, n_nodes + 1);
    CHECKOP_OUTPUT(out, args->out_edge, n_edges);
}
