/* checkop/cases_activation.c -- cases of activation and activation_backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As op.h says: 4 ulp of the result plus 2^-24. */
static void activation_bounds(struct checkop_case *self)
{
    const struct etx_activation_args *args = self->args;
    struct checkop_output *y = &self->output[0];

    checkop_flat_bound(y, 0.0);
    if (args->activation <= ETX_ACTIVATION_RELU)
        return;
    for (int64_t i = 0; i < args->n; i++)
        y->bound[i] = 4.0 * CHECKOP_EPS * fabs((double)args->y[i]) + 0x1p-24;
}

/* Slopes are at most 1.13 and made of a few terms of order 1. */
static void activation_backward_bounds(struct checkop_case *self)
{
    const struct etx_activation_backward_args *args = self->args;
    const float *d_y =
        args->d_x == args->d_y ? self->output[0].initial : args->d_y;
    struct checkop_output *d_x = &self->output[0];

    checkop_flat_bound(d_x, 0.0);
    if (args->activation <= ETX_ACTIVATION_RELU)
        return;
    for (int64_t i = 0; i < args->n; i++)
        d_x->bound[i] = 12.0 * CHECKOP_EPS * fabs((double)d_y[i]) + 1e-44;
}

void checkop_activation(
    struct checkop_case *out, int32_t activation, int64_t n, int32_t in_place)
{
    struct etx_activation_args *args =
        checkop_begin(out, "activation", sizeof *args);
    float *x = checkop_floats(n);

    *args = (struct etx_activation_args){.n = n,
        .activation = activation,
        .x = x,
        .y = in_place ? x : checkop_floats(n)};
    if (activation == ETX_ACTIVATION_SIGMOID) {
        args->not_finite = checkop_buffer(1, sizeof(int64_t));
        if (n % 2 == 1)
            x[n / 2] = -INFINITY;
    }
    out->set_bounds = activation_bounds;
    out->flop = (double)n;
    checkop_label(out, "activation=%d n=%d%s", (int)activation, (int)n,
        in_place ? " in place" : "");
    CHECKOP_OUTPUT(out, args->y, n);
    if (args->not_finite != NULL)
        CHECKOP_OUTPUT(out, args->not_finite, 1);
}

void checkop_activation_backward(
    struct checkop_case *out, int32_t activation, int64_t n, int32_t in_place)
{
    struct etx_activation_backward_args *args =
        checkop_begin(out, "activation_backward", sizeof *args);
    float *d_y = checkop_floats(n);

    *args = (struct etx_activation_backward_args){.n = n,
        .activation = activation,
        .x = checkop_floats(n),
        .d_y = d_y,
        .d_x = in_place ? d_y : checkop_floats(n)};
    out->set_bounds = activation_backward_bounds;
    out->flop = (double)n;
    checkop_label(out, "activation=%d n=%d%s", (int)activation, (int)n,
        in_place ? " in place" : "");
    CHECKOP_OUTPUT(out, args->d_x, n);
}
