/* train/ranks/team.c -- what a trainer does with the other ranks of its team.
 *
 * Graphs are dealt by the edges that they had when a step last saw them, which
 * all ranks know; the largest goes first, to the rank with the least work so
 * far (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl.
 * Math. 17, 1969: at most 4/3 of the best makespan).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/team.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/options.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static etx_status check_team(const etx_team *team)
{
    if (team->n_ranks < 1 || team->rank < 0 || team->rank >= team->n_ranks)
        return etx_fail(ETX_ERR_ARGUMENT, "team: rank %d of %d ranks",
            (int)team->rank, (int)team->n_ranks);
    if (team->deal != ETX_DEAL_BALANCED && team->deal != ETX_DEAL_IN_TURN)
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: deal %d is neither 0 (balanced) nor 1 (in turn)",
            (int)team->deal);
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
        ETX_SIZE_UP_TO(etx_team, sum_slices), "team"));
    ETX_CHECK(check_team(out));
done:
    return status;
}

static int32_t has_shards(const struct etx_train_events *events)
{
    for (int64_t i = 0; i < events->n; i++)
        if (events->event[i]->holder >= 0)
            return 1;
    return 0;
}

etx_status etx_team_join(struct etx_trainer *trainer, const etx_team *team)
{
    if (trainer->step > 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: the trainer made %lld steps and must have made none",
            (long long)trainer->step);
    if (has_shards(&trainer->training) || has_shards(&trainer->validation))
        return etx_fail(ETX_ERR_ARGUMENT,
            "team: events of the trainer belong to ranks of its team of %d",
            (int)trainer->team.n_ranks);
    trainer->team = *team;
    trainer->is_agreed = 0;
    return ETX_OK;
}

etx_status etx_team_sum(
    const struct etx_trainer *trainer, double *values, int64_t n)
{
    const etx_team *team = &trainer->team;

    return team->n_ranks == 1 ? ETX_OK : team->sum(team->self, values, n);
}

/* The first rank whose halves are not those of rank 0, or -1. */
static int32_t find_other(const double *half, int32_t n_ranks)
{
    for (int32_t r = 1; r < n_ranks; r++)
        if (half[2 * r] != half[0] || half[2 * r + 1] != half[1])
            return r;
    return -1;
}

/* Half of a hash is a whole number that a double holds. */
etx_status etx_team_agree(
    const struct etx_trainer *trainer, uint64_t value, const char *what)
{
    const etx_team *team = &trainer->team;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    double *half;
    int32_t other;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&half, arena, 2 * (int64_t)team->n_ranks,
        sizeof *half, "hashes of ranks"));
    memset(half, 0, 2 * (size_t)team->n_ranks * sizeof *half);
    half[2 * team->rank] = (double)(value >> 32);
    half[2 * team->rank + 1] = (double)(value & 0xffffffffu);
    ETX_CHECK(etx_team_sum(trainer, half, 2 * (int64_t)team->n_ranks));
    other = find_other(half, team->n_ranks);
    if (other >= 0)
        status = etx_fail(ETX_ERR_FORMAT,
            "%s: rank %d has others than rank 0; ranks need the same files, "
            "C library and kind of processor",
            what, (int)other);
done:
    etx_arena_reset(arena, mark);
    return status;
}

/* How many keys each rank has. */
static etx_status count_keys(
    int64_t **out, const struct etx_trainer *trainer, int64_t n_mine)
{
    const etx_team *team = &trainer->team;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    double *n;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(
        &n, arena, team->n_ranks, sizeof *n, "numbers of ranks"));
    ETX_CHECK(etx_arena_alloc(
        out, arena, team->n_ranks, sizeof **out, "numbers of ranks"));
    memset(n, 0, (size_t)team->n_ranks * sizeof *n);
    n[team->rank] = (double)n_mine;
    ETX_CHECK(etx_team_sum(trainer, n, team->n_ranks));
    for (int32_t r = 0; r < team->n_ranks; r++)
        (*out)[r] = (int64_t)n[r];
