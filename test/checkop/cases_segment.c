/* checkop/cases_segment.c -- cases of segment_reduce and its backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double value_at(
    const struct etx_segment_reduce_args *args, int64_t t, int32_t k)
{
    const int64_t v = args->order != NULL ? args->order[t] : t;
    const int64_t row = args->gather != NULL ? args->gather[v] : v;
    const double x = (double)args->x[row * args->width + k];

    return args->weight != NULL ? (double)args->weight[v] * x : x;
}

static double divisor(int64_t count)
{
    return (double)(count > 2 ? count - 1 : 1);
}

/* What channel k of segment s may be off by. */
static double bound_of(const struct etx_segment_reduce_args *args, int64_t s,
    int32_t k, double initial)
{
    const int64_t count = args->offset[s + 1] - args->offset[s];
    double sum = args->add ? fabs(initial) : 0.0;
    double largest = 0.0;

    for (int64_t t = args->offset[s]; t < args->offset[s + 1]; t++) {
        const double x = fabs(value_at(args, t, k));
        sum += x;
        largest = fmax(largest, x);
    }
    switch ((enum etx_reduce)args->reduce) {
    case ETX_REDUCE_MAX:
        return 0.0;
    case ETX_REDUCE_MEAN:
        return checkop_sum_bound(count + 1, sum / fmax((double)count, 1.0));
    case ETX_REDUCE_STD:
        /* The mean is known to eps sqrt(count) largest. */
        return checkop_sum_bound(count + 4, 3.0 * largest);
    case ETX_REDUCE_SUM:
    case ETX_N_REDUCES:
        break;
    }
    return checkop_sum_bound(count + 1, sum);
}

static void reduce_bounds(struct checkop_case *self)
{
    const struct etx_segment_reduce_args *args = self->args;
    struct checkop_output *output = &self->output[0];
    const float *initial = output->initial;

    checkop_flat_bound(output, 0.0);
    for (int64_t s = 0; s < args->n_segments; s++)
        for (int32_t k = 0; k < args->width; k++) {
            const int64_t at = s * args->width + k;
            output->bound[at] = bound_of(args, s, k, (double)initial[at]);
        }
}

static struct etx_segment_reduce_args forward_args(
    const struct checkop_segments *shape)
{
    const int64_t n_rows =
        shape->gathered ? shape->n_values / 2 + 1 : shape->n_values;

    return (struct etx_segment_reduce_args){.n_segments = shape->n_segments,
        .width = shape->width,
        .reduce = shape->reduce,
        .add = shape->add,
        .offset = checkop_offsets(shape->n_segments, shape->n_values),
        .order = shape->ordered ? checkop_permutation(shape->n_values) : NULL,
        .gather = shape->gathered
                      ? checkop_indices(shape->n_values, (int32_t)n_rows)
                      : NULL,
        .weight = shape->weighted ? checkop_floats(shape->n_values) : NULL,
        .x = checkop_floats(n_rows * shape->width),
        .out = checkop_floats(shape->n_segments * shape->width)};
}

static void describe(
    struct checkop_case *out, const struct checkop_segments *shape)
{
    checkop_label(out, "reduce=%d segments=%d values=%d width=%d%s%s%s%s",
        (int)shape->reduce, (int)shape->n_segments, (int)shape->n_values,
        (int)shape->width, shape->ordered ? " ordered" : "",
        shape->gathered ? " gathered" : "", shape->weighted ? " weighted" : "",
        shape->add ? " add" : "");
    out->flop = (double)shape->n_values * shape->width;
}

void checkop_segment_reduce(
    struct checkop_case *out, const struct checkop_segments *shape)
{
    struct etx_segment_reduce_args *args =
        checkop_begin(out, "segment_reduce", sizeof *args);

    *args = forward_args(shape);
    out->set_bounds = reduce_bounds;
    describe(out, shape);
    CHECKOP_OUTPUT(out, args->out, shape->n_segments * shape->width);
}

static void backward_bounds(struct checkop_case *self)
{
    const struct etx_segment_reduce_backward_args *args = self->args;
    const struct etx_segment_reduce_args *forward = &args->forward;
    struct checkop_output *d_x = &self->output[0];
    const float *initial = d_x->initial;

    checkop_flat_bound(d_x, 0.0);
    for (int64_t s = 0; s < forward->n_segments; s++)
        for (int64_t t = forward->offset[s]; t < forward->offset[s + 1]; t++)
            for (int32_t k = 0; k < forward->width; k++) {
                const int64_t count =
                    forward->offset[s + 1] - forward->offset[s];
                const int64_t v = forward->order ? forward->order[t] : t;
                const int64_t at = v * forward->width + k;
                const int64_t index = s * forward->width + k;
                double slope = 1.0;
                /* (x - mean) / (out divisor), with an uncertain mean. */
                if (forward->reduce == ETX_REDUCE_STD &&
                    forward->out[index] > 0.0f)
                    slope =
                        8.0 / ((double)forward->out[index] * divisor(count)) +
                        1.0;
                d_x->bound[at] = checkop_sum_bound(count + 1,
                    fabs((double)args->d_out[index]) * slope +
                        (args->add ? fabs((double)initial[at]) : 0.0));
            }
}

void checkop_segment_reduce_backward(
    struct checkop_case *out, const struct checkop_segments *shape)
{
    struct etx_segment_reduce_backward_args *args =
        checkop_begin(out, "segment_reduce_backward", sizeof *args);
    struct checkop_segments plain = *shape;

    plain.gathered = 0;
    plain.weighted = 0;
    plain.add = 0;
    args->forward = forward_args(&plain);
    (void)etx_op_ref.segment_reduce(&check.stream[0], &args->forward);
    args->d_out = checkop_floats(shape->n_segments * shape->width);
    args->d_x = checkop_floats(shape->n_values * shape->width);
    args->add = shape->add;
    out->set_bounds = backward_bounds;
    describe(out, shape);
    CHECKOP_OUTPUT(out, args->d_x, shape->n_values * shape->width);
}
