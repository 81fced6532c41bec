/* data/cell_features.c -- what the shape of a cluster says about its track.
 *
 * The nine features of the Exa.TrkX pipeline (cell_utils.py of
 * exatrkx/Tracking-ML-Exa.TrkX): number of cells and summed charge; direction
 * of the cluster's diagonal in the module's frame, as eta and phi; its
 * extents along u, v and w; and its direction in the global frame.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/cell_features.h"

#include "base/check.h"
#include "base/finite.h"
#include "base/heap.h"
#include "base/status.h"
#include "base/threads.h"

#include <inttypes.h>
#include <math.h>

#define BLOCK   1024
#define MAX_ETA 20.0

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
    features[1] = etx_narrow(cluster->charge);
    features[2] = etx_narrow(pseudorapidity(local));
    features[3] = etx_narrow(atan2(local[1], local[0]));
    features[4] = etx_narrow(local[0]);
    features[5] = etx_narrow(local[1]);
    features[6] = etx_narrow(local[2]);
    features[7] = etx_narrow(pseudorapidity(global));
    features[8] = etx_narrow(atan2(global[1], global[0]));
}

static etx_status describe_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct work *work = argument;
    const struct etx_event *event = work->event;

    (void)worker;
    for (int64_t i = begin; i < end; i++) {
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
        describe_cluster(work->features + i * ETX_N_CELL_FEATURES,
            &work->clusters[i], module);
    }
    return ETX_OK;
}

static etx_status add_cells(
    struct cluster *clusters, int64_t n_hits, const struct etx_cells *cells)
{
    for (int64_t k = 0; k < cells->n_cells; k++) {
        const int32_t hit = cells->hit[k];

        if (hit < 0 || hit >= n_hits)
            return etx_fail(ETX_ERR_ARGUMENT,
                "cell %" PRId64 ": hit %d is not in 0..%" PRId64, k, hit,
                n_hits - 1);
        add_cell(&clusters[hit], cells->channel0[k], cells->channel1[k],
            cells->value[k]);
    }
    return ETX_OK;
}

etx_status etx_event_replace_cells(struct etx_event *event,
    const struct etx_cells *cells, const struct etx_detector *detector)
{
    struct cluster *clusters = NULL;
    float *features = NULL;
    etx_status status = ETX_OK;
    const int64_t n = event->n_hits;

    ETX_NEW(clusters, n, "clusters");
    ETX_CHECK(etx_alloc(
        &features, n, ETX_N_CELL_FEATURES * sizeof *features, "cell features"));
    ETX_CHECK(add_cells(clusters, n, cells));

    struct work work = {event, detector, clusters, features};
    ETX_CHECK(etx_parallel_ranges(NULL, n, BLOCK, describe_block, &work));
    etx_free(event->cell_features);
    event->cell_features = features;
    features = NULL;
done:
    etx_free(features);
    etx_free(clusters);
    return status;
}
