/* train/validation/event_metrics.c -- the events of a validation, their ranks
 * and their metrics.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/event_metrics.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "train/ranks/assign.h"
#include "train/ranks/team.h"
#include "train/transfer.h"

#include <string.h>

#define METRICS_WIDTH                                                          \
    ((int64_t)(sizeof(struct etx_event_metrics) / sizeof(double)))

static const float default_target = 0.98f;

/* How many edges of a graph a pair of hits can be. */
static int64_t n_directions(const struct etx_model *model)
{
    return !model->has_module_map && model->orientation == ETX_ORIENT_BOTH ? 2
                                                                           : 1;
}

etx_status etx_validation_begin(
    struct etx_validation *validation, struct etx_trainer *trainer)
{
    const struct etx_train_events *events = &trainer->validation;
    struct etx_arena *arena = etx_train_host(trainer->context)->arena;
    const int64_t n = events->n;
    etx_status status;

    *validation = (struct etx_validation){
        .trainer = trainer, .n = n, .event = events->event};
    ETX_CHECK(etx_team_assign(
        &validation->owner, &trainer->team, arena, events->event, n));
    ETX_SCRATCH(validation->metrics, arena, n, "event metrics");
    memset(validation->metrics, 0, (size_t)n * sizeof *validation->metrics);
    for (int64_t i = 0; i < n; i++)
        if (etx_validation_is_mine(validation, i))
            validation->metrics[i].n_signal_pairs =
                (double)(n_directions(trainer->model) *
                         events->event[i]->truth.n_signal_pairs);
done:
    return status;
}

int32_t etx_validation_is_mine(
    const struct etx_validation *validation, int64_t i)
{
    return validation->owner[i] == validation->trainer->team.rank;
}

/* When the rank of event i has had an event since they last did. */
etx_status etx_validation_synchronise(
    const struct etx_validation *validation, int64_t i, int64_t *last)
{
    double zero = 0.0;

    for (int64_t k = *last; k < i; k++)
        if (validation->owner[k] == validation->owner[i]) {
            *last = i;
            return etx_team_sum(&validation->trainer->team, &zero, 1);
        }
    return ETX_OK;
}

etx_status etx_validation_share(const struct etx_validation *validation)
{
    return etx_team_sum(&validation->trainer->team,
        &validation->metrics[0].n_signal_pairs, METRICS_WIDTH * validation->n);
}

static etx_status gather_ranks(
    struct etx_score_list *list, const etx_team *team, struct etx_arena *arena)
{
    struct etx_score_list all = {.n = 0};
    struct etx_callback kept;
    int64_t *count;
    etx_status status;

    ETX_CHECK(etx_team_count(&count, team, arena, list->n));
    for (int32_t r = 0; r < team->n_ranks; r++)
        all.n += count[r];
    all.capacity = all.n;
    ETX_CHECK(etx_alloc_uncleared(
        &all.key, all.n, sizeof *all.key, "validation scores"));
    etx_callback_begin(&kept);
    ETX_CHECK(etx_callback_end(
        &kept, "gather", team->gather(team->user, all.key, list->key, count)));
    etx_score_list_clear(list);
    *list = all;
    all.key = NULL;
done:
    etx_free(all.key);
    return status;
}

etx_status etx_validation_gather(
    struct etx_score_list *list, const struct etx_validation *validation)
{
    const struct etx_trainer *trainer = validation->trainer;
    etx_status status = ETX_OK;

    if (trainer->team.n_ranks > 1)
        ETX_CHECK(gather_ranks(
            list, &trainer->team, etx_train_host(trainer->context)->arena));
    ETX_CHECK(etx_score_list_sort(list));
done:
    return status;
}

/* A struct of doubles alone is added as an array of them. */
struct etx_event_metrics etx_validation_sum(
    const struct etx_validation *validation)
{
    struct etx_event_metrics sum = {.n_signal_pairs = 0.0};
    double total[METRICS_WIDTH] = {0.0};

    for (int64_t i = 0; i < validation->n; i++) {
        double term[METRICS_WIDTH];

        memcpy(term, validation->metrics + i, sizeof term);
        for (int64_t k = 0; k < METRICS_WIDTH; k++)
            total[k] += term[k];
    }
    memcpy(&sum, total, sizeof sum);
    return sum;
}

double etx_validation_target(const struct etx_trainer *trainer)
{
    const float target = trainer->config.validation.target_efficiency;

    return (double)(target > 0.0f ? target : default_target);
}
