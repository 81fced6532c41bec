/* examples/etx-fit-tracks.c -- momentum, direction and impact parameters.
 *
 * Fits the tracks of one event, as etx-find-tracks writes them, and writes one
 * line for each (docs/fitting.md).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exatrkx/fit.h>

#include "field_map.h"
#include "program.h"
#include "table.h"

static const char summary[] =
    "Fit the tracks of an event and write their parameters at the point of\n"
    "closest approach to the beam line, as CSV: track_id, d0 and z0 [mm], phi\n"
    "and theta [rad], q_over_pt [1/GeV], the five standard deviations, chi2,\n"
    "degrees of freedom (0: not fitted), holes, outliers, hits.";

struct options {
    struct program_list events;
    struct program_list files; /* the one of tracks */
    const char *tracks, *model, *detector, *out;
    const char *resolved, *map;
    double field, material, energy_loss, resolution, max_hit_chi2;
    int64_t max_shared, min_hits; /* -1: not given */
    int64_t n_threads;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"event", "PREFIX", "PREFIX-hits.csv[.gz], or a file of the event",
            .list = &o->events},
        {"tracks", "FILE",
            "hit_id,track_id of the event (.csv or .csv.gz), or the folder of "
            "NAME-tracks.csv",
            .text = &o->tracks},
        {"out", "FILE", "the parameters, CSV (default: standard output)",
            .text = &o->out},
        {"model", "FILE",
            "the model whose completion knows the field (default: shipped)",
            .text = &o->model},
        PROGRAM_DETECTOR_OPTION(&o->detector),
        {"field", "T", "uniform field along z (default 0: of the model)",
            .number = &o->field, .low = -100, .high = 100},
        {"field-map", "FILE",
            "r,z,b_r,b_z[,x,y] in mm and T, .csv or .csv.gz: the field, and "
            "where its axis is",
            .text = &o->map},
        {"material", "X0",
            "radiation lengths of a module that the detector gives none "
            "(default 0.02; 0: no scattering)",
            .number = &o->material, .low = 0, .high = 10},
        {"energy-loss", "GEV",
            "lost per radiation length (default 0.036; 0: none)",
            .number = &o->energy_loss, .low = 0, .high = 10},
        {"resolution", "F", "factor of the errors of hits (default 1)",
            .number = &o->resolution, .low = 1e-3, .high = 1e3},
        {"max-hit-chi2", "X",
            "leave out hits that add more to chi2 (default 12; 0: none)",
            .number = &o->max_hit_chi2, .low = 0, .high = 1e6},
        {"resolved", "FILE",
            "write hit_id,track_id of the better tracks that share no more "
            "than --max-shared hits",
            .text = &o->resolved},
        {"max-shared", "N", "hits (default 0)", .integer = &o->max_shared,
            .low = 0, .high = INT32_MAX},
        {"min-hits", "N", "of resolved tracks (default 4)",
            .integer = &o->min_hits, .low = 1, .high = INT32_MAX},
        PROGRAM_THREADS_OPTION(&o->n_threads),
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->events.count == 0 || o->tracks == NULL)
        exit(program_usage("--%s is missing (see --help)",
            o->tracks == NULL ? "tracks" : "event"));
    if (o->resolved == NULL && (o->max_shared >= 0 || o->min_hits >= 0))
        exit(program_usage("--max-shared and --min-hits go with --resolved"));
    if (o->out != NULL && o->resolved != NULL &&
        strcmp(o->out, o->resolved) == 0)
        exit(program_usage("--out and --resolved are one file, %s", o->out));
    if ((o->model != NULL) + (o->field != 0.0) + (o->map != NULL) > 1)
        exit(program_usage("give one of --model, --field and --field-map"));
}

static void write_track(
    FILE *file, int64_t id, const etx_track_parameters *track, int64_t n_hits)
{
    fprintf(file, "%" PRId64 ",%.9g,%.9g,%.9g,%.9g,%.9g", id, track->d0,
        track->z0, track->phi, track->theta, track->q_over_pt);
    for (int p = 0; p < ETX_N_FIT; p++)
        fprintf(file, ",%.6g", sqrt(track->covariance[(ETX_N_FIT + 1) * p]));
    fprintf(file, ",%.6g,%d,%d,%d,%" PRId64 "\n", track->chi2, track->n_degrees,
        track->n_holes, track->n_outliers, n_hits);
}

