/* test_stop_files.c -- calls without a context end soon after the callback of
 * their thread says so: readers and writers of large files, learning,
 * evaluation, graphs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include "base/constants.h"
#include "base/random.h"
#include "io_models.h"
#include "stop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N_LAYERS    10
#define N_PARTICLES 20000
#define N_HITS      (N_PARTICLES * N_LAYERS)
#define N_MODULES   50 /* of a layer */
#define N_EDGES     3000000
#define N_EVENTS    4 /* to learn from */

/* An event as files and in memory, and what the entries compute from it. */
struct work {
    char *hits, *cells, *truth, *particles, *features, *tracks_csv;
    char *modules, *model_file;
    char *bytes; /* [n_bytes] of the model file */
    size_t n_bytes;
    etx_detector *detector;
    etx_event *event;
    etx_tracks *tracks;
    etx_model *model, *completed;
    etx_graph *graph;
    const etx_event *events[N_EVENTS];
    int64_t *hit_id;
    float *position;
    int32_t *src, *dst, *owner;
};

/* -------------------------------------------------------------- entries -- */

static etx_status run_read_event(void *argument)
{
    const struct work *work = argument;
    scoped_event *event = NULL;

    return etx_event_read_trackml_files(&event, work->hits, work->cells,
        work->truth, work->particles, work->detector);
}

static etx_status run_read_prefix(void *argument)
{
    const struct work *work = argument;
    scoped_event *event = NULL;

    return etx_event_read_trackml(&event, io_path("e"), work->detector);
}

static etx_status run_read_features(void *argument)
{
    const struct work *work = argument;
    scoped_event *event = NULL;

    return etx_event_read_features(
        &event, work->features, (const float[]){1.0f, 1.0f, 1.0f});
}

static etx_status run_read_detector(void *argument)
{
    const struct work *work = argument;
    scoped_detector *detector = NULL;

    return etx_detector_read(&detector, work->modules);
}

static etx_status run_write_tracks(void *argument)
{
    const struct work *work = argument;

    return etx_tracks_write_csv(work->tracks, work->event, io_path("t.csv.gz"));
}

static etx_status run_read_tracks(void *argument)
{
    const struct work *work = argument;
    scoped_tracks *tracks = NULL;

    return etx_tracks_read_csv(&tracks, work->event, work->tracks_csv);
}

static etx_status run_load_model(void *argument)
{
    const struct work *work = argument;
    scoped_model *model = NULL;

    return etx_model_load(&model, work->model_file);
}

static etx_status run_load_bytes(void *argument)
{
    const struct work *work = argument;
    scoped_model *model = NULL;

    return etx_model_load_memory(&model, work->bytes, work->n_bytes);
}

static etx_status run_save_model(void *argument)
{
    const struct work *work = argument;

    return etx_model_save(work->model, io_path("saved"));
}

static etx_status run_create_event(void *argument)
{
    const struct work *work = argument;
    scoped_event *event = NULL;

    return etx_event_create(&event, N_HITS, work->hit_id, work->position);
}

static etx_status run_evaluate(void *argument)
{
    const struct work *work = argument;
    etx_evaluation_counts counts = {.struct_size = sizeof counts};

    return etx_evaluate(&counts, work->event, work->tracks, NULL);
}

static etx_status run_evaluate_binned(void *argument)
{
    const struct work *work = argument;
    const double edges[] = {0.0, 100.0};
    int64_t total = 0;
    int64_t matched = 0;

    return etx_evaluate_binned(&total, &matched, work->event, work->tracks,
        ETX_VARIABLE_PT, 1, edges, NULL);
}

static etx_status run_match(void *argument)
{
    const struct work *work = argument;
    scoped int32_t *particle = etx_test_alloc(N_PARTICLES, sizeof *particle);

    return etx_match(particle, NULL, work->event, work->tracks, NULL);
}

static etx_status run_check(void *argument)
{
    const struct work *work = argument;
    char text[1024];

    return etx_event_check(
        text, sizeof text, work->event, work->detector, work->completed);
}

static etx_status run_learn_completion(void *argument)
{
    const struct work *work = argument;
    scoped_model *model = NULL;

    return etx_model_learn_completion(
        &model, work->model, N_EVENTS, work->events, NULL);
}

static etx_status run_learn_first_pass(void *argument)
{
    const struct work *work = argument;
    scoped_model *model = NULL;

    return etx_model_learn_first_pass(
        &model, work->completed, N_EVENTS, work->events, NULL);
}

static etx_status run_learn_module_map(void *argument)
{
    const struct work *work = argument;
    scoped_model *model = NULL;

    return etx_model_learn_module_map(
        &model, work->model, N_EVENTS, work->events, NULL);
}

static etx_status run_from_edges(void *argument)
{
    const struct work *work = argument;
    scoped_graph *graph = NULL;

    return etx_graph_from_edges(
        &graph, N_HITS, N_EDGES, work->src, work->dst, NULL, NULL);
}

