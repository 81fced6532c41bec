/* train/truth.c -- which pairs of hits follow each other on a particle.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/truth.h"

#include "base/check.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A hit and where it stands on its particle. */
struct place {
    int32_t particle;
    int32_t hit;
    double distance; /* squared, from the production vertex, mm^2 */
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->particle != b->particle)
        return a->particle < b->particle ? -1 : 1;
    if (a->distance < b->distance)
        return -1;
    if (a->distance > b->distance)
        return 1;
    return a->hit < b->hit ? -1 : a->hit > b->hit;
}

static double squared_distance(const float *a, const float *b)
{
    double sum = 0.0;

    for (int k = 0; k < 3; k++) {
        const double d = (double)a[k] - (double)b[k];
        sum += d * d;
    }
    return sum;
}

static int64_t collect_places(
    struct place *place, const struct etx_event *event)
{
    int64_t n = 0;

    for (int64_t i = 0; i < event->n_hits; i++) {
        const int32_t p = event->particle_row[i];

        if (p < 0)
            continue;
        place[n].particle = p;
        place[n].hit = (int32_t)i;
        place[n].distance = squared_distance(
            event->position + 3 * i, event->particles[p].vertex);
        n++;
    }
    return n;
}

static bool particle_is_signal(const etx_particle *particle, float min_pt)
{
    return hypot((double)particle->momentum[0],
               (double)particle->momentum[1]) > (double)min_pt;
}

static void link_places(struct etx_truth *truth, const struct place *place,
    int64_t n_places)
{
    for (int64_t k = 0; k + 1 < n_places; k++) {
        if (place[k].particle != place[k + 1].particle)
            continue;
        truth->next[place[k].hit] = place[k + 1].hit;
        truth->n_pairs++;
        truth->n_signal_pairs += truth->is_signal[place[k].hit];
    }
}

etx_status etx_truth_build(
    struct etx_truth *out, const struct etx_event *event, float min_pt)
{
    struct etx_truth truth = {.n_hits = event->n_hits};
    struct place *place = NULL;
    int64_t n_places;
    etx_status status;

    if (event->particle_row == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event to train on has no truth (%d hits)",
            (int)event->n_hits);
    truth.particle = event->particle_row;
    ETX_CHECK(etx_alloc(&place, event->n_hits, sizeof *place, "truth places"));
    ETX_CHECK(etx_alloc(
        &truth.next, event->n_hits, sizeof *truth.next, "truth chain"));
    ETX_CHECK(etx_alloc(&truth.is_signal, event->n_hits,
        sizeof *truth.is_signal, "truth signal"));
    for (int64_t i = 0; i < event->n_hits; i++) {
        const int32_t p = event->particle_row[i];

        truth.next[i] = -1;
        truth.is_signal[i] =
            p >= 0 && particle_is_signal(event->particles + p, min_pt);
    }
    n_places = collect_places(place, event);
    qsort(place, (size_t)n_places, sizeof *place, compare_places);
    link_places(&truth, place, n_places);
    *out = truth;
    memset(&truth, 0, sizeof truth);
done:
    etx_release(place);
    etx_truth_clear(&truth);
    return status;
}

void etx_truth_clear(struct etx_truth *truth)
{
    etx_release(truth->next);
    etx_release(truth->is_signal);
    memset(truth, 0, sizeof *truth);
}

int32_t etx_truth_pair(const struct etx_truth *truth, int32_t a, int32_t b)
{
    if (truth->particle[a] < 0 || truth->particle[a] != truth->particle[b])
        return ETX_PAIR_FALSE;
    if (truth->next[a] != b && truth->next[b] != a)
        return ETX_PAIR_SAME;
    return truth->is_signal[a] ? ETX_PAIR_SIGNAL : ETX_PAIR_LOW_PT;
}

void etx_truth_label(float *target, float *weight, int32_t pair,
    const struct etx_train_truth *options)
{
    *target = 0.0f;
    *weight = 1.0f;
    switch ((enum etx_pair)pair) {
    case ETX_PAIR_FALSE:
        break;
    case ETX_PAIR_LOW_PT:
        *target = 1.0f;
        *weight = options->low_pt_weight;
        break;
    case ETX_PAIR_SIGNAL:
        *target = 1.0f;
        break;
    case ETX_PAIR_SAME:
        *target = options->same_particle == ETX_SAME_PARTICLE_TRUE;
        *weight = options->same_particle != ETX_SAME_PARTICLE_IGNORE;
        break;
    }
}
