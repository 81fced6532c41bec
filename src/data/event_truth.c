/* data/event_truth.c -- which particle made which hit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/event.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "data/id_index.h"

#include <inttypes.h>

/* *out [n] the particles by ascending id, *out_ids [n] their ids. */
static etx_status sort_particles(etx_particle **out, int64_t **out_ids,
    int64_t n, const etx_particle *particles)
{
    etx_particle *sorted = NULL;
    int64_t *ids = NULL;
    int32_t *order = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(sorted, n, "particles");
    ETX_NEW(ids, n, "particle ids");
    ETX_NEW(order, n, "particle order");
    for (int64_t i = 0; i < n; i++)
        ids[i] = particles[i].id;
    ETX_CHECK(etx_sort_order(order, ids, n));
    for (int64_t k = 0; k < n; k++) {
        ETX_POLL(k);
        sorted[k] = particles[order[k]];
        ids[k] = sorted[k].id;
        if (k > 0 && ids[k] == ids[k - 1])
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "particles %d and %d have the same id %" PRId64, order[k - 1],
                order[k], ids[k]);
    }
    *out = sorted;
    *out_ids = ids;
    sorted = NULL;
    ids = NULL;
done:
    etx_free(sorted);
    etx_free(ids);
    etx_free(order);
    return status;
}

/* rows [n_hits] of the particles that have ids [n_particles], -1 = noise. */
static etx_status find_particles(int32_t *rows, int64_t n_hits,
    const int64_t *particle_ids, int64_t n_particles, const int64_t *ids)
{
    struct etx_id_index index = {.n_ids = 0};
    etx_status status = ETX_OK;

    ETX_CHECK(etx_id_index_build(&index, n_particles, ids));
    for (int64_t i = 0; i < n_hits; i++) {
        const int64_t id = particle_ids[i];

        ETX_POLL(i);
        if (id < 0)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "hit %" PRId64 ": particle id %" PRId64
                " is negative; noise is 0",
                i, id);
        rows[i] = id == 0 ? -1 : (int32_t)etx_id_index_find(&index, id);
        if (id != 0 && rows[i] < 0)
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "hit %" PRId64 ": particle id %" PRId64
                " is not among the %" PRId64 " particles",
                i, id, n_particles);
    }
done:
    etx_id_index_release(&index);
    return status;
}

/* The arrays that make up the truth. */
struct truth {
    int64_t *particle_id;
    int32_t *particle_row;
    float *weight;
    etx_particle *particles;
};

static void release_truth(const struct truth *truth)
{
    etx_free(truth->particle_id);
    etx_free(truth->particle_row);
    etx_free(truth->weight);
    etx_free(truth->particles);
}

static void release_shared(struct etx_event *event)
{
    etx_free(event->shared_hit);
    etx_free(event->shared_particle_id);
    etx_free(event->shared_particle_row);
    event->n_shared = 0;
    event->shared_hit = NULL;
    event->shared_particle_id = NULL;
    event->shared_particle_row = NULL;
}

etx_status etx_event_replace_truth(struct etx_event *event,
    const int64_t *particle_ids, const float *weights, int64_t n_particles,
    const etx_particle *particles)
{
    struct truth truth = {.weight = NULL};
    int64_t *ids = NULL;
    etx_status status = ETX_OK;
    const int64_t n = event->n_hits;

    ETX_CHECK(etx_alloc_copy(&truth.particle_id, particle_ids, n,
        sizeof *truth.particle_id, "particle ids of hits"));
    ETX_NEW(truth.particle_row, n, "particle rows of hits");
    ETX_NEW(truth.weight, n, "weights");
    ETX_CHECK(sort_particles(&truth.particles, &ids, n_particles, particles));
    ETX_CHECK(
        find_particles(truth.particle_row, n, particle_ids, n_particles, ids));
    for (int64_t i = 0; i < n; i++)
        truth.weight[i] = weights != NULL ? weights[i] : 1.0f / (float)n;

    const struct truth old = {.particle_id = event->particle_id,
        .particle_row = event->particle_row,
        .weight = event->weight,
        .particles = event->particles};
    event->particle_id = truth.particle_id;
    event->particle_row = truth.particle_row;
    event->weight = truth.weight;
    event->particles = truth.particles;
    event->n_particles = n_particles;
    truth = old;
    release_shared(event);
done:
    release_truth(&truth);
    etx_free(ids);
    return status;
}

