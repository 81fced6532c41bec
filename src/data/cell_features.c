/* data/cell_features.c -- what the shape of a cluster says about its track.
 *
 * The nine features of the Exa.TrkX pipeline (cell_utils.py of
 * exatrkx/Tracking-ML-Exa.TrkX): number of cells and summed charge; direction
 * of the cluster's diagonal in the module's frame, as eta and phi; its
 * extents along u, v and w; and its direction in the global frame.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/cell_features.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/threads.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BLOCK     1024
#define MAX_ETA   20.0
#define MAX_CELLS 2.0 /* between where a cluster and its hit are, */
#define MAX_AWAY  1.0 /* and mm: clusters that grew, cells that are wider */

/* What the cells of one hit add up to. */
struct cluster {
    int64_t n_cells;
    double charge;
    int32_t min[2];
    int32_t max[2];
};

/* The loop over hits, for etx_parallel_ranges. */
struct work {
    const struct etx_event *event;
    const struct etx_detector *detector;
    const struct cluster *clusters; /* [n_hits] */
    float *features;                /* [n_hits, 9] */
    int64_t *module;                /* [n_hits] row, -1: no cells */
};

static void add_cell(
    struct cluster *cluster, int32_t channel0, int32_t channel1, float value)
{
    const int32_t channel[2] = {channel0, channel1};

    for (int axis = 0; axis < 2; axis++) {
        const int32_t at = channel[axis];

        if (cluster->n_cells == 0 || at < cluster->min[axis])
            cluster->min[axis] = at;
        if (cluster->n_cells == 0 || at > cluster->max[axis])
            cluster->max[axis] = at;
    }
    cluster->n_cells++;
    cluster->charge += (double)value;
}

static double extent(const struct cluster *cluster, int axis, float pitch)
{
    return (double)((int64_t)cluster->max[axis] - cluster->min[axis] + 1) *
           (double)pitch;
}

/* -ln tan(theta / 2), written so that nothing cancels near the axis. */
static double pseudorapidity(const double direction[3])
{
    const double across = hypot(direction[0], direction[1]);

    if (across > 0.0)
        return fmax(-MAX_ETA, fmin(MAX_ETA, asinh(direction[2] / across)));
    if (direction[2] == 0.0)
        return 0.0;
    return direction[2] > 0.0 ? MAX_ETA : -MAX_ETA;
}

/* The float nearest to value, and one that an event may have. */
static float narrow(double value)
{
    return (float)fmax(
        -(double)ETX_MAX_HIT_VALUE, fmin((double)ETX_MAX_HIT_VALUE, value));
}

static void describe_cluster(float features[ETX_N_CELL_FEATURES],
    const struct cluster *cluster, const struct etx_detector_module *module)
{
    const double local[3] = {
        extent(cluster, 0, module->pitch_u),
        extent(cluster, 1, module->pitch_v),
        2.0 * (double)module->half_thickness,
    };
    double global[3];

    for (int row = 0; row < 3; row++) {
        const float *rotation = module->rotation + 3 * row;

        global[row] = (double)rotation[0] * local[0] +
                      (double)rotation[1] * local[1] +
                      (double)rotation[2] * local[2];
    }
    features[0] = (float)cluster->n_cells;
    features[1] = narrow(cluster->charge);
    features[2] = narrow(pseudorapidity(local));
    features[3] = narrow(atan2(local[1], local[0]));
    features[4] = narrow(local[0]);
    features[5] = narrow(local[1]);
    features[6] = narrow(local[2]);
    features[7] = narrow(pseudorapidity(global));
    features[8] = narrow(atan2(global[1], global[0]));
}

