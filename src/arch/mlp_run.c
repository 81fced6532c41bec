/* arch/mlp_run.c -- a block forward and backward.
 *
 * Node latents reach an edge network through the ends of the edges, so that
 * one node's row goes into many edges' rows. The first layer is linear in its
 * parts, W [x_i; x_j; e] = W_i x_i + W_j x_j + W_e e: the products with parts
 * taken by an end are made once a node and added to the rows of the edges.
 * Backward, the gradient of such rows is summed at the node before the
 * products with W and x.
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
    struct etx_mlp_args args; /* of the parts that stay, and the added rows */
    struct etx_layer layer[ETX_MAX_LAYERS];
    int32_t n_shared;
    int32_t shared[ETX_MAX_ADDED];         /* parts multiplied once a node */
    struct etx_layer first[ETX_MAX_PARTS]; /* their linears, by part */
    int32_t column[ETX_MAX_PARTS]; /* where a part begins in the input */
    int32_t is_shared[ETX_MAX_PARTS];
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
        if (split->n_shared < ETX_MAX_ADDED && is_worth_it(input, p)) {
            split->is_shared[p] = 1;
            split->shared[split->n_shared++] = p;
        }
    }
}

/* The columns of part p in the first layer's weight: out [n_out, width], rows
 * stride apart. Centred is without what a layer norm that follows takes off
 * anyway. */
static etx_status copy_columns(float *out, int64_t stride,
    const struct split *split, struct etx_context *context,
    const struct etx_mlp_input *input, const struct etx_layer *layer, int32_t p,
    int32_t is_centred)
{
    const struct etx_columns_args args = {.n_rows = layer->n_out,
        .width = input->args.part[p].width,
        .centre = is_centred,
        .x_stride = layer->n_in,
        .y_stride = stride,
        .x = layer->weight + split->column[p],
        .y = out};

    return context->ops->columns(context->stream, &args);
}

/* The columns of the parts that stay, side by side: out [n_out, n_left]. */
static etx_status copy_left(float *out, int32_t n_left,
    const struct split *split, struct etx_context *context,
    const struct etx_mlp_input *input, const struct etx_layer *layer)
{
    etx_status status = ETX_OK;

    for (int32_t p = 0; p < input->args.n_parts; p++) {
        if (split->is_shared[p])
            continue;
        ETX_CHECK(
            copy_columns(out, n_left, split, context, input, layer, p, 0));
        out += input->args.part[p].width;
    }
done:
    return status;
}

/* Layout of the split first layer, from weight [n_out, n_in] on:
 * first[p] has the columns of the shared part p, layer[0] those of the parts
 * that stay. */
static void lay_out(
    struct split *split, const struct etx_mlp_input *input, const float *weight)
{
    const struct etx_layer whole = split->layer[0];
    int32_t n_left = whole.n_in;

    for (int32_t s = 0; s < split->n_shared; s++) {
        const int32_t p = split->shared[s];
        const int32_t width = input->args.part[p].width;

        split->first[p] = (struct etx_layer){
            .n_in = width, .n_out = whole.n_out, .weight = weight};
        weight += (int64_t)whole.n_out * width;
        n_left -= width;
    }
    split->layer[0].n_in = n_left;
    split->layer[0].weight = weight;
}

/* Write what was laid out from weight on. */
static etx_status copy_parts(float *weight, const struct split *split,
    struct etx_context *context, const struct etx_mlp_input *input,
    const struct etx_layer *whole)
{
    etx_status status = ETX_OK;

    for (int32_t s = 0; s < split->n_shared; s++) {
        const int32_t p = split->shared[s];
        const int32_t width = input->args.part[p].width;

        ETX_CHECK(copy_columns(weight, width, split, context, input, whole, p,
            split->args.added_is_centred));
        weight += (int64_t)whole->n_out * width;
    }
    ETX_CHECK(
        copy_left(weight, split->layer[0].n_in, split, context, input, whole));
done:
    return status;
}

/* The split first layer, by which parts are shared: nothing else differs from
 * call to call. */
static struct etx_weight_key key_of(
    const struct split *split, const struct etx_layer *whole)
{
    struct etx_weight_key key = {.source = whole->weight,
        .form = ETX_WEIGHTS_SPLIT,
        .n = (int64_t)whole->n_out * whole->n_in};

    for (int32_t s = 0; s < split->n_shared; s++)
        key.form |= UINT32_C(1) << split->shared[s];
    return key;
}