int32_t etx_event_particle_of(
    const struct etx_event *event, int64_t hit, int64_t k)
{
    int64_t low = 0;
    int64_t high = event->n_shared;

    if (k == 0)
        return event->particle_row[hit];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (event->shared_hit[middle] < hit)
            low = middle + 1;
        else
            high = middle;
    }
    low += k - 1;
    return low < event->n_shared && event->shared_hit[low] == hit
               ? event->shared_particle_row[low]
               : -1;
}

/* Row of the particle with an id, -1 when there is none. */
static int32_t find_particle(const struct etx_event *event, int64_t id)
{
    int64_t low = 0;
    int64_t high = event->n_particles;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (event->particles[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < event->n_particles && event->particles[low].id == id
               ? (int32_t)low
               : -1;
}

/* A hit and one of its further particles as one number, by hit, then row. */
static etx_status pair_key(
    int64_t *out, const struct etx_event *event, int64_t hit, int64_t id)
{
    const int32_t row = find_particle(event, id);

    if (hit < 0 || hit >= event->n_hits)
        return etx_fail(ETX_ERR_ARGUMENT,
            "shared hit %" PRId64 " is not in 0 .. %" PRId64, hit,
            event->n_hits - 1);
    if (event->particle_row[hit] < 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "shared hit %" PRId64 " is noise and has no particle to share it",
            hit);
    if (row < 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "shared hit %" PRId64 ": particle id %" PRId64
            " is not among the %" PRId64 " particles",
            hit, id, event->n_particles);
    *out = hit * event->n_particles + row;
    return ETX_OK;
}

etx_status etx_event_replace_shared(struct etx_event *event, int64_t n_shared,
    const int32_t *hits, const int64_t *particle_ids)
{
    struct etx_event shared = {.n_shared = n_shared};
    int64_t *key = NULL;
    int32_t *order = NULL;
    etx_status status = ETX_OK;

    ETX_NEW(key, n_shared, "shared hits");
    ETX_NEW(order, n_shared, "shared hits");
    ETX_NEW(shared.shared_hit, n_shared, "shared hits");
    ETX_NEW(shared.shared_particle_id, n_shared, "ids of shared hits");
    ETX_NEW(shared.shared_particle_row, n_shared, "particles of shared hits");
    for (int64_t i = 0; i < n_shared; i++)
        ETX_CHECK(pair_key(&key[i], event, hits[i], particle_ids[i]));
    ETX_CHECK(etx_sort_order(order, key, n_shared));
    for (int64_t k = 0; k < n_shared; k++) {
        const int32_t hit = hits[order[k]];
        const int64_t id = particle_ids[order[k]];

        if (id == event->particle_id[hit] ||
            (k > 0 && key[order[k]] == key[order[k - 1]]))
            ETX_FAIL(ETX_ERR_ARGUMENT,
                "shared hit %d: particle id %" PRId64 " occurs twice", hit, id);
        shared.shared_hit[k] = hit;
        shared.shared_particle_id[k] = id;
        shared.shared_particle_row[k] =
            (int32_t)(key[order[k]] % event->n_particles);
    }
    release_shared(event);
    event->n_shared = n_shared;
    event->shared_hit = shared.shared_hit;
    event->shared_particle_id = shared.shared_particle_id;
    event->shared_particle_row = shared.shared_particle_row;
    shared = (struct etx_event){.n_shared = 0};
done:
    release_shared(&shared);
    etx_free(order);
    etx_free(key);
    return status;
}
