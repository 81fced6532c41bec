/* checkop/cases_rows.c -- cases of gather, scatter, add and row_dot.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void checkop_gather(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t add)
{
    struct etx_gather_args *args = checkop_begin(out, "gather", sizeof *args);
    const int32_t n_source = (int32_t)(n_rows / 2 + 1);

    *args = (struct etx_gather_args){.n_rows = n_rows,
        .width = width,
        .add = add,
        .x = checkop_floats((int64_t)n_source * width),
        .index = checkop_indices(n_rows, n_source),
        .y = checkop_floats(n_rows * width)};
    out->flop = add ? (double)n_rows * width : 0.0;
    checkop_label(
        out, "rows=%d width=%d add=%d", (int)n_rows, (int)width, (int)add);
    CHECKOP_OUTPUT(out, args->y, n_rows * width);
}

/* About half of the rows of y, in a random order. */
void checkop_scatter(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t add)
{
    struct etx_scatter_args *args = checkop_begin(out, "scatter", sizeof *args);
    const int64_t n_target = 2 * n_rows + 1;

    *args = (struct etx_scatter_args){.n_rows = n_rows,
        .width = width,
        .add = add,
        .x = checkop_floats(n_rows * width),
        .index = checkop_permutation(n_target),
        .y = checkop_floats(n_target * width)};
    out->flop = add ? (double)n_rows * width : 0.0;
    checkop_label(
        out, "rows=%d width=%d add=%d", (int)n_rows, (int)width, (int)add);
    CHECKOP_OUTPUT(out, args->y, n_target * width);
}

static void add_bounds(struct checkop_case *self)
{
    const struct etx_add_args *args = self->args;
    struct checkop_output *y = &self->output[0];
    const float *initial = y->initial;

    checkop_flat_bound(y, 0.0);
    for (int64_t i = 0; i < args->n; i++)
        y->bound[i] = checkop_sum_bound(
            2, fabs((double)initial[i]) +
                   fabs((double)args->alpha * (double)args->x[i]));
}

void checkop_add(struct checkop_case *out, int64_t n)
{
    struct etx_add_args *args = checkop_begin(out, "add", sizeof *args);

    *args = (struct etx_add_args){
        .n = n, .alpha = -0.7f, .x = checkop_floats(n), .y = checkop_floats(n)};
    out->set_bounds = add_bounds;
    out->flop = 2.0 * (double)n;
    checkop_label(out, "n=%d", (int)n);
    CHECKOP_OUTPUT(out, args->y, n);
}

static void row_dot_bounds(struct checkop_case *self)
{
    const struct etx_row_dot_args *args = self->args;
    struct checkop_output *output = &self->output[0];

    checkop_flat_bound(output, 0.0);
    for (int64_t i = 0; i < args->n_rows; i++) {
        const int64_t a = args->a_index ? args->a_index[i] : i;
        const int64_t b = args->b_index ? args->b_index[i] : i;
        double sum = 0.0;
        for (int32_t k = 0; k < args->width; k++)
            sum += fabs((double)args->a[a * args->width + k] *
                        (double)args->b[b * args->width + k]);
        output->bound[i] = checkop_sum_bound(args->width, sum);
    }
}

void checkop_row_dot(
    struct checkop_case *out, int64_t n_rows, int32_t width, int32_t indexed)
{
    struct etx_row_dot_args *args = checkop_begin(out, "row_dot", sizeof *args);
    const int32_t n_source = (int32_t)n_rows + 1;

    *args = (struct etx_row_dot_args){.n_rows = n_rows,
        .width = width,
        .a = checkop_floats((int64_t)n_source * width),
        .a_index = indexed & 1 ? checkop_indices(n_rows, n_source) : NULL,
        .b = checkop_floats((int64_t)n_source * width),
        .b_index = indexed & 2 ? checkop_indices(n_rows, n_source) : NULL,
        .out = checkop_floats(n_rows)};
    out->set_bounds = row_dot_bounds;
    out->flop = 2.0 * (double)n_rows * width;
    checkop_label(out, "rows=%d width=%d indexed=%d", (int)n_rows, (int)width,
        (int)indexed);
    CHECKOP_OUTPUT(out, args->out, n_rows);
}
