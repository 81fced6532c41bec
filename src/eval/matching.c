/* eval/matching.c -- which track found which particle.
 *
 * One table of hits per particle is filled and cleared by the hits of one
 * track after another: time and memory are linear in tracks and particles.
 * Every fraction is at least one half and every comparison strict, so a track
 * can only match the particle with most of its hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/matching.h"

#include "base/check.h"
#include "base/heap.h"
#include "data/particle.h"

#include <math.h>

#define NONE (-1)

static int64_t track_size(const struct etx_tracks *tracks, int64_t t)
{
    return tracks->offset[t + 1] - tracks->offset[t];
}

int32_t etx_track_is_counted(const struct etx_tracks *tracks, int64_t t,
    const etx_evaluation_options *options)
{
    return track_size(tracks, t) >= options->min_track_hits;
}

int32_t etx_track_has_majority(const struct etx_matching *matching,
    const struct etx_tracks *tracks, int64_t t, double fraction)
{
    return (double)matching->n_majority[t] >
           fraction * (double)track_size(tracks, t);
}

int32_t etx_particle_is_selected(
    const etx_particle *particle, const etx_evaluation_options *options)
{
    if (options->charged_only && particle->charge == 0)
        return 0;
    return etx_particle_pt(particle) > (double)options->min_pt &&
           fabs(etx_particle_eta(particle)) < (double)options->max_eta;
}

/* Add n to the counts of all particles of a hit. */
static void add_particles(
    int32_t *count, const struct etx_event *event, int64_t hit, int32_t n)
{
    for (int64_t k = 0;; k++) {
        const int32_t particle = etx_event_particle_of(event, hit, k);

        if (particle == NONE)
            break;
        count[particle] += n;
    }
}

/* The particle with most hits of track t. count [n_particles] is zero before
 * and after. */
static void find_majority(struct etx_matching *matching, int32_t *count,
    const struct etx_event *event, const struct etx_tracks *tracks, int64_t t)
{
    const int64_t begin = tracks->offset[t];
    const int64_t end = tracks->offset[t + 1];
    int32_t best = NONE;
    int32_t n_best = 0;

    for (int64_t k = begin; k < end; k++)
        add_particles(count, event, tracks->hit[k], 1);
    for (int64_t k = begin; k < end; k++)
        for (int64_t i = 0;; i++) {
            const int32_t particle =
                etx_event_particle_of(event, tracks->hit[k], i);

            if (particle == NONE)
                break;
            if (count[particle] > n_best ||
                (particle < best && count[particle] == n_best)) {
                best = particle;
                n_best = count[particle];
            }
        }
    for (int64_t k = begin; k < end; k++)
        add_particles(count, event, tracks->hit[k], -1);
    matching->majority[t] = best;
    matching->n_majority[t] = n_best;
}

/* Does track t match the particle with most of its hits? */
static int32_t matches(const struct etx_matching *matching,
    const struct etx_tracks *tracks, int64_t t,
    const etx_evaluation_options *options)
{
    const double fraction = (double)options->matching_fraction;
    const int64_t n_shared = matching->n_majority[t];
    int64_t n_particle;

    if (!etx_track_is_counted(tracks, t, options) ||
        !etx_track_has_majority(matching, tracks, t, fraction))
        return 0;
    n_particle = matching->hits_of_particle[matching->majority[t]];
    if (options->matching == ETX_MATCH_ATLAS)
        return 1;
    if (options->matching == ETX_MATCH_PERFECT)
        return n_shared == track_size(tracks, t) && n_shared == n_particle;
    return (double)n_shared > fraction * (double)n_particle;
}

static void fill(struct etx_matching *matching, int32_t *count,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    for (int64_t i = 0; i < event->n_hits; i++)
        add_particles(matching->hits_of_particle, event, i, 1);
    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        find_majority(matching, count, event, tracks, t);
        matching->particle[t] = NONE;
        if (!matches(matching, tracks, t, options))
            continue;
        matching->particle[t] = matching->majority[t];
        matching->is_matched[matching->majority[t]] = 1;
    }
}

etx_status etx_match_tracks(struct etx_matching *out,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    struct etx_matching made = {.majority = NULL};
    const int64_t n_tracks = tracks->n_tracks;
    const int64_t n_particles = event->n_particles;
    int32_t *count = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&made.hits_of_particle, n_particles,
        sizeof *made.hits_of_particle, "hits of particles"));
    ETX_CHECK(etx_alloc(
        &made.majority, n_tracks, sizeof *made.majority, "majority particles"));
    ETX_CHECK(etx_alloc(
        &made.n_majority, n_tracks, sizeof *made.n_majority, "majority hits"));
    ETX_CHECK(etx_alloc(
        &made.particle, n_tracks, sizeof *made.particle, "matched particles"));
    ETX_CHECK(etx_alloc(&made.is_matched, n_particles, sizeof *made.is_matched,
        "matched particles"));
    ETX_CHECK(
        etx_alloc(&count, n_particles, sizeof *count, "hits per particle"));
    fill(&made, count, event, tracks, options);
    *out = made;
    made = (struct etx_matching){.majority = NULL};
done:
    etx_matching_release(&made);
    etx_free(count);
    return status;
}

void etx_matching_release(struct etx_matching *matching)
{
    etx_free(matching->hits_of_particle);
    etx_free(matching->majority);
    etx_free(matching->n_majority);
    etx_free(matching->particle);
    etx_free(matching->is_matched);
}
