/* arch/halo.c -- rows of nodes that another part of the graph owns.
 *
 * Forward, x[halo] of one part is x[own] of another. Its adjoint: the gradient
 * of x[halo] is a term of that of x[own], and what the part itself computed
 * for the halo before the rows came has none. Everything else of the backward
 * is that of a graph of its own, and sums of parameters' gradients over the
 * parts are those of the whole graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/halo.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/status.h"

/* Rows on their way: a list of each side, by part. What the exchange reads and
 * writes is on the host; rows of a network are where the context computes. */
struct side {
    int64_t n_rows;
    const int64_t *n;   /* [n_parts] rows */
    const int32_t *row; /* [n_rows] */
    float *data;        /* [n_rows, width] in scratch of the host */
    int64_t *n_values;  /* [n_parts] in scratch of the host */
};

static struct etx_arena *host_arena(struct etx_context *context)
{
    return etx_host_of(context)->stream->arena;
}

static etx_status take_side(struct side *side, struct etx_context *context,
    int32_t n_parts, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = host_arena(context);

    ETX_CHECK(etx_arena_alloc(&side->data, arena, side->n_rows * width,
        sizeof *side->data, "rows of the halo"));
    ETX_CHECK(etx_arena_alloc(&side->n_values, arena, n_parts,
        sizeof *side->n_values, "rows of the halo"));
    for (int32_t q = 0; q < n_parts; q++)
        side->n_values[q] = side->n[q] * width;
done:
    return status;
}

/* *out [n]: values of the host in scratch where the context computes. */
static etx_status bring_rows(
    float **out, struct etx_context *context, const float *values, int64_t n)
{
    etx_status status = ETX_OK;

    ETX_CHECK(etx_arena_alloc(
        out, context->stream->arena, n, sizeof **out, "rows of the halo"));
    ETX_CHECK(etx_memory_to_device(
        context->stream->memory, *out, values, n, sizeof **out));
done:
    return status;
}

/* The same for the places of rows; on the CPU they are used as they are. */
static etx_status bring_places(
    const int32_t **out, struct etx_context *context, const struct side *side)
{
    etx_status status = ETX_OK;
    int32_t *copy = NULL;

    *out = side->row;
    if (context->stream->memory == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&copy, context->stream->arena, side->n_rows,
        sizeof *copy, "rows of the halo"));
    ETX_CHECK(etx_memory_to_device(
        context->stream->memory, copy, side->row, side->n_rows, sizeof *copy));
    *out = copy;
done:
    return status;
}

/* side->data = its rows. */
static etx_status read_side(const struct side *side,
    struct etx_context *context, const float *rows, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_memory *memory = context->stream->memory;
    const int64_t n = side->n_rows * width;
    struct etx_gather_args args = {
        .n_rows = side->n_rows, .width = width, .x = rows, .y = side->data};

    ETX_CHECK(bring_places(&args.index, context, side));
    if (memory != NULL)
        ETX_CHECK(etx_arena_alloc(&args.y, context->stream->arena, n,
            sizeof *args.y, "rows of the halo"));
    ETX_CHECK(context->ops->gather(context->stream, &args));
    if (memory != NULL)
        ETX_CHECK(
            etx_memory_to_host(memory, side->data, args.y, n, sizeof *args.y));
done:
    return status;
}

/* Send the rows of from; those of to come into to->data. */
static etx_status swap(struct side *to, struct side *from,
    struct etx_context *context, const struct etx_halo *halo, const float *rows,
    int32_t width)
{
    etx_status status = ETX_OK;
    const etx_part_exchange *exchange = halo->exchange;
    const int32_t n_parts = halo->part->n_parts;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(take_side(to, context, n_parts, width));
    ETX_CHECK(take_side(from, context, n_parts, width));
    ETX_CHECK(read_side(from, context, rows, width));
    ETX_CHECK(exchange->swap(
        exchange->user, to->data, to->n_values, from->data, from->n_values));
done:
    return status;
}

/* The rows of side become data [n_rows, width], which is where the context
 * computes. */
static etx_status write_side(const struct side *side,
    struct etx_context *context, float *rows, const float *data, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_scatter_args args = {
        .n_rows = side->n_rows, .width = width, .x = data, .y = rows};

    ETX_CHECK(bring_places(&args.index, context, side));
    ETX_CHECK(context->ops->scatter(context->stream, &args));
done:
    return status;
}

/* data is added to the rows of side, one part after the other: several may
 * have the same row. */
static etx_status add_side(const struct side *side, struct etx_context *context,
    float *rows, const float *data, int32_t n_parts, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_scatter_args args = {
        .width = width, .add = 1, .x = data, .y = rows};

    ETX_CHECK(bring_places(&args.index, context, side));
    for (int32_t q = 0; q < n_parts; q++) {
        args.n_rows = side->n[q];
        ETX_CHECK(context->ops->scatter(context->stream, &args));
        args.x += side->n[q] * width;
        args.index += side->n[q];
    }
done:
    return status;
}

static struct side own_side(const struct etx_graph_part *part)
{
    return (struct side){
        .n_rows = part->n_sent_rows, .n = part->n_sent, .row = part->sent_row};
}

static struct side halo_side(const struct etx_graph_part *part)
{
    return (struct side){.n_rows = part->n_received_rows,
        .n = part->n_received,
        .row = part->received_row};
}

etx_status etx_halo_update(struct etx_context *context,
    const struct etx_graph *graph, float *rows, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct side own;
    struct side halo;
    float *data = NULL;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(swap(&halo, &own, context, graph->halo, rows, width));
    ETX_CHECK(bring_rows(&data, context, halo.data, halo.n_rows * width));
    ETX_CHECK(write_side(&halo, context, rows, data, width));
done:
    etx_scratch_reset(context, mark);
    return status;
}

etx_status etx_halo_return(struct etx_context *context,
    const struct etx_graph *graph, float *d_rows, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_fill_args zeros = {.value = 0.0f};
    struct side own;
    struct side halo;
    float *data = NULL;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(swap(&own, &halo, context, graph->halo, d_rows, width));
    zeros.n = halo.n_rows * width;
    ETX_CHECK(etx_arena_alloc(&zeros.y, context->stream->arena, zeros.n,
        sizeof *zeros.y, "rows of the halo"));
    ETX_CHECK(context->ops->fill(context->stream, &zeros));
    ETX_CHECK(write_side(&halo, context, d_rows, zeros.y, width));
    ETX_CHECK(bring_rows(&data, context, own.data, own.n_rows * width));
    ETX_CHECK(add_side(
        &own, context, d_rows, data, graph->halo->part->n_parts, width));
done:
    etx_scratch_reset(context, mark);
    return status;
}

etx_status etx_halo_check(const struct etx_network *network)
{
    if (network->needs_whole == NULL)
        return ETX_OK;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "%s: this network runs on whole graphs only: %s", network->arch->name,
        network->needs_whole);
}
