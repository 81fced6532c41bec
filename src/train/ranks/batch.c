/* train/ranks/batch.c -- the graphs of one step, and what the ranks tell each
 * other about them.
 *
 * Which graphs these are follows from seed and step alone, and every graph has
 * random numbers of its own: a graph is the same on whatever rank it is made.
 * What a loss is divided by is known before the backward pass, from sums over
 * all graphs; so the slices need no scaling afterwards, and every reduction of
 * the losses is that of one process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/ranks/team.h"

#include "base/check.h"
#include "train/hash.h"

#include <math.h>
#include <string.h>

#define SUMS_WIDTH ((int64_t)(sizeof(struct etx_graph_sums) / sizeof(double)))

/* Substreams of a step: stage + 1 of its events and first graph, this many
 * more a further graph; those of epochs are between. */
#define SUBSTREAMS_A_GRAPH 16

/* Learning rates that are compared: of as many steps, all over the schedule. */
#define RATES_COMPARED 1000

static uint64_t hash_schedule(uint64_t hash, const struct etx_trainer *trainer)
{
    const int64_t n_steps = trainer->config.schedule.n_steps;
    const int64_t every = n_steps / RATES_COMPARED + 1;
    const int64_t epoch = etx_train_steps_per_epoch(trainer);

    for (int64_t step = 1; step <= n_steps; step += every) {
        const float rate =
            etx_train_learning_rate(&trainer->config.schedule, step, epoch);

        hash = etx_hash_bytes(hash, &rate, sizeof rate);
    }
    return hash;
}

/* Ranks that deal otherwise would wait for each other's slices, and with other
 * learning rates go apart. Later steps follow from sums, which are the same. */
static etx_status agree(
    struct etx_trainer *trainer, const struct etx_step *step)
{
    const size_t bytes = (size_t)step->n_graphs * sizeof *step->owner;
    etx_status status = ETX_OK;

    if (trainer->is_agreed || trainer->team.n_ranks == 1)
        return ETX_OK;
    ETX_CHECK(etx_team_agree(trainer,
        hash_schedule(
            etx_hash_bytes(ETX_HASH_START, step->owner, bytes), trainer),
        "owners of graphs and learning rates"));
    trainer->is_agreed = 1;
done:
    return status;
}

etx_status etx_step_begin(struct etx_step *step, struct etx_trainer *trainer,
    struct etx_train_event **event, int32_t n_graphs,
    const struct etx_random *random)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    etx_status status;

    *step = (struct etx_step){.number = trainer->step + 1,
        .n_graphs = n_graphs,
        .event = event,
        .random = *random};
    ETX_CHECK(etx_team_deal(&step->owner, trainer, event, n_graphs));
    ETX_CHECK(etx_arena_alloc(
        &step->sums, arena, n_graphs, sizeof *step->sums, "sums of graphs"));
    ETX_CHECK(etx_arena_alloc(
        &step->loss, arena, n_graphs, sizeof *step->loss, "losses of graphs"));
    memset(step->sums, 0, (size_t)n_graphs * sizeof *step->sums);
    memset(step->loss, 0, (size_t)n_graphs * sizeof *step->loss);
    ETX_CHECK(agree(trainer, step));
done:
    return status;
}

int32_t etx_step_is_mine(
    const struct etx_step *step, const struct etx_trainer *trainer, int32_t k)
{
    return step->owner[k] == trainer->team.rank;
}

struct etx_random etx_step_random(
    const struct etx_step *step, const struct etx_trainer *trainer, int32_t k)
{
    struct etx_random random = step->random;

    if (k > 0)
        etx_random_init(&random, etx_train_seed(trainer),
            (uint32_t)step->number,
            (uint32_t)(SUBSTREAMS_A_GRAPH * k + trainer->config.stage + 1));
    return random;
}

etx_status etx_step_share_sums(
    struct etx_step *step, const struct etx_trainer *trainer)
{
    const etx_status status = etx_team_sum(
        trainer, &step->sums[0].n_true, SUMS_WIDTH * step->n_graphs);

    for (int32_t k = 0; k < step->n_graphs && status == ETX_OK; k++)
        step->event[k]->n_edges = step->sums[k].n;
    return status;
}

/* What one rank has of a step. */
struct share {
    double work; /* edges */
    double loss; /* its part of the step's */
    double part; /* of what the loss is divided by */
};

/* What a graph brings to what the loss of the step is divided by: edges with a
 * weight, or their weights; graphs that have some. Where the true and the
 * false ones are divided by their own numbers, as pairs are, both count. */
static double find_divisor(
    const struct etx_train_config *config, const struct etx_graph_sums *sums)
{
    const double n = sums->n_true + sums->n_false;

    if (config->loss.average == ETX_AVERAGE_GRAPHS)
        return n > 0.0;
    if (config->stage != ETX_TRAIN_EMBEDDING &&
        config->loss.reduction == ETX_REDUCTION_WEIGHTED_MEAN)
        return sums->weight;
    return n;
}

static struct share find_share(const struct etx_step *step,
    const struct etx_trainer *trainer, int32_t rank)
{
    struct share share = {0.0, 0.0, 0.0};

    for (int32_t k = 0; k < step->n_graphs; k++) {
        const double n = step->sums[k].n;

        if (step->owner[k] != rank)
            continue;
        share.work += n;
        share.loss += step->loss[k];
        share.part += find_divisor(&trainer->config, step->sums + k);
    }
    return share;
}

/* Work and losses of the ranks beside each other. */
static void compare_ranks(const struct etx_step *step,
    const struct etx_trainer *trainer, etx_training_report *report)
{
    const int32_t n_ranks = trainer->team.n_ranks;
    double part = 0.0;
    double max = 0.0;
    double lowest = (double)INFINITY;
    double highest = (double)-INFINITY;

    for (int32_t r = 0; r < n_ranks; r++)
        part += find_share(step, trainer, r).part;
    for (int32_t r = 0; r < n_ranks; r++) {
        const struct share share = find_share(step, trainer, r);

        max = fmax(max, share.work);
        if (share.part > 0.0) {
            lowest = fmin(lowest, share.loss * part / share.part);
            highest = fmax(highest, share.loss * part / share.part);
        }
    }
    report->imbalance = etx_ratio(max * (double)n_ranks, report->n_edges);
    report->loss_spread = etx_ratio(highest - lowest, report->loss);
}

etx_status etx_step_share_losses(const struct etx_step *step,
    const struct etx_trainer *trainer, etx_training_report *report)
{
    etx_status status;

    ETX_CHECK(etx_team_sum(trainer, step->loss, step->n_graphs));
    report->loss = 0.0;
    report->n_edges = 0.0;
    for (int32_t k = 0; k < step->n_graphs; k++) {
        report->loss += step->loss[k];
        report->n_edges += step->sums[k].n;
    }
    compare_ranks(step, trainer, report);
    report->graphs_seconds = step->graphs_seconds;
    report->network_seconds = step->network_seconds;
done:
    return status;
}
