/* train/ranks/gradient.c -- the gradient of a step: a sum over graphs, ranks
 * and partitions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/gradient.h"

#include "base/check.h"
#include "base/status.h"
#include "memory/memory.h"
#include "train/transfer.h"

#include <stdbool.h>
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

/* gradient = total [n_values] */
static etx_status copy_total(
    float *gradient, const struct etx_gradient_sum *sum, const float *total)
{
    const struct etx_columns_args copy = {.n_rows = 1,
        .width = (int32_t)sum->n_values,
        .x_stride = sum->n_values,
        .y_stride = sum->n_values,
        .x = total,
        .y = gradient};

    return sum->context->ops->columns(sum->context->stream, &copy);
}

/* gradient = the sum of the levels, smallest first, as the tree has them. */
static etx_status add_levels(
    float *gradient, const struct etx_gradient_sum *sum)
{
    float *total = NULL;
    etx_status status = ETX_OK;

    for (int32_t l = 0; l < ETX_GRADIENT_LEVELS; l++) {
        if (sum->level[l] == NULL)
            continue;
        if (total != NULL)
            ETX_CHECK(
                add_to(sum->context, sum->level[l], total, sum->n_values));
        total = sum->level[l];
    }
    ETX_CHECK(copy_total(gradient, sum, total));
done:
    return status;
}

/* -------------------------------------------------------------- a team -- */

static bool is_on_device(const struct etx_gradient_sum *sum)
{
    return sum->context->stream->memory != NULL;
}

/* Whether the ranks share gradients on their devices. */
static bool is_shared(const struct etx_gradient_sum *sum)
{
    return is_on_device(sum) && sum->team->share_slices != NULL;
}

/* Where the gradients of this rank's graphs are. */
static struct etx_context *team_context(const struct etx_gradient_sum *sum)
{
    return is_shared(sum) ? sum->context : etx_host_of(sum->context);
}

/* The array there that gets the gradient of graph k. */
static etx_status open_team(
    float **out, struct etx_gradient_sum *sum, int64_t k)
{
    etx_status status = ETX_OK;

    if (sum->team->is_fast && sum->rank != NULL) {
        *out = sum->rank;
        return ETX_OK;
    }
    *out = NULL;
    ETX_CHECK(alloc_zeros(out, team_context(sum), sum->n_values));
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

/* What the ranks add: an array of each graph or, with is_fast, of each rank. */
struct slices {
    int64_t n;
    const int32_t *owner; /* [n] ranks */
    float **array;        /* [n] NULL: another rank has it */
};

/* Of a rank without a graph: zeros. */
static etx_status slices_of_ranks(
    struct slices *slices, struct etx_gradient_sum *sum)
{
    const int32_t n_ranks = sum->team->n_ranks;
    struct etx_arena *arena = etx_train_host(sum->context)->arena;
    int32_t *owner;
    etx_status status;

    ETX_SCRATCH(owner, arena, n_ranks, "owners");
    ETX_CHECK(etx_arena_alloc(&slices->array, arena, n_ranks,
        sizeof(*slices->array), "gradients of ranks"));
    memset(slices->array, 0, (size_t)n_ranks * sizeof(*slices->array));
    for (int32_t r = 0; r < n_ranks; r++)
        owner[r] = r;
    if (sum->rank == NULL)
        ETX_CHECK(alloc_zeros(&sum->rank, team_context(sum), sum->n_values));
    slices->array[sum->team->rank] = sum->rank;
    slices->owner = owner;
    slices->n = n_ranks;
done:
    return status;
}

/* gradient = their sum, on the host. */
static etx_status sum_on_host(float *gradient,
    const struct etx_gradient_sum *sum, const struct slices *slices)
{
    const etx_team *team = sum->team;
    const int64_t n = sum->n_values;
    struct etx_callback kept;
    float *total;
    etx_status status;

    ETX_SCRATCH(
        total, etx_train_host(sum->context)->arena, n, "gradient of the step");
    etx_callback_begin(&kept);
    ETX_CHECK(etx_callback_end(&kept, "sum_slices",
        team->sum_slices(
            team->user, total, n, slices->n, slices->owner, slices->array)));
    ETX_CHECK(etx_memory_to_device(
        sum->context->stream->memory, gradient, total, n, sizeof *total));
done:
    return status;
}

/* The same on the device, where the ranks share them: the tree of
 * etx_gradient_sum_tree. */
static etx_status sum_on_device(float *gradient,
    const struct etx_gradient_sum *sum, const struct slices *slices)
{
    const struct etx_stream *stream = sum->context->stream;
    const etx_team *team = sum->team;
    const int64_t n = sum->n_values;
    float **array = slices->array;
    struct etx_callback kept;
    etx_status status;

    for (int64_t k = 0; k < slices->n; k++)
        if (array[k] == NULL)
            ETX_CHECK(etx_arena_alloc(&array[k], stream->arena, n,
                sizeof **array, "gradient of another rank"));
    ETX_CHECK(etx_memory_synchronize(stream->memory));
    etx_callback_begin(&kept);
    ETX_CHECK(etx_callback_end(&kept, "share_slices",
        team->share_slices(team->user, array, n, slices->n, slices->owner)));
    for (int64_t stride = 1; stride < slices->n; stride *= 2)
        for (int64_t k = 0; k + stride < slices->n; k += 2 * stride)
            ETX_CHECK(add_to(sum->context, array[k], array[k + stride], n));
    ETX_CHECK(copy_total(gradient, sum, array[0]));
done:
    return status;
}

static etx_status finish_team(float *gradient, struct etx_gradient_sum *sum)
{
    struct slices slices = {sum->n_graphs, sum->owner, sum->graph};
    etx_status status = ETX_OK;

    if (sum->team->is_fast)
        ETX_CHECK(slices_of_ranks(&slices, sum));
    if (is_shared(sum))
        ETX_CHECK(sum_on_device(gradient, sum, &slices));
    else
        ETX_CHECK(sum_on_host(gradient, sum, &slices));
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
    float *of_team;
    etx_status status = ETX_OK;

    if (sum->team->n_ranks == 1) {
        sum->current = sum->n_spare > 0 ? sum->spare[--sum->n_spare] : NULL;
        ETX_CHECK(alloc_zeros(&sum->current, sum->context, sum->n_values));
    } else {
        ETX_CHECK(open_team(&of_team, sum, k));
        if (is_on_device(sum) && !is_shared(sum))
            ETX_CHECK(alloc_zeros(&sum->current, sum->context, sum->n_values));
        else
            sum->current = of_team;
    }
    *out = sum->current;
done:
    return status;
}

etx_status etx_gradient_close(struct etx_gradient_sum *sum, int64_t k)
{
    if (sum->team->n_ranks == 1)
        return climb_tree(sum);
    if (is_on_device(sum) && !is_shared(sum))
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
