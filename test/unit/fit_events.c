/* fit_events.c -- tracks whose true parameters are known.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_events.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#define MASS    0.13957        /* GeV */
#define STEP    0.5            /* mm */
#define PITCH_U 0.05f          /* mm */
#define TURN    0.299792458e-3 /* rad per mm, T and 1/GeV */

static const double radii[FIT_N_LAYERS] = {
    32, 72, 116, 172, 260, 360, 500, 660, 820, 1020};
static const double discs[FIT_N_LAYERS] = {
    400, 500, 600, 700, 820, 960, 1120, 1320, 1520, 1720};

struct particle {
    double at[3], direction[3]; /* mm; unit vector */
    double momentum, charge;    /* GeV */
    double
        gradient; /* T/mm: the field is (g x / 2, g y / 2, FIT_FIELD - g z) */
    double loss;  /* GeV per radiation length */
};

double fit_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void turn(double vector[3], const double axis[3], double angle)
{
    const double along = fit_dot(vector, axis) * (1.0 - cos(angle));
    const double cross[3] = {axis[1] * vector[2] - axis[2] * vector[1],
        axis[2] * vector[0] - axis[0] * vector[2],
        axis[0] * vector[1] - axis[1] * vector[0]};

    for (int k = 0; k < 3; k++)
        vector[k] =
            vector[k] * cos(angle) + cross[k] * sin(angle) + axis[k] * along;
}

/* One step: half a rotation about the field, a straight line, the rest. */
static void step(struct particle *particle, double length)
{
    const double *at = particle->at;
    double axis[3] = {0.5 * particle->gradient * at[0],
        0.5 * particle->gradient * at[1],
        (double)FIT_FIELD - particle->gradient * at[2]};
    const double size = sqrt(fit_dot(axis, axis));
    const double angle =
        -TURN * particle->charge * size * length / particle->momentum;

    for (int k = 0; k < 3; k++)
        axis[k] /= size;
    turn(particle->direction, axis, 0.5 * angle);
    for (int k = 0; k < 3; k++)
        particle->at[k] += length * particle->direction[k];
    turn(particle->direction, axis, 0.5 * angle);
}

/* Follow to a radius, or a |z|; 0 when it does not come there. */
static int32_t follow(struct particle *particle, double to, int32_t is_disc)
{
    for (double path = 0.0; path < 4000.0; path += STEP) {
        const double where = is_disc ? fabs(particle->at[2])
                                     : hypot(particle->at[0], particle->at[1]);

        if (where >= to)
            return 1;
        step(particle, STEP);
    }
    return 0;
}

/* Unit vectors of a module that faces along `facing`, tilted by angles. */
static void make_frame(double u[3], double v[3], double w[3],
    const double facing[3], const double tilt[3])
{
    static const double x[3] = {1.0, 0.0, 0.0};
    static const double z[3] = {0.0, 0.0, 1.0};
    const double *other = fabs(facing[2]) > 0.5 ? x : z;
    const double along = fit_dot(other, facing);
    double norm = 0.0;

    for (int k = 0; k < 3; k++) {
        w[k] = facing[k];
        v[k] = other[k] - along * facing[k];
        norm += v[k] * v[k];
    }
    for (int k = 0; k < 3; k++)
        v[k] /= sqrt(norm);
    turn(w, v, tilt[0]);
    u[0] = v[1] * w[2] - v[2] * w[1];
    u[1] = v[2] * w[0] - v[0] * w[2];
    u[2] = v[0] * w[1] - v[1] * w[0];
    turn(w, u, tilt[1]);
    turn(v, u, tilt[1]);
    turn(u, w, tilt[2]);
    turn(v, w, tilt[2]);
}

/* A hit where the particle is, smeared by noise of the module's resolution. */
static void add_hit(struct fit_sample *sample, const struct particle *particle,
    int32_t layer, int32_t is_disc, double noise, struct etx_random *random)
{
    const int64_t i = sample->n_hits++;
    const double r = hypot(particle->at[0], particle->at[1]);
    const double facing[3] = {is_disc ? 0.0 : particle->at[0] / r,
        is_disc ? 0.0 : particle->at[1] / r, is_disc ? 1.0 : 0.0};
    const double tilt[3] = {0.2 * (double)etx_random_normal(random),
        0.1 * (double)etx_random_normal(random),
        (double)etx_random_normal(random)};
    const double off[2] = {
        noise * (double)etx_random_normal(random) * (double)PITCH_U / sqrt(12),
        noise * (double)etx_random_normal(random) * (double)FIT_PITCH_V /
            sqrt(12)};
    struct etx_detector_module *module = &sample->module[i];
    double axis[3][3];

    make_frame(axis[0], axis[1], axis[2], facing, tilt);
    *module = (struct etx_detector_module){.volume_id = 1 + is_disc,
        .layer_id = layer + 1,
        .module_id = (int32_t)i,
        .pitch_u = PITCH_U,
        .pitch_v = FIT_PITCH_V};
    for (int k = 0; k < 3; k++) {
        sample->position[3 * i + k] =
            (float)(particle->at[k] + off[0] * axis[0][k] +
                    off[1] * axis[1][k]);
        module->center[k] = (float)particle->at[k];
        for (int a = 0; a < 3; a++)
            module->rotation[3 * k + a] = (float)axis[a][k];
    }
    sample->volume_id[i] = module->volume_id;
    sample->layer_id[i] = module->layer_id;
    sample->module_id[i] = module->module_id;
    sample->label[i] = (int32_t)sample->n_tracks;
}

