/* examples/etx-find-tracks.c -- hits in, tracks out.
 *
 * Reads events in TrackML form, runs the pipeline of a model file on each and
 * writes hit_id,track_id per event. A thread reads the next event meanwhile.
 * With --share every process that mpirun or srun started takes every n-th
 * event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "program.h"
#include "svg.h"

static const char summary[] =
    "Find tracks in events with a model file. With several events, --out,\n"
    "--svg and --timing-json name folders.";

struct options {
    const char *model, *hits, *cells, *truth, *particles, *out, *detector;
    const char *device, *svg, *timing_json;
    struct program_list events;
    int64_t n_threads;
    int32_t timing, share;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"model", "FILE", "model file, or default, accurate or counts",
            .text = &o->model},
        {"event", "PREFIX",
            "prefix of PREFIX-hits.csv[.gz] and its other files, or a folder; "
            "repeatable",
            .list = &o->events},
        {"hits", "FILE", "hits file of a single event instead",
            .text = &o->hits},
        {"cells", "FILE", "its cells file", .text = &o->cells},
        {"truth", "FILE", "its truth file, for --svg", .text = &o->truth},
        {"particles", "FILE", "its particles file, for --svg",
            .text = &o->particles},
        {"detector", "FILE", "detectors.csv (default: the TrackML detector)",
            .text = &o->detector},
        {"out", "FILE", "output: hit_id,track_id (.csv or .csv.gz)",
            .text = &o->out},
        {"threads", "N", "threads, 0 = all cores (default)",
            .integer = &o->n_threads, .low = 0, .high = 256},
        {"device", "NAME", "cpu (default) or cuda", .text = &o->device},
        {"share", NULL,
            "process r of n started by mpirun or srun takes events r, r + n, r "
            "+ 2n, ...",
            .flag = &o->share},
        {"timing", NULL, "print seconds and peak bytes of every stage",
            .flag = &o->timing},
        {"timing-json", "FILE", "write the same as JSON",
            .text = &o->timing_json},
        {"svg", "FILE", "write an event display", .text = &o->svg},
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if ((o->events.count == 0) == (o->hits == NULL))
        exit(program_usage("give either --event or --hits (see --help)"));
    if (o->share && o->hits != NULL)
        exit(program_usage("--share goes with --event"));
    if (o->out == NULL)
        exit(program_usage("--out is missing (see --help)"));
    if (o->hits == NULL && (o->cells != NULL || o->truth != NULL))
        exit(program_usage("--cells and --truth go with --hits"));
    if ((o->truth == NULL) != (o->particles == NULL))
        exit(program_usage("--truth and --particles go together"));
}

static void print_timing(const char *name, const etx_stage_timing *timing)
{
    double total = 0.0;

    fprintf(stderr, "%s\n%-10s %10s %14s %12s\n", name, "stage", "seconds",
        "peak bytes", "edges");
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++) {
        fprintf(stderr, "%-10s %10.4f %14lld %12lld\n", etx_stage_name(stage),
            timing[stage].seconds, (long long)timing[stage].peak_bytes,
            (long long)timing[stage].n_edges);
        total += timing[stage].seconds;
    }
    fprintf(stderr, "%-10s %10.4f\n", "event", total);
}

static int write_timing_json(const char *path, const etx_stage_timing *timing)
{
    json_t *list = json_array();
    int result = 0;

    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++)
        json_array_append_new(
            list, json_pack("{s:s, s:f, s:I, s:I}", "stage",
                      etx_stage_name(stage), "seconds", timing[stage].seconds,
                      "peak_bytes", (json_int_t)timing[stage].peak_bytes,
                      "n_edges", (json_int_t)timing[stage].n_edges));
    if (json_dump_file(list, path, JSON_INDENT(1)) != 0)
        result = program_error("%s: cannot be written", path);
    json_decref(list);
    return result;
}

/* Output file of an event: `out` itself, or out/NAME.ending with several
 * events. The caller frees it. */
static char *output_path(const struct options *o, const char *out,
    const char *name, const char *ending)
{
    const size_t size = strlen(out) + strlen(name) + strlen(ending) + 2;
    char *path = program_allocate((int64_t)size, 1);

    if (o->events.count <= 1) {
        memcpy(path, out, strlen(out) + 1);
        return path;
    }
    mkdir(out, 0777);
    snprintf(path, size, "%s/%s%s", out, name, ending);
    return path;
}

/* Tracks, timing and display of one event. */
static int write_results(const struct options *o, const char *name,
    const etx_context *context, const etx_event *event,
    const etx_tracks *tracks)
{
    etx_stage_timing timing[ETX_N_STAGES];
    char *path = output_path(o, o->out, name, "-tracks.csv");
    int result = 0;

    if (etx_tracks_write_csv(tracks, event, path) != ETX_OK ||
        program_timings(timing, context) != ETX_OK)
        result = program_failed(NULL);
    free(path);
    if (result == 0 && o->timing)
        print_timing(name, timing);
    if (result == 0 && o->timing_json != NULL) {
        path = output_path(o, o->timing_json, name, "-timing.json");
        result = write_timing_json(path, timing);
        free(path);
    }
    if (result == 0 && o->svg != NULL) {
        path = output_path(o, o->svg, name, ".svg");
        result = svg_write(path, name, event, tracks);
        free(path);
    }
    return result;
}

