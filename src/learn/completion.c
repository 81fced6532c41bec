/* learn/completion.c -- learn completion from true tracks.
 *
 * Each particle is a chain of hits by distance from the origin. From every hit
 * of it the helix of the hits before predicts the hits after, outward and
 * inward. Counted are the layers that follow, and kept the residuals by
 * direction, layer, next layer, helix and transverse momentum, whose 68 %
 * quantiles are the windows. The bending field by |z| is the median of
 * curvature times transverse momentum, which truth knows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "learn/learn_table.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/constants.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "learn/chains.h"
#include "learn/residuals.h"
#include "stage/helix/crossing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LAYERS     ETX_COMPLETION_MAX_LAYERS
#define MIN_HITS       4 /* of a particle */
#define MIN_BEFORE     3 /* hits that make a helix */
#define MAX_SKIPPED    2 /* hits that a step may pass over */
#define SKIPPED_WEIGHT 0.02
#define MIN_FRACTION   0.002 /* of the hits on a layer that are followed so */
/* Of the hits on a layer have a helix before them: outward from the innermost
 * layers only particles have one that turned back, and they tell nothing. */
#define MIN_PREDICTED 0.05

struct learning {
    struct etx_completion *table; /* its steps come last */
    double n_hits[MAX_LAYERS];    /* of particles */
    double count[ETX_N_DIRECTIONS][MAX_LAYERS][MAX_LAYERS];
    struct etx_samples residuals; /* by window_key */
    struct etx_samples field;     /* T, by bin */
};

/* ---------------------------------------------------------------- layers -- */

struct layer_extent {
    double min_radius, max_radius, min_z, max_z;
};

static int compare_layers(const void *left, const void *right)
{
    const int64_t *const a = left;
    const int64_t *const b = right;

    if (a[ETX_LAYER_VOLUME] != b[ETX_LAYER_VOLUME])
        return a[ETX_LAYER_VOLUME] < b[ETX_LAYER_VOLUME] ? -1 : 1;
    return (a[ETX_LAYER_LAYER] > b[ETX_LAYER_LAYER]) -
           (a[ETX_LAYER_LAYER] < b[ETX_LAYER_LAYER]);
}

/* The layers that hits of event are on, added to table. */
static etx_status add_layers(
    struct etx_completion *table, const struct etx_event *event)
{
    int64_t last = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < event->n_hits; i++) {
        ETX_POLL(i);
        const int64_t volume_id = event->volume_id[i];
        const int64_t layer_id = event->layer_id[i];
        int64_t k = 0;

        for (; k < table->n_layers; k++) {
            const int64_t l = (last + k) % table->n_layers;
            const int64_t *const layer = table->layer + l * ETX_LAYER_WIDTH;

            if (layer[ETX_LAYER_VOLUME] == volume_id &&
                layer[ETX_LAYER_LAYER] == layer_id) {
                last = l;
                break;
            }
        }
        if (k < table->n_layers)
            continue;
        if (table->n_layers == MAX_LAYERS)
            return etx_fail(ETX_ERR_LIMIT,
                "completion: the events have more than %d layers", MAX_LAYERS);
        int64_t *const layer =
            table->layer + table->n_layers++ * ETX_LAYER_WIDTH;
        layer[ETX_LAYER_VOLUME] = volume_id;
        layer[ETX_LAYER_LAYER] = layer_id;
    }
done:
    return status;
}

static void extend(struct layer_extent *extent,
    const struct etx_completion *table, const struct etx_event *event,
    int32_t *layer)
{
    etx_completion_layers(layer, table, event);
    for (int64_t i = 0; i < event->n_hits; i++) {
        struct layer_extent *const at = &extent[layer[i]];
        const double x = (double)event->position[3 * i];
        const double y = (double)event->position[3 * i + 1];
        const double z = (double)event->position[3 * i + 2];
        const double radius = sqrt(x * x + y * y);

        at->min_radius = fmin(at->min_radius, radius);
        at->max_radius = fmax(at->max_radius, radius);
        at->min_z = fmin(at->min_z, z);
        at->max_z = fmax(at->max_z, z);
    }
}

