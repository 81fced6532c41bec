/* examples/etx-bench.c -- time every stage and the whole event.
 *
 * Events of a wanted number of hits are made by overlaying the events given
 * (by default those that ship), each copy turned by another angle.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "program.h"

#define MAX_HITS        100000000
#define MAX_REPEATS     1000
#define MAX_TOGETHER    1000
#define MAX_CONTEXTS    64
#define N_CELL_FEATURES 9
#define N_IDS_MODULE    3
#define TWO_PI          6.28318530717958647692

static const char summary[] =
    "Time the stages of a model on events of N hits: median and spread.";

/* The rows so far as JSON, in memory. */
struct report {
    FILE *file;
    char *text;
    size_t size;
};

struct options {
    const char *model, *hits, *stage, *out, *device, *read, *contexts;
    struct program_list events;
    int64_t n_threads, repeats, together;
};

/* The hits of all source events, one after the other. */
struct source {
    int64_t n_hits;
    float *position;               /* [n_hits, 3] mm */
    float *cells;                  /* [n_hits, 9] cell features */
    int32_t *module[N_IDS_MODULE]; /* [n_hits] volume, layer, module */
};

/* Timings [repeats][ETX_N_STAGES] and what stayed the same. */
struct samples {
    int64_t n_hits, repeats;
    etx_stage_timing *timing;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"hits", "N[,N...]", "numbers of hits (default 10000,30000,100000)",
            .text = &o->hits},
        PROGRAM_MODEL_OPTION(&o->model),
        {"event", "PREFIX", "events to overlay (default: a shipped one)",
            .list = &o->events},
        {"stage", "NAME", "report only this stage; event = the whole event",
            .text = &o->stage},
        {"repeats", "N", "timed runs (default 20)", .integer = &o->repeats,
            .low = 1, .high = MAX_REPEATS},
        {"together", "N", "also N events in one call, seconds of each",
            .integer = &o->together, .low = 1, .high = MAX_TOGETHER},
        {"contexts", "N[,N...]",
            "also N contexts side by side, seconds of each event",
            .text = &o->contexts},
        PROGRAM_THREADS_OPTION(&o->n_threads),
        PROGRAM_DEVICE_OPTION(&o->device),
        {"out", "FILE", "write the table as JSON", .text = &o->out},
        {"read", "FILE", "time reading a hits file instead", .text = &o->read},
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
}

/* old [n_old, width] and then more [n_more, width] (NULL: zeros). */
static float *append(
    float *old, int64_t n_old, const float *more, int64_t n_more, int64_t width)
{
    float *grown =
        realloc(old, (size_t)((n_old + n_more) * width) * sizeof *grown);

    if (grown == NULL)
        exit(program_error("out of memory"));
    for (int64_t k = 0; k < n_more * width; k++)
        grown[n_old * width + k] = more != NULL ? more[k] : 0.0f;
    return grown;
}

/* Modules of the hits of event, 0 where it has none, after the n_old first. */
static void append_modules(
    struct source *source, int64_t n_old, const etx_event *event)
{
    const int32_t *ids[N_IDS_MODULE] = {etx_event_volume_ids(event),
        etx_event_layer_ids(event), etx_event_module_ids(event)};
    const int64_t n = etx_event_n_hits(event);

    for (int k = 0; k < N_IDS_MODULE; k++) {
        source->module[k] = realloc(
            source->module[k], (size_t)(n_old + n) * sizeof **source->module);
        if (source->module[k] == NULL)
            exit(program_error("out of memory"));
        for (int64_t i = 0; i < n; i++)
            source->module[k][n_old + i] = ids[k] != NULL ? ids[k][i] : 0;
    }
}