static etx_status describe_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct work *work = argument;
    const struct etx_event *event = work->event;
    etx_status status = ETX_OK;

    (void)worker;
    ETX_CHECK(etx_cancel_poll());
    for (int64_t i = begin; i < end; i++) {
        work->module[i] = -1;
        if (work->clusters[i].n_cells == 0)
            continue;

        const struct etx_detector_module *module =
            etx_detector_find(work->detector, event->volume_id[i],
                event->layer_id[i], event->module_id[i]);
        if (module == NULL)
            return etx_fail(ETX_ERR_ARGUMENT,
                "hit row %" PRId64 " (id %" PRId64 "): the detector has no "
                "module with volume %d, layer %d, module %d",
                i, event->hit_id[i], event->volume_id[i], event->layer_id[i],
                event->module_id[i]);
        work->module[i] = module - work->detector->modules;
        describe_cluster(work->features + i * ETX_N_CELL_FEATURES,
            &work->clusters[i], module);
    }
done:
    return status;
}

/* Whether two hits of a module are as far apart as their clusters, along u and
 * v. Where a module's first channel is, and which way they count, need not be
 * known. */
static int is_misfit(const struct work *work, int64_t i, int64_t j)
{
    const struct etx_detector_module *const module =
        &work->detector->modules[work->module[i]];
    const float pitch[2] = {module->pitch_u, module->pitch_v};
    const struct cluster *const a = &work->clusters[i];
    const struct cluster *const b = &work->clusters[j];

    for (int axis = 0; axis < 2; axis++) {
        const double width = (double)pitch[axis];
        const double channels = 0.5 * ((double)a->min[axis] + a->max[axis] -
                                          b->min[axis] - b->max[axis]);
        double along = 0.0;

        for (int k = 0; k < 3; k++)
            along += (double)module->rotation[3 * k + axis] *
                     ((double)work->event->position[3 * i + k] -
                         (double)work->event->position[3 * j + k]);
        if (fabs(fabs(along) - fabs(channels) * width) >
            MAX_CELLS * width + MAX_AWAY)
            return 1;
    }
    return 0;
}

/* Compares each hit with the one before it on its module. */
static etx_status compare_neighbours(
    int64_t *n_pairs, int64_t *n_misfits, const struct work *work)
{
    const int64_t n = work->event->n_hits;
    int32_t *order = NULL;
    etx_status status;

    ETX_NEW(order, n, "order of hits");
    ETX_CHECK(etx_sort_order(order, work->module, n));
    for (int64_t k = 1; k < n; k++) {
        const int64_t i = order[k];
        const int64_t before = order[k - 1];

        ETX_POLL(k);
        if (work->module[i] < 0 || work->module[i] != work->module[before])
            continue;
        (*n_pairs)++;
        *n_misfits += is_misfit(work, i, before);
    }
done:
    etx_free(order);
    return status;
}

static etx_status check_hits(int64_t n_hits, const struct etx_cells *cells)
{
    for (int64_t k = 0; k < cells->n_cells; k++)
        if (cells->hit[k] < 0 || cells->hit[k] >= n_hits)
            return etx_fail(ETX_ERR_ARGUMENT,
                "cell %" PRId64 ": hit %d is not in 0..%" PRId64, k,
                cells->hit[k], n_hits - 1);
    return ETX_OK;
}

/* Cells of one hit and channel, which two particles can make: later [n_later]
 * the ones after a first, first [n_cells] the first of each. In the order of
 * channels, then of cells, they follow each other within their hit, so the last
 * cell of each hit tells. */
