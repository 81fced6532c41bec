/* train/slices.c -- the gradient of a step as a sum over its graphs.
 *
 * Alone, the tree is climbed while the slices come, like the carries of a
 * binary counter: it takes a slice a level and not one a graph.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/slices.h"

#include "base/check.h"

#include <string.h>

static int64_t count_values(const struct etx_slices *slices)
{
    return slices->trainer->stage->network->n_values;
}

static void add_to(float *sum, const float *value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += value[i];
}

static etx_status take_slice(float **out, struct etx_slices *slices)
{
    const int64_t n = count_values(slices);
    etx_status status = ETX_OK;

    if (slices->n_spare > 0)
        *out = slices->spare[--slices->n_spare];
    else
        ETX_CHECK(etx_arena_take(out,
            etx_train_host(slices->trainer)->arena, n, sizeof **out,
            "gradient"));
    memset(*out, 0, (size_t)n * sizeof **out);
done:
    return status;
}

etx_status etx_slices_begin(struct etx_slices *slices,
    struct etx_trainer *trainer, int64_t n_graphs, const int32_t *owner)
{
    etx_status status;

    *slices = (struct etx_slices){
        .trainer = trainer, .n_graphs = n_graphs, .owner = owner};
    ETX_CHECK(etx_arena_take(&slices->kept, etx_train_host(trainer)->arena,
        n_graphs, sizeof(*slices->kept), "gradients of graphs"));
    memset(slices->kept, 0, (size_t)n_graphs * sizeof(*slices->kept));
done:
    return status;
}

etx_status etx_slices_open(
    float **out, struct etx_slices *slices, int64_t k)
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

void etx_slices_close(struct etx_slices *slices)
{
    float *sum = slices->open;
    int32_t at = 0;

    if (slices->trainer->team.n_ranks > 1)
        return;
    for (; slices->is_full[at]; at++) {
        add_to(slices->level[at], sum, count_values(slices));
        slices->spare[slices->n_spare++] = sum;
        sum = slices->level[at];
        slices->is_full[at] = 0;
    }
    slices->level[at] = sum;
    slices->is_full[at] = 1;
}

/* Alone: the sums of the levels, smallest first, as the tree has them. */
static const float *add_levels(struct etx_slices *slices)
{
    float *sum = NULL;

    for (int32_t at = 0; at < ETX_SLICE_LEVELS; at++) {
        if (!slices->is_full[at])
            continue;
        if (sum != NULL)
            add_to(slices->level[at], sum, count_values(slices));
        sum = slices->level[at];
    }
    return sum;
}

/* One slice a rank: zeros where it has no graph. */
static etx_status sum_ranks(struct etx_slices *slices)
{
    const etx_team *team = &slices->trainer->team;
    struct etx_arena *arena = etx_train_host(slices->trainer)->arena;
    int32_t *owner;
    float **slice;
    etx_status status;

    ETX_CHECK(etx_arena_take(
        &owner, arena, team->n_ranks, sizeof *owner, "owners"));
    ETX_CHECK(etx_arena_take(&slice, arena, team->n_ranks, sizeof(*slice),
        "gradients of ranks"));
    memset(slice, 0, (size_t)team->n_ranks * sizeof(*slice));
    for (int32_t r = 0; r < team->n_ranks; r++)
        owner[r] = r;
    if (slices->open == NULL)
        ETX_CHECK(take_slice(&slices->open, slices));
    slice[team->rank] = slices->open;
    ETX_CHECK(team->sum_slices(team->self, slices->trainer->gradient,
        count_values(slices), team->n_ranks, owner, slice));
done:
    return status;
}

etx_status etx_slices_finish(struct etx_slices *slices)
{
    struct etx_trainer *trainer = slices->trainer;
    const etx_team *team = &trainer->team;

    if (team->n_ranks == 1) {
        memcpy(trainer->gradient, add_levels(slices),
            (size_t)count_values(slices) * sizeof *trainer->gradient);
        return ETX_OK;
    }
    if (team->is_fast)
        return sum_ranks(slices);
    return team->sum_slices(team->self, trainer->gradient,
        count_values(slices), slices->n_graphs, slices->owner, slices->kept);
}

void etx_slices_sum(float *const *slice, int64_t n_slices, int64_t n_values)
{
    for (int64_t stride = 1; stride < n_slices; stride *= 2)
        for (int64_t k = 0; k + stride < n_slices; k += 2 * stride)
            add_to(slice[k], slice[k + stride], n_values);
}
