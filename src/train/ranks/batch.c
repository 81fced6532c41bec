/* train/ranks/batch.c -- the graphs of one step and which ranks compute them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/batch.h"

#include "base/check.h"
#include "train/ranks/assign.h"
#include "train/ratio.h"
#include "train/sampling/random_streams.h"

#include <math.h>
#include <string.h>

#define SUMS_WIDTH ((int64_t)(sizeof(struct etx_loss_sums) / sizeof(double)))

etx_status etx_batch_begin(struct etx_batch *batch, struct etx_arena *arena)
{
    const int32_t n = batch->n_graphs;
    etx_status status;

    ETX_CHECK(
        etx_team_assign(&batch->owner, batch->team, arena, batch->event, n));
    ETX_SCRATCH(batch->sums, arena, n, "sums of graphs");
    ETX_SCRATCH(batch->loss, arena, n, "losses of graphs");
    memset(batch->sums, 0, (size_t)n * sizeof *batch->sums);
    memset(batch->loss, 0, (size_t)n * sizeof *batch->loss);
done:
    return status;
}

int32_t etx_batch_is_mine(const struct etx_batch *batch, int32_t k)
{
    return batch->owner[k] == batch->team->rank;
}

struct etx_random etx_batch_random(const struct etx_batch *batch, int32_t k)
{
    return k == 0 ? batch->random
                  : etx_random_of_graph(
                        batch->seed, batch->step, batch->config->stage, k);
}

etx_status etx_batch_share_sums(struct etx_batch *batch)
{
    const etx_status status = etx_team_sum(
        batch->team, &batch->sums[0].n_true, SUMS_WIDTH * batch->n_graphs);

    for (int32_t k = 0; k < batch->n_graphs && status == ETX_OK; k++)
        batch->event[k]->n_edges = batch->sums[k].n;
    return status;
}

etx_status etx_batch_share_losses(struct etx_batch *batch)
{
    return etx_team_sum(batch->team, batch->loss, batch->n_graphs);
}

/* Sums over the graphs of one rank. */
struct rank_sums {
    double work;    /* edges */
    double loss;    /* its terms of the loss of the step */
    double divisor; /* its terms of the divisor of that loss */
};

/* A graph's term of the divisor of the step's loss, by loss.average and
 * loss.reduction: 1 for a graph that has edges with a weight, the sum of their
 * weights, or their number. Reductions that divide true and false edges by
 * separate numbers are compared by the number of both. */
static double find_divisor(
    const struct etx_train_config *config, const struct etx_loss_sums *sums)
{
    const double n = sums->n_true + sums->n_false;

    if (config->loss.average == ETX_AVERAGE_GRAPHS)
        return n > 0.0;
    if (etx_train_scores_edges(config) &&
        config->loss.reduction == ETX_REDUCTION_WEIGHTED_MEAN)
        return sums->weight;
    return n;
}

static struct rank_sums sum_of_rank(const struct etx_batch *batch, int32_t rank)
{
    struct rank_sums sum = {0.0, 0.0, 0.0};

    for (int32_t k = 0; k < batch->n_graphs; k++) {
        if (batch->owner[k] != rank)
            continue;
        sum.work += batch->sums[k].n;
        sum.loss += batch->loss[k];
        sum.divisor += find_divisor(batch->config, batch->sums + k);
    }
    return sum;
}

/* imbalance: the largest work of a rank over the mean; loss_spread: the range
 * of the ranks' mean losses over the loss of the step. */
static void compare_ranks(
    const struct etx_batch *batch, etx_training_report *report)
{
    const int32_t n_ranks = batch->team->n_ranks;
    double divisor = 0.0;
    double max_work = 0.0;
    double lowest = (double)INFINITY;
    double highest = (double)-INFINITY;

    for (int32_t r = 0; r < n_ranks; r++)
        divisor += sum_of_rank(batch, r).divisor;
    for (int32_t r = 0; r < n_ranks; r++) {
        const struct rank_sums sum = sum_of_rank(batch, r);

        max_work = fmax(max_work, sum.work);
        if (sum.divisor > 0.0) {
            lowest = fmin(lowest, sum.loss * divisor / sum.divisor);
            highest = fmax(highest, sum.loss * divisor / sum.divisor);
        }
    }
    report->imbalance = etx_ratio(max_work * (double)n_ranks, report->n_edges);
    report->loss_spread = etx_ratio(highest - lowest, report->loss);
}

void etx_batch_report(
    const struct etx_batch *batch, etx_training_report *report)
{
    report->loss = 0.0;
    report->n_edges = 0.0;
    for (int32_t k = 0; k < batch->n_graphs; k++) {
        report->loss += batch->loss[k];
        report->n_edges += batch->sums[k].n;
    }
    compare_ranks(batch, report);
    report->graphs_seconds = batch->graphs_seconds;
    report->network_seconds = batch->network_seconds;
}