static etx_status find_later(int32_t *later, int64_t *n_later, int32_t *first,
    int64_t n_hits, const struct etx_cells *cells)
{
    int64_t *channels = NULL;
    int32_t *order = NULL;
    int32_t *last = NULL;
    etx_status status;

    ETX_NEW(channels, cells->n_cells, "channels of cells");
    ETX_NEW(order, cells->n_cells, "order of cells");
    ETX_NEW(last, n_hits, "last cells of hits");
    for (int64_t k = 0; k < cells->n_cells; k++)
        channels[k] = (int64_t)cells->channel0[k] * ((int64_t)1 << 32) +
                      (uint32_t)cells->channel1[k];
    ETX_CHECK(etx_sort_order(order, channels, cells->n_cells));
    for (int64_t i = 0; i < n_hits; i++)
        last[i] = -1;
    for (int64_t n = 0; n < cells->n_cells; n++) {
        ETX_POLL(n);
        const int32_t k = order[n];
        int32_t *const before = &last[cells->hit[k]];
        const int is_later = *before >= 0 && channels[*before] == channels[k];

        first[k] = is_later ? first[*before] : k;
        if (is_later)
            later[(*n_later)++] = k;
        *before = k;
    }
done:
    etx_free(channels);
    etx_free(order);
    etx_free(last);
    return status;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* is_repeated [n_cells]: 1 where a cell before it has the same hit, channels
 * and value: a file that says a cell twice. Two deposits in one cell differ. */
static etx_status find_repeated(
    uint8_t *is_repeated, int64_t n_hits, const struct etx_cells *cells)
{
    int32_t *later = NULL;
    int32_t *first = NULL;
    int64_t *key = NULL;
    int32_t *order = NULL;
    int64_t n_later = 0;
    etx_status status;

    ETX_NEW(later, cells->n_cells, "cells of one channel");
    ETX_NEW(first, cells->n_cells, "first cells of channels");
    ETX_CHECK(find_later(later, &n_later, first, n_hits, cells));
    ETX_NEW(key, n_later, "cells of one channel");
    ETX_NEW(order, n_later, "order of cells");
    for (int64_t n = 0; n < n_later; n++)
        key[n] =
            (int64_t)first[later[n]] << 32 | bits_of(cells->value[later[n]]);
    ETX_CHECK(etx_sort_order(order, key, n_later));
    for (int64_t n = 0; n < n_later; n++) {
        const int32_t k = later[order[n]];

        ETX_POLL(n);
        is_repeated[k] =
            bits_of(cells->value[k]) == bits_of(cells->value[first[k]]) ||
            (n > 0 && key[order[n]] == key[order[n - 1]]);
    }
done:
    etx_free(later);
    etx_free(first);
    etx_free(key);
    etx_free(order);
    return status;
}

static etx_status add_cells(struct cluster *clusters, int64_t *n_repeated,
    int64_t n_hits, const struct etx_cells *cells)
{
    uint8_t *is_repeated = NULL;
    etx_status status;

    ETX_CHECK(check_hits(n_hits, cells));
    ETX_NEW(is_repeated, cells->n_cells, "repeated cells");
    ETX_CHECK(find_repeated(is_repeated, n_hits, cells));
    for (int64_t k = 0; k < cells->n_cells; k++) {
        ETX_POLL(k);
        *n_repeated += is_repeated[k];
        if (!is_repeated[k])
            add_cell(&clusters[cells->hit[k]], cells->channel0[k],
                cells->channel1[k], cells->value[k]);
    }
done:
    etx_free(is_repeated);
    return status;
}

etx_status etx_event_replace_cells(struct etx_event *event,
    const struct etx_cells *cells, const struct etx_detector *detector)
{
    struct cluster *clusters = NULL;
    float *features = NULL;
    int64_t *module = NULL;
    int64_t n_repeated = 0;
    int64_t n_pairs = 0;
    int64_t n_misfits = 0;
    etx_status status = ETX_OK;
    const int64_t n = event->n_hits;

    ETX_NEW(clusters, n, "clusters");
    ETX_NEW(module, n, "modules of hits");
    ETX_CHECK(etx_alloc(
        &features, n, ETX_N_CELL_FEATURES * sizeof *features, "cell features"));
    ETX_CHECK(add_cells(clusters, &n_repeated, n, cells));

    struct work work = {event, detector, clusters, features, module};
    ETX_CHECK(etx_parallel_ranges(NULL, n, BLOCK, describe_block, &work));
    ETX_CHECK(compare_neighbours(&n_pairs, &n_misfits, &work));
    etx_free(event->cell_features);
    event->cell_features = features;
    event->n_repeated_cells = n_repeated;
    event->n_cell_pairs = n_pairs;
    event->n_cell_misfits = n_misfits;
    features = NULL;
done:
    etx_free(module);
    etx_free(features);
    etx_free(clusters);
    return status;
}
