/* eval/metrics.c -- what is counted of an event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/metrics.h"

#include "base/check.h"

static void count_particles(etx_evaluation_counts *counts,
    const struct etx_matching *matching, const struct etx_event *event,
    const etx_evaluation_options *options)
{
    for (int64_t p = 0; p < event->n_particles; p++) {
        const int32_t is_matched = matching->is_matched[p];

        if (!etx_particle_is_selected(&event->particles[p], options))
            continue;
        counts->n_particles_selected++;
        counts->n_selected_matched += is_matched;
        if (matching->hits_of_particle[p] < options->min_particle_hits)
            continue;
        counts->n_particles_reconstructable++;
        counts->n_reconstructable_matched += is_matched;
    }
}

static void count_tracks(etx_evaluation_counts *counts,
    const struct etx_matching *matching, const struct etx_event *event,
    const struct etx_tracks *tracks, const etx_evaluation_options *options)
{
    int64_t n_found = 0;

    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        if (!etx_track_is_counted(tracks, t, options))
            continue;
        counts->n_tracks++;
        counts->n_tracks_matched += matching->particle[t] >= 0;
        counts->n_tracks_fake += !etx_track_has_majority(
            matching, tracks, t, options->matching_fraction);
    }
    for (int64_t p = 0; p < event->n_particles; p++)
        n_found += matching->is_matched[p];
    counts->n_tracks_duplicate = counts->n_tracks_matched - n_found;
}

etx_status etx_count_event(etx_evaluation_counts *out,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    etx_evaluation_counts counts = {.n_events = 1};
    struct etx_matching matching = {.particle = NULL};
    struct etx_scores scores;
    etx_status status;

    ETX_CHECK(etx_match_tracks(&matching, event, tracks, options));
    count_particles(&counts, &matching, event, options);
    count_tracks(&counts, &matching, event, tracks, options);
    ETX_CHECK(etx_trackml_scores(&scores, event, tracks));
    counts.trackml_score_sum = scores.all;
    counts.primary_score_sum = scores.primary;
    *out = counts;
done:
    etx_matching_release(&matching);
    return status;
}
