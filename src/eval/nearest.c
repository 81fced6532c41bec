/* eval/nearest.c -- how close to each particle the nearest other one is.
 *
 * Particles in the order of their pseudorapidity: from each one outwards, until
 * what follows is farther in pseudorapidity alone than the nearest one found.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/metrics.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "data/particle.h"

#include <math.h>

#define PI 3.14159265358979323846

struct direction {
    double eta, phi;
    int32_t particle;
};

/* The directions of the particles with min_hits that have one, ascending in
 * pseudorapidity; out [n_particles]. */
static etx_status sort_directions(struct direction *out, int64_t *n,
    const struct etx_event *event, const int32_t *n_hits, int32_t min_hits)
{
    const etx_particle *const particles = event->particles;
    int64_t *key = NULL;
    int32_t *order = NULL;
    etx_status status;

    *n = 0;
    ETX_NEW(key, event->n_particles, "pseudorapidities");
    ETX_NEW(order, event->n_particles, "order of particles");
    for (int64_t p = 0; p < event->n_particles; p++)
        key[p] = etx_sort_key((float)etx_particle_eta(&particles[p]));
    ETX_CHECK(etx_sort_order(order, key, event->n_particles));
    for (int64_t k = 0; k < event->n_particles; k++) {
        const int32_t p = order[k];
        const float *const momentum = particles[p].momentum;
        const double eta = (double)(float)etx_particle_eta(&particles[p]);

        if (n_hits[p] >= min_hits && isfinite(eta))
            out[(*n)++] = (struct direction){
                eta, atan2((double)momentum[1], (double)momentum[0]), p};
    }
done:
    etx_free(order);
    etx_free(key);
    return status;
}

static double distance(const struct direction *a, const struct direction *b)
{
    const double turn = fabs(a->phi - b->phi);

    return hypot(a->eta - b->eta, fmin(turn, 2.0 * PI - turn));
}

/* Of direction k to the nearest other one. */
static etx_status find_nearest(
    double *out, const struct direction *direction, int64_t n, int64_t k)
{
    const struct direction *const of = &direction[k];
    etx_status status = ETX_OK;

    *out = INFINITY;
    for (int step = -1; step <= 1; step += 2)
        for (int64_t i = k + step; i >= 0 && i < n; i += step) {
            ETX_POLL(i);
            if (fabs(direction[i].eta - of->eta) >= *out)
                break;
            *out = fmin(*out, distance(of, &direction[i]));
        }
done:
    return status;
}

etx_status etx_nearest_particles(double *out, const struct etx_event *event,
    const int32_t *n_hits, int32_t min_hits)
{
    struct direction *direction = NULL;
    int64_t n;
    etx_status status;

    ETX_NEW(direction, event->n_particles, "directions of particles");
    ETX_CHECK(sort_directions(direction, &n, event, n_hits, min_hits));
    for (int64_t p = 0; p < event->n_particles; p++)
        out[p] = INFINITY;
    for (int64_t k = 0; k < n; k++)
        ETX_CHECK(find_nearest(&out[direction[k].particle], direction, n, k));
done:
    etx_free(direction);
    return status;
}