static etx_status run_partition(void *argument)
{
    struct work *work = argument;

    return etx_graph_partition(
        work->owner, work->graph, work->event, 64, ETX_PARTITION_KD);
}

static etx_status run_create_part(void *argument)
{
    const struct work *work = argument;
    scoped_part *part = NULL;

    return etx_graph_part_create(&part, work->graph, work->owner, 64, 3);
}

static const struct stop_entry entries[] = {
    {"etx_event_read_trackml_files", run_read_event},
    {"etx_event_read_trackml", run_read_prefix},
    {"etx_event_read_features", run_read_features},
    {"etx_detector_read", run_read_detector},
    {"etx_tracks_write_csv", run_write_tracks},
    {"etx_tracks_read_csv", run_read_tracks},
    {"etx_model_save", run_save_model},
    {"etx_model_load", run_load_model},
    {"etx_model_load_memory", run_load_bytes},
    {"etx_event_create", run_create_event},
    {"etx_event_check", run_check},
    {"etx_evaluate", run_evaluate},
    {"etx_evaluate_binned", run_evaluate_binned},
    {"etx_match", run_match},
    {"etx_model_learn_completion", run_learn_completion},
    {"etx_model_learn_first_pass", run_learn_first_pass},
    {"etx_model_learn_module_map", run_learn_module_map},
    {"etx_graph_from_edges", run_from_edges},
    {"etx_graph_partition", run_partition},
    {"etx_graph_part_create", run_create_part},
};

/* ---------------------------------------------------------------- files -- */

static FILE *open_file(char **path, const char *name)
{
    FILE *file;

    *path = strdup(io_path(name));
    file = fopen(*path, "w");
    ck_assert_ptr_nonnull(file);
    return file;
}

/* Particle p on layer l: a helix from the beam line. */
static double find_bend(int p)
{
    return 1e-3 * ((p % 200) - 99.5) / 100.0;
}

static void find_hit(float *position, int p, int l)
{
    const double r = 30.0 + 90.0 * l;
    const double phi =
        2.0 * ETX_PI * p / N_PARTICLES + asin(0.5 * r * find_bend(p));

    position[0] = (float)(r * cos(phi));
    position[1] = (float)(r * sin(phi));
    position[2] = (float)(r * ((p * 37 % 1000) / 500.0 - 1.0));
}

static int find_module(int p)
{
    return p * N_MODULES / N_PARTICLES;
}

/* A modules's row of numbers; the channels of a cell are half a millimetre. */
#define MODULE "%d,%d,%d,0,0,0,1,0,0,0,1,0,0,0,1,0.15,0.5,0.5\n"

static void write_detector(char **path, const char *name, int n_modules)
{
    FILE *file = open_file(path, name);

    fputs("volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,rot_yu,"
          "rot_yv,rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,pitch_v\n",
        file);
    for (int l = 0; l < N_LAYERS; l++)
        for (int m = n_modules - 1; m >= 0; m--)
            fprintf(file, MODULE, 8, l, m);
    ck_assert_int_eq(fclose(file), 0);
}

static void write_event(struct work *work)
{
    FILE *hits = open_file(&work->hits, "e-hits.csv");
    FILE *cells = open_file(&work->cells, "e-cells.csv");
    FILE *truth = open_file(&work->truth, "e-truth.csv");
    FILE *features = open_file(&work->features, "features.csv");

    fputs("hit_id,x,y,z,volume_id,layer_id,module_id\n", hits);
    fputs("hit_id,ch0,ch1,value\n", cells);
    fputs("hit_id,particle_id,weight\n", truth);
    for (int k = 0; k < N_HITS; k++) {
        const int p = (int)((int64_t)k * 7919 % N_HITS / N_LAYERS);
        const int l = (int)((int64_t)k * 7919 % N_HITS % N_LAYERS);
        float at[3];

        find_hit(at, p, l);
        fprintf(hits, "%lld,%.6g,%.6g,%.6g,8,%d,%d\n",
            (long long)work->hit_id[k], (double)at[0], (double)at[1],
            (double)at[2], l, find_module(p));
        for (int c = 0; c < 3; c++)
            fprintf(cells, "%lld,%d,%d,%.4g\n", (long long)work->hit_id[k], c,
                p % 100, 0.1 * (c + 1));
        fprintf(truth, "%lld,%lld,1e-6\n", (long long)work->hit_id[k],
            ((long long)p + 1) << 30);
        fprintf(features, "%.6g,%.6g,%.6g,%d\n",
            hypot((double)at[0], (double)at[1]),
            atan2((double)at[1], (double)at[0]), (double)at[2], l);
    }
    ck_assert_int_eq(fclose(hits), 0);
    ck_assert_int_eq(fclose(cells), 0);
    ck_assert_int_eq(fclose(truth), 0);
    ck_assert_int_eq(fclose(features), 0);
}

