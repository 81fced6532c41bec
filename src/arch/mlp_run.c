/* arch/mlp_run.c -- a block forward and backward, with a factorised first
 * layer.
 *
 * An edge network reads the latents of the two ends of an edge, so that the row
 * of one node is part of the rows of many edges. The first layer is linear:
 *
 *     W [x_src, x_dst, e] = W_src x_src + W_dst x_dst + W_e e
 *
 * W_src x and W_dst x are computed once per node and added to the rows of the
 * edges, which multiply by W_e alone:
 *
 *     nodes   x  ---- W_src ---> p   \ gathered by src
 *     nodes   x  ---- W_dst ---> q    > p[src] + q[dst] + W_e e  -> next layers
 *     edges   e  ---- W_e  ----------/
 *
 * The weight is split accordingly; columns of parts that are not factored out
 * stay together:
 *
 *     W [n_out, n_in]   one row: | src  | dst  | e  |
 *     split             W_src [n_out, src], W_dst [n_out, dst], W_e [n_out, e]
 *
 * Backward, the gradient of p at a node is the sum over its edges; then it is
 * multiplied by W_src and x.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/mlp_block.h"

#include "arch/edge_steps.h"

#include "base/check.h"

#include <assert.h>

/* Narrower parts cost less to multiply by than to add as wide rows. */
#define MIN_WIDTH 16

/* A block over an input, with its first layer split. */
struct split {
    struct etx_mlp_args args; /* of the other parts, and the added rows */
    struct etx_layer layer[ETX_MAX_LAYERS];

    int32_t n_factored;                     /* parts with a layer of nodes */
    int32_t is_factored[ETX_MAX_PARTS];     /* by part, and so are: */
    struct etx_layer factor[ETX_MAX_PARTS]; /* its linear layer */
    int32_t column[ETX_MAX_PARTS];          /* of the whole weight */
};

static int32_t is_worth_it(const struct etx_mlp_input *input, int32_t p)
{
    return input->end[p].is_dense && input->args.part[p].width >= MIN_WIDTH;
}

static void choose(struct split *split, const struct etx_mlp_input *input)
{
    int32_t column = 0;

    for (int32_t p = 0; p < input->args.n_parts; p++) {
        split->column[p] = column;
        column += input->args.part[p].width;
        split->is_factored[p] =
            split->n_factored < ETX_MAX_ADDED && is_worth_it(input, p);
        split->n_factored += split->is_factored[p];
    }
}

/* The columns of part p in the weight of the whole layer: out [n_out, width],
 * rows stride apart. A layer norm subtracts the mean of its input: is_centred
 * leaves it out beforehand. */
static etx_status copy_columns(float *out, int64_t stride, int32_t is_centred,
    const struct split *split, struct etx_context *context,
    const struct etx_layer *whole, int32_t p, int32_t width)
{
    const struct etx_columns_args args = {.n_rows = whole->n_out,
        .width = width,
        .centre = is_centred,
        .x_stride = whole->n_in,
        .y_stride = stride,
        .x = whole->weight + split->column[p],
        .y = out};

    return context->ops->columns(context->stream, &args);
}

/* The layers of the factored parts one after the other from weight on, then
 * the columns of the others. is_ready: they have been written already. */
static etx_status lay_out(struct split *split, struct etx_context *context,
    const struct etx_mlp_input *input, float *weight, int32_t is_ready)
{
    etx_status status = ETX_OK;
    const struct etx_layer whole = split->layer[0];
    struct etx_layer *rest = &split->layer[0];

    for (int32_t p = 0; p < input->args.n_parts; p++) {
        const int32_t width = input->args.part[p].width;

        if (!split->is_factored[p])
            continue;
        split->factor[p] = (struct etx_layer){
            .n_in = width, .n_out = whole.n_out, .weight = weight};
        if (!is_ready)
            ETX_CHECK(copy_columns(weight, width, split->args.added_is_centred,
                split, context, &whole, p, width));
        weight += (int64_t)whole.n_out * width;
        rest->n_in -= width;
    }
    rest->weight = weight;
    for (int32_t p = 0; p < input->args.n_parts; p++) {
        const int32_t width = input->args.part[p].width;

        if (split->is_factored[p])
            continue;
        if (!is_ready)
            ETX_CHECK(copy_columns(
                weight, rest->n_in, 0, split, context, &whole, p, width));
        weight += width;
    }
done:
    return status;
}

