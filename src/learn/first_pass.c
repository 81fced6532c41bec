/* learn/first_pass.c -- learn the first pass from true tracks.
 *
 * Of each charged particle from the beam line the hits on its first layers are
 * taken, three layers after each other at a time. Such three are a seed where
 * particles often begin with them. Other seeds are those with which particles
 * would often begin if they lacked one of their first three hits. The residuals
 * of the third hit from the helix through the beam line and the other two give
 * the windows; where these helices meet the beam line, its length. The field
 * that bends whole tracks says whether they are helices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/learn_table.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"
#include "learn/chains.h"
#include "learn/residuals.h"
#include "stage/first_pass/first_pass.h"
#include "stage/helix/crossing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS   ETX_COMPLETION_MAX_LAYERS
#define N_KEYS       ((int64_t)MAX_LAYERS * MAX_LAYERS * MAX_LAYERS)
#define MIN_HITS     6     /* of a particle */
#define MAX_VERTEX   2.0   /* mm from the beam line */
#define N_FIRST      5     /* layers of a particle that are looked at */
#define MIN_FRACTION 3e-4  /* of all seeds */
#define MIN_BEGINS   0.3   /* of its own tracks begin with a seed */
#define MIN_LACKING  0.02  /* of all seeds, that lack a hit */
#define BEAM_TAIL    0.002 /* of the tracks, at either end of the beam */
#define MAX_SPREAD   0.3   /* T, of a field; straight tracks have less */

/* Three hits of a particle on three layers: [0] after each other, [1] the first
 * three without one of the first three. */
struct triplets {
    int32_t *count;               /* [N_KEYS] */
    struct etx_samples residuals; /* by layers_key and bin */
};

struct learning {
    const struct etx_completion *completion;
    struct triplets triplets[2];
    int32_t *begin;           /* [N_KEYS] of those after each other the first */
    struct etx_samples z;     /* mm, where tracks begin; all of one key */
    struct etx_samples field; /* T, along z; all of one key */
};

static int64_t layers_key(const int32_t *layer)
{
    return ((int64_t)layer[0] * MAX_LAYERS + layer[1]) * MAX_LAYERS + layer[2];
}

static bool comes_from_beam(const etx_particle *particle)
{
    return particle->charge != 0 &&
           hypot((double)particle->vertex[0], (double)particle->vertex[1]) <
               MAX_VERTEX;
}

/* What the hits [3] of a particle tell; begins: they are its first. */
static etx_status add_triplet(struct learning *learning, int32_t lacks_hit,
    const struct etx_event *event, const int32_t *hit, const int32_t *layer,
    bool begins)
{
    struct triplets *const triplets = &learning->triplets[lacks_hit];
    const float *const third = event->position + 3 * (int64_t)hit[2];
    const int64_t key = layers_key(layer);
    struct etx_measured_helix helix;
    struct etx_residual residual;
    double z;
    etx_status status = ETX_OK;

    triplets->count[key]++;
    learning->begin[key] += begins;
    if (!etx_seed_helix(&helix.helix, &z, event->position + 3 * (int64_t)hit[0],
            event->position + 3 * (int64_t)hit[1]))
        return ETX_OK;
    const float begin = (float)z;
    if (begins)
        ETX_CHECK(etx_samples_add(&learning->z, 0, &begin));
    etx_helix_measure(&helix, learning->completion);
    const double curvature = etx_completion_curvature(learning->completion,
        &helix.helix, helix.field, 0.5 * (helix.helix.z + (double)third[2]));
    if (etx_helix_residual(&residual, &helix.helix, curvature, third,
            etx_completion_is_barrel(learning->completion, layer[2])))
        status = etx_residuals_add(&triplets->residuals,
            key * ETX_COMPLETION_N_PT + helix.bin, &residual);
done:
    return status;
}

/* Of the first four hits, on layers [4], each three with which the particle
 * begins if it lacks a hit. */
static etx_status add_lacking(struct learning *learning,
    const struct etx_event *event, const int32_t *hit, const int32_t *layer)
{
    etx_status status = ETX_OK;

    for (int32_t lost = 0; lost < ETX_SEED_LAYERS; lost++) {
        int32_t left[ETX_SEED_LAYERS], on[ETX_SEED_LAYERS];

        for (int32_t k = 0; k < ETX_SEED_LAYERS; k++) {
            left[k] = hit[k + (k >= lost)];
            on[k] = layer[k + (k >= lost)];
        }
        if (on[0] != on[1] && on[1] != on[2] && on[0] != on[2])
            ETX_CHECK(add_triplet(learning, 1, event, left, on, false));
    }
done:
    return status;
}