/* Split the first layer: once for cached parameters, else in scratch. */
static etx_status split_first_layer(struct split *split,
    struct etx_context *context, const struct etx_mlp_input *input)
{
    etx_status status = ETX_OK;
    const struct etx_layer whole = split->layer[0];
    const struct etx_weight_key key = key_of(split, &whole);
    const struct etx_stream *stream = context->stream;
    struct etx_weights weights;

    split->args.added_is_centred =
        whole.norm == ETX_NORM_LAYER && !whole.norm_last;
    ETX_CHECK(etx_weights_open(&weights, stream->weight_cache, stream->arena,
        &key, sizeof(float), "weights"));
    lay_out(split, input, weights.value);
    if (weights.is_ready)
        return ETX_OK;
    ETX_CHECK(copy_parts(weights.value, split, context, input, &whole));
    etx_weights_close(stream->weight_cache, &weights);
done:
    return status;
}

/* The product of shared part p, once a node, as added rows; float16 where the
 * edges, which read them many times, are so. */
static etx_status multiply_shared(struct split *split,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p)
{
    etx_status status = ETX_OK;
    const int32_t n_out = split->layer[0].n_out;
    const int32_t is_half = context->stream->is_half;
    struct etx_arena *arena = context->stream->arena;
    struct etx_rows product = {.index = input->end[p].index, .width = n_out};
    struct etx_mlp_args args = {.n_rows = input->end[p].n_nodes,
        .n_parts = 1,
        .n_layers = 1,
        .part = {input->args.part[p]},
        .layer = &split->first[p]};
    const int64_t n_values = args.n_rows * n_out;

    args.part[0].index = NULL;
    if (is_half)
        ETX_CHECK(etx_arena_alloc(&args.half_out, arena, n_values,
            sizeof *args.half_out, "products of nodes"));
    else
        ETX_CHECK(etx_arena_alloc(
            &args.out, arena, n_values, sizeof *args.out, "products of nodes"));
    ETX_CHECK(context->ops->mlp(context->stream, &args));
    product.data = args.out;
    product.half = args.half_out;
    split->args.added[split->args.n_added++] = product;
done:
    return status;
}

/* Everything up to the products; scratch stays in the arena. */
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
    if (split->n_shared == 0)
        return ETX_OK;
    ETX_CHECK(split_first_layer(split, context, input));
    split->args.n_parts = 0;
    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (split->is_shared[p])
            ETX_CHECK(multiply_shared(split, context, input, p));
        else
            split->args.part[split->args.n_parts++] = input->args.part[p];
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

/* What the backward adds to besides the caller's arrays. */
struct back {
    struct split split;
    struct etx_layer_gradient gradient[ETX_MAX_LAYERS];
    float *whole;   /* the gradient of the first weight, as it lies */
    float *left;    /* that of the columns that stay, zeroed */
    float *d_added; /* [n_rows, n_out] of the first linear */
    float *d_rows[ETX_MAX_PARTS]; /* [n_rows, width] of rows by an end */
};

static etx_status take_zeros(
    float **out, struct etx_context *context, int64_t n, const char *what)
{
    etx_status status = ETX_OK;

    ETX_CHECK(
        etx_arena_alloc(out, context->stream->arena, n, sizeof **out, what));
    const struct etx_fill_args args = {.n = n, .y = *out};
    ETX_CHECK(context->ops->fill(context->stream, &args));
done:
    return status;
}

/* Columns of part p in the gradient of the first weight += d [n_out, row]. */
static etx_status add_columns(const struct back *back,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p,
    const float *d, int32_t row)
{
    struct etx_columns_args args = {.n_rows = back->split.layer[0].n_out,
        .width = input->args.part[p].width,
        .add = 1,
        .x_stride = row,
        .x = d,
        .y = back->whole + back->split.column[p]};

    for (int32_t q = 0; q < input->args.n_parts; q++)
        args.y_stride += input->args.part[q].width;
    return context->ops->columns(context->stream, &args);
}

