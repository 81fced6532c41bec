/* examples/etx-find-tracks.c -- hits in, tracks out.
 *
 * Reads events in TrackML form, runs the pipeline of a model file on each and
 * writes hit_id,track_id per event. A thread reads the next event meanwhile.
 * On a CPU each thread has an event of its own where there are enough: no stage
 * then waits for its last thread. With --share every process that mpirun or
 * srun started takes every n-th event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "program.h"
#include "svg.h"

#define MAX_CONTEXTS 64

static const char summary[] =
    "Find tracks in events with a model file. With several events, or a "
    "folder\n"
    "of them, --out, --svg and --timing-json name folders.";

struct options {
    const char *model, *hits, *cells, *truth, *particles, *out, *detector;
    const char *device, *svg, *timing_json;
    struct program_list events;
    int64_t n_threads, at_once;
    int32_t timing, share;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        PROGRAM_MODEL_OPTION(&o->model),
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
        PROGRAM_DETECTOR_OPTION(&o->detector),
        {"out", "FILE", "output: hit_id,track_id (.csv or .csv.gz)",
            .text = &o->out},
        PROGRAM_THREADS_OPTION(&o->n_threads),
        {"at-once", "N",
            "events at a time on a CPU, which share the threads; each takes "
            "its own memory (default: as many as there are threads)",
            .integer = &o->at_once, .low = 1, .high = MAX_CONTEXTS},
        {"device", "LIST",
            "cpu (default), cuda or cuda:N; of several, as in cuda:0,1, each "
            "takes every n-th event",
            .text = &o->device},
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
    if (o->at_once > 0 && o->device != NULL && strcmp(o->device, "cpu") != 0)
        exit(program_usage("--at-once goes with the CPU; a list of devices has "
                           "one event on each"));
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
    FILE *file = fopen(path, "w");
    int failed = file == NULL;

    for (int32_t stage = 0; !failed && stage < ETX_N_STAGES; stage++) {
        fputs(stage == 0 ? "[" : ",\n ", file);
        struct json object = json_begin(file);
        json_text(&object, "stage", etx_stage_name(stage));
        json_number(&object, "seconds", timing[stage].seconds);
        json_integer(&object, "peak_bytes", timing[stage].peak_bytes);
        json_integer(&object, "n_edges", timing[stage].n_edges);
        json_end(&object);
    }
    if (file != NULL) {
        fputs("]\n", file);
        failed = ferror(file) != 0;
        failed |= fclose(file) != 0;
    }
    return failed ? program_error("%s: cannot be written", path) : 0;
}

/* Output file of an event: `out` itself, or out/NAME.ending with several
 * events, a folder of them, or where `out` is a folder. The caller frees it. */
static char *output_path(const struct options *o, const char *out,
    const char *name, const char *ending)
{
    const size_t size = strlen(out) + strlen(name) + strlen(ending) + 2;
    char *path = program_allocate((int64_t)size, 1);

    if (o->events.count <= 1 && !o->events.of_folder &&
        !program_is_folder(out)) {
        memcpy(path, out, strlen(out) + 1);
        return path;
    }
    mkdir(out, 0777);
    snprintf(path, size, "%s/%s%s", out, name, ending);
    return path;
}

/* Before events are read: one name of an event stands for all. */
static int check_outputs(const struct options *o)
{
    const char *const outputs[] = {o->out, o->timing_json, o->svg};
    int result = 0;

    for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
        if (outputs[k] == NULL || result != 0)
            continue;
        char *path = output_path(o, outputs[k], "event", "");

        result = program_check_output(path);
        free(path);
    }
    return result;
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

/* ------------------------------------------------------------- finding -- */

/* The events of this process, k = first, first + step, ..., shared by contexts
 * that each take the next. Results are written in the order of events. */
struct work {
    const struct options *options;
    const etx_model *model;
    const etx_detector *detector;
    int64_t first, step;
    int32_t n_contexts;
    etx_context *context[MAX_CONTEXTS];
    pthread_mutex_t lock;
    pthread_cond_t is_written; /* one more event, or result is not 0 */
    int64_t n_written;
    int result;
};

/* Wait until n events are written; 1 when one of them failed. */
static int wait_for_turn(struct work *work, int64_t n)
{
    pthread_mutex_lock(&work->lock);
    while (work->n_written < n && work->result == 0)
        pthread_cond_wait(&work->is_written, &work->lock);
    const int has_failed = work->result != 0;

    pthread_mutex_unlock(&work->lock);
    return has_failed;
}

static void end_turn(struct work *work, int result)
{
    pthread_mutex_lock(&work->lock);
    work->n_written += result == 0;
    work->result = result;
    pthread_cond_broadcast(&work->is_written);
    pthread_mutex_unlock(&work->lock);
}

/* The n-th event of this process; not 0: it or one before it failed. */
static int find_tracks(struct work *work, etx_context *context, int64_t n,
    const char *name, const etx_event *event)
{
    etx_tracks *tracks = NULL;
    int result = 0;
    const etx_status status =
        etx_find_tracks(&tracks, context, work->model, event);

    if (wait_for_turn(work, n) != 0) {
        etx_tracks_free(tracks);
        return 1;
    }
    if (status == ETX_OK) {
        program_check_event(name, event, work->detector, work->model);
        result = write_results(work->options, name, context, event, tracks);
    } else {
        result = program_failed(name);
    }
    /* Next to tracks on the standard output a line would be one of them. */
    FILE *said =
        program_is_standard_output(work->options->out) ? stderr : stdout;

    if (result == 0)
        fprintf(said, "%s: %lld hits, %lld tracks\n", name,
            (long long)etx_event_n_hits(event),
            (long long)etx_tracks_count(tracks));
    fflush(said);
    etx_tracks_free(tracks);
    end_turn(work, result);
    return result;
}

