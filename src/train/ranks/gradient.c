/* train/ranks/gradient.c -- the gradient of a step: a sum over graphs, ranks
 * and partitions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/gradient.h"

#include "base/check.h"
#include "memory/memory.h"
#include "train/transfer.h"

#include <string.h>

static etx_status fill_zeros(
    const struct etx_context *context, float *values, int64_t n)
{
    const struct etx_fill_args args = {.n = n, .y = values};

    return context->ops->fill(context->stream, &args);
}

static etx_status alloc_zeros(
    float **out, struct etx_context *context, int64_t n)
{
    etx_status status = ETX_OK;

    if (*out == NULL)
        ETX_CHECK(etx_arena_alloc(
            out, context->stream->arena, n, sizeof **out, "gradient"));
    ETX_CHECK(fill_zeros(context, *out, n));
done:
    return status;
}

static etx_status add_to(const struct etx_context *context, float *sum,
    const float *value, int64_t n)
{
    const struct etx_add_args args = {
        .n = n, .alpha = 1.0f, .x = value, .y = sum};

    return context->ops->add(context->stream, &args);
}

etx_status etx_gradient_begin(struct etx_gradient_sum *sum)
{
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&sum->graph, etx_train_host(sum->context)->arena,
        sum->n_graphs, sizeof(*sum->graph), "gradients of graphs"));
    memset(sum->graph, 0, (size_t)sum->n_graphs * sizeof(*sum->graph));
done:
    return status;
}

/* --------------------------------------------------------------- alone -- */

/* Add the current gradient to the tree. */
static etx_status climb_tree(struct etx_gradient_sum *sum)
{
    float *carry = sum->current;
    int32_t l = 0;
    etx_status status = ETX_OK;

    for (; sum->level[l] != NULL; l++) {
        ETX_CHECK(add_to(sum->context, sum->level[l], carry, sum->n_values));
        sum->spare[sum->n_spare++] = carry;
        carry = sum->level[l];
        sum->level[l] = NULL;
    }
    sum->level[l] = carry;
done:
    return status;
}

/* gradient = the sum of the levels, smallest first, as the tree has them. */
static etx_status add_levels(
    float *gradient, const struct etx_gradient_sum *sum)
{
    const struct etx_context *context = sum->context;
    const int64_t n = sum->n_values;
    struct etx_columns_args copy = {.n_rows = 1,
        .width = (int32_t)n,
        .x_stride = n,
        .y_stride = n,
        .y = gradient};
    float *total = NULL;
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < ETX_GRADIENT_LEVELS; l++) {
        if (sum->level[l] == NULL)
            continue;
        if (total != NULL)
            ETX_CHECK(add_to(context, sum->level[l], total, n));
        total = sum->level[l];
    }
    copy.x = total;
    ETX_CHECK(context->ops->columns(context->stream, &copy));
done:
    return status;
}

/* -------------------------------------------------------------- a team -- */

/* The array of the host that gets the gradient of graph k. */
static etx_status open_host(
    float **out, struct etx_gradient_sum *sum, int64_t k)
{
    struct etx_context *host = etx_host_of(sum->context);
    etx_status status = ETX_OK;

    if (sum->team->is_fast && sum->rank != NULL) {
        *out = sum->rank;
        return ETX_OK;
    }
    *out = NULL;
    ETX_CHECK(alloc_zeros(out, host, sum->n_values));
    if (sum->team->is_fast)
        sum->rank = *out;
    else
        sum->graph[k] = *out;
done:
    return status;
}

/* Add the current gradient, which is on a device, to that of the host. */
static etx_status add_device(struct etx_gradient_sum *sum, int64_t k)
{
    struct etx_context *host = etx_host_of(sum->context);
    const struct etx_arena_mark mark = etx_arena_mark(host->stream->arena);
    float *target = sum->team->is_fast ? sum->rank : sum->graph[k];
    float *value;
    etx_status status;

    ETX_CHECK(etx_train_to_host(
        &value, sum->context, sum->current, sum->n_values, "gradient"));
    for (int64_t i = 0; i < sum->n_values; i++)
        target[i] += value[i];
done:
    etx_arena_reset(host->stream->arena, mark);
    return status;
}

