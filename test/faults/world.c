/* world.c -- what the scenarios work on, and what they computed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenarios.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cylinders.h"
#include "io_models.h"

#define N_EVENTS   FAULTS_N_EVENTS
#define HASH_START FAULTS_HASH_START
#define shared     faults_shared

#define NODES                                                                  \
    "\"node_features\":[{\"name\":\"r\",\"scale\":1000},"                      \
    "{\"name\":\"phi\",\"scale\":3.14},{\"name\":\"z\",\"scale\":1000}]"
#define FOUR_VECTORS                                                           \
    "\"node_features\":[{\"name\":\"R\",\"scale\":1000},"                      \
    "{\"name\":\"x\",\"scale\":1000},{\"name\":\"y\",\"scale\":1000},"         \
    "{\"name\":\"z\",\"scale\":1000}]"
#define EDGES "\"edge_features\":[{\"name\":\"dphi\",\"scale\":1}]"
#define EMBEDDING(arch, options)                                               \
    "{\"schema\":1,\"embedding\":{\"arch\":\"" arch "\",\"options\":{" options \
    "}," NODES ",\"graph\":{\"radius\":0.4,\"orientation\":\"outward\"}}"
#define START EMBEDDING("mlp", "\"hidden\":[4],\"n_out\":3")
#define FILTER                                                                 \
    ",\"filter\":{\"arch\":\"edge_filter\",\"options\":{\"hidden\":[4]}"       \
    "," NODES "," EDGES ",\"cut\":0.01}"
#define GNN(arch, options)                                                     \
    ",\"gnn\":{\"arch\":\"" arch "\",\"options\":{" options "}," NODES
#define LABEL ",\"label\":{\"method\":\"best_first\",\"cut\":0.2}}"

/* Models by the option of a scenario. */
static const char *const model_text[FAULTS_N_MODELS] = {
    START FILTER GNN("interaction_network",
        "\"hidden\":4,\"n_iterations\":2") "," EDGES "}" LABEL,
    START FILTER GNN(
        "attention_gnn", "\"hidden\":4,\"n_iterations\":2") "}" LABEL,
    START FILTER GNN(
        "graph_convolution", "\"hidden\":4,\"n_iterations\":2") "}" LABEL,
    START FILTER GNN("triplet_gnn",
        "\"triplets\":{\"hidden\":4,\"n_iterations\":2}") "}" LABEL,
    START FILTER GNN("edge_pooling",
        "\"coarse\":{\"hidden\":4,\"n_iterations\":1},"
        "\"contract_cut\":0") "}" LABEL,
    START FILTER ",\"gnn\":{\"arch\":\"lorentz_network\",\"options\":{"
                 "\"hidden\":4,\"n_iterations\":2}," FOUR_VECTORS "}" LABEL,
    EMBEDDING("gravnet", "\"hidden\":4,\"n_iterations\":1,\"n_out\":3")
        FILTER LABEL,
    START "}", START FILTER "}"};
#define N_MODELS    FAULTS_N_MODELS
#define N_PIPELINES 7 /* the first of them have a graph network */
/* The stages before each stage of training. */
static const int32_t start_of_stage[] = {-1, 7, 8, 8};

struct faults_shared faults_shared;

const char faults_trainer_config[] =
    "{\"stage\":\"filter\",\"seed\":3,\"model\":{\"arch\":\"edge_filter\","
    "\"options\":{\"hidden\":[4]}," NODES "," EDGES ",\"cut\":0.1},"
    "\"schedule\":{\"steps\":20,\"learning_rate\":0.01}}";

uint64_t faults_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t faults_hash_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint64_t hash = HASH_START;
    char piece[4096];
    size_t n;

    if (file == NULL)
        return 0;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0)
        hash = faults_hash(hash, piece, n);
    (void)fclose(file);
    return hash;
}

