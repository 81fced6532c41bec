/* fit_events.h -- tracks whose true parameters, resolutions and scattering
 * angles are known.
 *
 * Particles are followed in space by rotations of their direction about the
 * field, which shares nothing with the arcs of src/stage/track_fitting. Every
 * hit lies on a module of its own, tilted at random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_UNIT_FIT_EVENTS_H
#define ETX_TEST_UNIT_FIT_EVENTS_H

#include "data/detector.h"
#include "support.h"

#include <exatrkx/fit.h>

#define FIT_N_LAYERS   10
#define FIT_MAX_TRACKS 1500
#define FIT_MAX_HITS   (FIT_MAX_TRACKS * FIT_N_LAYERS)
#define FIT_FIELD      2.0f  /* T */
#define FIT_MATERIAL   0.03f /* radiation lengths */
#define FIT_PITCH_V    0.4f  /* mm */

/* Tracks with their detector and true parameters. */
struct fit_sample {
    int64_t n_hits, n_tracks;
    float position[3 * FIT_MAX_HITS];
    int32_t volume_id[FIT_MAX_HITS], layer_id[FIT_MAX_HITS],
        module_id[FIT_MAX_HITS];
    int32_t label[FIT_MAX_HITS];
    struct etx_detector_module module[FIT_MAX_HITS];
    struct etx_detector detector;
    double truth[FIT_MAX_TRACKS][ETX_N_FIT];
};

/* n_tracks tracks: hits are smeared by noise times the resolution of their
 * module; with material above 0 particles scatter, and lose `loss` GeV per
 * radiation length, each times a factor of its own, with a standard deviation
 * of 0.5. The field is (g x / 2, g y / 2, FIT_FIELD - g z), g the
 * gradient in T/mm. Freed with free. */
struct fit_sample *new_fit_sample_in(int64_t n_tracks, double noise,
    double material, double gradient, double loss);
/* In a uniform field, without loss. */
struct fit_sample *new_fit_sample(
    int64_t n_tracks, double noise, double material);

/* With modules. */
etx_event *fit_event_of(const struct fit_sample *sample);
etx_tracks *fit_tracks_of(const struct fit_sample *sample);

double fit_dot(const double a[3], const double b[3]);

#endif
