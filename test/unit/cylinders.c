/* cylinders.c -- events of a detector of eight cylinders.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"

#include "base/random.h"

#include <exatrkx/train.h>
#include <math.h>
#include <stdlib.h>

#define RESOLUTION 0.02f /* mm */
#define TWO_PI     6.2831853f

static const float layer_radius[N_LAYERS] = {
    32, 72, 116, 172, 260, 360, 500, 660};

static void add_hit(struct sample *sample, int64_t particle_id, int32_t layer,
    float x, float y, float z)
{
    const int64_t i = sample->n_hits++;
    float phi = atan2f(y, x);

    if (phi < 0.0f)
        phi += TWO_PI;
    sample->position[3 * i] = x;
    sample->position[3 * i + 1] = y;
    sample->position[3 * i + 2] = z;
    sample->volume_id[i] = 3;
    sample->layer_id[i] = 2 * layer + 2;
    sample->module_id[i] = (int32_t)(phi / TWO_PI * 16.0f);
    sample->particle_id[i] = particle_id;
    sample->layer[i] = layer;
}

/* Hits where the helix of a particle that passes the beam line at a distance of
 * up to max_impact, at z0, crosses the layers. */
static void add_particle(struct sample *sample, int64_t id, float max_impact,
    struct etx_random *random)
{
    const float pt = 0.35f + 2.0f * etx_random_uniform(random);
    const float phi = TWO_PI * etx_random_uniform(random);
    const float slope = 2.0f * etx_random_uniform(random) - 1.0f;
    const float z0 = 30.0f * etx_random_normal(random);
    const int32_t charge = etx_random_below(random, 2) == 0 ? -1 : 1;
    const double radius = (double)pt / (0.3e-3 * FIELD);
    const double side = charge > 0 ? -1.0 : 1.0; /* turns right: -1 */
    const double impact =
        max_impact > 0.0f ? (double)max_impact *
                                (2.0 * (double)etx_random_uniform(random) - 1.0)
                          : 0.0;
    const double centre = radius + impact; /* from the beam line */

    for (int32_t l = 0; l < N_LAYERS; l++) {
        /* The triangle of beam line, centre of the circle and crossing. */
        const double at_layer = (double)layer_radius[l];
        const double squares = at_layer * at_layer + centre * centre;
        const double at =
            (double)phi + side * asin((squares - radius * radius) /
                                      (2.0 * at_layer * centre));
        const double turn =
            acos((radius * radius + 2.0 * centre * centre - squares) /
                 (2.0 * radius * centre));
        const float r = layer_radius[l] +
                        2.0f * (float)(etx_random_below(random, 2)); /* stave */
        const float smear = RESOLUTION * etx_random_normal(random);

        add_hit(sample, id, l, r * (float)cos(at) - smear * (float)sin(at),
            r * (float)sin(at) + smear * (float)cos(at),
            z0 + slope * (float)(radius * turn) +
                RESOLUTION * etx_random_normal(random));
    }
    sample->particle[id - 1] = (etx_particle){.id = id,
        .vertex = {(float)(side * impact) * sinf(phi),
            (float)(-side * impact) * cosf(phi), z0},
        .momentum = {pt * cosf(phi), pt * sinf(phi), pt * slope},
        .charge = charge,
        .n_hits = N_LAYERS};
}

struct sample *new_sample(uint64_t seed)
{
    return new_displaced_sample(seed, 0.0f);
}

static void add_noise(struct sample *sample, struct etx_random *random)
{
    const int32_t l = (int32_t)etx_random_below(random, N_LAYERS);
    const float phi = TWO_PI * etx_random_uniform(random);

    add_hit(sample, 0, l, layer_radius[l] * cosf(phi),
        layer_radius[l] * sinf(phi),
        600.0f * (etx_random_uniform(random) - 0.5f));
}

struct sample *new_displaced_sample(uint64_t seed, float max_impact)
{
    struct sample *sample = etx_test_alloc(1, sizeof *sample);
    struct etx_random random;