static int read_source(struct source *source, struct program_list *events)
{
    etx_detector *detector = NULL;
    int result = program_detector(&detector, NULL);

    for (int64_t k = 0; result == 0 && k < events->count; k++) {
        etx_event *event = NULL;

        if (etx_event_read_trackml(&event, events->item[k], detector) !=
            ETX_OK) {
            result = program_failed(NULL);
        } else {
            const int64_t n_hits = etx_event_n_hits(event);

            source->position = append(source->position, source->n_hits,
                etx_event_positions(event), n_hits, 3);
            source->cells = append(source->cells, source->n_hits,
                etx_event_cell_features(event), n_hits, N_CELL_FEATURES);
            append_modules(source, source->n_hits, event);
            source->n_hits += n_hits;
        }
        etx_event_free(event);
    }
    etx_detector_free(detector);
    if (result == 0 && source->n_hits == 0)
        result = program_error("the events have no hits to overlay");
    return result;
}

/* Copy c of the source is turned by an angle of its own (golden section of
 * the circle) until n_hits hits are there; of fewer than one copy, hits are
 * left out evenly. Cell features are not turned, as the shipped models read
 * none that depends on direction, nor modules, of which only the layer and
 * which hits share one are read. */
static etx_event *overlay(const struct source *source, int64_t n_hits)
{
    float *position = program_allocate(3 * n_hits, sizeof *position);
    float *cells = program_allocate(N_CELL_FEATURES * n_hits, sizeof *cells);
    int32_t *module = program_allocate(N_IDS_MODULE * n_hits, sizeof *module);
    etx_event *event = NULL;

    for (int64_t i = 0; i < n_hits; i++) {
        const double turn =
            TWO_PI * fmod(0.61803398875 * (double)(i / source->n_hits), 1.0);
        const int64_t row = n_hits < source->n_hits
                                ? i * source->n_hits / n_hits
                                : i % source->n_hits;
        const float *from = source->position + 3 * row;

        position[3 * i] =
            (float)(cos(turn) * (double)from[0] - sin(turn) * (double)from[1]);
        position[3 * i + 1] =
            (float)(sin(turn) * (double)from[0] + cos(turn) * (double)from[1]);
        position[3 * i + 2] = from[2];
        memcpy(cells + N_CELL_FEATURES * i,
            source->cells + N_CELL_FEATURES * row,
            N_CELL_FEATURES * sizeof *cells);
        for (int k = 0; k < N_IDS_MODULE; k++)
            module[k * n_hits + i] = source->module[k][row];
    }
    if (etx_event_create(&event, n_hits, NULL, position) != ETX_OK ||
        etx_event_set_modules(
            event, module, module + n_hits, module + 2 * n_hits) != ETX_OK ||
        etx_event_set_cell_features(event, cells) != ETX_OK)
        exit(program_failed("overlay"));
    free(module);
    free(cells);
    free(position);
    return event;
}

static int measure(struct samples *samples, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    for (int64_t k = -1; k < samples->repeats; k++) {
        etx_tracks *tracks = NULL;
        etx_stage_timing discarded[ETX_N_STAGES];
        etx_stage_timing *timing =
            k < 0 ? discarded : samples->timing + k * ETX_N_STAGES;

        if (etx_find_tracks(&tracks, context, model, event) != ETX_OK ||
            program_timings(timing, context) != ETX_OK)
            return program_failed(NULL);
        etx_tracks_free(tracks);
    }
    return 0;
}

