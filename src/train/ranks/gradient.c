/* train/ranks/gradient.c -- the gradient of a step as a sum over its graphs.
 *
 * Alone, the tree is climbed while the slices come, like the carries of a
 * binary counter: it takes a slice a level and not one a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/gradient.h"

#include "base/check.h"

#include <string.h>

static int64_t count_values(const struct etx_slices *slices)
{
    return slices->trainer->stage->network->n_values;
}

static etx_status add_to(
    const struct etx_slices *slices, float *sum, const float *value)
{
    const struct etx_add_args args = {
        .n = count_values(slices), .alpha = 1.0f, .x = value, .y = sum};

    return slices->where->ops->add(slices->where->stream, &args);
}

static etx_status take_slice(float **out, struct etx_slices *slices)
{
    const struct etx_context *where = slices->where;
    struct etx_fill_args args = {.n = count_values(slices)};
    etx_status status = ETX_OK;

    if (slices->n_spare > 0)
        *out = slices->spare[--slices->n_spare];
    else
        ETX_CHECK(etx_arena_alloc(
            out, where->stream->arena, args.n, sizeof **out, "gradient"));
    args.y = *out;
    ETX_CHECK(where->ops->fill(where->stream, &args));
done:
    return status;
}

etx_status etx_slices_begin(struct etx_slices *slices,
    struct etx_trainer *trainer, int64_t n_graphs, const int32_t *owner)
{
    etx_status status;

    *slices = (struct etx_slices){.trainer = trainer,
        .where = trainer->team.n_ranks == 1 ? trainer->context
                                            : etx_host_of(trainer->context),
        .n_graphs = n_graphs,
        .owner = owner};
    ETX_CHECK(etx_arena_alloc(&slices->kept, etx_train_host(trainer)->arena,
        n_graphs, sizeof(*slices->kept), "gradients of graphs"));
    memset(slices->kept, 0, (size_t)n_graphs * sizeof(*slices->kept));
done:
    return status;
}

etx_status etx_slices_open(float **out, struct etx_slices *slices, int64_t k)
{
    const etx_team *team = &slices->trainer->team;
    etx_status status = ETX_OK;

    if (team->n_ranks == 1 || !team->is_fast || slices->open == NULL)
        ETX_CHECK(take_slice(&slices->open, slices));
    slices->kept[k] = slices->open;
    *out = slices->open;
done:
    return status;
}

etx_status etx_slices_close(struct etx_slices *slices)
{
    float *sum = slices->open;
    int32_t at = 0;
    etx_status status = ETX_OK;

    if (slices->trainer->team.n_ranks > 1)
        return ETX_OK;
    for (; slices->is_full[at]; at++) {
        ETX_CHECK(add_to(slices, slices->level[at], sum));
        slices->spare[slices->n_spare++] = sum;
        sum = slices->level[at];
        slices->is_full[at] = 0;
    }
    slices->level[at] = sum;
    slices->is_full[at] = 1;
done:
    return status;
}

/* Alone: *out = the sum of the levels, smallest first, as the tree has them. */
static etx_status add_levels(const float **out, const struct etx_slices *slices)
{
    float *sum = NULL;
    etx_status status = ETX_OK;

    for (int32_t at = 0; at < ETX_SLICE_LEVELS; at++) {
        if (!slices->is_full[at])
            continue;
        if (sum != NULL)
            ETX_CHECK(add_to(slices, slices->level[at], sum));
        sum = slices->level[at];
    }
    *out = sum;
done:
    return status;
}

static etx_status finish_alone(const struct etx_slices *slices)
{
    const struct etx_context *where = slices->where;
    const int64_t n = count_values(slices);
    struct etx_columns_args args = {.n_rows = 1,
        .width = (int32_t)n,
        .x_stride = n,
        .y_stride = n,
        .y = slices->trainer->gradient};
    etx_status status;

    ETX_CHECK(add_levels(&args.x, slices));
    ETX_CHECK(where->ops->columns(where->stream, &args));
done:
    return status;
}

/* One slice a rank: zeros where it has no graph. */
static etx_status sum_ranks(float *sum, struct etx_slices *slices)
{
    const etx_team *team = &slices->trainer->team;
    struct etx_arena *arena = etx_train_host(slices->trainer)->arena;
    int32_t *owner;
    float **slice;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&owner, arena, team->n_ranks, sizeof *owner, "owners"));
    ETX_CHECK(etx_arena_alloc(
        &slice, arena, team->n_ranks, sizeof(*slice), "gradients of ranks"));
    memset(slice, 0, (size_t)team->n_ranks * sizeof(*slice));
    for (int32_t r = 0; r < team->n_ranks; r++)
        owner[r] = r;
    if (slices->open == NULL)
        ETX_CHECK(take_slice(&slices->open, slices));
    slice[team->rank] = slices->open;
    ETX_CHECK(team->sum_slices(
        team->self, sum, count_values(slices), team->n_ranks, owner, slice));
done:
    return status;
}

etx_status etx_slices_finish(struct etx_slices *slices)
{
    const etx_team *team = &slices->trainer->team;
    const int64_t n = count_values(slices);
    float *sum;
    etx_status status;

    if (team->n_ranks == 1)
        return finish_alone(slices);
    ETX_CHECK(etx_arena_alloc(&sum, slices->where->stream->arena, n,
        sizeof *sum, "gradient of the step"));
    if (team->is_fast)
        ETX_CHECK(sum_ranks(sum, slices));
    else
        ETX_CHECK(team->sum_slices(
            team->self, sum, n, slices->n_graphs, slices->owner, slices->kept));
    ETX_CHECK(etx_memory_to_device(slices->trainer->context->stream->memory,
        slices->trainer->gradient, sum, n, sizeof *sum));
done:
    return status;
}

void etx_slices_sum(float *const *slice, int64_t n_slices, int64_t n_values)
{
    for (int64_t stride = 1; stride < n_slices; stride *= 2)
        for (int64_t k = 0; k + stride < n_slices; k += 2 * stride)
            for (int64_t i = 0; i < n_values; i++)
                slice[k][i] += slice[k + stride][i];
}
