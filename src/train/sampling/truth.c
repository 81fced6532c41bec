/* train/sampling/truth.c -- which pairs of hits belong together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/truth.h"

#include "base/check.h"
#include "base/heap.h"
#include "data/particle.h"
#include "train/sampling/particle_chains.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool particle_is_signal(const etx_particle *particle, int64_t n_hits,
    const struct etx_train_truth *options)
{
    if (!(etx_particle_pt(particle) > (double)options->min_pt))
        return false;
    if (options->max_eta > 0.0f &&
        !(fabs(etx_particle_eta(particle)) < (double)options->max_eta))
        return false;
    return n_hits >= options->min_hits;
}

/* Hits per particle. */
static etx_status count_hits(int64_t **out, const struct etx_event *event)
{
    const etx_status status =
        etx_alloc(out, event->n_particles, sizeof **out, "hits of particles");

    for (int64_t i = 0; i < event->n_hits && status == ETX_OK; i++)
        if (event->particle_row[i] >= 0)
            (*out)[event->particle_row[i]]++;
    return status;
}

static float weight_of(const etx_particle *particle, bool is_signal,
    const struct etx_train_truth *options)
{
    const float weight = is_signal ? 1.0f : options->low_pt_weight;

    return etx_particle_radius(particle) > (double)options->displaced_radius
               ? weight * options->displaced_weight
               : weight;
}

/* Signal and weights of every hit's particle; training does not see noise, or
 * soft particles, where options say so. */
static etx_status label_hits(struct etx_truth *truth,
    const struct etx_event *event, const struct etx_train_truth *options)
{
    const int64_t n = event->n_hits;
    const bool drops = options->drop_noise || options->background_min_pt > 0.0f;
    int64_t *n_hits = NULL;
    etx_status status;

    ETX_CHECK(count_hits(&n_hits, event));
    ETX_CHECK(etx_alloc(&truth->is_signal, n, 1, "truth signal"));
    ETX_CHECK(
        etx_alloc(&truth->pair_weight, n, sizeof(float), "truth weights"));
    if (drops)
        ETX_CHECK(etx_alloc(&truth->is_dropped, n, 1, "dropped hits"));
    for (int64_t i = 0; i < n; i++) {
        const int32_t p = event->particle_row[i];
        const etx_particle *particle = p < 0 ? NULL : event->particles + p;

        if (p >= 0) {
            truth->is_signal[i] =
                particle_is_signal(particle, n_hits[p], options);
            truth->pair_weight[i] =
                weight_of(particle, truth->is_signal[i], options);
        }
        if (drops)
            truth->is_dropped[i] = p < 0
                                       ? options->drop_noise != 0
                                       : etx_particle_pt(particle) <
                                             (double)options->background_min_pt;
    }
done:
    etx_free(n_hits);
    return status;
}

/* The pairs that begin at hits that none precedes: where a track starts. */
static etx_status weigh_first_pairs(struct etx_truth *truth, float first_weight)
{
    uint8_t *has_previous = NULL;
    etx_status status;

    if (first_weight == 1.0f)
        return ETX_OK;
    ETX_CHECK(
        etx_alloc(&has_previous, truth->n_hits, 1, "first hits of particles"));
    for (int64_t k = 0; k < truth->offset[truth->n_hits]; k++)
        has_previous[truth->partner[k]] = 1;
    for (int64_t i = 0; i < truth->n_hits; i++)
        if (!has_previous[i])
            truth->pair_weight[i] *= first_weight;
done:
    etx_free(has_previous);
    return status;
}

static void count_pairs(struct etx_truth *truth)
{
    truth->n_pairs = truth->offset[truth->n_hits];
    for (int64_t i = 0; i < truth->n_hits; i++)
        if (truth->is_signal[i])
            truth->n_signal_pairs += truth->offset[i + 1] - truth->offset[i];
}

/* The hits of particles over the sum of their weights. */
static float scale_weights(const struct etx_event *event)
{
    double sum = 0.0;
    int64_t n = 0;

    for (int64_t i = 0; i < event->n_hits; i++) {
        if (event->particle_row[i] < 0)
            continue;
        sum += (double)event->weight[i];
        n++;
    }
    return sum > 0.0 ? (float)((double)n / sum) : 0.0f;
}