static int compare_seconds(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds to read a hits file: one line. */
static int bench_read(const struct options *o)
{
    double *seconds = program_allocate(o->repeats, sizeof *seconds);
    int64_t n_hits = 0;
    int result = 0;

    for (int64_t k = 0; result == 0 && k < o->repeats; k++) {
        etx_event *event = NULL;
        const double start = program_now();

        if (etx_event_read_trackml_files(
                &event, o->read, NULL, NULL, NULL, NULL) != ETX_OK)
            result = program_failed(NULL);
        seconds[k] = program_now() - start;
        n_hits = etx_event_n_hits(event);
        etx_event_free(event);
    }
    qsort(seconds, (size_t)o->repeats, sizeof *seconds, compare_seconds);
    if (result == 0)
        printf("read\t%lld hits\tmedian %.4f s\tp10 %.4f s\tp90 %.4f s\n",
            (long long)n_hits, seconds[o->repeats / 2],
            seconds[o->repeats / 10],
            seconds[o->repeats - 1 - o->repeats / 10]);
    free(seconds);
    return result;
}

/* A line of the table. */
struct row {
    const char *name;
    int64_t n_hits, n_edges, peak_bytes;
    double *seconds; /* [repeats], sorted by report_row */
    double gflop;
};

static void report_row(
    const struct row *row, const struct options *o, struct report *report)
{
    const int64_t n = o->repeats;

    qsort(row->seconds, (size_t)n, sizeof *row->seconds, compare_seconds);
    const double median = row->seconds[n / 2];
    const double low = row->seconds[n / 10];
    const double high = row->seconds[n - 1 - n / 10];
    printf("%s\t%lld\t%lld\t%lld\t%s\t%.6f\t%.6f\t%.6f\t%.3f\t%.1f\t%lld\n",
        row->name, (long long)row->n_hits, (long long)row->n_edges,
        (long long)o->n_threads, o->device, median, low, high, row->gflop,
        row->gflop > 0.0 ? row->gflop / median : 0.0,
        (long long)row->peak_bytes);
    fputs(ftell(report->file) == 0 ? "" : ",\n ", report->file);
    struct json object = json_begin(report->file);
    json_text(&object, "stage", row->name);
    json_integer(&object, "n_hits", row->n_hits);
    json_integer(&object, "n_edges", row->n_edges);
    json_integer(&object, "threads", o->n_threads);
    json_text(&object, "device", o->device);
    json_number(&object, "median_s", median);
    json_number(&object, "p10_s", low);
    json_number(&object, "p90_s", high);
    json_number(&object, "gflop", row->gflop);
    json_integer(&object, "peak_bytes", row->peak_bytes);
    json_end(&object);
}

/* Stage ETX_N_STAGES is the whole event. */
static void report_stage(const struct samples *samples, int32_t stage,
    const struct options *o, struct report *report)
{
    const int32_t first = stage == ETX_N_STAGES ? 0 : stage;
    const int32_t last = stage == ETX_N_STAGES ? ETX_N_STAGES - 1 : stage;
    struct row row = {
        .name = stage == ETX_N_STAGES ? "event" : etx_stage_name(stage),
        .n_hits = samples->n_hits,
        .seconds = program_allocate(samples->repeats, sizeof *row.seconds)};

    for (int32_t s = first; s <= last; s++) {
        for (int64_t k = 0; k < samples->repeats; k++)
            row.seconds[k] += samples->timing[k * ETX_N_STAGES + s].seconds;
        row.gflop += samples->timing[s].gflop;
        if (samples->timing[s].peak_bytes > row.peak_bytes)
            row.peak_bytes = samples->timing[s].peak_bytes;
        if (samples->timing[s].n_edges > 0)
            row.n_edges = samples->timing[s].n_edges;
    }
    report_row(&row, o, report);
    free(row.seconds);
}

/* The event several times in one call: the seconds of one. */
static int bench_together(const struct options *o, etx_context *context,
    const etx_model *model, const etx_event *event, struct report *report)
{
    const int64_t n = o->together;
    const etx_event **events = program_allocate(n, sizeof *events);
    etx_tracks **tracks = program_allocate(n, sizeof *tracks);
    struct row row = {.name = "together",
        .n_hits = etx_event_n_hits(event),
        .seconds = program_allocate(o->repeats, sizeof *row.seconds)};
    int result = 0;

    for (int64_t i = 0; i < n; i++)
        events[i] = event;
    for (int64_t k = -1; result == 0 && k < o->repeats; k++) {
        const double start = program_now();

        if (etx_find_tracks_batch(tracks, context, model, n, events) != ETX_OK)
            result = program_failed(NULL);
        if (k >= 0)
            row.seconds[k] = (program_now() - start) / (double)n;
        for (int64_t i = 0; result == 0 && i < n; i++)
            etx_tracks_free(tracks[i]);
    }
    if (result == 0)
        report_row(&row, o, report);
    free(row.seconds);
    free(tracks);
    free(events);
    return result;
}

/* A context on a thread of its own. */
struct lane {
    const etx_model *model;
    const etx_event *event;
    etx_context *context;
    pthread_barrier_t *start;
    pthread_t thread;
    int64_t repeats;
    double begin, *end; /* [repeats] of its events */
    int result;
};

/* An event that is not timed, then all threads begin. */
static void *run_lane(void *argument)
{
    struct lane *const lane = argument;

    for (int64_t k = -1; k < lane->repeats; k++) {
        etx_tracks *tracks = NULL;

        if (lane->result == 0 && etx_find_tracks(&tracks, lane->context,
                                     lane->model, lane->event) != ETX_OK)
            lane->result = program_failed(NULL);
        etx_tracks_free(tracks);
        if (k >= 0) {
            lane->end[k] = program_now();
        } else {
            pthread_barrier_wait(lane->start);
            lane->begin = program_now();
        }
    }
    return NULL;
}

/* The event by n contexts side by side, which share the threads: the time
 * between the ends of every n events, of each. */
static int bench_lanes(const struct options *o, int64_t n,
    const etx_model *model, const etx_event *event, struct report *report)
{
    const int64_t n_events = n * o->repeats;
    struct lane *lane = program_allocate(n, sizeof *lane);
    double *end = program_allocate(n_events, sizeof *end);
    char name[32];
    struct row row = {.name = name,
        .n_hits = etx_event_n_hits(event),
        .seconds = program_allocate(o->repeats, sizeof *row.seconds)};
    pthread_barrier_t start;
    int result = 0;

    snprintf(name, sizeof name, "contexts_%lld", (long long)n);
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int64_t i = 0; result == 0 && i < n; i++) {
        int64_t share = o->n_threads > n ? o->n_threads / n : 1;

        lane[i] = (struct lane){.model = model,
            .event = event,
            .start = &start,
            .repeats = o->repeats,
            .end = end + i * o->repeats};
        result = program_context(&lane[i].context, o->device, &share);
    }
    if (result == 0) {
        for (int64_t i = 0; i < n; i++)
            if (pthread_create(&lane[i].thread, NULL, run_lane, &lane[i]) != 0)
                exit(program_error("a thread cannot be started"));
        double before = INFINITY;

        for (int64_t i = 0; i < n; i++) {
            pthread_join(lane[i].thread, NULL);
            result |= lane[i].result;
            before = fmin(before, lane[i].begin);
        }
        qsort(end, (size_t)n_events, sizeof *end, compare_seconds);
        for (int64_t k = 0; k < o->repeats; k++) {
            const double last = end[(k + 1) * n - 1];

            row.seconds[k] = (last - before) / (double)n;
            before = last;
        }
    }
    if (result == 0)
        report_row(&row, o, report);
    for (int64_t i = 0; i < n; i++)
        etx_context_free(lane[i].context);
    pthread_barrier_destroy(&start);
    free(row.seconds);
    free(end);
    free(lane);
    return result;
}