/* Split the first layer: once for cached parameters, else in scratch. Which
 * parts are factored is all that can differ from call to call. */
static etx_status split_first_layer(struct split *split,
    struct etx_context *context, const struct etx_mlp_input *input)
{
    etx_status status = ETX_OK;
    const struct etx_layer *whole = &split->layer[0];
    const struct etx_stream *stream = context->stream;
    struct etx_weight_key key = {.source = whole->weight,
        .form = ETX_WEIGHTS_SPLIT,
        .n = (int64_t)whole->n_out * whole->n_in};
    struct etx_weights weights;

    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (split->is_factored[p])
            key.form |= UINT32_C(1) << p;
    split->args.added_is_centred =
        whole->norm == ETX_NORM_LAYER && !whole->norm_last;
    ETX_CHECK(etx_weights_open(&weights, stream->weight_cache, stream->arena,
        &key, sizeof(float), "weights"));
    ETX_CHECK(lay_out(split, context, input, weights.value, weights.is_ready));
    if (!weights.is_ready)
        etx_weights_close(stream->weight_cache, &weights);
done:
    return status;
}

/* The forward of a factored part: its layer over the rows of the nodes. */
static struct etx_mlp_args factor_args(
    const struct split *split, const struct etx_mlp_input *input, int32_t p)
{
    struct etx_mlp_args args = {.n_rows = input->end[p].n_nodes,
        .n_parts = 1,
        .n_layers = 1,
        .part = {input->args.part[p]},
        .layer = &split->factor[p]};

    args.part[0].index = NULL;
    return args;
}

/* Factored parts from p on with the same rows, whose layers are one of more
 * columns: on a device, where a product costs a launch. */
static int32_t count_alike(const struct split *split,
    const struct etx_context *context, const struct etx_mlp_input *input,
    int32_t p)
{
    const struct etx_rows *rows = &input->args.part[p];
    int32_t n = 1;

    while (context->stream->memory != NULL && p + n < input->args.n_parts &&
           split->is_factored[p + n] && rows[n].data == rows->data &&
           rows[n].half == rows->half && rows[n].width == rows->width)
        n++;
    return n;
}

/* The products of factored parts p .. p + n - 1, of the same rows, as added
 * rows; float16 in an inference that computes so, as edges read them many
 * times. */
static etx_status multiply_factors(struct split *split,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p,
    int32_t n)
{
    etx_status status = ETX_OK;
    const int32_t n_out = split->layer[0].n_out;
    struct etx_arena *arena = context->stream->arena;
    struct etx_layer layer = split->factor[p];
    struct etx_mlp_args args = factor_args(split, input, p);
    const int64_t n_values = args.n_rows * n * n_out;

    layer.n_out = n * n_out;
    args.layer = &layer;
    if (context->stream->is_half)
        ETX_SCRATCH(args.half_out, arena, n_values, "products of nodes");
    else
        ETX_SCRATCH(args.out, arena, n_values, "products of nodes");
    ETX_CHECK(context->ops->mlp(context->stream, &args));
    for (int32_t k = 0; k < n; k++)
        split->args.added[split->args.n_added++] = (struct etx_rows){
            .data = args.out == NULL ? NULL : args.out + k * n_out,
            .half = args.half_out == NULL ? NULL : args.half_out + k * n_out,
            .index = input->end[p + k].index,
            .width = n * n_out};
done:
    return status;
}

/* Everything up to the products of nodes; scratch stays in the arena. */
static etx_status open_split(struct split *split, struct etx_context *context,
    const struct etx_mlp_block *block, const float *values,
    const struct etx_mlp_input *input)
{
    etx_status status = ETX_OK;

    *split = (struct split){.args = input->args};
    etx_mlp_block_layers(split->layer, block, values);
    split->args.n_layers = block->n_layers;
    split->args.layer = split->layer;
    choose(split, input);
    if (split->n_factored == 0)
        return ETX_OK;
    ETX_CHECK(split_first_layer(split, context, input));
    split->args.n_parts = 0;
    for (int32_t p = 0, n; p < input->args.n_parts; p += n) {
        n = split->is_factored[p] ? count_alike(split, context, input, p) : 1;
        if (split->is_factored[p])
            ETX_CHECK(multiply_factors(split, context, input, p, n));
        else
            split->args.part[split->args.n_parts++] = input->args.part[p];
    }
done:
    return status;
}