static etx_status check_event(const struct etx_event *event,
    const struct etx_train_truth *options, int32_t needs_weight)
{
    const bool needs_modules =
        options->pairs != ETX_PAIRS_HIT && options->pairs != ETX_PAIRS_ANY;

    if (event->particle_row == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event to train on has no truth (%d hits)", (int)event->n_hits);
    if (needs_modules && event->module_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event to train on has no modules (%d hits), which "
            "truth.pairs reads",
            (int)event->n_hits);
    if (needs_weight && event->weight == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event to train on has no hit weights (%d hits), which "
            "loss.hit_weight reads",
            (int)event->n_hits);
    return ETX_OK;
}

etx_status etx_truth_build(struct etx_truth *out, const struct etx_event *event,
    const struct etx_train_truth *options, int32_t needs_weight)
{
    struct etx_truth truth = {.n_hits = event->n_hits};
    etx_status status;

    ETX_CHECK(check_event(event, options, needs_weight));
    truth.particle = event->particle_row;
    truth.weight = event->weight;
    if (needs_weight)
        truth.weight_scale = scale_weights(event);
    ETX_NEW(truth.offset, event->n_hits + 1, "truth pairs");
    ETX_CHECK(label_hits(&truth, event, options));
    ETX_CHECK(
        etx_chain_pairs(truth.offset, &truth.partner, event, options->pairs));
    ETX_CHECK(weigh_first_pairs(&truth, options->first_weight));
    count_pairs(&truth);
    *out = truth;
    memset(&truth, 0, sizeof truth);
done:
    etx_truth_clear(&truth);
    return status;
}

void etx_truth_clear(struct etx_truth *truth)
{
    etx_free(truth->offset);
    etx_free(truth->partner);
    etx_free(truth->is_signal);
    etx_free(truth->pair_weight);
    etx_free(truth->is_dropped);
    memset(truth, 0, sizeof *truth);
}

/* Whether b is among the hits that follow a. */
static bool follows(const struct etx_truth *truth, int32_t a, int32_t b)
{
    int64_t low = truth->offset[a];
    int64_t high = truth->offset[a + 1];

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (truth->partner[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < truth->offset[a + 1] && truth->partner[low] == b;
}

int32_t etx_truth_pair(const struct etx_truth *truth, int32_t a, int32_t b)
{
    if (truth->particle[a] < 0 || truth->particle[a] != truth->particle[b])
        return ETX_PAIR_FALSE;
    if (!follows(truth, a, b) && !follows(truth, b, a))
        return ETX_PAIR_SAME;
    return truth->is_signal[a] ? ETX_PAIR_SIGNAL : ETX_PAIR_LOW_PT;
}

float etx_truth_weight(const struct etx_truth *truth, int32_t a, int32_t b)
{
    return truth->pair_weight[follows(truth, a, b) ? a : b];
}

void etx_truth_label(float *target, float *weight,
    const struct etx_truth *truth, int32_t a, int32_t b,
    const struct etx_train_config *config)
{
    const struct etx_train_truth *options = &config->truth;
    const float hit_weight = config->loss.hit_weight;

    *target = 0.0f;
    *weight = 1.0f;
    switch ((enum etx_pair)etx_truth_pair(truth, a, b)) {
    case ETX_PAIR_FALSE:
        break;
    case ETX_PAIR_LOW_PT:
    case ETX_PAIR_SIGNAL:
        *target = 1.0f;
        *weight = etx_truth_weight(truth, a, b);
        break;
    case ETX_PAIR_SAME:
        *target = options->same_particle == ETX_SAME_PARTICLE_TRUE;
        *weight = options->same_particle != ETX_SAME_PARTICLE_IGNORE;
        break;
    }
    if (hit_weight > 0.0f && *target > 0.0f)
        *weight *= hit_weight * truth->weight_scale * 0.5f *
                   (truth->weight[a] + truth->weight[b]);
}
