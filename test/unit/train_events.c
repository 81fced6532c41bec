/* train_events.c -- small events to train on: helices through barrel layers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train_events.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

#include "support.h"

#define N_LAYERS   10
#define MM_PER_GEV 1667.0 /* radius of a track in 2 T */

static const double layer_radius[N_LAYERS] = {
    32.0, 72.0, 116.0, 172.0, 260.0, 360.0, 500.0, 660.0, 820.0, 1020.0};

/* Hits written so far. */
struct hits {
    int64_t n;
    float *position;
    int64_t *particle;
};

static void add_hit(
    struct hits *hits, double r, double phi, double z, int64_t particle)
{
    float *x = hits->position + 3 * hits->n;

    x[0] = (float)(r * cos(phi));
    x[1] = (float)(r * sin(phi));
    x[2] = (float)z;
    hits->particle[hits->n++] = particle;
}

static double between(struct etx_random *random, double low, double high)
{
    return low + (high - low) * (double)etx_random_uniform(random);
}

static void add_particle(struct hits *hits, etx_particle *particle,
    struct etx_random *random, int64_t id)
{
    const double pt = between(random, 0.3, 2.0);
    const double phi = between(random, -3.14159, 3.14159);
    const double slope = between(random, -1.5, 1.5);
    const double z = between(random, -50.0, 50.0);
    const double side = etx_random_below(random, 2) == 0 ? -1.0 : 1.0;
    const double diameter = 2.0 * MM_PER_GEV * pt;

    *particle = (etx_particle){.id = id,
        .vertex = {0.0f, 0.0f, (float)z},
        .momentum = {(float)(pt * cos(phi)), (float)(pt * sin(phi)),
            (float)(pt * slope)},
        .charge = (int32_t)side,
        .n_hits = N_LAYERS};
    for (int k = 0; k < N_LAYERS; k++) {
        const double turn = asin(layer_radius[k] / diameter);

        add_hit(hits, layer_radius[k], phi + side * turn,
            z + slope * diameter * turn, id);
    }
}

etx_event *train_event(int64_t n_particles, uint64_t seed)
{
    const int64_t n = n_particles * (N_LAYERS + 1);
    struct hits hits = {.position = calloc((size_t)(3 * n), sizeof(float)),
        .particle = calloc((size_t)n, sizeof(int64_t))};
    etx_particle *particles = calloc((size_t)n_particles, sizeof *particles);
    struct etx_random random;
    etx_event *event = NULL;

    ck_assert_ptr_nonnull(hits.position);
    ck_assert_ptr_nonnull(hits.particle);
    ck_assert_ptr_nonnull(particles);
    etx_random_init(&random, seed, 0, 0);
    for (int64_t p = 0; p < n_particles; p++) {
        add_particle(&hits, particles + p, &random, p + 1);
        add_hit(&hits, layer_radius[p % N_LAYERS],
            between(&random, -3.14159, 3.14159),
            between(&random, -500.0, 500.0), 0);
    }
    ck_assert_ok(etx_event_create(&event, hits.n, NULL, hits.position));
    ck_assert_ok(etx_event_set_truth(
        event, hits.particle, NULL, n_particles, particles));
    free(hits.position);
    free(hits.particle);
    free(particles);
    return event;
}