/* The seeds of the particle with hits [n]. */
static etx_status add_particle(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit, int64_t n)
{
    int32_t first[N_FIRST], layer[N_FIRST];
    int32_t n_first = 0;
    etx_status status = ETX_OK;

    for (int64_t k = 0; k < n && n_first < N_FIRST; k++) {
        if (chains->layer[hit[k]] < 0)
            return ETX_OK;
        if (n_first > 0 && chains->layer[hit[k]] == layer[n_first - 1])
            continue;
        layer[n_first] = chains->layer[hit[k]];
        first[n_first++] = hit[k];
    }
    for (int32_t k = 0; k + 2 < n_first; k++)
        if (layer[k] != layer[k + 2])
            ETX_CHECK(add_triplet(
                learning, 0, chains->event, first + k, layer + k, k == 0));
    if (n_first > ETX_SEED_LAYERS)
        ETX_CHECK(add_lacking(learning, chains->event, first, layer));
done:
    return status;
}

/* The field along z that bends the hits [n] of a particle. */
static etx_status add_field(struct learning *learning,
    const struct etx_event *event, const etx_particle *particle,
    const int32_t *hit, int64_t n)
{
    const double curvature =
        etx_curvature_through(event->position + 3 * (int64_t)hit[0],
            event->position + 3 * (int64_t)hit[n / 2],
            event->position + 3 * (int64_t)hit[n - 1]);
    const float field = (float)etx_bending_field(curvature, particle);

    return isfinite(field) ? etx_samples_add(&learning->field, 0, &field)
                           : ETX_OK;
}

static etx_status add_event(
    struct learning *learning, const struct etx_event *event)
{
    struct etx_true_chains chains = {.event = NULL};
    etx_status status;

    ETX_CHECK(etx_true_chains_make(&chains, learning->completion, event));
    for (int64_t p = 0; p < event->n_particles; p++) {
        const int32_t first = chains.begin[p];
        const int32_t n = chains.begin[p + 1] - first;

        ETX_CHECK(etx_cancel_poll());
        if (n < MIN_HITS || !comes_from_beam(&event->particles[p]))
            continue;
        ETX_CHECK(add_field(
            learning, event, &event->particles[p], chains.hit + first, n));
        ETX_CHECK(add_particle(learning, &chains, chains.hit + first, n));
    }
done:
    etx_true_chains_free(&chains);
    return status;
}

/* Seeds that are frequent enough; seed NULL: only count. */
static int64_t list_seeds(int64_t *seed, const struct learning *learning)
{
    const int32_t *const count = learning->triplets[0].count;
    const int32_t *const lacking = learning->triplets[1].count;
    double sum = 0.0;
    int64_t n = 0;

    for (int64_t k = 0; k < N_KEYS; k++)
        sum += count[k];
    for (int64_t k = 0; k < N_KEYS; k++) {
        const bool begins = count[k] > MIN_FRACTION * sum &&
                            learning->begin[k] >= MIN_BEGINS * count[k];

        if (!begins && !(lacking[k] > MIN_LACKING * sum))
            continue;
        if (seed != NULL) {
            seed[n * ETX_SEED_WIDTH] = k / MAX_LAYERS / MAX_LAYERS;
            seed[n * ETX_SEED_WIDTH + 1] = k / MAX_LAYERS % MAX_LAYERS;
            seed[n * ETX_SEED_WIDTH + 2] = k % MAX_LAYERS;
            seed[n * ETX_SEED_WIDTH + ETX_SEED_LACKS_HIT] = !begins;
        }
        n++;
    }
    return n;
}

static etx_status set_windows(
    struct etx_first_pass *table, const struct learning *learning)
{
    struct etx_sample_groups groups[2] = {{.n = 0}, {.n = 0}};
    etx_status status = ETX_OK;

    for (int32_t i = 0; i < 2; i++)
        ETX_CHECK(etx_sample_groups_make(
            &groups[i], &learning->triplets[i].residuals));
    for (int64_t k = 0; k < table->n_seeds; k++) {
        const int64_t *const seed = table->seed + k * ETX_SEED_WIDTH;
        const int32_t layer[] = {
            (int32_t)seed[0], (int32_t)seed[1], (int32_t)seed[2]};

        for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
            ETX_CHECK(etx_residuals_window(
                &table->window[k * ETX_COMPLETION_N_PT + b],
                &groups[seed[ETX_SEED_LACKS_HIT]],
                layers_key(layer) * ETX_COMPLETION_N_PT + b));
    }
done:
    for (int32_t i = 0; i < 2; i++)
        etx_sample_groups_free(&groups[i]);
    return status;
}