/* All layers of the events, in order of their ids, and which are barrels. */
static etx_status learn_layers(struct etx_completion *table,
    const struct etx_event *const *events, int64_t n_events)
{
    struct layer_extent extent[MAX_LAYERS];
    int32_t *layer = NULL;
    etx_status status = ETX_OK;

    table->n_layers = 0;
    for (int64_t e = 0; e < n_events; e++) {
        ETX_CHECK(etx_true_chains_check(events[e], e));
        ETX_CHECK(add_layers(table, events[e]));
    }
    qsort(table->layer, (size_t)table->n_layers,
        ETX_LAYER_WIDTH * sizeof *table->layer, compare_layers);
    for (int32_t l = 0; l < MAX_LAYERS; l++)
        extent[l] =
            (struct layer_extent){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int64_t e = 0; e < n_events; e++) {
        ETX_NEW(layer, events[e]->n_hits, "layers of hits");
        extend(extent, table, events[e], layer);
        etx_free(layer);
        layer = NULL;
    }
    for (int64_t l = 0; l < table->n_layers; l++)
        table->layer[l * ETX_LAYER_WIDTH + ETX_LAYER_IS_BARREL] =
            extent[l].max_radius - extent[l].min_radius <
            extent[l].max_z - extent[l].min_z;
done:
    etx_free(layer);
    return status;
}

/* ----------------------------------------------------------------- field -- */

/* What one particle tells of the field: hits [n] of it. */
static etx_status measure_field(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit, int64_t n)
{
    const struct etx_event *const event = chains->event;
    const etx_particle *const particle =
        &event->particles[event->particle_row[hit[0]]];
    etx_status status = ETX_OK;

    for (int64_t k = 2; k < n && particle->charge != 0; k++) {
        struct etx_track_helix helix;

        ETX_CHECK(etx_cancel_poll());

        if (chains->layer[hit[k - 2]] == chains->layer[hit[k - 1]] ||
            chains->layer[hit[k - 1]] == chains->layer[hit[k]] ||
            !etx_track_helix_through(&helix,
                event->position + 3 * (int64_t)hit[k - 2],
                event->position + 3 * (int64_t)hit[k - 1],
                event->position + 3 * (int64_t)hit[k]))
            continue;
        const double bin =
            fabs(helix.z_middle) / (double)ETX_COMPLETION_FIELD_BIN;
        if (!(bin < ETX_COMPLETION_N_FIELD))
            continue;
        const float field = (float)etx_bending_field(helix.curvature, particle);
        ETX_CHECK(etx_samples_add(&learning->field, (int64_t)bin, &field));
    }
done:
    return status;
}

/* Medians; a bin with too few particles has the field of the one before, the
 * first ones that of the first bin that has enough. */
static etx_status set_field(struct learning *learning)
{
    float *const field = learning->table->field;
    struct etx_sample_groups groups;
    bool is_measured = false;
    etx_status status;

    ETX_CHECK(etx_sample_groups_make(&groups, &learning->field));
    for (int32_t b = 0; b < ETX_COMPLETION_N_FIELD; b++) {
        const int64_t g = etx_sample_groups_find(&groups, b);

        field[b] = b > 0 ? field[b - 1] : 0.0f;
        if (g < 0 || groups.first[g + 1] - groups.first[g] < ETX_MIN_SAMPLES)
            continue;
        const float *value;
        int64_t n;
        ETX_CHECK(etx_sample_groups_sort(&value, &n, &groups, g, 0));
        field[b] = value[n / 2];
        for (int32_t k = 0; k < b && !is_measured; k++)
            field[k] = field[b];
        is_measured = true;
    }
done:
    etx_sample_groups_free(&groups);
    return status;
}

/* ------------------------------------------------------------- residuals -- */

static int64_t window_key(
    int32_t direction, int32_t from, int32_t to, int32_t helix, int32_t bin)
{
    return ((((int64_t)direction * MAX_LAYERS + from) * MAX_LAYERS + to) *
                   ETX_N_HELICES +
               helix) *
               ETX_COMPLETION_N_PT +
           bin;
}

/* The helix at the end of hit [n], through the hits nearest to it of three
 * layers that follow each other; for ETX_HELIX_BEAM towards the beam line. */