uint64_t faults_hash_tracks(uint64_t hash, const etx_tracks *tracks)
{
    const int64_t n = etx_tracks_count(tracks);
    const int64_t *offset = etx_tracks_offsets(tracks);

    if (tracks == NULL)
        return hash;
    hash = faults_hash(hash, offset, (size_t)(n + 1) * sizeof *offset);
    return faults_hash(
        hash, etx_tracks_hits(tracks), (size_t)offset[n] * sizeof(int32_t));
}

const char *faults_path(const char *name)
{
    return io_path(name);
}

/* ---------------------------------------------------------------- set-up -- */

/* Layers by radius, 2 mm deep, so that tracks can be completed. */
static void set_modules(etx_event *event)
{
    const int64_t n = etx_event_n_hits(event);
    const float *x = etx_event_positions(event);
    scoped int32_t *volume = etx_test_alloc(n, sizeof *volume);
    scoped int32_t *layer = etx_test_alloc(n, sizeof *layer);

    for (int64_t i = 0; i < n; i++) {
        volume[i] = 8;
        layer[i] =
            8 * (int32_t)((hypotf(x[3 * i], x[3 * i + 1]) + 1.0f) / 8.0f);
    }
    ck_assert_ok(etx_event_set_modules(event, volume, layer, volume));
}

static const char detector_text[] =
    "volume_id,layer_id,module_id,cx,cy,cz,rot_xu,rot_xv,rot_xw,rot_yu,rot_yv,"
    "rot_yw,rot_zu,rot_zv,rot_zw,module_t,pitch_u,pitch_v\n"
    "8,32,8,0,0,0,1,0,0,0,1,0,0,0,1,0.15,0.05,0.05\n";

/* An event as files, with a detector. */
static void write_event(void)
{
    static const char cells[] = "hit_id,ch0,ch1,value\n7,1,2,0.5\n3,4,5,1\n";
    size_t size = 0;
    scoped char *packed = io_gzip(&size, cells, sizeof cells - 1);

    (void)io_write("e-cells.csv.gz", packed, size);
    (void)io_write_text("detector.csv", detector_text);
    (void)io_write_text("e-hits.csv",
        "hit_id,x,y,z,volume_id,layer_id,module_id\n"
        "7,32,0,1,8,32,8\n3,0,32,2,8,32,8\n9,-32,0,3,8,32,8\n");
    (void)io_write_text(
        "e-truth.csv", "hit_id,particle_id,weight\n7,5,0.5\n3,0,0\n9,5,0.5\n");
    (void)io_write_text("e-particles.csv",
        "particle_id,vx,vy,vz,px,py,pz,q,nhits\n5,0,0,0,1,1,1,-1,2\n");
    (void)io_write_text("features.csv", "0.1,0.5,-0.2\n0.3,-1,0.7\n");
}

void faults_open(void)
{
    etx_event *many[N_EVENTS];
    etx_first_pass_options first_pass;
    size_t size = 0;

    io_make_folder();
    write_event();
    free(io_model_bytes(io_model_all, &size));
    ck_assert_int_eq(rename(faults_path("made"), faults_path("all")), 0);
    for (int32_t m = 0; m < N_MODELS; m++)
        shared.model[m] = io_model_make(model_text[m]);
    for (int32_t k = 0; k < N_EVENTS; k++) {
        shared.event[k] = train_event(FAULTS_N_PARTICLES, (uint64_t)k + 1);
        set_modules(shared.event[k]);
    }
    for (int32_t k = 0; k < N_EVENTS; k++) {
        many[k] = train_event(50, (uint64_t)k);
        set_modules(many[k]);
    }
    ck_assert_ok(etx_model_learn_completion(&shared.completion, shared.model[0],
        N_EVENTS, (const etx_event *const *)many, NULL));
    ck_assert_ok(etx_first_pass_options_init(&first_pass, sizeof first_pass));
    first_pass.min_event_hits = 0;
    ck_assert_ok(
        etx_model_learn_first_pass(&shared.first_pass, shared.completion,
            N_EVENTS, (const etx_event *const *)many, &first_pass));
    ck_assert_ok(etx_model_learn_module_map(&shared.module_map, shared.model[0],
        N_EVENTS, (const etx_event *const *)many, NULL));
    for (int32_t k = 0; k < N_EVENTS; k++)
        etx_event_free(many[k]);
    ck_assert_ok(
        etx_detector_read(&shared.detector, faults_path("detector.csv")));
    ck_assert_ok(
        etx_model_save(shared.completion, faults_path("m.safetensors")));
    shared.file = io_read(faults_path("m.safetensors"), &shared.file_size);
    (void)mkdir(faults_path("cache"), 0700);
}

