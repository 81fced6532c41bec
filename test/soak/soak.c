/* soak.c -- one process that finds tracks for a long time.
 *
 *     soak EVENTS      (default 10000)
 *
 * Two threads of the host, each with a context, a model and events of its own,
 * made again now and then; every event is read or created, its tracks are
 * found, compared with the first result, and some are evaluated and
 * written. Resident memory after a tenth of the events and in the end must be
 * equal up to 1 %, and so must be descriptors and threads. Runs in the root of
 * the repository.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>
#include <exatrkx/exatrkx.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_THREADS 2
#define N_SIZES   8   /* events of as many sizes, one after the other */
#define N_KEPT    100 /* events that a context and a model are kept for */
#define MODEL     "examples/models/default.safetensors"
#define DETECTORS "examples/data/detectors.csv.gz"
#define EVENT     "examples/data/event000000001"
#define TOLERANCE 0.01

struct worker {
    pthread_t thread;
    int32_t number;
    int64_t n_events;
    const char *folder;
    etx_detector *detector;
    etx_context *context;
    etx_model *model;
    uint64_t expected[N_SIZES]; /* hash of the tracks */
};

struct usage {
    double megabytes;
    int64_t descriptors, threads;
};

static pthread_barrier_t measuring;

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "soak: %s: %s\n", what, etx_last_error());
    exit(1);
}

static int64_t n_entries(const char *path)
{
    DIR *folder = opendir(path);
    int64_t n = 0;

    require(folder != NULL, path);
    while (readdir(folder) != NULL)
        n++;
    (void)closedir(folder);
    return n;
}

static struct usage measure(void)
{
    struct usage usage;
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    require(file != NULL && fscanf(file, "%*d %ld", &pages) == 1, "statm");
    (void)fclose(file);
    usage.megabytes = (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
    usage.descriptors = n_entries("/proc/self/fd");
    usage.threads = n_entries("/proc/self/task");
    return usage;
}

static void close_objects(struct worker *worker)
{
    etx_context_free(worker->context);
    etx_model_free(worker->model);
    worker->context = NULL;
    worker->model = NULL;
}

static void open_objects(struct worker *worker)
{
    etx_context_options options;

    close_objects(worker);
    require(etx_context_options_init(&options, sizeof options) == ETX_OK,
        "options");
    options.n_threads = 1 + worker->number;
    require(etx_context_create(&worker->context, &options) == ETX_OK &&
                etx_model_load(&worker->model, MODEL) == ETX_OK,
        "context and model");
}

/* The event of the files, or the first of its hits. */
static etx_event *open_event(const struct worker *worker, int64_t size)
{
    etx_event *whole = NULL;
    etx_event *event = NULL;

    require(etx_event_read_trackml(&whole, EVENT, worker->detector) == ETX_OK,
        "reading");
    if (size == 0)
        return whole;
    require(
        etx_event_create(&event, etx_event_n_hits(whole) * size / N_SIZES,
            etx_event_hit_ids(whole), etx_event_positions(whole)) == ETX_OK &&
            etx_event_set_modules(event, etx_event_volume_ids(whole),
                etx_event_layer_ids(whole),
                etx_event_module_ids(whole)) == ETX_OK &&
            etx_event_set_cell_features(
                event, etx_event_cell_features(whole)) == ETX_OK,
        "creating");
    etx_event_free(whole);
    return event;
}

static uint64_t hash_tracks(const etx_tracks *tracks)
{
    const int64_t *offset = etx_tracks_offsets(tracks);
    const int64_t n_tracks = etx_tracks_count(tracks);
    const int32_t *hit = etx_tracks_hits(tracks);
    uint64_t hash = 1469598103934665603u + (uint64_t)n_tracks;

    for (int64_t k = 0; k < offset[n_tracks]; k++)
        hash = (hash ^ (uint64_t)hit[k]) * 1099511628211u;
    return hash;
}

static void find_one(struct worker *worker, int64_t number)
{
    const int64_t size = number % N_SIZES;
    etx_event *event = open_event(worker, size);
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_tracks *tracks = NULL;
    char path[512];
    uint64_t hash;

    require(etx_find_tracks(&tracks, worker->context, worker->model, event) ==
                ETX_OK,
        "finding");
    hash = hash_tracks(tracks);
    if (number < N_SIZES)
        worker->expected[size] = hash;
    require(hash == worker->expected[size], "other tracks than before");
    if (size == 0) {
        (void)snprintf(path, sizeof path, "%s/%d.csv", worker->folder,
            (int)worker->number);
        require(etx_tracks_write_csv(tracks, event, path) == ETX_OK &&
                    etx_evaluate(&counts, event, tracks, NULL) == ETX_OK,
            "writing and evaluating");
        (void)remove(path);
    }
    etx_tracks_free(tracks);
    etx_event_free(event);
}

/* Every thread waits while one measures. */
static void *work(void *argument)
{
    struct worker *worker = argument;

    for (int64_t k = 0; k < worker->n_events; k++) {
        if (k % N_KEPT == 0)
            open_objects(worker);
        find_one(worker, k);
        if (k == worker->n_events / 10 || k == worker->n_events - 1) {
            close_objects(worker);
            (void)pthread_barrier_wait(&measuring);
            (void)pthread_barrier_wait(&measuring);
            open_objects(worker);
        }
    }
    close_objects(worker);
    return NULL;
}

static struct usage wait_and_measure(void)
{
    struct usage usage;

    (void)pthread_barrier_wait(&measuring);
    usage = measure();
    (void)pthread_barrier_wait(&measuring);
    return usage;
}

int main(int argc, char **argv)
{
    const int64_t n_events = argc > 1 ? atoll(argv[1]) : 10000;
    char folder[] = "/tmp/exatrkx-soak-XXXXXX";
    etx_detector *detector = NULL;
    struct worker worker[N_THREADS];
    struct usage early, late;

    require(n_events >= 10 * N_THREADS * N_SIZES, "too few events");
    require(mkdtemp(folder) != NULL, folder);
    require(etx_detector_read(&detector, DETECTORS) == ETX_OK, DETECTORS);
    (void)pthread_barrier_init(&measuring, NULL, N_THREADS + 1);
    for (int32_t t = 0; t < N_THREADS; t++) {
        worker[t] = (struct worker){.number = t,
            .n_events = n_events / N_THREADS,
            .folder = folder,
            .detector = detector};
        require(pthread_create(&worker[t].thread, NULL, work, &worker[t]) == 0,
            "thread");
    }
    early = wait_and_measure();
    late = wait_and_measure();
    for (int32_t t = 0; t < N_THREADS; t++)
        (void)pthread_join(worker[t].thread, NULL);
    etx_detector_free(detector);
    (void)pthread_barrier_destroy(&measuring);
    (void)rmdir(folder);
    printf(
        "soak: %lld events; %.1f MB of memory after a tenth, %.1f in the end; "
        "%lld and %lld descriptors, %lld and %lld threads\n",
        (long long)n_events, early.megabytes, late.megabytes,
        (long long)early.descriptors, (long long)late.descriptors,
        (long long)early.threads, (long long)late.threads);
    return late.megabytes > early.megabytes * (1.0 + TOLERANCE) ||
           late.descriptors != early.descriptors ||
           late.threads != early.threads;
}
