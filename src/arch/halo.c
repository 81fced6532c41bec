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

#include "base/check.h"
#include "base/status.h"

#include <string.h>

/* Rows on their way: a list of each side, by part. */
struct side {
    int64_t n_rows;
    const int64_t *n;   /* [n_parts] rows */
    const int32_t *row; /* [n_rows] */
    float *data;        /* [n_rows, width] in scratch */
    int64_t *n_values;  /* [n_parts] in scratch */
};

static etx_status take_side(struct side *side, struct etx_context *context,
    int32_t n_parts, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;

    ETX_CHECK(etx_arena_take(&side->data, arena, side->n_rows * width,
        sizeof *side->data, "rows of the halo"));
    ETX_CHECK(etx_arena_take(&side->n_values, arena, n_parts,
        sizeof *side->n_values, "rows of the halo"));
    for (int32_t q = 0; q < n_parts; q++)
        side->n_values[q] = side->n[q] * width;
done:
    return status;
}

/* Send the rows of from; those of to come into to->data. */
static etx_status swap(struct side *to, struct side *from,
    struct etx_context *context, const struct etx_halo *halo,
    const float *rows, int32_t width)
{
    etx_status status = ETX_OK;
    const etx_part_exchange *exchange = halo->exchange;
    const int32_t n_parts = halo->part->n_parts;
    const size_t bytes = (size_t)width * sizeof *rows;

    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(take_side(to, context, n_parts, width));
    ETX_CHECK(take_side(from, context, n_parts, width));
    for (int64_t k = 0; k < from->n_rows; k++)
        memcpy(from->data + k * width,
            rows + (int64_t)from->row[k] * width, bytes);
    ETX_CHECK(exchange->swap(exchange->user, to->data, to->n_values,
        from->data, from->n_values));
done:
    return status;
}

static struct side own_side(const struct etx_graph_part *part)
{
    return (struct side){.n_rows = part->n_sent_rows,
        .n = part->n_sent,
        .row = part->sent_row};
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
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const size_t bytes = (size_t)width * sizeof *rows;
    struct side own;
    struct side halo;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(swap(&halo, &own, context, graph->halo, rows, width));
    for (int64_t k = 0; k < halo.n_rows; k++)
        memcpy(rows + (int64_t)halo.row[k] * width, halo.data + k * width,
            bytes);
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_halo_return(struct etx_context *context,
    const struct etx_graph *graph, float *d_rows, int32_t width)
{
    etx_status status = ETX_OK;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const size_t bytes = (size_t)width * sizeof *d_rows;
    struct side own;
    struct side halo;

    if (graph->halo == NULL)
        return ETX_OK;
    own = own_side(graph->halo->part);
    halo = halo_side(graph->halo->part);
    ETX_CHECK(swap(&own, &halo, context, graph->halo, d_rows, width));
    for (int64_t k = 0; k < halo.n_rows; k++)
        memset(d_rows + (int64_t)halo.row[k] * width, 0, bytes);
    for (int64_t k = 0; k < own.n_rows; k++)
        for (int32_t c = 0; c < width; c++)
            d_rows[(int64_t)own.row[k] * width + c] +=
                own.data[k * width + c];
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_halo_check(const struct etx_network *network)
{
    if (network->needs_whole == NULL)
        return ETX_OK;
    return etx_fail(ETX_ERR_UNSUPPORTED,
        "%s: this network runs on whole graphs only: %s",
        network->arch->name, network->needs_whole);
}