    etx_random_init(&random, seed, 1, 0);
    for (int64_t id = 1; id <= N_PARTICLES; id++)
        add_particle(sample, id, max_impact, &random);
    for (int64_t n = 0; n < N_NOISE; n++)
        add_noise(sample, &random);
    return sample;
}

etx_event *train_event(int64_t n_particles, uint64_t seed)
{
    scoped struct sample *sample = etx_test_alloc(1, sizeof *sample);
    struct etx_random random;

    ck_assert_int_le(n_particles, N_PARTICLES);
    etx_random_init(&random, seed, 1, 0);
    for (int64_t id = 1; id <= n_particles; id++) {
        add_particle(sample, id, 0.0f, &random);
        add_noise(sample, &random);
    }
    etx_event *event = etx_test_event(sample->n_hits, sample->position);
    ck_assert_ok(etx_event_set_truth(
        event, sample->particle_id, NULL, n_particles, sample->particle));
    return event;
}

void overlap_modules(struct sample *sample)
{
    const int64_t n_hits = sample->n_hits;

    for (int64_t i = 0; i < n_hits; i++) {
        const float *const at = sample->position + 3 * i;
        const float r = sqrtf(at[0] * at[0] + at[1] * at[1]);
        const int64_t id = sample->particle_id[i];
        const float *next = at + 3; /* of the particle, further out */
        float step;

        if (id == 0 || sample->layer[i] == N_LAYERS - 1 ||
            sample->layer[i] % 4 != id % 4)
            continue;
        step = 2.0f / (sqrtf(next[0] * next[0] + next[1] * next[1]) - r);
        add_hit(sample, id, sample->layer[i], at[0] + step * (next[0] - at[0]),
            at[1] + step * (next[1] - at[1]), at[2] + step * (next[2] - at[2]));
        sample->module_id[sample->n_hits - 1] += 100;
    }
}

etx_event *event_of(const struct sample *sample)
{
    etx_event *event = etx_test_event(sample->n_hits, sample->position);

    ck_assert_ok(etx_event_set_modules(
        event, sample->volume_id, sample->layer_id, sample->module_id));
    ck_assert_ok(etx_event_set_truth(
        event, sample->particle_id, NULL, N_PARTICLES, sample->particle));
    return event;
}

void count_hits(int64_t *right, int64_t *wrong, const struct sample *sample,
    const etx_tracks *tracks)
{
    const int64_t *const offset = etx_tracks_offsets(tracks);
    const int32_t *const hit = etx_tracks_hits(tracks);
    scoped int64_t *best = etx_test_alloc(N_PARTICLES + 1, sizeof *best);

    *right = *wrong = 0;
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++) {
        const int64_t n = offset[t + 1] - offset[t];
        const int64_t id = sample->particle_id[hit[offset[t] + n / 2]];
        int64_t same = 0;

        for (int64_t k = offset[t]; k < offset[t + 1]; k++)
            same += sample->particle_id[hit[k]] == id;
        *wrong += n - same;
        if (id > 0 && same > best[id])
            best[id] = same;
    }
    for (int64_t id = 1; id <= N_PARTICLES; id++)
        *right += best[id];
}

void assert_found(
    const struct sample *sample, const etx_tracks *tracks, int64_t percent)
{
    int64_t n_hits = 0;
    int64_t right, wrong;

    for (int64_t i = 0; i < sample->n_hits; i++)
        n_hits += sample->particle_id[i] > 0;
    count_hits(&right, &wrong, sample, tracks);
    ck_assert_int_gt(right, n_hits * percent / 100);
    ck_assert_int_lt(wrong, N_PARTICLES * N_LAYERS / 100);
}

etx_model *learn_completion(const struct sample *sample)
{
    scoped_model *start = io_model_make(io_model_small);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    etx_model *model = NULL;

    ck_assert_ok(etx_model_learn_completion(&model, start, 1, events, NULL));
    return model;
}

etx_model *learn_first_pass(const struct sample *sample, etx_model **completed)
{
    etx_model *before = learn_completion(sample);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    etx_model *model = NULL;

    ck_assert_ok(etx_model_learn_first_pass(&model, before, 1, events, NULL));
    if (completed != NULL)
        *completed = before;
    else
        etx_model_free(before);
    return model;
}