static void write_particles(struct work *work)
{
    FILE *file = open_file(&work->particles, "e-particles.csv");

    fputs("particle_id,vx,vy,vz,px,py,pz,q,nhits\n", file);
    for (int p = 0; p < N_PARTICLES; p++) {
        const double pt = 6e-4 / fabs(find_bend(p)); /* in 2 T */

        fprintf(file, "%lld,0,0,0,%.6g,%.6g,0.1,%d,%d\n",
            ((long long)p + 1) << 30, pt * cos(p), pt * sin(p),
            find_bend(p) > 0.0 ? 1 : -1, N_LAYERS);
    }
    ck_assert_int_eq(fclose(file), 0);
}

/* Ids that are neither dense nor in order, and edges in no order. */
static void draw(struct work *work)
{
    struct etx_random random;

    etx_random_init(&random, 1, 0, 0);
    work->hit_id = etx_test_alloc(N_HITS, sizeof *work->hit_id);
    work->position = etx_test_alloc(3 * N_HITS, sizeof *work->position);
    for (int64_t k = 0; k < N_HITS; k++)
        work->hit_id[k] =
            1 + k +
            N_HITS * (int64_t)etx_random_below(&random, UINT64_C(1) << 40);
    work->src = etx_test_alloc(N_EDGES, sizeof *work->src);
    work->dst = etx_test_alloc(N_EDGES, sizeof *work->dst);
    for (int64_t e = 0; e < N_EDGES; e++) {
        work->src[e] = (int32_t)etx_random_below(&random, N_HITS);
        work->dst[e] = (int32_t)etx_random_below(&random, N_HITS);
    }
    work->owner = etx_test_alloc(N_HITS, sizeof *work->owner);
}

static const char large_model[] =
    "{'schema': 1, 'embedding': {'arch': 'mlp', 'options': {'hidden': [2048, "
    "2048, 2048, 2048], 'n_out': 3}, 'node_features': [{'name': 'r', 'scale': "
    "1000.0}, {'name': 'z', 'scale': 1000.0}], 'graph': {'radius': 0.1, "
    "'orientation': 'outward'}}}";

static void open_work(struct work *work)
{
    scoped int32_t *label = etx_test_alloc(N_HITS, sizeof *label);
    scoped char *geometry = NULL;

    draw(work);
    write_detector(&geometry, "geometry.csv", N_MODULES);
    write_detector(&work->modules, "modules.csv", 20000);
    write_event(work);
    write_particles(work);
    ck_assert_ok(etx_detector_read(&work->detector, geometry));
    ck_assert_ok(etx_event_read_trackml_files(&work->event, work->hits,
        work->cells, work->truth, work->particles, work->detector));
    for (int e = 0; e < N_EVENTS; e++)
        work->events[e] = work->event;
    for (int64_t i = 0; i < N_HITS; i++)
        label[i] = (int32_t)(i * 7919 % N_HITS / N_LAYERS);
    ck_assert_ok(etx_tracks_from_labels(&work->tracks, N_HITS, label));
    work->tracks_csv = strdup(io_path("tracks.csv.gz"));
    ck_assert_ok(
        etx_tracks_write_csv(work->tracks, work->event, work->tracks_csv));
    work->model = io_model_make(large_model);
    work->model_file = strdup(io_path("model"));
    ck_assert_ok(etx_model_save(work->model, work->model_file));
    work->bytes = io_read(work->model_file, &work->n_bytes);
    ck_assert_ok(etx_model_learn_completion(
        &work->completed, work->model, 1, work->events, NULL));
    ck_assert_ok(etx_graph_from_edges(
        &work->graph, N_HITS, N_EDGES, work->src, work->dst, NULL, NULL));
    ck_assert_ok(etx_graph_partition(
        work->owner, work->graph, work->event, 64, ETX_PARTITION_KD));
}

static void close_work(struct work *work)
{
    char *const paths[] = {work->hits, work->cells, work->truth,
        work->particles, work->features, work->tracks_csv, work->modules,
        work->model_file, work->bytes};

    for (int k = 0; k < ROWS(paths); k++)
        free(paths[k]);
    etx_graph_free(work->graph);
    etx_model_free(work->completed);
    etx_model_free(work->model);
    etx_tracks_free(work->tracks);
    etx_event_free(work->event);
    etx_detector_free(work->detector);
    free(work->hit_id);
    free(work->position);
    free(work->src);
    free(work->dst);
    free(work->owner);
}

IO_TEST(test_stop_files)
{
    struct work work = {0};

    open_work(&work);
    etx_set_cancel(stop_is_late, NULL);
    stop_check(entries, ROWS(entries), &work, 1);
    etx_set_cancel(NULL, NULL);
    close_work(&work);
}