done:
    return status;
}

etx_status etx_team_gather(
    const struct etx_trainer *trainer, struct etx_score_list *list)
{
    const etx_team *team = &trainer->team;
    struct etx_score_list all = {.n = 0};
    int64_t *count;
    etx_status status;

    if (team->n_ranks == 1)
        return ETX_OK;
    ETX_CHECK(count_keys(&count, trainer, list->n));
    for (int32_t r = 0; r < team->n_ranks; r++)
        all.n += count[r];
    all.capacity = all.n;
    ETX_CHECK(etx_alloc_uncleared(
        &all.key, all.n, sizeof *all.key, "validation scores"));
    ETX_CHECK(team->gather(team->self, all.key, list->key, count));
    etx_score_list_clear(list);
    *list = all;
    all.key = NULL;
done:
    etx_free(all.key);
    return status;
}

/* ------------------------------------------------------------- dealing -- */

/* One event and how much work its graph is thought to be. */
struct job {
    double work;
    int64_t at;
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;

    if (a->work != b->work)
        return a->work > b->work ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Edges grow faster than hits, and not as fast as pairs of them. All ranks must
 * come to the same bits, and a square root is rounded the same everywhere. */
static double guess_edges(const struct etx_train_event *event)
{
    return (double)event->n_hits * sqrt((double)event->n_hits);
}

/* Edges a guessed edge, over these events that a step has seen; 1 when none
 * was. */
static double find_scale(struct etx_train_event *const *event, int64_t n)
{
    double edges = 0.0;
    double guessed = 0.0;

    for (int64_t k = 0; k < n; k++)
        if (event[k]->n_edges > 0.0) {
            edges += event[k]->n_edges;
            guessed += guess_edges(event[k]);
        }
    return guessed > 0.0 ? edges / guessed : 1.0;
}

static int32_t find_idle(const double *load, int32_t n_ranks)
{
    int32_t idle = 0;

    for (int32_t r = 1; r < n_ranks; r++)
        if (load[r] < load[idle])
            idle = r;
    return idle;
}

/* Largest first; load [n_ranks] is what the ranks have already. */
static void deal_balanced(
    int32_t *owner, double *load, struct job *job, int64_t n, int32_t n_ranks)
{
    qsort(job, (size_t)n, sizeof *job, compare_jobs);
    for (int64_t k = 0; k < n; k++) {
        const int32_t rank = find_idle(load, n_ranks);

        owner[job[k].at] = rank;
        load[rank] += job[k].work;
    }
}

etx_status etx_team_deal(int32_t **owner, const struct etx_trainer *trainer,
    struct etx_train_event *const *event, int64_t n)
{
    const etx_team *team = &trainer->team;
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    const double scale = find_scale(event, n);
    struct job *job;
    double *load;
    int64_t n_free = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(owner, arena, n, sizeof **owner, "owners"));
    ETX_CHECK(etx_arena_alloc(&job, arena, n, sizeof *job, "work of graphs"));
    ETX_CHECK(etx_arena_alloc(
        &load, arena, team->n_ranks, sizeof *load, "work of ranks"));
    memset(load, 0, (size_t)team->n_ranks * sizeof *load);
    for (int64_t k = 0; k < n; k++) {
        const double work = event[k]->n_edges > 0.0
                                ? event[k]->n_edges
                                : scale * guess_edges(event[k]);

        (*owner)[k] = event[k]->holder;
        if (event[k]->holder >= team->n_ranks)
            return etx_fail(ETX_ERR_ARGUMENT,
                "an event belongs to rank %d of %d ranks",
                (int)event[k]->holder, (int)team->n_ranks);
        if (event[k]->holder >= 0)
            load[event[k]->holder] += work;
        else if (team->deal == ETX_DEAL_IN_TURN)
            (*owner)[k] = (int32_t)(k % team->n_ranks);
        else
            job[n_free++] = (struct job){.work = work, .at = k};
    }
    deal_balanced(*owner, load, job, n_free, team->n_ranks);
done:
    return status;
}
