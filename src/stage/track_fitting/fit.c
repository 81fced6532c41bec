/* stage/track_fitting/fit.c -- parameters of tracks by least squares.
 *
 * Gauss-Newton steps from the helix through three hits. All hits and the
 * scattering between them enter one covariance matrix, so the result is that of
 * a Kalman filter and smoother (Fruehwirth, NIM A 262 (1987) 444) in the linear
 * approximation, without its recursion.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/track_fitting/fit.h"

#include "base/check.h"
#include "base/status.h"
#include "stage/helix/track_helix.h"
#include "stage/track_fitting/holes.h"
#include "stage/track_fitting/measurements.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MIN_HITS  3  /* 6 coordinates, 5 parameters */
#define MAX_STEPS 30 /* of Gauss and Newton */
/* Scattering depends on the momentum, which these steps find well enough; with
 * weights that do not change the steps after them converge fast. */
#define WEIGHT_STEPS 4
#define STRAIGHTER   0.95 /* a path that turns before it comes to its hits */
#define CONVERGED    1e-2 /* chi2 of a step: a tenth of a standard deviation */
#define BLOCK        32   /* tracks of one task */

/* The hits of a track, outward. */
struct fitted_hits {
    struct etx_measurement measurement[ETX_FIT_MAX_HITS];
    int32_t hit[ETX_FIT_MAX_HITS];  /* rows of the event */
    int64_t slot[ETX_FIT_MAX_HITS]; /* where they are in tracks->hit */
    int n;
};

/* One worker's memory. */
struct worker {
    struct fitted_hits hits;
    struct etx_least_squares equations;
};

struct fit {
    etx_track_parameters *out;
    uint8_t *is_outlier; /* [hits of tracks] */
    const struct etx_tracks *tracks;
    const struct etx_event *event;
    const struct etx_detector *detector;
    const struct etx_detector_module **module; /* [n_hits], of tracks only */
    const struct etx_path_field *field;
    const etx_fit_options *options;
    const struct etx_detector_layer *layer; /* [n_layers] */
    int32_t n_layers;
    struct worker *worker; /* [2 * n_threads] */
    const struct etx_stream *stream;
};

static double squared_distance(const float *at)
{
    return (double)at[0] * (double)at[0] + (double)at[1] * (double)at[1] +
           (double)at[2] * (double)at[2];
}

/* The track's hits in order of their distance from the origin. */
static void collect_hits(
    struct fitted_hits *hits, const struct fit *fit, int64_t track)
{
    const int64_t begin = fit->tracks->offset[track];
    const float *position = fit->event->position;
    const float *cells = fit->event->cell_features;

    hits->n = 0;
    for (int64_t k = begin; k < fit->tracks->offset[track + 1]; k++) {
        const int32_t hit = fit->tracks->hit[k];
        const double distance = squared_distance(position + 3 * (int64_t)hit);
        int at = hits->n++;

        while (at > 0 &&
               squared_distance(position + 3 * (int64_t)hits->hit[at - 1]) >
                   distance) {
            hits->hit[at] = hits->hit[at - 1];
            hits->slot[at] = hits->slot[at - 1];
            at--;
        }
        hits->hit[at] = hit;
        hits->slot[at] = k;
    }
    for (int i = 0; i < hits->n; i++) {
        const int64_t hit = hits->hit[i];

        etx_measurement_make(&hits->measurement[i], position + 3 * hit,
            cells != NULL ? cells + ETX_N_CELL_FEATURES * hit : NULL,
            fit->module[hit], fit->options);
    }
}

static void remove_hit(struct fitted_hits *hits, int at)
{
    const size_t after = (size_t)(--hits->n - at);

    memmove(hits->hit + at, hits->hit + at + 1, after * sizeof *hits->hit);
    memmove(hits->slot + at, hits->slot + at + 1, after * sizeof *hits->slot);
    memmove(hits->measurement + at, hits->measurement + at + 1,
        after * sizeof *hits->measurement);
}

/* Fit the measurements from the given parameters on; the equations of the
 * last step remain. */
static bool find_parameters(
    struct worker *worker, double parameters[ETX_N_PATH], const struct fit *fit)
{
    int n_solved = 0;

    for (int k = 0; k < MAX_STEPS; k++) {
        const bool is_new = n_solved < WEIGHT_STEPS;

        if (!etx_measurements_compare(&worker->equations,
                worker->hits.measurement, worker->hits.n, parameters,
                fit->detector, fit->field, fit->options, is_new)) {
            parameters[ETX_PATH_Q_OVER_PT] *= STRAIGHTER;
            continue;
        }
        if (!etx_least_squares_solve(&worker->equations, is_new))
            return false;
        n_solved++;
        for (int p = 0; p < ETX_N_PATH; p++)
            parameters[p] += worker->equations.step[p];
        if (worker->equations.step_chi2 < CONVERGED)
            return true;
    }
    return false;
}