void faults_close(void)
{
    for (int32_t m = 0; m < N_MODELS; m++)
        etx_model_free(shared.model[m]);
    for (int32_t k = 0; k < N_EVENTS; k++)
        etx_event_free(shared.event[k]);
    etx_model_free(shared.module_map);
    etx_model_free(shared.first_pass);
    etx_model_free(shared.completion);
    etx_detector_free(shared.detector);
    free(shared.file);
    etx_test_remove(faults_path("cache"));
    io_remove_folder();
}

void faults_set_up(
    struct faults_world *world, const struct faults_scenario *scenario)
{
    memset(world, 0, sizeof *world);
    world->bench.context = train_bench_context(scenario->n_threads);
    if (scenario->target != NULL)
        (void)io_write_text(scenario->target, "the old file");
    world->option = scenario->option;
    if (scenario->set_up != NULL)
        scenario->set_up(world);
}

void faults_tear_down(struct faults_world *world)
{
    etx_trainer_free(world->out.trainer);
    etx_trainer_free(world->bench.trainer);
    etx_tracks_free(world->out.tracks);
    etx_tracks_free(world->tracks);
    etx_graph_part_free(world->out.part);
    etx_graph_part_free(world->part);
    etx_graph_free(world->out.graph);
    etx_graph_free(world->triplets);
    etx_graph_free(world->graph);
    etx_event_free(world->out.event);
    etx_event_free(world->event);
    etx_detector_free(world->out.detector);
    etx_model_free(world->out.model);
    etx_context_free(world->out.context);
    etx_context_free(world->bench.context);
    free(world->fit);
    free(world->owners);
    free(world->values);
}

void faults_make_event(struct faults_world *world)
{
    world->event = etx_test_event(etx_event_n_hits(shared.event[0]),
        etx_event_positions(shared.event[0]));
}

void faults_make_event_with_modules(struct faults_world *world)
{
    faults_make_event(world);
    set_modules(world->event);
}

void faults_make_event_with_truth(struct faults_world *world)
{
    const etx_event *event = shared.event[0];

    faults_make_event(world);
    ck_assert_ok(
        etx_event_set_truth(world->event, etx_event_particle_ids(event), NULL,
            etx_event_n_particles(event), etx_event_particles(event)));
}

const etx_model *faults_model(const struct faults_world *world)
{
    const etx_model *const learned[] = {
        shared.completion, shared.first_pass, shared.module_map};
    const int32_t m = world->option;

    return m < 0 ? learned[-1 - m] : shared.model[m < N_PIPELINES ? m : 0];
}

void faults_make_graph(struct faults_world *world)
{
    ck_assert_ok(etx_graph_build(&world->graph, world->bench.context,
        faults_model(world), shared.event[0]));
    ck_assert_int_gt(etx_graph_n_edges(world->graph), 20);
    world->values =
        etx_test_alloc(etx_graph_n_edges(world->graph), sizeof *world->values);
    world->owners =
        etx_test_alloc(etx_graph_n_nodes(world->graph), sizeof *world->owners);
}

