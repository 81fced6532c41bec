/* arch/lorentz_network/scalars.c -- Lorentz scalars of the ends of edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/lorentz_network/network.h"

#include "base/check.h"

/* The factor of scalar s: a power of the ratio. */
static float factor_of(const struct etx_run *run, int32_t s)
{
    const struct etx_lorentz *state = run->network->state;
    float factor = 1.0f;

    for (int32_t k = 0; k < s % ETX_LORENTZ_SCALES; k++)
        factor *= state->ratio;
    return factor;
}

etx_status etx_lorentz_lower(
    float *out, struct etx_run *run, const float *rows, int64_t n_rows)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n = n_rows * ETX_LORENTZ_WIDTH;
    const struct etx_scale_args negate = {.n = n, .factor = -1.0f, .y = out};
    const struct etx_columns_args time = {.n_rows = n_rows,
        .width = 1,
        .x_stride = ETX_LORENTZ_WIDTH,
        .y_stride = ETX_LORENTZ_WIDTH,
        .x = rows,
        .y = out};

    ETX_CHECK(etx_copy_values(context, out, rows, n));
    ETX_CHECK(context->ops->scale(context->stream, &negate));
    ETX_CHECK(context->ops->columns(context->stream, &time));
done:
    return status;
}

/* out [n_edges, 4] = x[dst] - x[src]. */
static etx_status subtract_ends(float *out, struct etx_run *run, const float *x)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    struct etx_gather_args gather = {.n_rows = graph->n_edges,
        .width = ETX_LORENTZ_WIDTH,
        .x = x,
        .index = graph->src,
        .y = out};
    const struct etx_scale_args negate = {
        .n = graph->n_edges * ETX_LORENTZ_WIDTH, .factor = -1.0f, .y = out};

    ETX_CHECK(context->ops->gather(context->stream, &gather));
    ETX_CHECK(context->ops->scale(context->stream, &negate));
    gather.index = graph->dst;
    gather.add = 1;
    ETX_CHECK(context->ops->gather(context->stream, &gather));
done:
    return status;
}

/* The two products of every edge, into the scalars whose factor is 1. */
static etx_status multiply(
    struct etx_lorentz_scalars *scalars, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    float *plain = NULL;
    struct etx_row_dot_args square = {.n_rows = graph->n_edges,
        .width = ETX_LORENTZ_WIDTH,
        .b = scalars->difference,
        .out = scalars->scaled[0]};
    const struct etx_row_dot_args product = {.n_rows = graph->n_edges,
        .width = ETX_LORENTZ_WIDTH,
        .a = scalars->lowered,
        .a_index = graph->src,
        .b = scalars->x,
        .b_index = graph->dst,
        .out = scalars->scaled[ETX_LORENTZ_SCALES]};

    ETX_CHECK(etx_floats_alloc(&plain, context,
        graph->n_edges * ETX_LORENTZ_WIDTH, "differences of four-vectors"));
    ETX_CHECK(subtract_ends(plain, run, scalars->x));
    ETX_CHECK(
        etx_lorentz_lower(scalars->difference, run, plain, graph->n_edges));
    square.a = plain;
    ETX_CHECK(context->ops->row_dot(context->stream, &square));
    ETX_CHECK(context->ops->row_dot(context->stream, &product));
done:
    return status;
}

/* scaled and value of scalar s, from the product. */
static etx_status squash(
    struct etx_lorentz_scalars *scalars, struct etx_run *run, int32_t s)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int32_t scale = s % ETX_LORENTZ_SCALES;
    const int64_t n = run->input.graph->n_edges;
    const struct etx_scale_args multiply_by = {
        .n = n, .factor = factor_of(run, s), .y = scalars->scaled[s]};
    const struct etx_activation_args squashed = {.n = n,
        .activation = ETX_ACTIVATION_TANH,
        .x = scalars->scaled[s],
        .y = scalars->value[s]};

    if (scale > 0) {
        ETX_CHECK(etx_copy_values(
            context, scalars->scaled[s], scalars->scaled[s - scale], n));
        ETX_CHECK(context->ops->scale(context->stream, &multiply_by));
    }
    ETX_CHECK(context->ops->activation(context->stream, &squashed));
done:
    return status;
}

