/* train/ranks/team.c -- collective operations of the ranks of a team.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/team.h"

#include "base/check.h"
#include "base/options.h"
#include "base/status.h"
#include "train/hash.h"

#include <stddef.h>
#include <string.h>

static etx_status check_team(const etx_team *team)
{
    if (team->n_ranks < 1 || team->rank < 0 || team->rank >= team->n_ranks)
        return etx_fail(ETX_ERR_ARGUMENT, "team: rank %d of %d ranks",
            (int)team->rank, (int)team->n_ranks);
    if (team->assignment != ETX_ASSIGN_BALANCED &&
        team->assignment != ETX_ASSIGN_IN_TURN)
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: assignment %d is neither 0 (balanced) nor 1 (in turn)",
            (int)team->assignment);
    if (team->is_fast != 0 && team->is_fast != 1)
        return etx_fail(ETX_ERR_ARGUMENT, "team: is_fast is %d, not 0 or 1",
            (int)team->is_fast);
    if (team->reserved != 0)
        return etx_fail(ETX_ERR_ARGUMENT, "team: reserved is %d and must be 0",
            (int)team->reserved);
    if (team->sum == NULL || team->gather == NULL || team->sum_slices == NULL)
        return etx_fail(
            ETX_ERR_ARGUMENT, "team: sum, gather or sum_slices is NULL");
    return ETX_OK;
}

etx_status etx_team_read(etx_team *out, const etx_team *team)
{
    etx_status status;

    *out = (etx_team){.struct_size = sizeof *out, .n_ranks = 1};
    ETX_CHECK(etx_options_copy(out, sizeof *out, team, team->struct_size,
        ETX_SIZE_UP_TO(etx_team, share_slices), "team"));
    ETX_CHECK(check_team(out));
done:
    return status;
}

etx_status etx_team_sum(const etx_team *team, double *values, int64_t n)
{
    struct etx_callback kept;

    if (team->n_ranks == 1)
        return ETX_OK;
    etx_callback_begin(&kept);
    return etx_callback_end(&kept, "sum", team->sum(team->user, values, n));
}

/* Other instruction sets give other bits. */
void etx_common_begin(struct etx_common out[ETX_N_COMMON],
    struct etx_context *context, uint64_t hash, const char *what)
{
    const int32_t how[] = {context->options.device, context->options.precision,
        etx_host_of(context)->options.cpu_level, context->stream->has_tiles};

    out[0] = (struct etx_common){
        etx_hash_bytes(ETX_HASH_START, etx_version(), strlen(etx_version())),
        "the version of the library"};
    out[1] =
        (struct etx_common){etx_hash_bytes(ETX_HASH_START, how, sizeof how),
            "device, precision or instruction set (cpu_level)"};
    out[2] = (struct etx_common){hash, what};
}

/* The first rank whose halves differ from rank 0's, or -1. */
static int32_t find_other(const double *half, int32_t n_ranks)
{
    for (int32_t r = 1; r < n_ranks; r++)
        if (half[2 * r] != half[0] || half[2 * r + 1] != half[1])
            return r;
    return -1;
}

/* Half of a value is an integer that a double holds. */
etx_status etx_team_agree(const etx_team *team, struct etx_arena *arena,
    const struct etx_common *common, int32_t n)
{
    const int64_t width = 2 * (int64_t)team->n_ranks;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    double *half;
    etx_status status;

    ETX_SCRATCH(half, arena, n * width, "hashes of ranks");
    memset(half, 0, (size_t)(n * width) * sizeof *half);
    for (int32_t k = 0; k < n; k++) {
        double *mine = half + k * width + 2 * team->rank;

        mine[0] = (double)(common[k].value >> 32);
        mine[1] = (double)(common[k].value & 0xffffffffu);
    }
    ETX_CHECK(etx_team_sum(team, half, n * width));
    for (int32_t k = 0; k < n; k++) {
        const int32_t other = find_other(half + k * width, team->n_ranks);

        if (other >= 0)
            ETX_FAIL(ETX_ERR_FORMAT, "rank %d differs from rank 0 in %s",
                (int)other, common[k].what);
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_team_count(int64_t **count, const etx_team *team,
    struct etx_arena *arena, int64_t n_mine)
{
    double *n;
    etx_status status;

    ETX_SCRATCH(n, arena, team->n_ranks, "numbers of ranks");
    ETX_CHECK(etx_arena_alloc(
        count, arena, team->n_ranks, sizeof **count, "numbers of ranks"));
    memset(n, 0, (size_t)team->n_ranks * sizeof *n);
    n[team->rank] = (double)n_mine;
    ETX_CHECK(etx_team_sum(team, n, team->n_ranks));
    for (int32_t r = 0; r < team->n_ranks; r++)
        (*count)[r] = (int64_t)n[r];
done:
    return status;
}
