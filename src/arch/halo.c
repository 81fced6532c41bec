/* arch/halo.c -- rows of nodes that another partition owns.
 *
 *     update   x[halo] of each partition = x[own] of the owner
 *     reduce   d[own] of the owner += d[halo] of each partition; d[halo] = 0
 *
 * What a partition computed for its halo before an update is overwritten and so
 * has no gradient. The rest of the backward is that of a graph of its own:
 * gradients of parameters, summed over the partitions, equal the whole
 * graph's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/halo.h"

#include "arch/edge_steps.h"

#include "base/check.h"
#include "base/status.h"

/* Rows that are sent or received, by partition. Networks compute with rows in
 * the memory of the context, the exchange reads and writes the host's. */
struct side {
    int64_t n_rows;
    const int64_t *n;   /* [n_parts] rows of each partition */
    const int32_t *row; /* [n_rows] in the memory of the context */
    float *data;        /* [n_rows, width] in the memory of the context */
    float *host_data;   /* on the CPU data itself */
    int64_t *n_values;  /* [n_parts] n * width */
};

/* What a device needs besides: a copy of the rows, and host memory. */
static etx_status open_device_side(
    struct side *side, struct etx_context *context, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_stream *stream = context->stream;
    const int64_t n = side->n_rows;
    int32_t *row = NULL;

    ETX_CHECK(
        etx_arena_alloc(&side->host_data, etx_host_of(context)->stream->arena,
            n * width, sizeof(float), "rows of the halo"));
    ETX_SCRATCH(row, stream->arena, n, "rows of the halo");
    ETX_CHECK(
        etx_memory_to_device(stream->memory, row, side->row, n, sizeof *row));
    side->row = row;
done:
    return status;
}

static etx_status open_side(struct side *side, struct etx_context *context,
    int32_t n_parts, int32_t width)
{
    etx_status status = ETX_OK;

    ETX_SCRATCH(side->n_values, etx_host_of(context)->stream->arena, n_parts,
        "rows of the halo");
    for (int32_t q = 0; q < n_parts; q++)
        side->n_values[q] = side->n[q] * width;
    ETX_SCRATCH(side->data, context->stream->arena, side->n_rows * width,
        "rows of the halo");
    side->host_data = side->data;
    if (context->stream->memory != NULL)
        ETX_CHECK(open_device_side(side, context, width));
done:
    return status;
}

/* The sides of a partition: own rows that others have in their halo, and its
 * halo. */
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

/* Send the rows from->row of rows to the other partitions, and receive theirs
 * in to->data. */
static etx_status all_to_all(struct side *to, struct side *from,
    struct etx_context *context, const struct etx_halo *halo, const float *rows,
    int32_t width)
{
    etx_status status = ETX_OK;
    const etx_part_exchange *exchange = halo->exchange;
    const struct etx_memory *memory = context->stream->memory;
    const int32_t n_parts = halo->part->n_parts;
    struct etx_callback kept;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(open_side(to, context, n_parts, width));
    ETX_CHECK(open_side(from, context, n_parts, width));
    const struct etx_gather_args args = {.n_rows = from->n_rows,
        .width = width,
        .x = rows,
        .index = from->row,
        .y = from->data};

    ETX_CHECK(context->ops->gather(context->stream, &args));
    if (memory != NULL)
        ETX_CHECK(etx_memory_to_host(memory, from->host_data, from->data,
            from->n_rows * width, sizeof(float)));
    etx_callback_begin(&kept);
    ETX_CHECK(etx_callback_end(&kept, "swap",
        exchange->swap(exchange->user, to->host_data, to->n_values,
            from->host_data, from->n_values)));
    if (memory != NULL)
        ETX_CHECK(etx_memory_to_device(memory, to->data, to->host_data,
            to->n_rows * width, sizeof(float)));
done:
    return status;
}

/* rows[side->row] = side->data. */
static etx_status write_rows(float *rows, struct etx_context *context,
    const struct side *side, int32_t width)
{
    const struct etx_scatter_args args = {.n_rows = side->n_rows,
        .width = width,
        .x = side->data,
        .index = side->row,
        .y = rows};

    return context->ops->scatter(context->stream, &args);
}

/* rows[side->row] += side->data, one partition after the other: several may
 * have the same row. */
static etx_status add_rows(float *rows, struct etx_context *context,
    const struct side *side, int32_t n_parts, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_scatter_args args = {.width = width,
        .add = 1,
        .x = side->data,
        .index = side->row,
        .y = rows};

    for (int32_t q = 0; q < n_parts; q++) {
        args.n_rows = side->n[q];
        ETX_CHECK(context->ops->scatter(context->stream, &args));
        args.x += side->n[q] * width;
        args.index += side->n[q];
    }
done:
    return status;
}

etx_status etx_halo_update(struct etx_context *context,
    const struct etx_graph *graph, float *rows, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct side own;
    struct side halo;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(all_to_all(&halo, &own, context, graph->halo, rows, width));
    ETX_CHECK(write_rows(rows, context, &halo, width));
done:
    etx_scratch_reset(context, mark);
    return status;
}

etx_status etx_halo_reduce(struct etx_context *context,
    const struct etx_graph *graph, float *d_rows, int32_t width)
{
    etx_status status = ETX_OK;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct side own;
    struct side halo;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(all_to_all(&own, &halo, context, graph->halo, d_rows, width));
    const struct etx_fill_args zeros = {
        .n = halo.n_rows * width, .y = halo.data};

    ETX_CHECK(context->ops->fill(context->stream, &zeros));
    ETX_CHECK(write_rows(d_rows, context, &halo, width));
    ETX_CHECK(
        add_rows(d_rows, context, &own, graph->halo->part->n_parts, width));
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