/* Fit from the helix through the first hit, the last and one between; from that
 * of the inner half of them, and so on, for a track that turns too far. */
static bool fit_hits(
    struct worker *worker, double parameters[ETX_N_PATH], const struct fit *fit)
{
    const float *position = fit->event->position;
    const int32_t *hit = worker->hits.hit;

    for (int last = worker->hits.n - 1; last >= 2; last /= 2)
        if (etx_path_through(parameters, fit->field,
                position + 3 * (int64_t)hit[0],
                position + 3 * (int64_t)hit[last / 2],
                position + 3 * (int64_t)hit[last]) &&
            find_parameters(worker, parameters, fit))
            return true;
    return false;
}

/* Leave out the hit without which chi2 is smallest, when that lowers it by
 * more than the option says; false when there is none. */
static bool remove_outlier(struct worker *worker, struct worker *spare,
    double parameters[ETX_N_PATH], const struct fit *fit)
{
    const double bound = (double)fit->options->max_hit_chi2;
    double best = worker->equations.chi2 - bound;
    int at = -1;

    if (worker->hits.n <= MIN_HITS)
        return false;
    for (int i = 0; i < worker->hits.n && best > 0.0; i++) {
        double tried[ETX_N_PATH];

        memcpy(tried, parameters, sizeof tried);
        spare->hits = worker->hits;
        remove_hit(&spare->hits, i);
        if (find_parameters(spare, tried, fit) &&
            spare->equations.chi2 < best) {
            best = spare->equations.chi2;
            at = i;
        }
    }
    if (at < 0)
        return false;
    fit->is_outlier[worker->hits.slot[at]] = 1;
    remove_hit(&worker->hits, at);
    /* As it was tried, and so converged. */
    return find_parameters(worker, parameters, fit);
}

static bool has_layer(
    const struct worker *worker, const struct fit *fit, int32_t layer)
{
    for (int i = 0; i < worker->hits.n; i++) {
        const int32_t hit = worker->hits.hit[i];

        if (fit->event->volume_id[hit] == fit->layer[layer].volume_id &&
            fit->event->layer_id[hit] == fit->layer[layer].layer_id)
            return true;
    }
    return false;
}

static int32_t count_holes(const struct worker *worker, const struct fit *fit)
{
    const struct fitted_hits *hits = &worker->hits;
    int32_t n = 0;

    for (int32_t l = 0; l < fit->n_layers; l++) {
        bool is_crossed = false;

        for (int i = 1; i < hits->n && !is_crossed; i++)
            is_crossed = etx_detector_layer_is_crossed(&fit->layer[l],
                hits->measurement[i - 1].origin, hits->measurement[i].origin);
        n += is_crossed && !has_layer(worker, fit, l);
    }
    return n;
}

/* Parameters and covariance, with theta instead of its cotangent. */
static void write_parameters(etx_track_parameters *out,
    const struct worker *worker, const double parameters[ETX_N_PATH])
{
    const double cot = parameters[ETX_PATH_COT_THETA];
    double by[ETX_N_PATH] = {1.0, 1.0, 1.0, -1.0 / (1.0 + cot * cot), 1.0};

    out->d0 = parameters[ETX_PATH_D0];
    out->z0 = parameters[ETX_PATH_Z0];
    out->phi = etx_wrap_angle(parameters[ETX_PATH_PHI]);
    out->theta = atan2(1.0, cot);
    out->q_over_pt = parameters[ETX_PATH_Q_OVER_PT];
    for (int p = 0; p < ETX_N_PATH; p++)
        for (int q = 0; q < ETX_N_PATH; q++)
            out->covariance[ETX_N_FIT * p + q] =
                by[p] * by[q] * worker->equations.parameter_covariance[p][q];
    out->chi2 = worker->equations.chi2;
    out->n_degrees = worker->equations.n_rows - ETX_N_PATH;
}

static etx_status fit_track(const struct fit *fit, struct worker *worker,
    struct worker *spare, int64_t track)
{
    const int64_t n =
        fit->tracks->offset[track + 1] - fit->tracks->offset[track];
    etx_track_parameters *out = &fit->out[track];
    uint8_t *is_outlier = fit->is_outlier + fit->tracks->offset[track];
    double parameters[ETX_N_PATH];
    etx_status status;