etx_status etx_mlp_block_forward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values,
    const struct etx_mlp_input *input)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct split split;

    ETX_CHECK(open_split(&split, context, block, values, input));
    ETX_CHECK(context->ops->mlp(context->stream, &split.args));
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

/* ------------------------------------------------------------ backward -- */

/* Arrays that the gradients pass through. */
struct back {
    struct split split;
    struct etx_layer_gradient gradient[ETX_MAX_LAYERS];
    float *d_weight; /* of the whole first layer: the caller's */
    float *d_rest;   /* of the columns that are not factored, zeroed */
    float *d_added;  /* [n_rows, n_out] of the first layer */
    float *d_rows[ETX_MAX_PARTS]; /* [n_rows, width] of gathered parts */
};

/* Columns of part p in the gradient of the first weight += d [n_out, stride].
 */
static etx_status add_columns(const struct back *back,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p,
    const float *d, int32_t stride)
{
    struct etx_columns_args args = {.n_rows = back->split.layer[0].n_out,
        .width = input->args.part[p].width,
        .add = 1,
        .x_stride = stride,
        .x = d,
        .y = back->d_weight + back->split.column[p]};

    for (int32_t q = 0; q < input->args.n_parts; q++)
        args.y_stride += input->args.part[q].width;
    return context->ops->columns(context->stream, &args);
}

static etx_status add_rest(const struct back *back, struct etx_context *context,
    const struct etx_mlp_input *input)
{
    const float *d = back->d_rest;
    etx_status status = ETX_OK;

    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (!back->split.is_factored[p]) {
            ETX_CHECK(add_columns(
                back, context, input, p, d, back->split.layer[0].n_in));
            d += input->args.part[p].width;
        }
done:
    return status;
}

/* out [n_nodes, width] = the sums of the rows at the nodes of an end. */
static etx_status sum_at_nodes(float *out, struct etx_context *context,
    const struct etx_edge_end *end, const float *rows, int32_t width)
{
    const struct etx_segment_reduce_args args = {
        .n_segments = end->n_nodes,
        .width = width,
        .reduce = ETX_REDUCE_SUM,
        .offset = end->offset,
        .order = end->order,
        .x = rows,
        .out = out,
    };

    return context->ops->segment_reduce(context->stream, &args);
}

/* The gradients of a factored part and of its columns. */
static etx_status factor_backward(struct back *back,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p,
    float *d_data)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_layer *layer = &back->split.factor[p];
    const struct etx_edge_end *end = &input->end[p];
    struct etx_layer_gradient gradient = {NULL};
    float *d_product = NULL;
    const struct etx_mlp_args forward = factor_args(&back->split, input, p);
    struct etx_mlp_backward_args args = {
        .forward = &forward, .d_part = {d_data}, .gradient = &gradient};

    ETX_SCRATCH(
        d_product, arena, end->n_nodes * layer->n_out, "gradients of products");
    ETX_CHECK(etx_scratch_zeros(&gradient.weight, context,
        (int64_t)layer->n_out * layer->n_in, "gradients of weights"));
    ETX_CHECK(
        sum_at_nodes(d_product, context, end, back->d_added, layer->n_out));
    args.d_out = d_product;
    ETX_CHECK(context->ops->mlp_backward(context->stream, &args));
    ETX_CHECK(
        add_columns(back, context, input, p, gradient.weight, layer->n_in));
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* Where the operator writes its gradients: the caller's arrays, scratch for
 * added rows and for parts that an end gathers. */