static etx_status alloc_scalars(
    struct etx_lorentz_scalars *scalars, struct etx_run *run)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n = run->input.graph->n_edges;

    ETX_CHECK(etx_floats_alloc(&scalars->lowered, context,
        run->input.n_nodes * ETX_LORENTZ_WIDTH, "four-vectors"));
    ETX_CHECK(etx_floats_alloc(&scalars->difference, context,
        n * ETX_LORENTZ_WIDTH, "differences of four-vectors"));
    for (int32_t s = 0; s < ETX_LORENTZ_SCALARS; s++) {
        ETX_CHECK(etx_floats_alloc(
            &scalars->scaled[s], context, n, "scalars of edges"));
        ETX_CHECK(etx_floats_alloc(
            &scalars->value[s], context, n, "scalars of edges"));
        if (run->gradient != NULL)
            ETX_CHECK(etx_sum_alloc(&scalars->d_value[s], context, n,
                "gradients of the scalars of edges"));
    }
done:
    return status;
}

etx_status etx_lorentz_scalars_make(
    struct etx_lorentz_scalars *out, struct etx_run *run, const float *x)
{
    etx_status status = ETX_OK;

    *out = (struct etx_lorentz_scalars){.x = x};
    ETX_CHECK(alloc_scalars(out, run));
    ETX_CHECK(etx_lorentz_lower(out->lowered, run, x, run->input.n_nodes));
    ETX_CHECK(multiply(out, run));
    for (int32_t s = 0; s < ETX_LORENTZ_SCALARS; s++)
        ETX_CHECK(squash(out, run, s));
done:
    return status;
}

/* -------------------------------------------------------------- backward -- */

/* out [n_edges] = the gradient of a product, from the gradients of its scalars,
 * which are used as scratch. */
static etx_status product_gradient(float *out, struct etx_run *run,
    struct etx_lorentz_scalars *scalars, int32_t product)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const int64_t n = run->input.graph->n_edges;
    const struct etx_fill_args zero = {.n = n, .y = out};

    ETX_CHECK(context->ops->fill(context->stream, &zero));
    for (int32_t k = 0; k < ETX_LORENTZ_SCALES; k++) {
        const int32_t s = product * ETX_LORENTZ_SCALES + k;
        float *d_value = scalars->d_value[s].data;
        const struct etx_activation_backward_args slope = {.n = n,
            .activation = ETX_ACTIVATION_TANH,
            .x = scalars->scaled[s],
            .d_y = d_value,
            .d_x = d_value};
        const struct etx_add_args add = {
            .n = n, .alpha = factor_of(run, s), .x = d_value, .y = out};

        ETX_CHECK(context->ops->activation_backward(context->stream, &slope));
        ETX_CHECK(context->ops->add(context->stream, &add));
    }
done:
    return status;
}

/* d_x[dst] += 2 d (x[dst] - x[src]), lowered, and d_x[src] -= the same; d
 * [n_edges] is used as scratch. */
static etx_status square_backward(struct etx_sum *d_x, struct etx_run *run,
    const struct etx_lorentz_scalars *scalars, float *d)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    const struct etx_graph *graph = run->input.graph;
    struct etx_scale_args scale = {.n = graph->n_edges, .factor = 2.0f, .y = d};
    struct etx_segment_reduce_args sum = {.n_segments = graph->n_nodes,
        .width = ETX_LORENTZ_WIDTH,
        .reduce = ETX_REDUCE_SUM,
        .add = d_x->is_started,
        .offset = graph->in_offset,
        .weight = d,
        .x = scalars->difference,
        .out = d_x->data};

    ETX_CHECK(context->ops->scale(context->stream, &scale));
    ETX_CHECK(context->ops->segment_reduce(context->stream, &sum));
    scale.factor = -1.0f;
    ETX_CHECK(context->ops->scale(context->stream, &scale));
    sum.add = 1;
    sum.offset = graph->out_offset;
    sum.order = graph->out_edge;
    ETX_CHECK(context->ops->segment_reduce(context->stream, &sum));
    d_x->is_started = 1;
done:
    return status;
}

etx_status etx_lorentz_scalars_backward(struct etx_sum *d_x,
    struct etx_run *run, struct etx_lorentz_scalars *scalars)
{
    etx_status status = ETX_OK;
    struct etx_context *context = run->context;
    float *d = NULL;

    ETX_CHECK(etx_floats_alloc(&d, context, run->input.graph->n_edges,
        "gradients of products of four-vectors"));
    ETX_CHECK(product_gradient(d, run, scalars, 0));
    ETX_CHECK(square_backward(d_x, run, scalars, d));
    ETX_CHECK(product_gradient(d, run, scalars, 1));
    ETX_CHECK(etx_propagate(d_x->data, 1, context, run->input.graph, d,
        scalars->lowered, ETX_LORENTZ_WIDTH));
done:
    return status;
}