static bool find_helix(struct etx_track_helix *out,
    const struct etx_true_chains *chains, const int32_t *hit, int64_t n,
    int32_t kind)
{
    const float *point[3]; /* from the end on */
    int32_t last = -1;
    int32_t n_points = 0;

    for (int64_t k = n - 1; k >= 0 && n_points < 3; k--) {
        if (chains->layer[hit[k]] == last)
            continue;
        last = chains->layer[hit[k]];
        point[n_points++] = chains->event->position + 3 * (int64_t)hit[k];
    }
    return n_points == 3 &&
           etx_track_helix_through(out, point[2], point[1], point[0]) &&
           (kind == ETX_HELIX_FREE ||
               etx_track_helix_towards_beam(out, point[2]));
}

/* The residual of hit `to`, predicted from the first n of hit. */
static etx_status add_sample(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit, int64_t n,
    int64_t to, int32_t direction, int32_t kind)
{
    const struct etx_completion *const table = learning->table;
    const float *const at = chains->event->position + 3 * (int64_t)hit[to];
    const int32_t layer = chains->layer[hit[to]];
    struct etx_measured_helix helix;
    struct etx_residual residual;

    if (!find_helix(&helix.helix, chains, hit, n, kind))
        return ETX_OK;
    etx_helix_measure(&helix, table);
    const double curvature = etx_completion_curvature(table, &helix.helix,
        helix.field, 0.5 * (helix.helix.z + (double)at[2]));
    if (!etx_helix_residual(&residual, &helix.helix, curvature, at,
            etx_completion_is_barrel(table, layer)))
        return ETX_OK;
    return etx_residuals_add(&learning->residuals,
        window_key(
            direction, chains->layer[hit[n - 1]], layer, kind, helix.bin),
        &residual);
}

/* Steps from the hits of one particle, hit [n] in this direction. */
static etx_status add_particle(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit, int64_t n,
    int32_t direction)
{
    const int32_t *const layer = chains->layer;
    const int32_t n_kinds = direction == ETX_INWARD ? ETX_N_HELICES : 1;
    etx_status status = ETX_OK;

    for (int64_t k = MIN_BEFORE; k < n; k++) {
        const int32_t from = layer[hit[k - 1]];
        const int64_t last = k + MAX_SKIPPED < n ? k + MAX_SKIPPED : n - 1;

        ETX_CHECK(etx_cancel_poll());
        for (int64_t to = k; to <= last; to++) {
            const int32_t reached = layer[hit[to]];

            if (to > k && (reached == from || reached == layer[hit[k]]))
                continue;
            learning->count[direction][from][reached] +=
                to == k ? 1.0 : SKIPPED_WEIGHT;
            for (int32_t kind = 0; kind < n_kinds; kind++)
                ETX_CHECK(
                    add_sample(learning, chains, hit, k, to, direction, kind));
        }
    }
done:
    return status;
}

/* What visits the particles of an event: hit and back [n] of one of them. */
typedef etx_status (*particle_function)(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit,
    const int32_t *back, int64_t n);

static etx_status visit_field(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit,
    const int32_t *back, int64_t n)
{
    (void)back;
    return measure_field(learning, chains, hit, n);
}

static etx_status visit_residuals(struct learning *learning,
    const struct etx_true_chains *chains, const int32_t *hit,
    const int32_t *back, int64_t n)
{
    etx_status status;

    for (int64_t k = 0; k < n; k++)
        learning->n_hits[chains->layer[hit[k]]] += 1.0;
    ETX_CHECK(add_particle(learning, chains, hit, n, ETX_OUTWARD));
    ETX_CHECK(add_particle(learning, chains, back, n, ETX_INWARD));
done:
    return status;
}

static etx_status visit_particles(struct learning *learning,
    const struct etx_event *event, particle_function visit)
{
    struct etx_true_chains chains = {.event = NULL};
    etx_status status;

    ETX_CHECK(etx_true_chains_make(&chains, learning->table, event));
    for (int64_t p = 0; p < event->n_particles; p++) {
        const int32_t first = chains.begin[p];
        const int32_t n = chains.begin[p + 1] - first;

        if (n >= MIN_HITS)
            ETX_CHECK(visit(
                learning, &chains, chains.hit + first, chains.back + first, n));
    }
done:
    etx_true_chains_free(&chains);
    return status;
}

/* --------------------------------------------------------------- windows -- */

static etx_status set_windows(
    struct etx_completion *table, const struct learning *learning)
{
    struct etx_sample_groups groups;
    etx_status status;

