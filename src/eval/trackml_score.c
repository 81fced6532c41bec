/* eval/trackml_score.c -- the score of the TrackML challenge.
 *
 * Amrouche et al., "The Tracking Machine Learning challenge: accuracy phase",
 * arXiv:1904.06778: a track earns the weights of its hits that are of the
 * particle with most of its hits, when that particle has more than half of
 * the track's hits and the track more than half of the particle's.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/metrics.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"

/* Generation of a particle in its TrackML id: 0 in the collision itself. */
static int64_t generation(const etx_particle *particle)
{
    return particle->id >> 24 & 0xfff;
}

static void add_hit(
    struct etx_scores *sum, const struct etx_event *event, int64_t hit)
{
    const int32_t p = event->particle_row[hit];

    sum->all += (double)event->weight[hit];
    if (p >= 0 && generation(event->particles + p) == 0)
        sum->primary += (double)event->weight[hit];
}

static int32_t is_of(
    const struct etx_event *event, int64_t hit, int32_t particle)
{
    for (int64_t k = 0;; k++) {
        const int32_t p = etx_event_particle_of(event, hit, k);

        if (p == particle || p < 0)
            return p == particle;
    }
}

/* Add the weights of the hits of track t that are its matched particle's. */
static void add_earned(struct etx_scores *sum, const struct etx_event *event,
    const struct etx_tracks *tracks, int64_t t, int32_t particle)
{
    for (int64_t k = tracks->offset[t]; k < tracks->offset[t + 1]; k++)
        if (is_of(event, tracks->hit[k], particle))
            add_hit(sum, event, tracks->hit[k]);
}

/* A submission has one track per hit: a shared hit stays with the first. */
static etx_status unshare(
    struct etx_tracks **out, const struct etx_tracks *tracks)
{
    int32_t *label = NULL;
    etx_status status;

    ETX_NEW(label, tracks->n_hits, "labels");
    etx_tracks_to_labels(label, tracks);
    ETX_CHECK(etx_tracks_group(out, tracks->n_hits, label, 1));
done:
    etx_free(label);
    return status;
}

static double ratio(double part, double whole)
{
    return whole > 0.0 ? part / whole : 0.0;
}

etx_status etx_trackml_scores(struct etx_scores *out,
    const struct etx_event *event, const struct etx_tracks *tracks)
{
    const etx_evaluation_options both_halves = {
        .matching = ETX_MATCH_DOUBLE_MAJORITY,
        .matching_fraction = 0.5f,
        .min_track_hits = 1,
    };
    struct etx_scores total = {0.0, 0.0};
    struct etx_scores earned = {0.0, 0.0};
    struct etx_matching matching = {.particle = NULL};
    struct etx_tracks *single = NULL;
    etx_status status;

    for (int64_t i = 0; i < event->n_hits; i++) {
        ETX_POLL(i);
        add_hit(&total, event, i);
    }
    ETX_CHECK(unshare(&single, tracks));
    ETX_CHECK(etx_match_tracks(&matching, event, single, &both_halves));
    for (int64_t t = 0; t < single->n_tracks; t++) {
        ETX_CHECK(etx_cancel_poll());
        if (matching.particle[t] >= 0)
            add_earned(&earned, event, single, t, matching.particle[t]);
    }
    out->all = ratio(earned.all, total.all);
    out->primary = ratio(earned.primary, total.primary);
done:
    etx_matching_release(&matching);
    etx_tracks_free(single);
    return status;
}