/* ------------------------------------------------------------- reading -- */

/* An event that is read, on a thread of its own where there is one. */
struct reading {
    const struct options *options;
    const etx_detector *detector;
    const char *prefix;
    etx_event *event;
    char *message; /* why it failed */
    pthread_t thread;
    int is_started;
};

static void *read_event(void *argument)
{
    struct reading *r = argument;
    const struct options *o = r->options;
    etx_status status = ETX_OK;

    if (o->hits != NULL)
        status = etx_event_read_trackml_files(
            &r->event, o->hits, o->cells, o->truth, o->particles, r->detector);
    else
        status = etx_event_read_trackml(&r->event, r->prefix, r->detector);
    if (status != ETX_OK)
        r->message = program_copy_text(etx_last_error());
    return NULL;
}

/* Begin to read the event prefix; NULL for none. */
static void start_reading(struct reading *r, const char *prefix)
{
    r->prefix = prefix;
    r->is_started =
        prefix != NULL && pthread_create(&r->thread, NULL, read_event, r) == 0;
}

/* Wait until it is read. */
static void finish_reading(struct reading *r)
{
    if (r->is_started)
        pthread_join(r->thread, NULL);
    else if (r->prefix != NULL)
        read_event(r);
    r->is_started = 0;
    r->prefix = NULL;
}

/* The event, which the caller frees; NULL after a message. */
static etx_event *next_event(struct reading *r, const char *name)
{
    etx_event *event;

    finish_reading(r);
    event = r->event;
    if (event == NULL)
        (void)program_error("%s: %s", name, r->message);
    r->event = NULL;
    return event;
}

/* ------------------------------------------------------------- finding -- */

static int find_tracks(const struct options *o, const char *name,
    etx_context *context, const etx_model *model, const etx_event *event)
{
    etx_tracks *tracks = NULL;
    int result = 0;

    if (etx_find_tracks(&tracks, context, model, event) != ETX_OK)
        result = program_failed(name);
    else
        result = write_results(o, name, context, event, tracks);
    if (result == 0)
        printf("%s: %lld hits, %lld tracks\n", name,
            (long long)etx_event_n_hits(event),
            (long long)etx_tracks_count(tracks));
    fflush(stdout);
    etx_tracks_free(tracks);
    return result;
}

/* The event k of this process; NULL behind the last. */
static const char *event_prefix(const struct options *o, int64_t k)
{
    if (o->hits != NULL)
        return k == 0 ? o->hits : NULL;
    return k < o->events.count ? o->events.item[k] : NULL;
}

/* The events of this process: all, or every n-th with --share. */
static int find_all(const struct options *o, int64_t rank, int64_t n_ranks,
    etx_context *context, const etx_model *model, const etx_detector *detector)
{
    struct reading next = {.options = o, .detector = detector};
    int64_t n_found = 0;
    int result = 0;

    start_reading(&next, event_prefix(o, rank));
    for (int64_t k = rank; result == 0 && next.prefix != NULL; k += n_ranks) {
        const char *name = program_base_name(next.prefix);
        etx_event *event = next_event(&next, name);

        if (event == NULL) {
            result = PROGRAM_FAILED;
            break;
        }
        start_reading(&next, event_prefix(o, k + n_ranks));
        result = find_tracks(o, name, context, model, event);
        n_found += result == 0;
        etx_event_free(event);
    }
    finish_reading(&next);
    etx_event_free(next.event);
    free(next.message);
    if (o->share)
        printf("rank %lld of %lld: %lld of %lld events\n", (long long)rank,
            (long long)n_ranks, (long long)n_found, (long long)o->events.count);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    etx_context *context = NULL;
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    int64_t rank = 0;
    int64_t n_ranks = 1;
    int result = 0;

    read_options(&o, argc, argv);
    if (o.share)
        result = program_ranks(&rank, &n_ranks);
    if (result == 0)
        result = program_expand_events(&o.events);
    if (result == 0)
        result = program_check_names(&o.events, "-tracks.csv");
    if (result == 0)
        result = program_context(&context, o.device, &o.n_threads);
    if (result == 0)
        result = program_model(&model, o.model);
    if (result == 0)
        result = program_detector(&detector, o.detector);
    if (result == 0)
        result = find_all(&o, rank, n_ranks, context, model, detector);
    etx_detector_free(detector);
    etx_model_free(model);
    etx_context_free(context);
    program_list_free(&o.events);
    return result;
}
