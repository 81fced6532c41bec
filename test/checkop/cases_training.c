/* checkop/cases_training.c -- cases of the losses and the optimiser.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Losses are sums of terms that float32 knows to 4 ulp plus 2^-24 for the
 * softplus; gradients as sigmoids. */
static void bce_bounds(struct checkop_case *self)
{
    const struct etx_bce_loss_args *args = self->args;
    struct checkop_output *d_logit = &self->output[2];
    double weights = 0.0, all = 0.0;

    for (int32_t o = 0; o < self->n_outputs; o++)
        checkop_flat_bound(&self->output[o], 0.0);
    for (int64_t e = 0; e < args->n; e++) {
        const double weight = args->weight ? (double)args->weight[e] : 1.0;
        const double y = (double)args->target[e];
        const double factor = weight * ((double)args->pos_weight * y + 1.0 - y);
        weights += weight;
        all += factor;
        d_logit->bound[e] =
            12.0 * CHECKOP_EPS * factor * fabs((double)args->scale);
    }
    self->output[0].bound[0] = 4.0 * CHECKOP_EPS * (*args->loss_sum + all);
    self->output[1].bound[0] = CHECKOP_EPS * weights;
}

void checkop_bce_loss(struct checkop_case *out, int64_t n, int32_t weighted)
{
    struct etx_bce_loss_args *args =
        checkop_begin(out, "bce_loss", sizeof *args);
    float *target = checkop_uniform(n, 0.0f, 1.0f);
    float *weight = checkop_uniform(n, -0.5f, 2.0f);

    for (int64_t e = 0; e < n; e++) {
        target[e] = e % 5 ? roundf(target[e]) : target[e];
        weight[e] = fmaxf(weight[e], 0.0f);
    }
    *args = (struct etx_bce_loss_args){.n = n,
        .logit = checkop_floats(n),
        .target = target,
        .weight = weighted ? weight : NULL,
        .pos_weight = 2.5f,
        .loss_sum = checkop_buffer(1, sizeof(double)),
        .weight_sum = checkop_buffer(1, sizeof(double)),
        .scale = 0.01f,
        .d_logit = checkop_floats(n)};
    out->set_bounds = bce_bounds;
    checkop_label(out, "n=%d%s", (int)n, weighted ? " weighted" : "");
    CHECKOP_OUTPUT(out, args->loss_sum, 1);
    CHECKOP_OUTPUT(out, args->weight_sum, 1);
    CHECKOP_OUTPUT(out, args->d_logit, n);
}

static void square_bounds(struct checkop_case *self)
{
    const struct etx_square_loss_args *args = self->args;

    checkop_flat_bound(
        &self->output[0], (double)args->n * DBL_EPSILON * *args->sum);
}

/* Every third value has no target. */
void checkop_square_loss(struct checkop_case *out, int64_t n)
{
    struct etx_square_loss_args *args =
        checkop_begin(out, "square_loss", sizeof *args);
    float *target = checkop_floats(n);

    for (int64_t i = 2; i < n; i += 3)
        target[i] = NAN;
    *args = (struct etx_square_loss_args){.n = n,
        .x = checkop_floats(n),
        .target = target,
        .scale = 0.02,
        .d_x = checkop_floats(n),
        .sum = checkop_buffer(1, sizeof(double))};
    out->set_bounds = square_bounds;
    checkop_label(out, "n=%d", (int)n);
    CHECKOP_OUTPUT(out, args->sum, 1);
    CHECKOP_OUTPUT(out, args->d_x, n);
}

/* |d loss / d s| of a pair before weight and scale; *reach gets the magnitude
 * of what the loss is the difference of. */
static double pair_slope(
    const struct etx_hinge_loss_args *args, int64_t p, double *reach)
{
    const double margin = (double)args->margin;
    double s = 0.0;

    for (int32_t k = 0; k < args->n_dim; k++) {
        const double d =
            (double)args->point[(int64_t)args->a[p] * args->n_dim + k] -
            (double)args->point[(int64_t)args->b[p] * args->n_dim + k];
        s += d * d;
    }
    *reach = s;
    if (args->target[p])
        return 1.0;
    *reach = sqrt(s) < margin * 1.0001 ? margin * margin + s : 0.0;
    if (*reach == 0.0)
        return 0.0;
    return args->hinge == ETX_HINGE_SQUARED || s == 0.0 ? 1.0
                                                        : margin / sqrt(s);
}

/* Each point's gradient is a sum over its pairs. */
static void hinge_bounds(struct checkop_case *self)
{
    const struct etx_hinge_loss_args *args = self->args;
    struct checkop_output *d_point = &self->output[2];
    const float *initial = d_point->initial;
    double sum[2] = {0.0, 0.0};

    for (int32_t o = 0; o < self->n_outputs; o++)
        checkop_flat_bound(&self->output[o], 0.0);
    for (int64_t t = 0; t < d_point->n; t++)
        d_point->bound[t] = 8.0 * CHECKOP_EPS * fabs((double)initial[t]);
    for (int64_t p = 0; p < args->n_pairs; p++) {
        const double weight = args->weight ? (double)args->weight[p] : 1.0;
        const float scale =
            args->target[p] ? args->positive_scale : args->negative_scale;
        double reach;
        const double slope = pair_slope(args, p, &reach);
        sum[args->target[p] ? 0 : 1] += weight * reach;
        for (int32_t k = 0; k < args->n_dim; k++) {
            const int64_t a = (int64_t)args->a[p] * args->n_dim + k;
            const int64_t b = (int64_t)args->b[p] * args->n_dim + k;
            const double d =
                fabs((double)args->point[a] - (double)args->point[b]);
            const double term = 2.0 * weight * slope * d * fabs((double)scale) *
                                16.0 * CHECKOP_EPS;
            d_point->bound[a] += term;
            d_point->bound[b] += term;
        }
    }
    self->output[0].bound[0] = 8.0 * CHECKOP_EPS * sum[0];
    self->output[1].bound[0] = 8.0 * CHECKOP_EPS * sum[1];
}

