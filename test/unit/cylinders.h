/* cylinders.h -- a detector of eight cylinders in a uniform field, in which
 * every particle is an exact helix from the beam line with smeared hits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_CYLINDERS_H
#define ETX_TEST_UNIT_CYLINDERS_H

#include "io_models.h"

#define N_LAYERS    8
#define N_PARTICLES 300
#define N_NOISE     200
#define MAX_HITS    (N_PARTICLES * (N_LAYERS + 2) + N_NOISE)
#define FIELD       2.0 /* T */

/* An event, and what is true of it. */
struct sample {
    int64_t n_hits;
    float position[3 * MAX_HITS];
    int32_t volume_id[MAX_HITS], layer_id[MAX_HITS], module_id[MAX_HITS];
    int64_t particle_id[MAX_HITS];
    int32_t layer[MAX_HITS]; /* 0 .. N_LAYERS-1 */
    etx_particle particle[N_PARTICLES];
};

/* Freed with free. */
struct sample *new_sample(uint64_t seed);
/* The same of particles that pass the beam line at up to max_impact, mm, less
 * than the innermost radius. */
struct sample *new_displaced_sample(uint64_t seed, float max_impact);
/* Add a second hit of each particle on one or two layers, others for the next
 * one, 2 mm further out on another module. */
void overlap_modules(struct sample *sample);
/* With modules and truth. */
etx_event *event_of(const struct sample *sample);
/* A small one to train on, without modules: n_particles, at most N_PARTICLES,
 * and a hit of noise for each. */
etx_event *train_event(int64_t n_particles, uint64_t seed);

/* How many hits of particles lie on the track that most of the particle's hits
 * are on, and how many hits the tracks have that are not the particle's. */
void count_hits(int64_t *right, int64_t *wrong, const struct sample *sample,
    const etx_tracks *tracks);
/* More than this share, in %, of the particles' hits are right, and less than 1
 * % wrong. */
void assert_found(
    const struct sample *sample, const etx_tracks *tracks, int64_t percent);

/* A model with small networks that learned completion from the sample; and from
 * it the first pass, too: *completed, or NULL, is the one before. */
etx_model *learn_completion(const struct sample *sample);
etx_model *learn_first_pass(const struct sample *sample, etx_model **completed);

#endif