/* With scores by which neighbours in number are linked. */
void faults_make_scored(struct faults_world *world)
{
    faults_make_graph(world);
    for (int64_t e = 0; e < etx_graph_n_edges(world->graph); e++)
        world->values[e] =
            etx_graph_dst(world->graph)[e] == etx_graph_src(world->graph)[e] + 1
                ? 0.9f
                : (float)(e % 7) / 10.0f;
    ck_assert_ok(etx_graph_set_scores(world->graph, world->values));
}

void faults_make_triplets(struct faults_world *world)
{
    faults_make_scored(world);
    ck_assert_ok(etx_graph_to_triplets(
        &world->triplets, world->graph, world->bench.context, 1 << 20));
}

void faults_make_part(struct faults_world *world)
{
    faults_make_scored(world);
    ck_assert_ok(
        etx_graph_part_create(&world->part, world->graph, world->owners, 1, 0));
}

void faults_make_tracks(struct faults_world *world)
{
    const int64_t n = etx_event_n_hits(shared.event[0]);
    const int64_t *particle = etx_event_particle_ids(shared.event[0]);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);

    /* Without their last hits, for completion. */
    for (int64_t i = 0; i < n; i++)
        label[i] = i % 11 > 7 ? -1 : (int32_t)particle[i] - 1;
    ck_assert_ok(etx_tracks_from_labels(&world->tracks, n, label));
}

void faults_make_fitted(struct faults_world *world)
{
    world->fit = new_fit_sample(FAULTS_N_FITTED, 1.0, FIT_MATERIAL);
    world->event = fit_event_of(world->fit);
    world->tracks = fit_tracks_of(world->fit);
}

void faults_write_tracks(struct faults_world *world)
{
    faults_make_tracks(world);
    ck_assert_ok(etx_tracks_write_csv(
        world->tracks, shared.event[0], faults_path("t.csv.gz")));
}

/* Graph networks by option / 8, with sections that replace its own.
 */
static const char *const networks[] = {NULL,
    "{'model': {'arch': 'attention_gnn', 'options': {'hidden': 4, "
    "'n_iterations': 2}, 'edge_features': []}}",
    "{'model': {'arch': 'graph_convolution', 'options': {'hidden': 4, "
    "'n_iterations': 2}, 'edge_features': []}}",
    "{'model': {'arch': 'triplet_gnn', 'options': {'triplets': {'hidden': 4, "
    "'n_iterations': 2}}, 'edge_features': []}}"};

/* The stage is the option, and 4 more with a cache. */
void faults_make_trainer(struct faults_world *world)
{
    const int32_t stage = world->option % 4;
    const int32_t start = start_of_stage[stage];

    for (int32_t k = 0; k < N_EVENTS; k++)
        world->bench.event[k] = shared.event[k];
    world->bench.start = start < 0 ? NULL : shared.model[start];
    train_bench_add(&world->bench, stage, networks[world->option / 8]);
    if (world->option % 8 < 4)
        return;
    etx_test_remove(faults_path("cache"));
    ck_assert_int_eq(mkdir(faults_path("cache"), 0700), 0);
    ck_assert_ok(
        etx_trainer_set_cache(world->bench.trainer, faults_path("cache")));
}

void faults_make_rank(struct train_bench *bench, int32_t option)
{
    const int32_t stage = option % 4;

    bench->context = train_bench_context(1);
    bench->start = shared.model[start_of_stage[stage]];
    train_bench_create(bench, stage, NULL);
}

void faults_make_stepped(struct faults_world *world)
{
    faults_make_trainer(world);
    train_bench_steps(world->bench.trainer, 2);
}

/* Validation, unlike a step, starts no thread that reads ahead. */
void faults_make_cached(struct faults_world *world)
{
    faults_make_trainer(world);
    (void)train_bench_validate(world->bench.trainer);
    etx_trainer_free(world->bench.trainer);
    train_bench_add(&world->bench, world->option % 4, NULL);
    ck_assert_ok(
        etx_trainer_set_cache(world->bench.trainer, faults_path("cache")));
}