void checkop_hinge_loss(struct checkop_case *out, int32_t hinge,
    int64_t n_points, int64_t n_pairs, int32_t n_dim)
{
    struct etx_hinge_loss_args *args =
        checkop_begin(out, "hinge_loss", sizeof *args);
    uint8_t *target = checkop_buffer(n_pairs, sizeof *target);
    int32_t *a = checkop_indices(n_pairs, (int32_t)n_points);

    for (int64_t p = 0; p < n_pairs; p++) {
        target[p] = (uint8_t)etx_random_below(&check.random, 2);
        if (p % 7 == 0)
            a[p] = a[0]; /* a hub */
    }
    *args = (struct etx_hinge_loss_args){.n_pairs = n_pairs,
        .n_points = n_points,
        .n_dim = n_dim,
        .hinge = hinge,
        .margin = 2.0f,
        .point = checkop_floats(n_points * n_dim),
        .a = a,
        .b = checkop_indices(n_pairs, (int32_t)n_points),
        .target = target,
        .weight = hinge ? checkop_uniform(n_pairs, 0.0f, 2.0f) : NULL,
        .positive_scale = 0.5f,
        .negative_scale = 0.25f,
        .positive_sum = checkop_buffer(1, sizeof(double)),
        .negative_sum = checkop_buffer(1, sizeof(double)),
        .d_point = checkop_floats(n_points * n_dim)};
    out->set_bounds = hinge_bounds;
    out->flop = 6.0 * (double)n_pairs * n_dim;
    checkop_label(out, "hinge=%d points=%d pairs=%d dim=%d", (int)hinge,
        (int)n_points, (int)n_pairs, (int)n_dim);
    CHECKOP_OUTPUT(out, args->positive_sum, 1);
    CHECKOP_OUTPUT(out, args->negative_sum, 1);
    CHECKOP_OUTPUT(out, args->d_point, n_points * n_dim);
}

/* The step is a quotient of moments; m may be a difference. */
static void adamw_bounds(struct checkop_case *self)
{
    const struct etx_adamw_args *args = self->args;
    const double bias1 = 1.0 - pow((double)args->beta1, (double)args->step);
    const double bias2 = 1.0 - pow((double)args->beta2, (double)args->step);
    const float *parameter = self->output[0].initial;
    const float *m = self->output[1].initial;
    const float *v = self->output[2].initial;

    for (int32_t o = 0; o < self->n_outputs; o++)
        checkop_flat_bound(&self->output[o], 0.0);
    for (int64_t i = 0; i < args->n; i++) {
        const double g = fabs((double)args->gradient[i]);
        const double reach = fabs((double)m[i]) + g;
        const double root =
            sqrt((double)(args->v_max ? args->v_max[i] : args->v[i]) / bias2);
        const double step = (double)args->learning_rate * reach / bias1 /
                            (root + (double)args->eps);
        self->output[0].bound[i] =
            checkop_sum_bound(1, fabs((double)parameter[i]) + step);
        self->output[1].bound[i] = checkop_sum_bound(1, reach);
        self->output[2].bound[i] = checkop_sum_bound(1, (double)v[i] + g * g);
        if (args->v_max != NULL)
            self->output[3].bound[i] = self->output[2].bound[i];
    }
}

void checkop_adamw(struct checkop_case *out, int64_t n, int64_t step,
    int32_t amsgrad, int32_t with_decays)
{
    struct etx_adamw_args *args = checkop_begin(out, "adamw", sizeof *args);
    float *decays = checkop_buffer(n, sizeof *decays);

    for (int64_t i = 0; i < n; i++)
        decays[i] = i % 3 > 0 ? 1.0f : 0.0f;
    *args = (struct etx_adamw_args){.n = n,
        .step = step,
        .learning_rate = 1e-2f,
        .beta1 = 0.9f,
        .beta2 = 0.999f,
        .eps = 1e-8f,
        .weight_decay = 1e-2f,
        .decays = with_decays ? decays : NULL,
        .gradient = checkop_floats(n),
        .parameter = checkop_floats(n),
        .m = checkop_floats(n),
        .v = checkop_uniform(n, 0.0f, 2.0f),
        .v_max = amsgrad ? checkop_uniform(n, 0.0f, 3.0f) : NULL};
    out->set_bounds = adamw_bounds;
    out->flop = 14.0 * (double)n;
    checkop_label(out, "n=%d step=%d amsgrad=%d decays=%d", (int)n, (int)step,
        (int)amsgrad, (int)with_decays);
    CHECKOP_OUTPUT(out, args->parameter, n);
    CHECKOP_OUTPUT(out, args->m, n);
    CHECKOP_OUTPUT(out, args->v, n);
    if (amsgrad)
        CHECKOP_OUTPUT(out, args->v_max, n);
}
