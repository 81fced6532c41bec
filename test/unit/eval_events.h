/* eval_events.h -- small events with truth, and tracks that may share hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_EVAL_EVENTS_H
#define ETX_TEST_EVAL_EVENTS_H

#include <exatrkx/eval.h>

#define END_OF_TRACK (-1)

/* An event of n_hits whose hits carry these ids and weights [n_hits] (or NULL)
 * of these particles; the caller frees it. */
etx_event *new_truth_event(int64_t n_hits, const int64_t *particle_ids,
    const float *weights, int64_t n_particles, const etx_particle *particles);

/* Tracks of these hits, each ended by END_OF_TRACK. */
etx_tracks *new_track_list(
    int64_t n_hits, int64_t n_tracks, const int32_t *hits);

/* The event that the tests by hand share:
 *   hits  0- 5  particle 10, pT 1, eta 0
 *   hits  6-10  particle 20, pT 2, eta 1.2
 *   hits 11-13  particle 30, pT 0.5
 *   hits 14-18  particle 40, pT 3, neutral
 *   hits 19-24  noise
 * and without hits particle 50, pT 1, and particle 60, pT 0.05. With default
 * options 10, 20, 30 and 50 are selected, 10 and 20 reconstructable. */
#define HAND_N_HITS 25
etx_event *new_hand_event(void);

/* Particles with ids 1 .. n_particles and random momenta; every hit belongs
 * to one or two of them or is noise; weights are random. */
etx_event *new_random_event(int64_t n_hits, int64_t n_particles, uint32_t seed);

/* Tracks of random hits: mostly one particle's, some shared, some noise. */
etx_tracks *new_random_tracks(
    const etx_event *event, int64_t n_tracks, uint32_t seed);

/* 1 when the hit is the particle's, alone or shared. */
int32_t hit_is_of(const etx_event *event, int64_t hit, int64_t id);

/* 1 when track t holds the hit. */
int32_t track_has(const etx_tracks *tracks, int64_t t, int64_t hit);

#endif