/* Drop seeds without windows; if none has one, as of few events, all stay and
 * find nothing. */
static void keep_measured_seeds(struct etx_first_pass *table)
{
    int64_t n = 0;

    for (int64_t k = 0; k < table->n_seeds; k++) {
        struct etx_completion_window *const window =
            &table->window[k * ETX_COMPLETION_N_PT];

        etx_residuals_fill(window);
        if (!(window->transverse > 0.0f && window->longitudinal > 0.0f))
            continue;
        memmove(table->seed + n * ETX_SEED_WIDTH,
            table->seed + k * ETX_SEED_WIDTH,
            ETX_SEED_WIDTH * sizeof *table->seed);
        memmove(&table->window[n * ETX_COMPLETION_N_PT], window,
            ETX_COMPLETION_N_PT * sizeof *window);
        n++;
    }
    if (n > 0)
        table->n_seeds = n;
}

static etx_status set_beam(
    struct etx_first_pass *table, const struct learning *learning)
{
    const int64_t n = learning->z.n;
    const int64_t tail = (int64_t)(BEAM_TAIL * (double)n);
    float *const z = learning->z.value;
    etx_status status;

    if (n == 0 || table->n_seeds == 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "first pass: no track of the events comes from the beam line");
    ETX_CHECK(etx_sort_floats(z, n));
    table->beam[0] = z[n / 2];
    table->beam[1] =
        fmaxf(z[n - 1 - tail] - table->beam[0], table->beam[0] - z[tail]);
done:
    return status;
}

/* Helices of a field along z, or straight: seeds and windows describe no other
 * tracks, and such a first pass takes their hits. */
static etx_status check_field(const struct learning *learning)
{
    const int64_t n = learning->field.n;
    float *const field = learning->field.value;
    etx_status status;

    if (n < ETX_MIN_SAMPLES)
        return ETX_OK;
    ETX_CHECK(etx_sort_floats(field, n));
    const double middle = (double)field[n / 2];
    const double spread =
        0.5 * ((double)field[3 * n / 4] - (double)field[n / 4]);
    if (spread > MAX_SPREAD && spread > 0.5 * fabs(middle))
        return etx_fail(ETX_ERR_ARGUMENT,
            "first pass: true tracks do not agree on a field along z (%.9g T, "
            "spread %.9g T)",
            round(100.0 * middle) / 100.0, round(100.0 * spread) / 100.0);
done:
    return status;
}

etx_status etx_learn_first_pass(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    struct learning learning = {.completion = model->completion,
        .triplets = {{.residuals.width = ETX_N_RESIDUALS},
            {.residuals.width = ETX_N_RESIDUALS}},
        .z.width = 1,
        .field.width = 1};
    struct etx_first_pass *table = NULL;
    etx_status status;

    (void)options;
    for (int32_t i = 0; i < 2; i++)
        ETX_CHECK(etx_alloc(&learning.triplets[i].count, N_KEYS,
            sizeof *learning.begin, "counts of seeds"));
    ETX_NEW(learning.begin, N_KEYS, "counts of seeds");
    for (int64_t e = 0; e < n_events; e++) {
        ETX_CHECK(etx_true_chains_check(events[e], e));
        ETX_CHECK(add_event(&learning, events[e]));
    }
    ETX_CHECK(check_field(&learning));
    const int64_t n_seeds = list_seeds(NULL, &learning);
    const int64_t n_rows[] = {n_seeds, n_seeds, 1};
    ETX_CHECK(etx_table_create(&table, &etx_first_pass_kind, n_rows));
    (void)list_seeds(table->seed, &learning);
    ETX_CHECK(set_windows(table, &learning));
    keep_measured_seeds(table);
    ETX_CHECK(set_beam(table, &learning));
    ETX_CHECK(etx_first_pass_check(table, model->completion->n_layers));
    etx_table_free(model->first_pass);
    model->first_pass = table;
    table = NULL;
done:
    etx_table_free(table);
    for (int32_t i = 0; i < 2; i++) {
        etx_free(learning.triplets[i].count);
        etx_samples_free(&learning.triplets[i].residuals);
    }
    etx_free(learning.begin);
    etx_samples_free(&learning.z);
    etx_samples_free(&learning.field);
    return status;
}
