/* train/ranks/assign.c -- which rank computes which event.
 *
 * By the edges that a graph had when a step last saw it, which all ranks know;
 * the largest goes first, to the rank with the least work so far (Graham,
 * "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17, 1969:
 * at most 4/3 of the best makespan).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/assign.h"

#include "base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One event and the work that its graph is estimated to be. */
struct job {
    double work;
    int64_t index;
};

static int compare_jobs(const void *left, const void *right)
{
    const struct job *a = left;
    const struct job *b = right;

    if (a->work != b->work)
        return a->work > b->work ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Edges grow faster than hits, and slower than pairs of hits. All ranks must
 * compute the same bits, and a square root is rounded the same everywhere. */
static double estimate_edges(const struct etx_train_event *event)
{
    return (double)event->n_hits * sqrt((double)event->n_hits);
}

/* Edges per estimated edge, over the events that a step has seen; 1 when there
 * are none. */
static double find_scale(struct etx_train_event *const *event, int64_t n)
{
    double edges = 0.0;
    double estimated = 0.0;

    for (int64_t k = 0; k < n; k++)
        if (event[k]->n_edges > 0.0) {
            edges += event[k]->n_edges;
            estimated += estimate_edges(event[k]);
        }
    return estimated > 0.0 ? edges / estimated : 1.0;
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
static void assign_balanced(
    int32_t *owner, double *load, struct job *job, int64_t n, int32_t n_ranks)
{
    qsort(job, (size_t)n, sizeof *job, compare_jobs);
    for (int64_t k = 0; k < n; k++) {
        const int32_t rank = find_idle(load, n_ranks);

        owner[job[k].index] = rank;
        load[rank] += job[k].work;
    }
}

etx_status etx_team_assign(int32_t **owner, const etx_team *team,
    struct etx_arena *arena, struct etx_train_event *const *event, int64_t n)
{
    const double scale = find_scale(event, n);
    struct job *job;
    double *load;
    int64_t n_free = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(owner, arena, n, sizeof **owner, "owners"));
    ETX_SCRATCH(job, arena, n, "work of graphs");
    ETX_SCRATCH(load, arena, team->n_ranks, "work of ranks");
    memset(load, 0, (size_t)team->n_ranks * sizeof *load);
    for (int64_t k = 0; k < n; k++) {
        const int32_t holder = event[k]->holder;
        const double work = event[k]->n_edges > 0.0
                                ? event[k]->n_edges
                                : scale * estimate_edges(event[k]);

        if (holder >= team->n_ranks)
            return etx_fail(ETX_ERR_ARGUMENT,
                "an event belongs to rank %d of %d ranks", (int)holder,
                (int)team->n_ranks);
        (*owner)[k] = holder;
        if (holder >= 0)
            load[holder] += work;
        else if (team->assignment == ETX_ASSIGN_IN_TURN)
            (*owner)[k] = (int32_t)(k % team->n_ranks);
        else
            job[n_free++] = (struct job){.work = work, .index = k};
    }
    assign_balanced(*owner, load, job, n_free, team->n_ranks);
done:
    return status;
}
