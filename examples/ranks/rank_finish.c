/* examples/ranks/rank_finish.c -- the end of a training on several ranks: what
 * it cost, and the model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ranks/rank.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scaling_report.h"

/* Steps that see every training event once. */
static double count_epoch_steps(const struct rank *rank)
{
    json_t *config = json_loads(rank->config, 0, NULL);
    const json_t *graphs =
        json_object_get(json_object_get(config, "sampling"), "graphs");
    const double n = json_is_integer(graphs) ? json_number_value(graphs) : 1.0;

    json_decref(config);
    return ceil((double)rank->n_training / n);
}

/* What all ranks need for the report of rank 0. */
struct costs {
    struct step_seconds spent; /* of all ranks together */
    double peak_mib;           /* of the largest */
};

/* The seconds are summed, the memory of every rank has a place of its own. */
static int share_costs(struct rank *rank, struct costs *out)
{
    const int64_t n_spent = (int64_t)(sizeof out->spent / sizeof(double));
    const int64_t n = n_spent + rank->n_ranks;
    double *values = program_allocate(n, sizeof *values);
    etx_status status;

    memcpy(values, &rank->spent, sizeof rank->spent);
    values[n_spent + rank->number] = scaling_peak_mib();
    status = etx_dist_sum(rank->dist, values, n);
    memcpy(&out->spent, values, sizeof out->spent);
    out->peak_mib = 0.0;
    for (int64_t k = n_spent; k < n; k++)
        out->peak_mib = fmax(out->peak_mib, values[k]);
    free(values);
    RANK_CHECK(rank, status, "--scaling-report");
    return 0;
}

/* Shares of the steps' time are means over the ranks, other figures are rank
 * 0's. */
static int report_scaling(struct rank *rank)
{
    const double n = (double)rank->steps.n_all;
    const double epoch = count_epoch_steps(rank);
    struct costs costs;
    struct scaling_run run;

    if (share_costs(rank, &costs) != 0)
        return rank->result;
    run = (struct scaling_run){.n_ranks = rank->n_ranks,
        .batch_seconds = rank->spent.all / n,
        .epoch_seconds = rank->spent.all / n * epoch,
        .efficiency = rank->validation.efficiency,
        .purity = rank->validation.purity,
        .auc = rank->validation.auc,
        .loss = rank->validation.loss,
        .peak_mib = costs.peak_mib,
        .imbalance = rank->steps.imbalance_of_all / n,
        .graphs_share = costs.spent.graphs / costs.spent.all,
        .network_share = costs.spent.network / costs.spent.all,
        .moving_share = costs.spent.moving / costs.spent.all,
        .waiting_share = costs.spent.waiting / costs.spent.all,
        .epoch_joules = rank->energy.joules / n * epoch};
    if (rank->number == 0)
        rank->result = scaling_report(rank->options->report, &run);
    return rank->result;
}

static int write_model(struct rank *rank)
{
    etx_model *model = NULL;

    RANK_CHECK(rank, etx_trainer_model(&model, rank->trainer), "model");
    if (etx_model_save(model, rank->options->out) != ETX_OK)
        rank->result = rank_failed(rank, ETX_ERR_IO, rank->options->out);
    etx_model_free(model);
    return rank->result;
}

/* Validate, so that the thresholds are those of the last step, and write. */
int rank_finish(struct rank *rank)
{
    if (rank_save_checkpoint(rank) != 0 || rank_validate(rank) != 0)
        return rank->result;
    if (rank->options->report != NULL && rank->steps.n_all > 0 &&
        report_scaling(rank) != 0)
        return rank->result;
    if (rank->number == 0 && write_model(rank) != 0)
        return rank->result;
    RANK_CHECK(rank, etx_dist_barrier(rank->dist), "at the end");
    if (rank->number == 0)
        printf("%lld steps, state %016llx\n",
            (long long)etx_trainer_steps_done(rank->trainer),
            (unsigned long long)etx_trainer_hash(rank->trainer));
    if (rank->number == 0 && rank->is_stopped)
        (void)program_error("stopped at step %lld; go on with --resume",
            (long long)etx_trainer_steps_done(rank->trainer));
    return rank->result;
}