    ETX_CHECK(etx_sample_groups_make(&groups, &learning->residuals));
    for (int64_t k = 0; k < table->n_steps; k++) {
        const int64_t *const step = table->step + k * ETX_STEP_WIDTH;

        for (int32_t h = 0; h < ETX_N_HELICES; h++) {
            struct etx_completion_window *const window =
                etx_completion_window(table, k, h, 0);

            for (int32_t b = 0; b < ETX_COMPLETION_N_PT; b++)
                ETX_CHECK(etx_residuals_window(&window[b], &groups,
                    window_key((int32_t)step[ETX_STEP_DIRECTION],
                        (int32_t)step[ETX_STEP_FROM],
                        (int32_t)step[ETX_STEP_TO], h, b)));
            etx_residuals_fill(window);
        }
    }
done:
    etx_sample_groups_free(&groups);
    return status;
}

static double count_from(
    const struct learning *learning, int32_t direction, int32_t from)
{
    double sum = 0.0;

    for (int32_t l = 0; l < MAX_LAYERS; l++)
        sum += learning->count[direction][from][l];
    return sum;
}

/* Steps that are frequent enough; step NULL: only count. */
static int64_t list_steps(int64_t *step, const struct learning *learning)
{
    int64_t n = 0;

    for (int32_t d = 0; d < ETX_N_DIRECTIONS; d++)
        for (int32_t from = 0; from < MAX_LAYERS; from++) {
            const double n_from = count_from(learning, d, from);

            if (n_from < MIN_PREDICTED * learning->n_hits[from])
                continue;
            for (int32_t to = 0; to < MAX_LAYERS; to++) {
                if (!(learning->count[d][from][to] > MIN_FRACTION * n_from))
                    continue;
                if (step != NULL) {
                    step[n * ETX_STEP_WIDTH + ETX_STEP_DIRECTION] = d;
                    step[n * ETX_STEP_WIDTH + ETX_STEP_FROM] = from;
                    step[n * ETX_STEP_WIDTH + ETX_STEP_TO] = to;
                }
                n++;
            }
        }
    return n;
}

/* The table, with the layers and the field that are learned. */
static etx_status make_table(
    struct etx_completion **out, const struct learning *learning)
{
    const struct etx_completion *const learned = learning->table;
    const int64_t n_steps = list_steps(NULL, learning);
    const int64_t n_rows[] = {learned->n_layers, n_steps, n_steps, 1};
    struct etx_completion *table = NULL;
    etx_status status;

    ETX_CHECK(etx_table_create(&table, &etx_completion_kind, n_rows));
    memcpy(table->layer, learned->layer,
        (size_t)(learned->n_layers * ETX_LAYER_WIDTH) * sizeof *table->layer);
    memcpy(table->field, learned->field,
        ETX_COMPLETION_N_FIELD * sizeof *table->field);
    (void)list_steps(table->step, learning);
    ETX_CHECK(set_windows(table, learning));
    ETX_CHECK(etx_completion_check(table));
    *out = table;
    table = NULL;
done:
    etx_table_free(table);
    return status;
}

etx_status etx_learn_completion(struct etx_model *model,
    const struct etx_event *const *events, int64_t n_events,
    const void *options)
{
    static const int64_t n_rows[] = {MAX_LAYERS, 0, 0, 1};
    struct learning *learning = NULL;
    etx_status status;

    (void)options;
    ETX_NEW(learning, 1, "completion");
    learning->residuals.width = ETX_N_RESIDUALS;
    learning->field.width = 1;
    ETX_CHECK(etx_table_create(&learning->table, &etx_completion_kind, n_rows));
    ETX_CHECK(learn_layers(learning->table, events, n_events));
    for (int64_t e = 0; e < n_events; e++)
        ETX_CHECK(visit_particles(learning, events[e], visit_field));
    ETX_CHECK(set_field(learning));
    for (int64_t e = 0; e < n_events; e++)
        ETX_CHECK(visit_particles(learning, events[e], visit_residuals));
    etx_table_free(model->completion);
    model->completion = NULL;
    ETX_CHECK(make_table(&model->completion, learning));
done:
    if (learning != NULL) {
        etx_table_free(learning->table);
        etx_samples_free(&learning->residuals);
        etx_samples_free(&learning->field);
    }
    etx_free(learning);
    return status;
}