static etx_status add_left(const struct back *back, struct etx_context *context,
    const struct etx_mlp_input *input)
{
    const float *from = back->left;
    etx_status status = ETX_OK;

    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (!back->split.is_shared[p]) {
            ETX_CHECK(add_columns(
                back, context, input, p, from, back->split.layer[0].n_in));
            from += input->args.part[p].width;
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

/* The gradients of a shared part and of its columns. */
static etx_status shared_backward(struct back *back,
    struct etx_context *context, const struct etx_mlp_input *input, int32_t p,
    float *d_data)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_layer *layer = &back->split.first[p];
    const struct etx_edge_end *end = &input->end[p];
    struct etx_layer_gradient gradient = {NULL};
    float *d_product = NULL;
    const struct etx_mlp_args forward = {.n_rows = end->n_nodes,
        .n_parts = 1,
        .n_layers = 1,
        .part = {{.data = input->args.part[p].data, .width = layer->n_in}},
        .layer = layer};
    struct etx_mlp_backward_args args = {
        .forward = &forward, .d_part = {d_data}, .gradient = &gradient};

    ETX_CHECK(etx_arena_alloc(&d_product, arena, end->n_nodes * layer->n_out,
        sizeof *d_product, "gradients of products"));
    ETX_CHECK(take_zeros(&gradient.weight, context,
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

/* Where the operator puts its gradients: the caller's arrays for rows as they
 * lie, scratch for rows taken by an end. */
static etx_status take_outputs(struct etx_mlp_backward_args *args,
    struct back *back, struct etx_context *context,
    const struct etx_mlp_input *input, float *const *d_part)
{
    etx_status status = ETX_OK;
    const struct split *split = &back->split;
    const struct etx_layer *first = &split->layer[0];
    struct etx_arena *arena = context->stream->arena;
    int32_t n_parts = 0;

    if (split->n_shared > 0) {
        ETX_CHECK(etx_arena_alloc(&back->d_added, arena,
            input->args.n_rows * first->n_out, sizeof(float),
            "gradients of added rows"));
        ETX_CHECK(take_zeros(&back->left, context,
            (int64_t)first->n_out * first->n_in, "gradients of weights"));
        back->whole = back->gradient[0].weight;
        back->gradient[0].weight = back->left;
        args->d_added = back->d_added;
    }
    for (int32_t p = 0; p < input->args.n_parts; p++) {
        float *to = d_part == NULL ? NULL : d_part[p];

        if (split->is_shared[p])
            continue;
        if (to != NULL && input->end[p].index != NULL) {
            assert(input->end[p].offset != NULL);
            ETX_CHECK(etx_arena_alloc(&back->d_rows[p], arena,
                input->args.n_rows * input->args.part[p].width, sizeof(float),
                "gradients of rows"));
            to = back->d_rows[p];
        }
        args->d_part[n_parts++] = to;
    }
done:
    return status;
}

etx_status etx_mlp_block_backward(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    const struct etx_mlp_input *input, const float *d_out, float *const *d_part)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct back back = {.whole = NULL};
    struct etx_mlp_backward_args args = {
        .forward = &back.split.args, .d_out = d_out, .gradient = back.gradient};

    ETX_CHECK(open_split(&back.split, context, block, values, input));
    etx_mlp_block_gradients(back.gradient, block, gradients);
    ETX_CHECK(take_outputs(&args, &back, context, input, d_part));
    ETX_CHECK(context->ops->mlp_backward(context->stream, &args));
    if (back.split.n_shared > 0)
        ETX_CHECK(add_left(&back, context, input));
    for (int32_t p = 0; p < input->args.n_parts; p++) {
        float *to = d_part == NULL ? NULL : d_part[p];

        if (back.split.is_shared[p])
            ETX_CHECK(shared_backward(&back, context, input, p, to));
        else if (back.d_rows[p] != NULL)
            ETX_CHECK(sum_at_nodes(to, context, &input->end[p], back.d_rows[p],
                input->args.part[p].width));
    }
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

void etx_mlp_part_with_sum(struct etx_mlp_input *input, const float *data,
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

void etx_mlp_part(struct etx_mlp_input *input, const float *data,
    const struct etx_edge_end *end, int32_t width)
{
    etx_mlp_part_with_sum(input, data, end, width, NULL);
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
    return etx_arena_alloc(out, context->stream->arena, sum->n, sizeof **out,
        "gradients of inputs");
}

etx_status etx_mlp_block_accumulate(struct etx_context *context,
    const struct etx_mlp_block *block, const float *values, float *gradients,
    const struct etx_mlp_input *input, const float *d_out)
{
    etx_status status = ETX_OK;
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    float *term[ETX_MAX_PARTS] = {NULL};

    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (input->sum[p] != NULL)
            ETX_CHECK(alloc_term(&term[p], context, input->sum[p], d_out));
    ETX_CHECK(etx_mlp_block_backward(
        context, block, values, gradients, input, d_out, term));
    for (int32_t p = 0; p < input->args.n_parts; p++)
        if (term[p] != NULL && term[p] != input->sum[p]->data)
            ETX_CHECK(etx_sum_add(input->sum[p], context, term[p]));
done:
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