/* track_id is that of the tracks' file. */
static int write_parameters(const struct options *o, const etx_tracks *tracks,
    const etx_track_parameters *parameters)
{
    const int64_t *const offset = etx_tracks_offsets(tracks);
    const int64_t *const id = etx_tracks_ids(tracks);
    FILE *file = o->out == NULL ? stdout : table_open(o->out);

    if (file == NULL)
        return PROGRAM_FAILED;
    fprintf(file, "track_id,d0,z0,phi,theta,q_over_pt,sigma_d0,sigma_z0,"
                  "sigma_phi,sigma_theta,sigma_q_over_pt,chi2,n_degrees,"
                  "n_holes,n_outliers,n_hits\n");
    for (int64_t t = 0; t < etx_tracks_count(tracks); t++)
        write_track(file, id[t], &parameters[t], offset[t + 1] - offset[t]);
    if (o->out != NULL)
        return table_close(file, o->out);
    return fflush(file) == 0 ? 0
                             : program_error("standard output: not written");
}

/* The tracks that are left of those that share hits. */
static int write_resolved(const struct options *o, const etx_event *event,
    const etx_tracks *tracks, const etx_track_parameters *parameters)
{
    etx_resolve_options options;
    etx_tracks *left = NULL;
    int failed = 0;

    if (etx_resolve_options_init(&options, sizeof options))
        return program_failed(NULL);
    if (o->max_shared >= 0)
        options.max_shared = (int32_t)o->max_shared;
    if (o->min_hits >= 0)
        options.min_hits = (int32_t)o->min_hits;
    if (etx_tracks_resolve(&left, tracks, parameters, &options) ||
        etx_tracks_write_csv(left, event, o->resolved))
        failed = program_failed(NULL);
    etx_tracks_free(left);
    return failed;
}

/* *map is what options points to. */
static int set_options(
    etx_fit_options *options, float **map, const struct options *o)
{
    if (etx_fit_options_init(options, sizeof *options))
        return program_failed(NULL);
    options->field = (float)o->field;
    options->material = (float)o->material;
    options->energy_loss = (float)o->energy_loss;
    options->resolution_scale = (float)o->resolution;
    options->max_hit_chi2 = (float)o->max_hit_chi2;
    return o->map == NULL ? 0 : field_map_read(map, options, o->map);
}

static int fit(const struct options *o, etx_context *context,
    const etx_event *event, const etx_detector *detector,
    const etx_tracks *tracks)
{
    const int is_learned = o->field == 0.0 && o->map == NULL;
    etx_fit_options options;
    float *map = NULL;
    etx_model *model = NULL;
    etx_track_parameters *parameters =
        program_allocate(etx_tracks_count(tracks), sizeof *parameters);
    int failed = PROGRAM_FAILED;

    if (set_options(&options, &map, o) ||
        (is_learned && program_model(&model, o->model)))
        goto done;
    program_check_event(o->events.item[0], event, detector, model);
    if (etx_fit_tracks(parameters, NULL, tracks, context, model, event,
            detector, &options))
        program_failed(o->tracks);
    else
        failed = write_parameters(o, tracks, parameters) ||
                 (o->resolved != NULL &&
                     write_resolved(o, event, tracks, parameters));
done:
    free(map);
    free(parameters);
    etx_model_free(model);
    return failed;
}

int main(int argc, char **argv)
{
    struct options o = {.material = 0.02,
        .energy_loss = 0.036,
        .resolution = 1.0,
        .max_hit_chi2 = 12.0,
        .max_shared = -1,
        .min_hits = -1};
    etx_context *context = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;
    int failed;

    read_options(&o, argc, argv);
    failed = program_expand_events(&o.events);
    if (failed == 0 && o.events.count > 1)
        failed = program_usage("give one --event");
    if (failed == 0)
        failed = program_check_output(o.out);
    if (failed == 0)
        failed = program_check_output(o.resolved);
    if (failed == 0)
        failed = program_context(&context, "cpu", &o.n_threads);
    if (failed == 0)
        failed = program_detector(&detector, o.detector);
    if (failed == 0 &&
        etx_event_read_trackml(&event, o.events.item[0], detector) != ETX_OK)
        failed = program_failed(o.events.item[0]);
    if (failed == 0) {
        program_add_tracks(&o.files, o.tracks, o.events.item[0]);
        o.tracks = o.files.item[0];
        if (etx_tracks_read_csv(&tracks, event, o.tracks) != ETX_OK)
            failed = program_failed(NULL);
    }
    if (failed == 0)
        failed = fit(&o, context, event, detector, tracks);
    etx_tracks_free(tracks);
    etx_event_free(event);
    etx_detector_free(detector);
    etx_context_free(context);
    program_list_free(&o.events);
    program_list_free(&o.files);
    return failed;
}