static etx_status alloc_outputs(struct etx_mlp_backward_args *args,
    struct back *back, struct etx_context *context,
    const struct etx_mlp_input *input, float *const *d_part)
{
    etx_status status = ETX_OK;
    const struct etx_layer *first = &back->split.layer[0];
    struct etx_arena *arena = context->stream->arena;
    int32_t n_parts = 0;

    if (back->split.n_factored > 0) {
        ETX_CHECK(etx_arena_alloc(&back->d_added, arena,
            input->args.n_rows * first->n_out, sizeof(float),
            "gradients of added rows"));
        ETX_CHECK(etx_scratch_zeros(&back->d_rest, context,
            (int64_t)first->n_out * first->n_in, "gradients of weights"));
        back->d_weight = back->gradient[0].weight;
        back->gradient[0].weight = back->d_rest;
        args->d_added = back->d_added;
    }
    for (int32_t p = 0; p < input->args.n_parts; p++) {
        if (back->split.is_factored[p])
            continue;
        args->d_part[n_parts] = d_part[p];
        if (d_part[p] != NULL && input->end[p].index != NULL) {
            assert(input->end[p].offset != NULL);
            ETX_CHECK(etx_arena_alloc(&back->d_rows[p], arena,
                input->args.n_rows * input->args.part[p].width, sizeof(float),
                "gradients of rows"));
            args->d_part[n_parts] = back->d_rows[p];
        }
        n_parts++;
    }
done:
    return status;
}

/* The gradients of the parameters, and d_part [n_parts] or NULL of the parts'
 * data: [n_rows, width], with an end [n_nodes, width]. */
static etx_status compute_gradients(float *const *d_part,
    struct etx_context *context, const struct etx_mlp_block *block,
    const float *values, float *gradients, const struct etx_mlp_input *input,
    const float *d_out)
{
    etx_status status = ETX_OK;
    struct back back = {.d_weight = NULL};
    struct etx_mlp_backward_args args = {
        .forward = &back.split.args, .d_out = d_out, .gradient = back.gradient};

    ETX_CHECK(open_split(&back.split, context, block, values, input));
    etx_mlp_block_gradients(back.gradient, block, gradients);
    ETX_CHECK(alloc_outputs(&args, &back, context, input, d_part));
    ETX_CHECK(context->ops->mlp_backward(context->stream, &args));
    if (back.split.n_factored > 0)
        ETX_CHECK(add_rest(&back, context, input));
    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (back.split.is_factored[p])
            ETX_CHECK(factor_backward(&back, context, input, p, d_part[p]));
        else if (back.d_rows[p] != NULL)
            ETX_CHECK(sum_at_nodes(d_part[p], context, &input->end[p],
                back.d_rows[p], input->args.part[p].width));
done:
    return status;
}

/* ---------------------------------------------------------- sums, inputs -- */

void etx_mlp_append_with_sum(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width, struct etx_sum *sum)
{
    const int32_t p = input->args.n_parts;

    if (width == 0)
        return;
    assert(p < ETX_MAX_PARTS);
    input->args.part[p] = (struct etx_rows){
        .data = data, .index = end != NULL ? end->index : NULL, .width = width};
    if (end != NULL)
        input->end[p] = *end;
    input->sum[p] = sum;
    input->args.n_parts++;
}

void etx_mlp_append(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width)
{
    etx_mlp_append_with_sum(input, data, end, width, NULL);
}

etx_status etx_sum_alloc(struct etx_sum *sum, struct etx_context *context,
    int64_t n, const char *what)
{
    *sum = (struct etx_sum){.n = n};
    return etx_arena_alloc(
        &sum->data, context->stream->arena, n, sizeof *sum->data, what);
}

etx_status etx_sum_add(
    struct etx_sum *sum, struct etx_context *context, const float *term)
{
    if (sum->is_started)
        return etx_add_values(context, sum->data, term, sum->n);
    sum->is_started = 1;
    return etx_copy_values(context, sum->data, term, sum->n);
}

/* The gradient of a part: the data of its sum where that is free, scratch
 * where it has terms already or is what the block reads. */
static etx_status alloc_term(float **out, struct etx_context *context,
    struct etx_sum *sum, const float *d_out)
{
    if (!sum->is_started && sum->data != d_out) {
        sum->is_started = 1;
        *out = sum->data;
        return ETX_OK;
    }
    return etx_floats_alloc(out, context, sum->n, "gradients of inputs");
}

etx_status etx_mlp_block_backward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    const struct etx_mlp_input *input, const float *d_out)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    float *term[ETX_MAX_PARTS] = {NULL};

    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (input->sum[p] != NULL)
            ETX_CHECK(alloc_term(&term[p], context, input->sum[p], d_out));
    ETX_CHECK(compute_gradients(
        term, context, block, values, gradients, input, d_out));
    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (term[p] != NULL && term[p] != input->sum[p]->data)
            ETX_CHECK(etx_sum_add(input->sum[p], context, term[p]));
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
