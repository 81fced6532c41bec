/* eval_events.c -- small events with truth, and tracks that may share hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval_events.h"

#include "base/heap.h"
#include "base/random.h"
#include "data/tracks.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>

#define MAX_TRACK_HITS 64

etx_event *new_truth_event(int64_t n_hits, const int64_t *particle_ids,
    const float *weights, int64_t n_particles, const etx_particle *particles)
{
    float *position = etx_test_alloc(3 * n_hits + 1, sizeof *position);
    etx_event *event = NULL;

    for (int64_t i = 0; i < 3 * n_hits; i++)
        position[i] = (float)i;
    ck_assert_ok(etx_event_create(&event, n_hits, NULL, position));
    ck_assert_ok(etx_event_set_truth(
        event, particle_ids, weights, n_particles, particles));
    free(position);
    return event;
}

etx_tracks *new_track_list(
    int64_t n_hits, int64_t n_tracks, const int32_t *hits)
{
    struct etx_tracks *tracks = NULL;
    int64_t n = 0;

    for (int64_t t = 0; t < n_tracks; n++)
        t += hits[n] == END_OF_TRACK;
    ck_assert_ok(etx_alloc(&tracks, 1, sizeof *tracks, "tracks"));
    ck_assert_ok(etx_alloc(
        &tracks->offset, n_tracks + 1, sizeof *tracks->offset, "offsets"));
    ck_assert_ok(etx_alloc(&tracks->hit, n, sizeof *tracks->hit, "hits"));
    tracks->n_hits = n_hits;
    for (int64_t k = 0; k < n; k++) {
        int64_t *const end = &tracks->offset[tracks->n_tracks + 1];

        if (hits[k] != END_OF_TRACK) {
            tracks->hit[(*end)++] = hits[k];
        } else if (++tracks->n_tracks < n_tracks) {
            end[1] = end[0];
        }
    }
    return tracks;
}

static etx_particle make_particle(int64_t id, double pt, double eta)
{
    const etx_particle particle = {
        .id = id,
        .vertex = {0.6f * (float)id, -0.8f * (float)id, 5.0f},
        .momentum = {(float)(0.6 * pt), (float)(-0.8 * pt),
            (float)(pt * sinh(eta))},
        .charge = id % 2 ? -1 : 1,
    };

    return particle;
}

etx_event *new_hand_event(void)
{
    static const int64_t ids[HAND_N_HITS] = {10, 10, 10, 10, 10, 10, 20, 20, 20,
        20, 20, 30, 30, 30, 40, 40, 40, 40, 40};
    etx_particle particles[] = {make_particle(20, 2.0, 1.2),
        make_particle(10, 1.0, 0.0), make_particle(30, 0.5, -2.0),
        make_particle(40, 3.0, 0.5), make_particle(50, 1.0, 3.9),
        make_particle(60, 0.05, 0.0)};

    particles[3].charge = 0;
    return new_truth_event(HAND_N_HITS, ids, NULL, 6, particles);
}

/* Give a tenth of the hits that are not noise to the next particle, too. */
static void share_hits(etx_event *event, struct etx_random *random)
{
    const int64_t n_hits = etx_event_n_hits(event);
    const int64_t n_particles = etx_event_n_particles(event);
    const int64_t *first = etx_event_particle_ids(event);
    scoped int32_t *hits = etx_test_alloc(n_hits, sizeof *hits);
    scoped int64_t *ids = etx_test_alloc(n_hits, sizeof *ids);
    int64_t n = 0;

    if (n_particles < 2)
        return;
    for (int64_t i = n_hits - 1; i >= 0; i--)
        if (first[i] != 0 && etx_random_below(random, 10) == 0) {
            hits[n] = (int32_t)i;
            ids[n++] = first[i] % n_particles + 1;
        }
    ck_assert_ok(etx_event_set_shared_hits(event, n, hits, ids));
}

/* Give it another azimuth. */
static void turn(etx_particle *particle, double phi)
{
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);

    particle->momentum[0] = (float)(pt * cos(phi));
    particle->momentum[1] = (float)(pt * sin(phi));
}

etx_event *new_random_event(int64_t n_hits, int64_t n_particles, uint32_t seed)
{
    int64_t *ids = calloc((size_t)n_hits, sizeof *ids);
    float *weights = calloc((size_t)n_hits, sizeof *weights);
    etx_particle *particles = calloc((size_t)n_particles, sizeof *particles);
    struct etx_random random;
    etx_event *event = NULL;

    ck_assert(ids != NULL && weights != NULL && particles != NULL);
    etx_random_init(&random, 77, seed, 0);
    for (int64_t p = 0; p < n_particles; p++) {
        particles[p] = make_particle(n_particles - p,
            0.05 + 2.0 * (double)etx_random_uniform(&random),
            10.0 * (double)etx_random_uniform(&random) - 5.0);
        particles[p].charge = (int32_t)etx_random_below(&random, 3) - 1;
        turn(&particles[p], 2.4 * (double)p);
    }
    for (int64_t i = 0; i < n_hits; i++) {
        ids[i] = (int64_t)etx_random_below(&random, (uint64_t)n_particles + 1);
        weights[i] = etx_random_uniform(&random);
    }
    event = new_truth_event(n_hits, ids, weights, n_particles, particles);
    share_hits(event, &random);
    free(ids);
    free(weights);
    free(particles);
    return event;
}

etx_tracks *new_random_tracks(
    const etx_event *event, int64_t n_tracks, uint32_t seed)
{
    const int64_t n_hits = etx_event_n_hits(event);
    const int64_t *ids = etx_event_particle_ids(event);
    const uint64_t n_ids = (uint64_t)etx_event_n_particles(event) + 1;
    int32_t *hits = etx_test_alloc((n_tracks * (n_hits + 1)) + 1, sizeof *hits);
    struct etx_random random;
    etx_tracks *tracks = NULL;
    int64_t n = 0;

    etx_random_init(&random, 78, seed, 0);
    for (int64_t t = 0; t < n_tracks; t++) {
        const int64_t id = (int64_t)etx_random_below(&random, n_ids);
        const float own = etx_random_uniform(&random);
        const float other = 0.1f * etx_random_uniform(&random);

        for (int64_t i = 0; i < n_hits; i++)
            if (etx_random_uniform(&random) <
                (ids[i] == id ? 0.5f + own : other))
                hits[n++] = (int32_t)i;
        hits[n++] = END_OF_TRACK;
    }
    tracks = new_track_list(n_hits, n_tracks, hits);
    free(hits);
    return tracks;
}

int32_t hit_is_of(const etx_event *event, int64_t hit, int64_t id)
{
    for (int64_t k = 0; k < etx_event_n_shared_hits(event); k++)
        if (etx_event_shared_hits(event)[k] == hit &&
            etx_event_shared_particle_ids(event)[k] == id)
            return 1;
    return etx_event_particle_ids(event)[hit] == id;
}

int32_t track_has(const etx_tracks *tracks, int64_t t, int64_t hit)
{
    const int64_t *offsets = etx_tracks_offsets(tracks);

    for (int64_t k = offsets[t]; k < offsets[t + 1]; k++)
        if (etx_tracks_hits(tracks)[k] == hit)
            return 1;
    return 0;
}
