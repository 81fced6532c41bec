/* exatrkx/eval.h -- compare tracks with the truth of simulated events.
 *
 * Definitions (docs/evaluation.md): a particle is selected when it is charged
 * (or charged_only is 0), |eta| < max_eta and pT > min_pt; it is
 * reconstructable when it left at least min_particle_hits hits in the event.
 * Tracks with fewer than min_track_hits hits are ignored. All functions need an
 * event with truth and tracks of that event (else ETX_ERR_ARGUMENT).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_EVAL_H
#define ETX_EVAL_H

#include <exatrkx/exatrkx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When a track matches a particle; f is matching_fraction. */
/* more than f of the track's hits are the particle's, and more than f of the
 * particle's hits are in the track */
#define ETX_MATCH_DOUBLE_MAJORITY 0
/* more than f of the track's hits are the particle's */
#define ETX_MATCH_ATLAS   1
#define ETX_MATCH_PERFECT 2 /* the track is exactly the particle's hits */

/* Matching criterion and selection of particles and tracks. */
typedef struct etx_evaluation_options {
    uint32_t struct_size;      /* set by etx_evaluation_options_init */
    int32_t matching;          /* ETX_MATCH_; default double majority */
    float matching_fraction;   /* in [0.5, 1); default 0.5 */
    float min_pt;              /* GeV, of selected particles; default 0.1 */
    float max_eta;             /* of selected particles; default 4 */
    int32_t min_particle_hits; /* of reconstructable particles; default 5 */
    int32_t min_track_hits;    /* default 3 */
    int32_t charged_only;      /* default 1 */
} etx_evaluation_options;

/* Defaults for all fields; struct_size is sizeof *options. ETX_ERR_ARGUMENT
 * when it is below the size of the struct's first release, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_evaluation_options_init(
    etx_evaluation_options *options, size_t struct_size);

/* Sums over events. Set struct_size and zeros, add events with etx_evaluate,
 * then compute the rates. */
typedef struct etx_evaluation_counts {
    uint32_t struct_size; /* sizeof(etx_evaluation_counts), by the caller */
    int32_t reserved;     /* 0 */
    int64_t n_events;     /* added so far */
    int64_t n_particles_selected;        /* by charge, pT and eta */
    int64_t n_particles_reconstructable; /* selected and reconstructable */
    int64_t n_selected_matched;          /* selected ones with a track */
    int64_t n_reconstructable_matched;   /* reconstructable ones with one */
    int64_t n_tracks;                    /* of min_track_hits hits or more */
    int64_t n_tracks_matched;            /* to any particle */
    int64_t n_tracks_fake;      /* no particle has > f of the track's hits */
    int64_t n_tracks_duplicate; /* matched tracks beyond one per particle */
    double trackml_score_sum;   /* over events, each in [0, 1] */
    double primary_score_sum;   /* the same of generation 0 alone */
} etx_evaluation_counts;

/* Add one event to counts. Tracks may share hits. options may be NULL:
 * defaults. */
ETX_API ETX_MUST_CHECK etx_status etx_evaluate(etx_evaluation_counts *counts,
    const etx_event *event, const etx_tracks *tracks,
    const etx_evaluation_options *options);

/* A ratio with its 68.27 % Clopper-Pearson interval (Biometrika 26, 404
 * (1934)); 0 / 0 is nan with interval [0, 1]. */
typedef struct etx_rate {
    double value; /* ratio */
    double low;   /* lower end of the interval */
    double high;  /* upper end */
} etx_rate;

/* Rates over all events that were added. */
typedef struct etx_evaluation {
    uint32_t struct_size;          /* sizeof(etx_evaluation), by the caller */
    int32_t reserved;              /* 0 */
    etx_rate physics_efficiency;   /* matched selected / selected */
    etx_rate technical_efficiency; /* the same, reconstructable particles */
    etx_rate purity;               /* matched tracks / tracks */
    etx_rate fake_rate;            /* fake tracks / tracks */
    etx_rate duplicate_rate;       /* duplicate tracks / tracks */
    double trackml_score;          /* mean over events */
    double primary_score;          /* the same with the weights of particles of
                                    * generation 0 alone (bits 24 to 35 of a TrackML id),
                                    * as in TrackML's files */
} etx_evaluation;

/* Rates and intervals from the sums; the caller sets out->struct_size.
 * ETX_ERR_ARGUMENT for a part that is above its whole. The counts of rates that
 * are not wanted may be 0. */
ETX_API ETX_MUST_CHECK etx_status etx_evaluation_rates(
    etx_evaluation *out, const etx_evaluation_counts *counts);

#define ETX_VARIABLE_PT     0 /* transverse momentum, GeV */
#define ETX_VARIABLE_ETA    1 /* pseudorapidity */
#define ETX_VARIABLE_RADIUS 2 /* of production, from the beam line, mm */
/* hypot of the differences in pseudorapidity and azimuth [radians] to the
 * nearest other particle with min_particle_hits, at their production; infinite
 * where there is none. Time grows with the square of the particles of one
 * pseudorapidity. */
#define ETX_VARIABLE_NEAREST 3

/* Count particles in bins of a variable (ETX_VARIABLE_): the selected
 * reconstructable ones are added to total [n_bins], those with a matched track
 * to matched [n_bins]. Bin b is edges[b] <= value < edges[b + 1], with edges
 * [n_bins + 1] ascending. options may be NULL: defaults. */
ETX_API ETX_MUST_CHECK etx_status etx_evaluate_binned(int64_t *total,
    int64_t *matched, const etx_event *event, const etx_tracks *tracks,
    int32_t variable, int64_t n_bins, const double *edges,
    const etx_evaluation_options *options);

/* Matches of one event. particle_of_track [number of tracks]: row of
 * etx_event_particles, or -1. matched_particle [n_particles]: 1 when a track
 * matches, else 0. Either may be NULL; options may be NULL: defaults. */
ETX_API ETX_MUST_CHECK etx_status etx_match(int32_t *particle_of_track,
    uint8_t *matched_particle, const etx_event *event, const etx_tracks *tracks,
    const etx_evaluation_options *options);

#ifdef __cplusplus
}
#endif

#endif
