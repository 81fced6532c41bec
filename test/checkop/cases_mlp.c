/* checkop/cases_mlp.c -- cases of mlp and mlp_backward.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What the arguments of both operators point to. */
struct perceptron {
    struct etx_mlp_args forward;
    struct etx_mlp_backward_args backward;
    struct etx_layer layer[ETX_MAX_LAYERS];
    struct etx_layer_gradient gradient[ETX_MAX_LAYERS];
    struct etx_segment_reduce_args reduce, next, last;
    int64_t n_terms; /* the longest sum, for the bounds */
};

static void set_bounds(struct checkop_case *self)
{
    const struct perceptron *net = self->more;

    checkop_perturbation_bounds(self, net->n_terms);
}

/* Standard normal values over sqrt(n_terms), so that sums are of order 1. */
static float *input(struct checkop_case *out, int64_t n, int32_t n_terms)
{
    float *values = checkop_floats(n);

    for (int64_t i = 0; i < n; i++)
        values[i] *= 1.0f / sqrtf((float)n_terms);
    checkop_add_input(out, values, n);
    return values;
}

static int32_t make_parts(struct checkop_case *out,
    const struct checkop_perceptron *shape, struct etx_rows *part)
{
    int32_t width = 0;

    for (int32_t p = 0; p < shape->n_parts; p++) {
        const int32_t is_gathered = (int32_t)(shape->gathered >> p & 1);
        const int64_t n_source =
            is_gathered ? shape->n_rows / 3 + 1 : shape->n_rows;
        part[p].width = shape->part_width[p];
        part[p].data = input(out, n_source * part[p].width, 1);
        if (is_gathered)
            part[p].index = checkop_indices(shape->n_rows, (int32_t)n_source);
        width += part[p].width;
    }
    return width;
}

static void centre_rows(float *x, int64_t n_rows, int32_t width)
{
    for (int64_t i = 0; i < n_rows; i++) {
        double mean = 0.0;
        for (int32_t k = 0; k < width; k++)
            mean += (double)x[i * width + k] / width;
        for (int32_t k = 0; k < width; k++)
            x[i * width + k] -= (float)mean;
    }
}

/* Rows added to the first linear. */
static void make_added(struct checkop_case *out,
    const struct checkop_perceptron *shape, struct etx_mlp_args *args)
{
    const int32_t width = shape->layer_width[0];

    args->n_added = shape->n_added;
    args->added_is_centred = shape->centred;
    for (int32_t p = 0; p < shape->n_added; p++) {
        const int64_t n_source =
            p % 2 == 1 ? shape->n_rows / 3 + 1 : shape->n_rows;
        const int64_t n = p % 2 == 1 ? 2 * n_source + 1 : n_source;
        float *data = input(out, n * width, 1);
        if (shape->centred)
            centre_rows(data, n, width);
        args->added[p].width = width;
        args->added[p].data = data;
        if (p % 2 == 0)
            continue;
        /* The right half of rows twice as wide. */
        args->added[p].width = 2 * width;
        args->added[p].data = data + width;
        args->added[p].index =
            checkop_indices(shape->n_rows, (int32_t)n_source);
    }
}

static void make_norm(struct checkop_case *out,
    const struct checkop_perceptron *shape, struct etx_layer *layer,
    const struct etx_layer *before)
{
    const int32_t has_affine =
        layer->norm == ETX_NORM_LAYER || layer->norm == ETX_NORM_BATCH;

    layer->eps = 1e-5f;
    if (!has_affine || shape->plain_norm)
        return;
    if (shape->shared_norm && before != NULL && before->n_out == layer->n_out) {
        layer->gain = before->gain;
        layer->shift = before->shift;
        return;
    }
    layer->gain = input(out, layer->n_out, 1);
    layer->shift = input(out, layer->n_out, 1);
}

static void make_layers(struct checkop_case *out,
    const struct checkop_perceptron *shape, struct etx_layer *layer,
    int32_t width)
{
    for (int32_t l = 0; l < shape->n_layers; l++) {
        const int32_t is_last = l == shape->n_layers - 1;
        const int32_t n_out = shape->layer_width[l];
        layer[l] = (struct etx_layer){.n_in = width,
            .n_out = n_out,
            .norm = is_last ? shape->last_norm : shape->norm,
            .norm_last = shape->norm_last,
            .activation = is_last ? shape->last_activation : shape->activation};
        layer[l].weight = input(out, (int64_t)n_out * width, width);
        if (!shape->no_bias)
            layer[l].bias = input(out, n_out, 1);
        make_norm(out, shape, &layer[l], l > 0 ? &layer[l - 1] : NULL);
        width = n_out;
    }
}

static struct perceptron *make_perceptron(
    struct checkop_case *out, const struct checkop_perceptron *shape)
{
    struct perceptron *net = checkop_buffer(1, sizeof *net);
    struct etx_mlp_args *args = &net->forward;

    memset(out, 0, sizeof *out);
    args->n_rows = shape->n_rows;
    args->n_parts = shape->n_parts;
    args->n_layers = shape->n_layers;
    args->layer = net->layer;
    const int32_t width = make_parts(out, shape, args->part);
    make_layers(out, shape, net->layer, width);
    make_added(out, shape, args);
    for (int32_t l = 0; l < shape->n_layers; l++) {
        const struct etx_layer *layer = &net->layer[l];
        out->flop += 2.0 * (double)shape->n_rows * layer->n_in * layer->n_out;
        net->n_terms += layer->n_in;
    }
    net->n_terms += shape->n_added;
    checkop_label(out,
        "rows=%d in=%d layers=%d last=%d norm=%d%s act=%d end=%d,%d",
        (int)shape->n_rows, (int)width, (int)shape->n_layers,
        (int)shape->layer_width[shape->n_layers - 1], (int)shape->norm,
        shape->norm_last ? " last" : "", (int)shape->activation,
        (int)shape->last_norm, (int)shape->last_activation);
    out->more = net;
    out->set_bounds = set_bounds;
    return net;
}

