/* eval/matching.c -- which track found which particle.
 *
 * One table of hits per particle is filled and cleared by the hits of one
 * track after another: time and memory are linear in tracks and particles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/matching.h"

#include "base/cancel.h"
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

/* part / whole > fraction, in whole numbers: a float that was written with
 * seven digits means what was written. */
static bool is_more(int64_t part, int64_t whole, float fraction)
{
    return part * 10000000 > llround((double)fraction * 1e7) * whole;
}

bool etx_track_has_majority(const struct etx_matching *matching,
    const struct etx_tracks *tracks, int64_t t, float fraction)
{
    return is_more(matching->n_majority[t], track_size(tracks, t), fraction);
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

/* Does a track of size hits match a particle that has n_shared of them and
 * n_own in the event? */
static bool matches(int64_t n_shared, int64_t size, int64_t n_own,
    const etx_evaluation_options *options)
{
    const float fraction = options->matching_fraction;

    if (options->matching == ETX_MATCH_PERFECT)
        return n_shared == size && n_shared == n_own;
    return is_more(n_shared, size, fraction) &&
           (options->matching == ETX_MATCH_ATLAS ||
               is_more(n_shared, n_own, fraction));
}

/* Does a track with hits of both particles, count [n_particles], rather match
 * the first? */
static bool is_better(const struct etx_matching *matching, const int32_t *count,
    int32_t particle, int32_t other)
{
    const int32_t *const n_own = matching->hits_of_particle;

    if (other == NONE || count[particle] != count[other])
        return other == NONE || count[particle] > count[other];
    if (n_own[particle] != n_own[other])
        return n_own[particle] < n_own[other];
    return particle < other;
}

/* What track t matches. count [n_particles] is zero before and after. */
static void match_track(struct etx_matching *matching, int32_t *count,
    const struct etx_event *event, const struct etx_tracks *tracks, int64_t t,
    const etx_evaluation_options *options)
{
    const int64_t begin = tracks->offset[t];
    const int64_t end = tracks->offset[t + 1];
    int32_t *const best = &matching->particle[t];

    *best = NONE;
    for (int64_t k = begin; k < end; k++)
        add_particles(count, event, tracks->hit[k], 1);
    for (int64_t k = begin; k < end; k++)
        for (int64_t i = 0;; i++) {
            const int32_t particle =
                etx_event_particle_of(event, tracks->hit[k], i);

            if (particle == NONE)
                break;
            if (count[particle] > matching->n_majority[t])
                matching->n_majority[t] = count[particle];
            if (matches(count[particle], end - begin,
                    matching->hits_of_particle[particle], options) &&
                is_better(matching, count, particle, *best))
                *best = particle;
        }
    for (int64_t k = begin; k < end; k++)
        add_particles(count, event, tracks->hit[k], -1);
    if (!etx_track_is_counted(tracks, t, options))
        *best = NONE;
    if (*best != NONE)
        matching->is_matched[*best] = 1;
}

static etx_status fill(struct etx_matching *matching, int32_t *count,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < event->n_hits; i++) {
        ETX_POLL(i);
        add_particles(matching->hits_of_particle, event, i, 1);
    }
    for (int64_t t = 0; t < tracks->n_tracks; t++) {
        ETX_CHECK(etx_cancel_poll());
        match_track(matching, count, event, tracks, t, options);
    }
done:
    return status;
}

etx_status etx_match_tracks(struct etx_matching *out,
    const struct etx_event *event, const struct etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    struct etx_matching matching = {.particle = NULL};
    const int64_t n_tracks = tracks->n_tracks;
    const int64_t n_particles = event->n_particles;
    int32_t *count = NULL;
    etx_status status;

    ETX_NEW(matching.hits_of_particle, n_particles, "hits of particles");
    ETX_NEW(matching.n_majority, n_tracks, "majority hits");
    ETX_NEW(matching.particle, n_tracks, "matched particles");
    ETX_NEW(matching.is_matched, n_particles, "matched particles");
    ETX_NEW(count, n_particles, "hits per particle");
    ETX_CHECK(fill(&matching, count, event, tracks, options));
    *out = matching;
    matching = (struct etx_matching){.particle = NULL};
done:
    etx_matching_release(&matching);
    etx_free(count);
    return status;
}

void etx_matching_release(struct etx_matching *matching)
{
    etx_free(matching->hits_of_particle);
    etx_free(matching->n_majority);
    etx_free(matching->particle);
    etx_free(matching->is_matched);
}
