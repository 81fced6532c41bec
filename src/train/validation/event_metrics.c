/* train/validation/event_metrics.c -- the events of a validation, shared out
 * among the ranks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/event_metrics.h"

#include "base/check.h"
#include "train/ranks/team.h"

#include <string.h>

#define FINDING_WIDTH ((int64_t)(sizeof(struct etx_finding) / sizeof(double)))

static const float default_target = 0.98f;

etx_status etx_survey_begin(
    struct etx_survey *survey, struct etx_trainer *trainer)
{
    const struct etx_train_events *events = &trainer->validation;
    etx_status status;

    *survey = (struct etx_survey){.trainer = trainer, .n = events->n};
    ETX_CHECK(etx_team_deal(&survey->owner, trainer, events->event, events->n));
    ETX_CHECK(etx_arena_alloc(&survey->finding, etx_train_host(trainer)->arena,
        survey->n, sizeof *survey->finding, "findings"));
    memset(survey->finding, 0, (size_t)survey->n * sizeof *survey->finding);
    for (int64_t i = 0; i < survey->n; i++)
        if (survey->owner[i] == trainer->team.rank)
            survey->finding[i].n_signal_pairs =
                (double)events->event[i]->truth.n_signal_pairs;
done:
    return status;
}

int32_t etx_survey_is_mine(const struct etx_survey *survey, int64_t i)
{
    return survey->owner[i] == survey->trainer->team.rank;
}

/* Ranks meet where the event's rank has had an event since they last did. */
etx_status etx_survey_meet(
    const struct etx_survey *survey, int64_t i, int64_t *met)
{
    double nothing = 0.0;

    for (int64_t k = *met; k < i; k++)
        if (survey->owner[k] == survey->owner[i]) {
            *met = i;
            return etx_team_sum(survey->trainer, &nothing, 1);
        }
    return ETX_OK;
}

etx_status etx_survey_share(const struct etx_survey *survey)
{
    return etx_team_sum(survey->trainer, &survey->finding[0].n_signal_pairs,
        FINDING_WIDTH * survey->n);
}

double etx_survey_signal_pairs(const struct etx_survey *survey)
{
    double n = 0.0;

    for (int64_t i = 0; i < survey->n; i++)
        n += survey->finding[i].n_signal_pairs;
    return n;
}

double etx_survey_target(const struct etx_trainer *trainer)
{
    const float target = trainer->config.validation.target_efficiency;

    return (double)(target > 0.0f ? target : default_target);
}