/* Segments [n_rows] at random; the rows of each ascend. */
static void make_segments(
    struct etx_segment_reduce_args *reduce, int64_t n_rows)
{
    int32_t *const segment =
        checkop_indices(n_rows, (int32_t)reduce->n_segments);
    int64_t *const offset =
        checkop_buffer(reduce->n_segments + 1, sizeof *offset);
    int32_t *const order = checkop_buffer(n_rows, sizeof *order);
    int64_t n = 0;

    for (int64_t s = 0; s < reduce->n_segments; s++) {
        offset[s] = n;
        for (int32_t r = 0; r < n_rows; r++)
            if (segment[r] == s)
                order[n++] = r;
    }
    offset[reduce->n_segments] = n;
    reduce->offset = offset;
    reduce->order = order;
    reduce->segment = segment;
}

/* Further outputs computed from out. */
static void make_reduce(struct checkop_case *out,
    const struct checkop_perceptron *shape, struct perceptron *net)
{
    const int32_t width = shape->layer_width[shape->n_layers - 1];
    const int64_t n = shape->n_segments * width;

    net->reduce =
        (struct etx_segment_reduce_args){.n_segments = shape->n_segments,
            .width = width,
            .reduce = shape->reduce,
            .offset = checkop_offsets(shape->n_segments, shape->n_rows),
            .x = net->forward.out,
            .out = checkop_floats(n)};
    net->next = net->reduce;
    net->next.offset = checkop_offsets(shape->n_segments, shape->n_rows);
    net->next.order = checkop_permutation((int32_t)shape->n_rows);
    net->next.out = checkop_floats(n);
    net->last = net->reduce;
    make_segments(&net->last, shape->n_rows);
    net->last.out = checkop_floats(n);
    net->reduce.next = &net->last;
    net->last.next = &net->next;
    net->forward.reduce = &net->reduce;
    net->n_terms += shape->n_rows;
    CHECKOP_OUTPUT(out, net->reduce.out, n);
    CHECKOP_OUTPUT(out, net->next.out, n);
    CHECKOP_OUTPUT(out, net->last.out, n);
}

void checkop_mlp(
    struct checkop_case *out, const struct checkop_perceptron *shape)
{
    struct perceptron *net = make_perceptron(out, shape);
    struct etx_mlp_args *args = &net->forward;
    const int64_t n = shape->n_rows * shape->layer_width[shape->n_layers - 1];

    args->out = checkop_floats(n);
    if (shape->residual == 1)
        args->residual = input(out, n, 1);
    if (shape->residual == 2)
        args->residual = args->out;
    out->op = "mlp";
    out->args = args;
    CHECKOP_OUTPUT(out, args->out, n);
    if (shape->n_segments > 0)
        make_reduce(out, shape, net);
}

static float *gradient(
    struct checkop_case *out, const char *name, const float *of, int64_t n)
{
    if (of == NULL)
        return NULL;
    float *values = checkop_floats(n);
    checkop_add_output(out, name, values, n, sizeof *values);
    return values;
}

static void make_gradients(struct checkop_case *out, struct perceptron *net)
{
    for (int32_t l = 0; l < net->forward.n_layers; l++) {
        const struct etx_layer *layer = &net->layer[l];
        struct etx_layer_gradient *d = &net->gradient[l];
        d->weight = gradient(out, "d_weight", layer->weight,
            (int64_t)layer->n_out * layer->n_in);
        d->bias = gradient(out, "d_bias", layer->bias, layer->n_out);
        if (l > 0 && layer->gain != NULL && layer->gain == layer[-1].gain) {
            d->gain = d[-1].gain;
            d->shift = d[-1].shift;
            continue;
        }
        d->gain = gradient(out, "d_gain", layer->gain, layer->n_out);
        d->shift = gradient(out, "d_shift", layer->shift, layer->n_out);
    }
}

void checkop_mlp_backward(
    struct checkop_case *out, const struct checkop_perceptron *shape)
{
    struct perceptron *net = make_perceptron(out, shape);
    struct etx_mlp_backward_args *args = &net->backward;
    const int64_t n = shape->n_rows * shape->layer_width[shape->n_layers - 1];

    args->forward = &net->forward;
    args->d_out = input(out, n, 1);
    for (int32_t p = 0; p < shape->n_parts && !shape->no_part_gradient; p++)
        if (p != 1) /* one part in the middle has no gradient */
            args->d_part[p] = gradient(out, "d_part", net->forward.part[p].data,
                shape->n_rows * shape->part_width[p]);
    if (shape->n_added > 0 && !shape->no_part_gradient)
        args->d_added = gradient(out, "d_added", net->forward.added[0].data,
            shape->n_rows * shape->layer_width[0]);
    if (!shape->no_parameter_gradient) {
        make_gradients(out, net);
        args->gradient = net->gradient;
    }
    net->n_terms += shape->n_rows;
    out->flop *= 3.0;
    out->op = "mlp_backward";
    out->args = args;
}