/* The event k of this process; NULL after the last. */
static const char *event_prefix(const struct options *o, int64_t k)
{
    if (o->hits != NULL)
        return k == 0 ? o->hits : NULL;
    return k < o->events.count ? o->events.item[k] : NULL;
}

/* Events n, n + n_contexts, ... of this process; the next is read meanwhile. */
static void find_some(struct work *work, etx_context *context, int64_t n)
{
    const struct options *o = work->options;
    const int64_t step = work->step;
    struct reading next = {.options = o, .detector = work->detector};
    int result = 0;

    start_reading(&next, event_prefix(o, work->first + n * step));
    while (result == 0 && next.prefix != NULL) {
        const char *name = program_base_name(next.prefix);
        const int64_t following = n + work->n_contexts;

        finish_reading(&next);
        if (next.event == NULL && wait_for_turn(work, n) == 0)
            end_turn(work, program_error("%s: %s", name, next.message));
        if (next.event == NULL)
            break;
        etx_event *event = next.event;

        next.event = NULL;
        start_reading(&next, event_prefix(o, work->first + following * step));
        result = find_tracks(work, context, n, name, event);
        etx_event_free(event);
        n = following;
    }
    finish_reading(&next);
    etx_event_free(next.event);
    free(next.message);
}

/* A context on a thread of its own. */
struct worker {
    struct work *work;
    int32_t number;
    pthread_t thread;
};

static void *run_worker(void *argument)
{
    const struct worker *worker = argument;

    find_some(
        worker->work, worker->work->context[worker->number], worker->number);
    return NULL;
}

static int find_all(struct work *work)
{
    struct worker worker[MAX_CONTEXTS];
    int32_t n_started = 1;

    for (; n_started < work->n_contexts; n_started++) {
        worker[n_started] = (struct worker){.work = work, .number = n_started};
        if (pthread_create(&worker[n_started].thread, NULL, run_worker,
                &worker[n_started]) != 0) {
            end_turn(work, program_error("a thread cannot be started"));
            break;
        }
    }
    find_some(work, work->context[0], 0);
    for (int32_t c = 1; c < n_started; c++)
        pthread_join(worker[c].thread, NULL);
    if (work->options->share)
        printf("rank %lld of %lld: %lld of %lld events\n",
            (long long)work->first, (long long)work->step,
            (long long)work->n_written, (long long)work->options->events.count);
    return work->result;
}

/* The events of this process. */
static int64_t count_events(const struct work *work)
{
    const int64_t n =
        work->options->hits != NULL ? 1 : work->options->events.count;

    return n <= work->first ? 0 : (n - work->first - 1) / work->step + 1;
}

/* Contexts on the CPU, each with its share of the threads. */
static int open_on_cpu(struct work *work, const struct options *o)
{
    const int64_t n_threads = o->n_threads > 0 ? o->n_threads : program_cores();
    int64_t n = o->at_once > 0 ? o->at_once : n_threads;
    int result = 0;

    if (n > count_events(work))
        n = count_events(work);
    if (n > MAX_CONTEXTS)
        n = MAX_CONTEXTS;
    if (n < 1)
        n = 1;
    for (int64_t c = 0; c < n && result == 0; c++) {
        int64_t share = (n_threads + n - 1 - c) / n;

        if (share < 1)
            share = 1;
        result = program_context(&work->context[c], "cpu", &share);
        work->n_contexts += result == 0;
    }
    return result;
}

/* A context for each name of the list; a number alone is one of cuda. */
static int open_on_devices(struct work *work, const struct options *o)
{
    char *list = program_copy_text(o->device);
    int64_t n = 1;
    int result = 0;

    for (const char *at = list; *at != '\0'; at++)
        n += *at == ',';
    if (n > MAX_CONTEXTS)
        result = program_usage("--device: %lld devices are more than %d",
            (long long)n, MAX_CONTEXTS);
    for (char *name = list; name != NULL && result == 0;) {
        char *const comma = strchr(name, ',');
        int64_t n_threads = o->n_threads;
        char text[64];

        if (comma != NULL)
            *comma = '\0';
        if (n_threads == 0 && n > 1)
            n_threads = program_cores() > n ? program_cores() / n : 1;
        snprintf(text, sizeof text, "%s%.50s",
            isdigit((unsigned char)*name) ? "cuda:" : "", name);
        result =
            program_context(&work->context[work->n_contexts], text, &n_threads);
        work->n_contexts += result == 0;
        name = comma != NULL ? comma + 1 : NULL;
    }
    free(list);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct work work = {.options = &o,
        .step = 1,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .is_written = PTHREAD_COND_INITIALIZER};
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    int result = 0;

    read_options(&o, argc, argv);
    if (o.share)
        result = program_ranks(&work.first, &work.step);
    if (result == 0)
        result = program_expand_events(&o.events);
    if (result == 0)
        result = program_check_names(&o.events, "-tracks.csv");
    if (result == 0)
        result = check_outputs(&o);
    if (result == 0)
        result = o.device == NULL || strcmp(o.device, "cpu") == 0
                     ? open_on_cpu(&work, &o)
                     : open_on_devices(&work, &o);
    if (result == 0)
        result = program_model(&model, o.model);
    if (result == 0)
        result = program_detector(&detector, o.detector);
    work.model = model;
    work.detector = detector;
    if (result == 0)
        result = find_all(&work);
    etx_detector_free(detector);
    etx_model_free(model);
    for (int32_t c = 0; c < work.n_contexts; c++)
        etx_context_free(work.context[c]);
    program_list_free(&o.events);
    return result;
}
