/* exatrkx/fit.h -- momentum, direction and impact parameters of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_FIT_H
#define ETX_FIT_H

#include <exatrkx/exatrkx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows and columns of a covariance, in this order. */
#define ETX_FIT_D0        0 /* d0 */
#define ETX_FIT_Z0        1 /* z0 */
#define ETX_FIT_PHI       2 /* phi */
#define ETX_FIT_THETA     3 /* theta */
#define ETX_FIT_Q_OVER_PT 4 /* q_over_pt */
#define ETX_N_FIT         5 /* number of parameters */

/* A fitted track at its point of closest approach to the z axis, where it is at
 * x = -d0 sin(phi), y = d0 cos(phi), z = z0. All numbers are 0 when the track
 * could not be fitted. Arrays hold this struct, so it does not grow. */
typedef struct etx_track_parameters {
    double d0;             /* mm, signed */
    double z0;             /* mm */
    double phi;            /* rad, azimuth of the momentum, in -pi .. pi */
    double theta;          /* rad, polar angle of the momentum, in 0 .. pi */
    double q_over_pt;      /* 1/GeV: charge over transverse momentum */
    double covariance[25]; /* [ETX_N_FIT, ETX_N_FIT], symmetric */
    double chi2;           /* of the hits that were fitted */
    int32_t n_degrees;     /* of freedom: 2 per hit less 5; 0: not fitted */
    int32_t n_holes; /* layers crossed without a hit between first and last */
    int32_t n_outliers; /* hits left out of the fit */
    int32_t reserved;   /* 0 */
} etx_track_parameters;

/* What is assumed of detector and particle. */
typedef struct etx_fit_options {
    uint32_t struct_size; /* set by etx_fit_options_init */
    float field;          /* T, along z and uniform; 0 (default): field_map, or
                           * the field that the model's completion learned */
    float material; /* radiation lengths, at normal incidence, of modules of
                     * which the detector's file says nothing; default
                     * 0.02, 0: no scattering in any */
    float mass; /* GeV, for scattering and energy loss; default 0.13957, a pion
                 */
    float resolution_scale; /* factor of the errors of hits; default 1 */
    float max_hit_chi2;     /* a hit whose removal lowers chi2 by more is an
                             * outlier; default 12; 0: none is */
    const float *field_map; /* [n_r, n_z, 2] T: components along the radius
                             * and z, at r from 0 to max_r and z from -max_z
                             * to max_z in equal steps; borrowed; default NULL
                             */
    int32_t n_r;            /* points of the map along r, at least 2 */
    int32_t n_z;            /* points along z, at least 2 */
    float max_r;            /* mm, positive where there is a map */
    float max_z;            /* mm, positive where there is a map */
    float energy_loss; /* GeV per radiation length of material; default 0.036,
                        * minimum ionisation in silicon; 0: none */
    float map_x;       /* mm, the point where the map has r = 0 and z = 0; the
                        * axis of the map is parallel to z; default 0 */
    float map_y;       /* mm */
    float map_z;       /* mm */
} etx_fit_options;

/* Set every field of an options struct of struct_size bytes to its default;
 * errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_fit_options_init(
    etx_fit_options *options, size_t struct_size);

/* Fit every track: out [number of tracks]; is_outlier [hits of tracks, as in
 * etx_tracks_hits] 1 for hits left out, may be NULL. Hits measure both
 * coordinates of their module; each module scatters. The result is the
 * weighted least-squares estimate with the full covariance of the hits, equal
 * to a Kalman filter and smoother (Fruehwirth, NIM A 262 (1987) 444) for small
 * deviations; scattering angles by Lynch and Dahl (NIM B 58 (1991) 6). Where
 * outliers are sought, a track on which the fit does not converge loses its
 * outermost hits until it does. Tracks with less than 3 or more than 64 hits,
 * or on which no fit converges, have n_degrees 0. options NULL: defaults.
 * ETX_ERR_ARGUMENT when the event has no modules, the detector lacks one, or
 * nothing gives a field: options->field is 0, there is no field_map, and the
 * model is NULL or has no ETX_STAGE_COMPLETION. Runs on the CPU, with the
 * context's threads; the same bits for any number of them. */
ETX_API ETX_MUST_CHECK etx_status etx_fit_tracks(etx_track_parameters *out,
    uint8_t *is_outlier, const etx_tracks *tracks, etx_context *context,
    const etx_model *model, const etx_event *event,
    const etx_detector *detector, const etx_fit_options *options);

/* The tracks t with keep[t] != 0, without the hits with drop[k] != 0; keep
 * [number of tracks] and drop [hits of tracks] may be NULL. Tracks keep their
 * order; one that loses all hits stays, empty. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_select(etx_tracks **out,
    const etx_tracks *tracks, const uint8_t *keep, const uint8_t *drop);

/* Which of the tracks that share hits stay. */
typedef struct etx_resolve_options {
    uint32_t struct_size; /* set by etx_resolve_options_init */
    int32_t max_shared;   /* hits that better tracks may have, too; default 0 */
    int32_t min_hits; /* left of a track, or it goes; at least 1, default 4 */
} etx_resolve_options;

/* Defaults for all fields; errors as etx_label_options_init. */
ETX_API ETX_MUST_CHECK etx_status etx_resolve_options_init(
    etx_resolve_options *options, size_t struct_size);

/* Ambiguity resolution: of tracks that share hits the better ones, by their fit
 * parameters [number of tracks]. Best first, a track keeps its hits while at
 * most max_shared of them are hits of better tracks; otherwise it loses these,
 * and goes when fewer than min_hits are left. Better is the track with more
 * hits less holes, of equals that with less chi2 per degree of freedom, then
 * the earlier; tracks not fitted are last, by their order alone. Tracks keep
 * their order. options NULL: the defaults. ETX_ERR_ARGUMENT also for a chi2
 * that is negative or not finite, for negative n_holes and for a reserved that
 * is not 0. */
ETX_API ETX_MUST_CHECK etx_status etx_tracks_resolve(etx_tracks **out,
    const etx_tracks *tracks, const etx_track_parameters *parameters,
    const etx_resolve_options *options);

#ifdef __cplusplus
}
#endif

#endif