/* The next of numbers 1 .. high with commas between, which ends at '\0'; 0: it
 * is none. */
static int64_t next_number(const char **cursor, int64_t high)
{
    char *end = NULL;
    const long long number = strtoll(*cursor, &end, 10);

    if (end == *cursor || number < 1 || number > high ||
        (*end != ',' && *end != '\0'))
        return 0;
    *cursor = *end == ',' ? end + 1 : end;
    return number;
}

static int bench_size(const struct options *o, int64_t n_hits,
    const struct source *source, etx_context *context, const etx_model *model,
    struct report *report)
{
    struct samples samples = {n_hits, o->repeats, NULL};
    etx_event *event = overlay(source, n_hits);
    int result = 0;

    samples.timing =
        program_allocate(o->repeats * ETX_N_STAGES, sizeof *samples.timing);
    result = measure(&samples, context, model, event);
    for (int32_t stage = 0; result == 0 && stage <= ETX_N_STAGES; stage++) {
        const char *name =
            stage == ETX_N_STAGES ? "event" : etx_stage_name(stage);

        if (o->stage == NULL || strcmp(o->stage, name) == 0)
            report_stage(&samples, stage, o, report);
    }
    if (result == 0 && o->together > 0)
        result = bench_together(o, context, model, event, report);
    for (const char *at = o->contexts;
         result == 0 && at != NULL && *at != '\0';) {
        const int64_t n = next_number(&at, MAX_CONTEXTS);

        result = n > 0 ? bench_lanes(o, n, model, event, report)
                       : program_usage("--contexts %s: not numbers of contexts",
                             o->contexts);
    }
    free(samples.timing);
    etx_event_free(event);
    return result;
}