/* Scatter and lose energy in the module of the last hit. */
static void scatter(struct particle *particle, const struct fit_sample *sample,
    struct etx_random *random)
{
    const float *rotation = sample->module[sample->n_hits - 1].rotation;
    const double normal[3] = {
        (double)rotation[2], (double)rotation[5], (double)rotation[8]};
    const double x =
        (double)FIT_MATERIAL / fabs(fit_dot(normal, particle->direction));
    const double p = particle->momentum;
    const double angle = 0.0136 * sqrt(p * p + MASS * MASS) / (p * p) *
                         sqrt(x) * (1.0 + 0.038 * log(x));
    const double *d = particle->direction;
    const double r = hypot(d[0], d[1]);
    const double side[3] = {-d[1] / r, d[0] / r, 0.0};
    const double up[3] = {-d[0] * d[2] / r, -d[1] * d[2] / r, r};

    turn(particle->direction, side, angle * (double)etx_random_normal(random));
    turn(particle->direction, up, angle * (double)etx_random_normal(random));
    const double energy = sqrt(p * p + MASS * MASS) - x * particle->loss;
    particle->momentum = sqrt(energy * energy - MASS * MASS);
}

/* One track from its true parameters; false when it misses a layer. */
static int32_t add_track(struct fit_sample *sample, double noise,
    double material, double gradient, double loss, struct etx_random *random)
{
    double *truth = sample->truth[sample->n_tracks];
    const int32_t is_disc = sample->n_tracks % 3 == 2;
    const double pt = 0.5 + 3.0 * (double)etx_random_uniform(random);
    const double phi = 6.28 * (double)etx_random_uniform(random) - 3.14;
    const double side = etx_random_below(random, 2) == 0 ? 1.0 : -1.0;
    const double cot =
        side * (is_disc ? 2.5 + 2.0 * (double)etx_random_uniform(random)
                        : (double)etx_random_uniform(random));
    const double d0 = 2.0 * (double)etx_random_normal(random);
    const double z0 = 50.0 * (double)etx_random_normal(random);
    const double norm = sqrt(1.0 + cot * cot);
    struct particle particle = {.at = {-d0 * sin(phi), d0 * cos(phi), z0},
        .direction = {cos(phi) / norm, sin(phi) / norm, cot / norm},
        .momentum = pt * norm,
        .charge = etx_random_below(random, 2) == 0 ? 1.0 : -1.0,
        .gradient = gradient,
        .loss = loss};
    const int64_t first = sample->n_hits;

    if (loss > 0.0)
        particle.loss *= 1.0 + 0.5 * (double)etx_random_normal(random);
    for (int32_t l = 0; l < FIT_N_LAYERS; l++) {
        if (!follow(&particle, is_disc ? discs[l] : radii[l], is_disc)) {
            sample->n_hits = first;
            return 0;
        }
        add_hit(sample, &particle, l, is_disc, noise, random);
        if (material > 0.0)
            scatter(&particle, sample, random);
    }
    truth[ETX_FIT_D0] = d0;
    truth[ETX_FIT_Z0] = z0;
    truth[ETX_FIT_PHI] = phi;
    truth[ETX_FIT_THETA] = atan2(1.0, cot);
    truth[ETX_FIT_Q_OVER_PT] = particle.charge / pt;
    sample->n_tracks++;
    return 1;
}

struct fit_sample *new_fit_sample_in(int64_t n_tracks, double noise,
    double material, double gradient, double loss)
{
    struct fit_sample *sample = etx_test_alloc(1, sizeof *sample);
    struct etx_random random;

    etx_random_init(&random, 1, 1, 0);
    while (sample->n_tracks < n_tracks)
        add_track(sample, noise, material, gradient, loss, &random);
    qsort(sample->module, (size_t)sample->n_hits, sizeof *sample->module,
        etx_detector_module_compare);
    sample->detector = (struct etx_detector){
        .n_modules = sample->n_hits, .modules = sample->module};
    return sample;
}

struct fit_sample *new_fit_sample(
    int64_t n_tracks, double noise, double material)
{
    return new_fit_sample_in(n_tracks, noise, material, 0.0, 0.0);
}

etx_event *fit_event_of(const struct fit_sample *sample)
{
    etx_event *event = etx_test_event(sample->n_hits, sample->position);

    ck_assert_ok(etx_event_set_modules(
        event, sample->volume_id, sample->layer_id, sample->module_id));
    return event;
}

etx_tracks *fit_tracks_of(const struct fit_sample *sample)
{
    etx_tracks *tracks = NULL;

    ck_assert_ok(
        etx_tracks_from_labels(&tracks, sample->n_hits, sample->label));
    return tracks;
}