void faults_make_checkpoint(struct faults_world *world)
{
    faults_make_stepped(world);
    ck_assert_ok(etx_trainer_save_checkpoint(
        world->bench.trainer, faults_path("t.checkpoint")));
    train_bench_steps(world->bench.trainer, 1);
}

/* ------------------------------------------------------------------ bits -- */

static uint64_t hash_graph(uint64_t hash, const etx_graph *graph)
{
    const size_t n = (size_t)etx_graph_n_edges(graph);

    if (graph == NULL)
        return hash;
    hash = faults_hash(hash, etx_graph_src(graph), n * sizeof(int32_t));
    hash = faults_hash(hash, etx_graph_dst(graph), n * sizeof(int32_t));
    if (etx_graph_scores(graph) != NULL)
        hash = faults_hash(hash, etx_graph_scores(graph), n * sizeof(float));
    return faults_hash(hash, &n, sizeof n);
}

static uint64_t hash_event(uint64_t hash, const etx_event *event)
{
    const size_t n = (size_t)etx_event_n_hits(event);

    if (event == NULL)
        return hash;
    hash = faults_hash(hash, etx_event_hit_ids(event), n * sizeof(int64_t));
    hash = faults_hash(hash, etx_event_positions(event), 3 * n * sizeof(float));
    if (etx_event_cell_features(event) != NULL)
        hash = faults_hash(
            hash, etx_event_cell_features(event), 9 * n * sizeof(float));
    if (etx_event_particle_ids(event) != NULL)
        hash = faults_hash(
            hash, etx_event_particle_ids(event), n * sizeof(int64_t));
    if (etx_event_layer_ids(event) != NULL)
        hash =
            faults_hash(hash, etx_event_layer_ids(event), n * sizeof(int32_t));
    return faults_hash(hash, &n, sizeof n);
}

/* A trainer goes on as one that never failed. */
static uint64_t hash_trainer(uint64_t hash, etx_trainer *trainer)
{
    const uint64_t state = etx_trainer_hash(trainer);

    if (trainer == NULL)
        return hash;
    return faults_hash(hash, &state, sizeof state);
}

static uint64_t hash_model(uint64_t hash, const etx_model *model)
{
    const char *config = etx_model_describe(model);
    uint64_t file;

    if (model == NULL)
        return hash;
    hash = faults_hash(hash, config, strlen(config));
    ck_assert_ok(etx_model_save(model, faults_path("hashed")));
    file = faults_hash_file(faults_path("hashed"));
    return faults_hash(hash, &file, sizeof file);
}

uint64_t faults_bits(
    struct faults_world *world, const struct faults_scenario *scenario)
{
    uint64_t hash = faults_hash(HASH_START, &world->out.hash, 8);

    hash = faults_hash(hash, &world->out.counts, sizeof world->out.counts);
    hash = hash_model(hash, world->out.model);
    hash = hash_event(hash, world->out.event);
    hash = hash_event(hash, world->event);
    hash = hash_graph(hash, world->out.graph);
    hash = hash_graph(hash, world->graph);
    hash = hash_graph(hash, world->triplets);
    hash = hash_graph(hash, etx_graph_part_graph(world->out.part));
    hash = faults_hash_tracks(hash, world->out.tracks);
    if (world->bench.trainer != NULL)
        train_bench_steps(world->bench.trainer, 2);
    hash = hash_trainer(hash, world->bench.trainer);
    hash = hash_trainer(hash, world->out.trainer);
    if (world->owners != NULL) {
        hash = faults_hash(hash, world->owners,
            (size_t)etx_graph_n_nodes(world->graph) * sizeof(int32_t));
        hash = faults_hash(hash, world->values,
            (size_t)etx_graph_n_edges(world->graph) * sizeof(float));
    }
    if (scenario->target != NULL) {
        const uint64_t file = faults_hash_file(faults_path(scenario->target));
        hash = faults_hash(hash, &file, sizeof file);
    }
    return hash;
}