/* out = the sum of one array per rank: zeros where it has no graph. */
static etx_status sum_ranks(float *out, struct etx_gradient_sum *sum)
{
    const etx_team *team = sum->team;
    struct etx_context *host = etx_host_of(sum->context);
    struct etx_arena *arena = host->stream->arena;
    int32_t *owner;
    float **array;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&owner, arena, team->n_ranks, sizeof *owner, "owners"));
    ETX_CHECK(etx_arena_alloc(
        &array, arena, team->n_ranks, sizeof(*array), "gradients of ranks"));
    memset(array, 0, (size_t)team->n_ranks * sizeof(*array));
    for (int32_t r = 0; r < team->n_ranks; r++)
        owner[r] = r;
    if (sum->rank == NULL)
        ETX_CHECK(alloc_zeros(&sum->rank, host, sum->n_values));
    array[team->rank] = sum->rank;
    ETX_CHECK(team->sum_slices(
        team->self, out, sum->n_values, team->n_ranks, owner, array));
done:
    return status;
}

static etx_status finish_team(float *gradient, struct etx_gradient_sum *sum)
{
    const etx_team *team = sum->team;
    const int64_t n = sum->n_values;
    float *total;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&total, etx_train_host(sum->context)->arena, n,
        sizeof *total, "gradient of the step"));
    if (team->is_fast)
        ETX_CHECK(sum_ranks(total, sum));
    else
        ETX_CHECK(team->sum_slices(
            team->self, total, n, sum->n_graphs, sum->owner, sum->graph));
    ETX_CHECK(etx_memory_to_device(
        sum->context->stream->memory, gradient, total, n, sizeof *total));
done:
    return status;
}

/* ---------------------------------------------------------- partitions -- */

/* gradient = its sum over the partitions, by way of the host. */
static etx_status sum_partitions(
    float *gradient, const struct etx_gradient_sum *sum)
{
    const struct etx_memory *memory = sum->context->stream->memory;
    const struct etx_scratch_mark mark = etx_scratch_mark(sum->context);
    float *value;
    etx_status status;

    ETX_CHECK(etx_train_to_host(
        &value, sum->context, gradient, sum->n_values, "gradient"));
    ETX_CHECK(etx_partition_sum_floats(sum->partition, value, sum->n_values));
    if (memory != NULL)
        ETX_CHECK(etx_memory_to_device(
            memory, gradient, value, sum->n_values, sizeof *value));
done:
    etx_scratch_reset(sum->context, mark);
    return status;
}

/* ------------------------------------------------------------------ all -- */

etx_status etx_gradient_open(
    float **out, struct etx_gradient_sum *sum, int64_t k)
{
    const int on_device = sum->context->stream->memory != NULL;
    float *host;
    etx_status status = ETX_OK;

    if (sum->team->n_ranks == 1) {
        sum->current = sum->n_spare > 0 ? sum->spare[--sum->n_spare] : NULL;
        ETX_CHECK(alloc_zeros(&sum->current, sum->context, sum->n_values));
    } else {
        ETX_CHECK(open_host(&host, sum, k));
        if (on_device)
            ETX_CHECK(alloc_zeros(&sum->current, sum->context, sum->n_values));
        else
            sum->current = host;
    }
    *out = sum->current;
done:
    return status;
}

etx_status etx_gradient_close(struct etx_gradient_sum *sum, int64_t k)
{
    if (sum->team->n_ranks == 1)
        return climb_tree(sum);
    if (sum->context->stream->memory != NULL)
        return add_device(sum, k);
    return ETX_OK;
}

etx_status etx_gradient_finish(float *gradient, struct etx_gradient_sum *sum)
{
    etx_status status;

    if (sum->team->n_ranks == 1)
        ETX_CHECK(add_levels(gradient, sum));
    else
        ETX_CHECK(finish_team(gradient, sum));
    if (sum->partition->n_parts > 0)
        ETX_CHECK(sum_partitions(gradient, sum));
done:
    return status;
}

void etx_gradient_sum_tree(
    float *const *slice, int64_t n_slices, int64_t n_values)
{
    for (int64_t stride = 1; stride < n_slices; stride *= 2)
        for (int64_t k = 0; k + stride < n_slices; k += 2 * stride)
            for (int64_t i = 0; i < n_values; i++)
                slice[k][i] += slice[k + stride][i];
}