    memset(out, 0, sizeof *out);
    ETX_CHECK(etx_check_cancelled(fit->stream));
    if (n < MIN_HITS || n > ETX_FIT_MAX_HITS)
        return ETX_OK;
    collect_hits(&worker->hits, fit, track);
    while (!fit_hits(worker, parameters, fit)) {
        if (fit->options->max_hit_chi2 == 0.0f || worker->hits.n == MIN_HITS) {
            memset(is_outlier, 0, (size_t)n);
            out->n_outliers = 0;
            return ETX_OK;
        }
        /* The end of a particle that turned back or scattered far. */
        fit->is_outlier[worker->hits.slot[--worker->hits.n]] = 1;
        out->n_outliers++;
        ETX_CHECK(etx_check_cancelled(fit->stream));
    }
    while (fit->options->max_hit_chi2 > 0.0f &&
           remove_outlier(worker, spare, parameters, fit)) {
        out->n_outliers++;
        ETX_CHECK(etx_check_cancelled(fit->stream));
    }
    write_parameters(out, worker, parameters);
    out->n_holes = count_holes(worker, fit);
done:
    return status;
}

static etx_status fit_block(void *argument, int64_t block, int32_t worker)
{
    const struct fit *fit = argument;
    struct worker *mine = &fit->worker[2 * worker];
    etx_status status = ETX_OK;

    for (int64_t t = block * BLOCK;
         t < (block + 1) * BLOCK && t < fit->tracks->n_tracks; t++)
        ETX_CHECK(fit_track(fit, mine, mine + 1, t));
done:
    return status;
}

/* The module of every hit of a track. */
static etx_status find_modules(
    struct fit *fit, const struct etx_detector *detector)
{
    const struct etx_event *event = fit->event;
    const struct etx_tracks *tracks = fit->tracks;

    for (int64_t k = 0; k < tracks->offset[tracks->n_tracks]; k++) {
        const int32_t i = tracks->hit[k];
        const int32_t volume = event->volume_id[i];
        const int32_t layer = event->layer_id[i];
        const int32_t module = event->module_id[i];

        fit->module[i] = etx_detector_find(detector, volume, layer, module);
        if (fit->module[i] == NULL)
            return etx_fail(ETX_ERR_ARGUMENT,
                "hit row %d (id %" PRId64 "): the detector has no module with "
                "volume %d, layer %d, module %d",
                (int)i, event->hit_id[i], volume, layer, module);
    }
    return ETX_OK;
}

etx_status etx_fit_parameters(etx_track_parameters *out, uint8_t *is_outlier,
    const struct etx_tracks *tracks, struct etx_context *context,
    const struct etx_event *event, const struct etx_detector *detector,
    const struct etx_path_field *field, const etx_fit_options *options)
{
    struct etx_stream *stream = etx_host_of(context)->stream;
    struct etx_arena *arena = stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int32_t n_workers = etx_pool_n_threads(stream->pool);
    const int64_t n_hits = tracks->offset[tracks->n_tracks];
    struct etx_detector_layer *layer = NULL;
    struct fit fit = {.tracks = tracks,
        .event = event,
        .detector = detector,
        .field = field,
        .options = options,
        .stream = stream};
    etx_status status;

    ETX_SCRATCH(fit.module, arena, event->n_hits, "modules of hits");
    ETX_SCRATCH(layer, arena, detector->n_modules, "layers of the detector");
    ETX_SCRATCH(fit.worker, arena, 2 * n_workers, "fits of tracks");
    ETX_CHECK(find_modules(&fit, detector));
    fit.n_layers = etx_detector_layers(layer, detector);
    fit.layer = layer;
    /* A call that fails leaves the outputs as they were. */
    ETX_SCRATCH(fit.out, arena, tracks->n_tracks, "parameters of tracks");
    ETX_CHECK(etx_arena_alloc(&fit.is_outlier, arena, n_hits, 1, "outliers"));
    memset(fit.is_outlier, 0, (size_t)n_hits);
    ETX_CHECK(etx_parallel_for(
        stream->pool, (tracks->n_tracks + BLOCK - 1) / BLOCK, fit_block, &fit));
    if (tracks->n_tracks > 0)
        memcpy(out, fit.out, (size_t)tracks->n_tracks * sizeof *out);
    if (is_outlier != NULL)
        memcpy(is_outlier, fit.is_outlier, (size_t)n_hits);
done:
    etx_arena_reset(arena, mark);
    return status;
}