/* Write the results so far, in case a larger size takes too long. */
static int write_so_far(const struct options *o, const struct report *report)
{
    FILE *file;
    int failed;

    (void)fflush(stdout);
    if (o->out == NULL)
        return 0;
    (void)fflush(report->file);
    file = fopen(o->out, "w");
    failed = file == NULL || fprintf(file, "[%s]\n", report->text) < 0;
    if (file != NULL)
        failed |= fclose(file) != 0;
    return failed ? program_error("%s: cannot be written", o->out) : 0;
}

static int bench(const struct options *o, const struct source *source,
    etx_context *context, const etx_model *model)
{
    struct report report = {.text = NULL};
    const char *cursor = o->hits;
    int result = 0;

    report.file = open_memstream(&report.text, &report.size);
    if (report.file == NULL)
        return program_error("%s", strerror(errno));
    printf("stage\tn_hits\tn_edges\tthreads\tdevice\tmedian_s\tp10_s\tp90_s\t"
           "gflop\tgflop_per_s\tpeak_bytes\n");
    while (result == 0 && *cursor != '\0') {
        const int64_t n_hits = next_number(&cursor, MAX_HITS);

        if (n_hits == 0) {
            result = program_usage("--hits %s: not numbers of hits", o->hits);
            break;
        }
        result = bench_size(o, n_hits, source, context, model, &report);
        if (result == 0)
            result = write_so_far(o, &report);
    }
    fclose(report.file);
    free(report.text);
    return result;
}

static int is_stage(const char *name)
{
    for (int32_t stage = 0; stage < ETX_N_STAGES; stage++)
        if (strcmp(name, etx_stage_name(stage)) == 0)
            return 1;
    return strcmp(name, "event") == 0;
}

/* The event that stands for a full one: the medium event that ships. */
static void default_events(struct program_list *events)
{
    char *shipped = program_shipped_file("data/event000000002-hits.csv.gz");

    if (shipped == NULL)
        exit(program_error("no shipped event found: give --event PREFIX"));
    shipped[strlen(shipped) - strlen("-hits.csv.gz")] = '\0';
    program_list_add(events, shipped);
    free(shipped);
}

int main(int argc, char **argv)
{
    struct options o = {
        .hits = "10000,30000,100000", .device = "cpu", .repeats = 20};
    struct source source = {0};
    etx_context *context = NULL;
    etx_model *model = NULL;
    int result = 0;

    read_options(&o, argc, argv);
    if (o.stage != NULL && !is_stage(o.stage))
        return program_usage(
            "--stage %s: no stage of etx-find-tracks --timing, nor event",
            o.stage);
    if (o.read != NULL &&
        (o.stage != NULL || o.out != NULL || o.model != NULL ||
            o.events.count > 0 || o.together > 0 || o.contexts != NULL))
        return program_usage("--read goes with --repeats alone");
    if (o.read != NULL)
        return bench_read(&o);
    if (o.events.count == 0)
        default_events(&o.events);
    result = program_check_output(o.out);
    if (result == 0)
        result = program_expand_events(&o.events);
    if (result == 0)
        result = program_context(&context, o.device, &o.n_threads);
    if (result == 0)
        result = program_model(&model, o.model);
    if (result == 0)
        result = read_source(&source, &o.events);
    if (result == 0)
        result = bench(&o, &source, context, model);
    for (int k = 0; k < N_IDS_MODULE; k++)
        free(source.module[k]);
    free(source.cells);
    free(source.position);
    etx_model_free(model);
    etx_context_free(context);
    program_list_free(&o.events);
    return result;
}
