/* scenarios.c -- one call of every public function that can fail.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenarios.h"

#include <exatrkx/dist.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/status.h"
#include "interpose.h"

#define N_PARTICLES FAULTS_N_PARTICLES
#define N_EVENTS    FAULTS_N_EVENTS
#define HASH_START  FAULTS_HASH_START
#define shared      faults_shared

/* ----------------------------------------------------------------- calls -- */

#define CALL(name) static etx_status name(struct faults_world *world)

/* What the call does next to its function must not fail: Check allocates. */
#define SPARED(...)                                                            \
    do {                                                                       \
        faults_spare();                                                        \
        __VA_ARGS__;                                                           \
        faults_spare_end();                                                    \
    } while (0)

CALL(create_context)
{
    etx_context_options options = {.struct_size = sizeof options};

    SPARED(ck_assert_ok(etx_context_options_init(&options, sizeof options)));
    options.n_threads = world->option;
    return etx_context_create(&world->out.context, &options);
}

/* option: a model of all stages, or with tables. */
CALL(load_model)
{
    return etx_model_load(&world->out.model,
        faults_path(world->option ? "all" : "m.safetensors"));
}

CALL(load_model_memory)
{
    return etx_model_load_memory(
        &world->out.model, shared.file, shared.file_size);
}

CALL(save_model)
{
    (void)world;
    return etx_model_save(shared.completion, faults_path("saved.safetensors"));
}

CALL(learn_completion)
{
    const etx_event *const events[] = {
        shared.event[0], shared.event[1], shared.event[2]};

    return etx_model_learn_completion(
        &world->out.model, shared.model[0], N_EVENTS, events, NULL);
}

CALL(learn_first_pass)
{
    const etx_event *const events[] = {
        shared.event[0], shared.event[1], shared.event[2]};
    etx_first_pass_options options = {.struct_size = sizeof options};

    SPARED(ck_assert_ok(etx_first_pass_options_init(&options, sizeof options)));
    return etx_model_learn_first_pass(
        &world->out.model, shared.completion, N_EVENTS, events, &options);
}

CALL(learn_module_map)
{
    const etx_event *const events[] = {
        shared.event[0], shared.event[1], shared.event[2]};

    return etx_model_learn_module_map(
        &world->out.model, shared.model[0], N_EVENTS, events, NULL);
}

CALL(find_long_tracks)
{
    return etx_find_long_tracks(&world->out.tracks, world->bench.context,
        shared.first_pass, shared.event[0], NULL);
}

CALL(build_module_map)
{
    return etx_graph_build_module_map(&world->out.graph, world->bench.context,
        shared.module_map, shared.event[0], INT32_MAX);
}

CALL(read_detector)
{
    return etx_detector_read(&world->out.detector, faults_path("detector.csv"));
}

CALL(read_event)
{
    return etx_event_read_trackml(
        &world->out.event, faults_path("e"), shared.detector);
}

CALL(read_event_files)
{
    char path[4][512];
    static const char *const name[] = {
        "e-hits.csv", "e-cells.csv.gz", "e-truth.csv", "e-particles.csv"};

    for (int32_t f = 0; f < 4; f++)
        (void)snprintf(path[f], sizeof path[f], "%s", faults_path(name[f]));
    return etx_event_read_trackml_files(
        &world->out.event, path[0], path[1], path[2], path[3], shared.detector);
}

CALL(read_features)
{
    static const float scales[] = {1000.0f, 3.14f, 1000.0f};

    return etx_event_read_features(
        &world->out.event, faults_path("features.csv"), scales);
}

/* With ids that leave most numbers out. */
CALL(create_event)
{
    const int64_t n = etx_event_n_hits(shared.event[0]);
    int64_t id[FAULTS_MAX_HITS];

    for (int64_t i = 0; i < n; i++)
        id[i] = INT64_MAX - (i << 40);
    return etx_event_create(
        &world->out.event, n, id, etx_event_positions(shared.event[0]));
}

CALL(set_features)
{
    return etx_event_set_features(
        world->event, 3, etx_event_positions(world->event));
}

CALL(set_modules_again)
{
    const int32_t *layer = etx_event_layer_ids(shared.event[0]);

    return etx_event_set_modules(world->event, layer, layer, layer);
}

CALL(set_truth)
{
    const etx_event *event = shared.event[0];

    return etx_event_set_truth(world->event, etx_event_particle_ids(event),
        NULL, etx_event_n_particles(event), etx_event_particles(event));
}

CALL(set_shared_hits)
{
    const etx_event *event = world->event;
    const int64_t id = etx_event_particles(event)[0].id;
    int32_t hit = 0;

    while (etx_event_particle_ids(event)[hit] == 0 ||
           etx_event_particle_ids(event)[hit] == id)
        hit++;
    return etx_event_set_shared_hits(world->event, 1, &hit, &id);
}

CALL(set_cells)
{
    static const int32_t hit[] = {0, 0, 0}, channel[] = {1, 2, 3};
    static const float value[] = {1.0f, 2.0f, 0.5f};

    return etx_event_set_cells(
        world->event, 3, hit, channel, channel, value, shared.detector);
}

CALL(set_cell_features)
{
    float values[9 * FAULTS_MAX_HITS] = {1.0f};

    return etx_event_set_cell_features(world->event, values);
}

CALL(set_cluster_positions)
{
    float values[6 * FAULTS_MAX_HITS] = {1.0f};

    return etx_event_set_cluster_positions(world->event, values);
}

CALL(find_tracks)
{
    return etx_find_tracks(&world->out.tracks, world->bench.context,
        faults_model(world), shared.event[0]);
}

CALL(find_batch)
{
    etx_tracks *tracks[N_EVENTS] = {NULL};
    const etx_status status =
        etx_find_tracks_batch(tracks, world->bench.context, faults_model(world),
            N_EVENTS, (const etx_event *const *)shared.event);

    for (int32_t k = 0; k < N_EVENTS; k++) {
        SPARED(ck_assert((tracks[k] != NULL) == (status == ETX_OK)));
        world->out.hash = faults_hash_tracks(world->out.hash, tracks[k]);
        etx_tracks_free(tracks[k]);
    }
    return status;
}

CALL(embed)
{
    float points[3 * FAULTS_MAX_HITS] = {0.0f};
    int64_t n_dim = 0;
    const etx_status status = etx_embed(&n_dim, points, 3 * FAULTS_MAX_HITS,
        world->bench.context, shared.model[0], shared.event[0]);

    if (status == ETX_OK)
        world->out.hash = faults_hash(HASH_START, points, sizeof points);
    return status;
}

CALL(build)
{
    return etx_graph_build(&world->out.graph, world->bench.context,
        shared.model[0], shared.event[0]);
}

CALL(filter)
{
    return etx_graph_filter(&world->out.graph, world->graph,
        world->bench.context, shared.model[0], shared.event[0]);
}

CALL(score)
{
    return etx_graph_score(world->graph, world->bench.context,
        faults_model(world), shared.event[0]);
}

CALL(label)
{
    etx_label_options options;

    SPARED(ck_assert_ok(etx_label_options_init(&options, sizeof options)));
    options.method = world->option;
    options.cut = 0.2f;
    options.max_curvature_change = 5.0f;
    options.max_polar_change = 0.5f;
    return etx_graph_tracks(&world->out.tracks, world->graph,
        world->bench.context, shared.event[0], &options);
}

CALL(complete)
{
    return etx_complete_tracks(&world->out.tracks, world->tracks,
        world->bench.context, shared.completion, shared.event[0], NULL);
}

/* option: the orientation, and 4 more with the nearest 5, 8 more at any
 * distance. */
CALL(search)
{
    const etx_event *event = shared.event[0];
    etx_graph_options options;

    SPARED(ck_assert_ok(etx_graph_options_init(&options, sizeof options)));
    options.radius = 200.0f;
    options.orientation = world->option % 4;
    options.max_neighbours = world->option >= 4 ? 5 : 0;
    return (world->option >= 8 ? etx_graph_build_knn : etx_graph_build_radius)(
        &world->out.graph, world->bench.context, etx_event_n_hits(event), 3,
        etx_event_positions(event), event, &options);
}

CALL(from_edges)
{
    return etx_graph_from_edges(&world->out.graph,
        etx_graph_n_nodes(world->graph), etx_graph_n_edges(world->graph),
        etx_graph_dst(world->graph), etx_graph_src(world->graph),
        etx_graph_scores(world->graph), NULL);
}

CALL(set_scores)
{
    return etx_graph_set_scores(world->graph, world->values);
}

CALL(set_edge_features)
{
    return etx_graph_set_edge_features(world->graph, 1, world->values);
}

CALL(to_triplets)
{
    return etx_graph_to_triplets(
        &world->out.graph, world->graph, world->bench.context, 1 << 20);
}

CALL(score_triplets)
{
    return etx_graph_score_triplets(world->triplets, world->graph,
        world->bench.context, faults_model(world), shared.event[0]);
}

CALL(partition)
{
    return etx_graph_partition(
        world->owners, world->graph, shared.event[0], 3, world->option);
}

CALL(create_part)
{
    return etx_graph_part_create(
        &world->out.part, world->graph, world->owners, 1, 0);
}

static etx_status swap(void *user, float *received, const int64_t *n_received,
    const float *sent, const int64_t *n_sent)
{
    (void)user;
    (void)n_sent;
    if (n_received[0] > 0)
        memcpy(received, sent, (size_t)n_received[0] * sizeof *sent);
    return ETX_OK;
}

CALL(score_part)
{
    const etx_part_exchange exchange = {
        .struct_size = sizeof exchange, .swap = swap};

    return etx_graph_part_score(world->values, world->part,
        world->bench.context, shared.model[0], shared.event[0], &exchange);
}

CALL(evaluate)
{
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    const etx_status status =
        etx_evaluate(&counts, shared.event[0], world->tracks, NULL);

    if (status == ETX_OK)
        world->out.counts = counts;
    return status;
}

CALL(evaluate_binned)
{
    static const double edges[] = {0.0, 0.5, 1.0, 5.0};
    int64_t n[6] = {0};
    const etx_status status = etx_evaluate_binned(n, n + 3, shared.event[0],
        world->tracks, ETX_VARIABLE_PT, 3, edges, NULL);

    world->out.hash = status == ETX_OK ? faults_hash(1, n, sizeof n) : 0;
    return status;
}

CALL(match)
{
    int32_t particle[N_PARTICLES] = {0};
    uint8_t matched[N_PARTICLES] = {0};
    const etx_status status =
        etx_match(particle, matched, shared.event[0], world->tracks, NULL);

    if (status == ETX_OK)
        world->out.hash = faults_hash(
            faults_hash(1, particle, sizeof particle), matched, sizeof matched);
    return status;
}

/* With labels that leave most numbers out. */
CALL(from_labels)
{
    const int64_t n = etx_event_n_hits(shared.event[0]);
    int32_t label[FAULTS_MAX_HITS];

    for (int64_t i = 0; i < n; i++)
        label[i] = etx_event_layer_ids(shared.event[0])[i] << 20;
    return etx_tracks_from_labels(&world->out.tracks, n, label);
}

CALL(from_lists)
{
    static const int64_t offsets[] = {0, 4, 7};
    static const int32_t hits[] = {0, 1, 2, 3, 2, 3, 9};

    return etx_tracks_from_lists(&world->out.tracks,
        etx_event_n_hits(shared.event[0]), 2, offsets, hits);
}

CALL(select_tracks)
{
    static const uint8_t keep[N_PARTICLES] = {1, 0, 1};

    return etx_tracks_select(&world->out.tracks, world->tracks, keep, NULL);
}

CALL(resolve_tracks)
{
    static const etx_track_parameters parameters[N_PARTICLES];

    return etx_tracks_resolve(
        &world->out.tracks, world->tracks, parameters, NULL);
}

/* What outputs hold before a call that leaves them when it fails. */
#define UNTOUCHED 0x5a

static void assert_untouched(const void *output, size_t size)
{
    const unsigned char *const bytes = output;

    for (size_t i = 0; i < size; i++)
        if (bytes[i] != UNTOUCHED)
            ck_abort_msg("byte %zu of an output was changed", i);
}

CALL(fit_tracks)
{
    etx_track_parameters parameters[FAULTS_N_FITTED];
    uint8_t is_outlier[FAULTS_N_FITTED * FIT_N_LAYERS];
    etx_fit_options options;
    etx_status status;

    memset(parameters, UNTOUCHED, sizeof parameters);
    memset(is_outlier, UNTOUCHED, sizeof is_outlier);
    SPARED(ck_assert_ok(etx_fit_options_init(&options, sizeof options)));
    options.field = FIT_FIELD;
    status = etx_fit_tracks(parameters, is_outlier, world->tracks,
        world->bench.context, NULL, world->event, &world->fit->detector,
        &options);
    if (status != ETX_OK) {
        SPARED(assert_untouched(parameters, sizeof parameters));
        SPARED(assert_untouched(is_outlier, sizeof is_outlier));
        return status;
    }
    SPARED(ck_assert_int_gt(parameters[0].n_degrees, 0));
    world->out.hash =
        faults_hash(faults_hash(HASH_START, parameters, sizeof parameters),
            is_outlier, sizeof is_outlier);
    return status;
}

CALL(write_csv)
{
    return etx_tracks_write_csv(
        world->tracks, shared.event[0], faults_path("out.csv"));
}

CALL(write_gzip)
{
    return etx_tracks_write_csv(
        world->tracks, shared.event[0], faults_path("out.csv.gz"));
}

CALL(read_csv)
{
    return etx_tracks_read_csv(
        &world->out.tracks, shared.event[0], faults_path("t.csv.gz"));
}

CALL(create_trainer)
{
    return etx_trainer_create(&world->out.trainer, world->bench.context,
        faults_trainer_config, shared.model[7]);
}

CALL(add_event)
{
    return etx_trainer_add_event(world->bench.trainer, shared.event[1], 0);
}

CALL(step)
{
    etx_training_report report = {.struct_size = sizeof report};

    return etx_trainer_step(&report, world->bench.trainer);
}

CALL(validate)
{
    etx_training_report report = {.struct_size = sizeof report};

    return etx_trainer_validate(&report, world->bench.trainer);
}

CALL(save_checkpoint)
{
    return etx_trainer_save_checkpoint(
        world->bench.trainer, faults_path("saved.checkpoint"));
}

CALL(load_checkpoint)
{
    return etx_trainer_load_checkpoint(
        world->bench.trainer, faults_path("t.checkpoint"));
}

CALL(trained_model)
{
    return etx_trainer_model(&world->out.model, world->bench.trainer);
}

/* ------------------------------------------------------------- two ranks -- */

#define N_RANKS 2

struct rank {
    etx_dist *dist;
    struct train_bench bench; /* of its own */
    etx_graph *graph;
    const struct faults_world *world;
    etx_status status;
    char message[256];
};

/* Both ranks, each on a thread. The status and the message are of the rank
 * which failed on its own, if there is one. */
static etx_status run_ranks(struct rank *rank, void *(*run)(void *))
{
    pthread_t other;
    int32_t r;

    SPARED(ck_assert_int_eq(pthread_create(&other, NULL, run, &rank[1]), 0));
    (void)run(&rank[0]);
    SPARED(ck_assert_int_eq(pthread_join(other, NULL), 0));
    r = rank[0].status == ETX_OK || rank[0].status == ETX_ERR_RANK;
    etx_set_last_error(rank[r].message);
    return rank[r].status;
}

static void *note(struct rank *rank, etx_status status)
{
    rank->status = status;
    (void)snprintf(rank->message, sizeof rank->message, "%s", etx_last_error());
    if (status != ETX_OK)
        etx_dist_give_up(rank->dist);
    return NULL;
}

static void *score_rank(void *argument)
{
    struct rank *rank = argument;

    return note(
        rank, etx_dist_graph_score(rank->graph, rank->dist, rank->bench.context,
                  shared.model[0], shared.event[0], ETX_PARTITION_PHI));
}

static etx_status copy_graph(etx_graph **out, const etx_graph *graph)
{
    return etx_graph_from_edges(out, etx_graph_n_nodes(graph),
        etx_graph_n_edges(graph), etx_graph_src(graph), etx_graph_dst(graph),
        etx_graph_scores(graph), NULL);
}

CALL(score_ranks)
{
    etx_dist *dist[N_RANKS] = {NULL};
    struct rank rank[N_RANKS] = {{.graph = NULL}};
    etx_status status = etx_dist_open_threads(dist, N_RANKS, NULL);

    if (status != ETX_OK)
        return status;
    faults_spare();
    for (int32_t r = 0; r < N_RANKS; r++) {
        rank[r].dist = dist[r];
        rank[r].bench.context = train_bench_context(1);
        ck_assert_ok(copy_graph(&rank[r].graph, world->graph));
    }
    faults_spare_end();
    status = run_ranks(rank, score_rank);
    faults_spare();
    for (int32_t r = 0; r < N_RANKS; r++) {
        if (status == ETX_OK)
            world->out.hash =
                faults_hash(world->out.hash, etx_graph_scores(rank[r].graph),
                    (size_t)etx_graph_n_edges(world->graph) * sizeof(float));
        etx_graph_free(rank[r].graph);
        etx_context_free(rank[r].bench.context);
        etx_dist_close(dist[r]);
    }
    faults_spare_end();
    return status;
}

/* A team whose ranks have their own event, or parts of the same events. */
static etx_status join(struct rank *rank)
{
    etx_trainer *trainer = rank->bench.trainer;
    const int32_t is_parts = rank->world->option >= FAULTS_PARTS;
    const int32_t r = etx_dist_rank(rank->dist);
    etx_status status = ETX_OK;
    etx_team team = {.struct_size = sizeof team};

    if (is_parts)
        ETX_CHECK(
            etx_dist_trainer_set_parts(trainer, rank->dist, ETX_PARTITION_PHI));
    else
        ETX_CHECK(etx_dist_team(&team, rank->dist));
    if (!is_parts)
        ETX_CHECK(etx_trainer_set_team(trainer, &team));
    for (int32_t k = 0; k < N_EVENTS; k++) {
        const etx_event *event = shared.event[k];
        const int32_t validates = k == N_EVENTS - 1;

        ETX_CHECK(is_parts
                      ? etx_trainer_add_event(trainer, event, validates)
                      : etx_trainer_add_event_of_rank(trainer,
                            k % N_RANKS == r ? event : NULL,
                            etx_event_n_hits(event), k % N_RANKS, validates));
    }
done:
    return status;
}

static void *train_rank(void *argument)
{
    struct rank *rank = argument;
    etx_training_report report = {.struct_size = sizeof report};
    etx_status status = join(rank);

    if (status == ETX_OK)
        status = etx_trainer_step(&report, rank->bench.trainer);
    /* Ranks with parts wait for each other in every layer, which takes long. */
    if (status == ETX_OK && rank->world->option < FAULTS_PARTS)
        status = etx_trainer_validate(&report, rank->bench.trainer);
    return note(rank, status);
}

CALL(train_ranks)
{
    etx_dist *dist[N_RANKS] = {NULL};
    struct rank rank[N_RANKS] = {{.graph = NULL}};
    etx_status status = etx_dist_open_threads(dist, N_RANKS, NULL);

    if (status != ETX_OK)
        return status;
    faults_spare();
    for (int32_t r = 0; r < N_RANKS; r++) {
        rank[r].dist = dist[r];
        rank[r].world = world;
        faults_make_rank(&rank[r].bench, world->option);
    }
    faults_spare_end();
    status = run_ranks(rank, train_rank);
    faults_spare();
    for (int32_t r = 0; r < N_RANKS; r++) {
        const uint64_t state = etx_trainer_hash(rank[r].bench.trainer);

        if (status == ETX_OK)
            world->out.hash =
                faults_hash(world->out.hash, &state, sizeof state);
        etx_trainer_free(rank[r].bench.trainer);
        etx_context_free(rank[r].bench.context);
        etx_dist_close(dist[r]);
    }
    faults_spare_end();
    return status;
}

/* ----------------------------------------------------------------- table -- */

#define ROW(...)                                                               \
    {                                                                          \
        __VA_ARGS__, 0, NULL                                                   \
    }
#define FILES_ROW(...)                                                         \
    {                                                                          \
        __VA_ARGS__, 1, NULL                                                   \
    }
#define WRITE_ROW(target, ...)                                                 \
    {                                                                          \
        __VA_ARGS__, 1, target                                                 \
    }

const struct faults_scenario faults_scenarios[] = {
    ROW("context_create", NULL, create_context, 1, 1),
    ROW("context_create, 3 threads", NULL, create_context, 1, 3),
    FILES_ROW("model_load", NULL, load_model, 1, 0),
    FILES_ROW("model_load, all stages", NULL, load_model, 1, 1),
    ROW("model_load_memory", NULL, load_model_memory, 1, 0),
    WRITE_ROW("saved.safetensors", "model_save", NULL, save_model, 1, 0),
    ROW("model_learn_completion", NULL, learn_completion, 1, 0),
    ROW("model_learn_first_pass", NULL, learn_first_pass, 1, 0),
    ROW("model_learn_module_map", NULL, learn_module_map, 1, 0),
    ROW("find_long_tracks", NULL, find_long_tracks, 1, 0),
    ROW("find_long_tracks, 2 threads", NULL, find_long_tracks, 2, 0),
    ROW("graph_build_module_map", NULL, build_module_map, 1, 0),
    FILES_ROW("detector_read", NULL, read_detector, 1, 0),
    FILES_ROW("event_read_trackml", NULL, read_event, 1, 0),
    FILES_ROW("event_read_trackml_files", NULL, read_event_files, 1, 0),
    FILES_ROW("event_read_features", NULL, read_features, 1, 0),
    ROW("event_create", NULL, create_event, 1, 0),
    ROW("event_set_features", faults_make_event, set_features, 1, 0),
    ROW("event_set_modules", faults_make_event, set_modules_again, 1, 0),
    ROW("event_set_truth", faults_make_event, set_truth, 1, 0),
    ROW("event_set_shared_hits", faults_make_event_with_truth, set_shared_hits,
        1, 0),
    ROW("event_set_cells", faults_make_event_with_modules, set_cells, 1, 0),
    ROW("event_set_cell_features", faults_make_event, set_cell_features, 1, 0),
    ROW("event_set_cluster_positions", faults_make_event, set_cluster_positions,
        1, 0),
    ROW("find_tracks", NULL, find_tracks, 1, 0),
    ROW("find_tracks, 2 threads", NULL, find_tracks, 2, 0),
    ROW("find_tracks with completion", NULL, find_tracks, 1, -1),
    ROW("find_tracks with completion, 2 threads", NULL, find_tracks, 2, -1),
    ROW("find_tracks with a first pass", NULL, find_tracks, 1, -2),
    ROW("find_tracks with a module map", NULL, find_tracks, 1, -3),
    ROW("find_tracks_batch", NULL, find_batch, 1, 0),
    ROW("find_tracks_batch, 2 threads", NULL, find_batch, 2, 0),
    ROW("embed", NULL, embed, 1, 0),
    ROW("embed, 2 threads", NULL, embed, 2, 0),
    ROW("graph_build", NULL, build, 1, 0),
    ROW("graph_filter", faults_make_graph, filter, 1, 0),
    ROW("graph_filter, 2 threads", faults_make_graph, filter, 2, 0),
    ROW("graph_score, interaction_network", faults_make_graph, score, 1, 0),
    ROW("graph_score, interaction_network, 2 threads", faults_make_graph, score,
        2, 0),
    ROW("graph_score, attention_gnn", faults_make_graph, score, 1, 1),
    ROW("graph_score, graph_convolution", faults_make_graph, score, 1, 2),
    ROW("graph_score, triplet_gnn", faults_make_scored, score, 1, 3),
    ROW("graph_score, edge_pooling", faults_make_scored, score, 1, 4),
    ROW("graph_score, lorentz_network", faults_make_graph, score, 1, 5),
    ROW("find_tracks, gravnet", NULL, find_tracks, 1, 6),
    ROW("graph_tracks, components", faults_make_scored, label, 1, 0),
    ROW("graph_tracks, mutual best", faults_make_scored, label, 1, 1),
    ROW("graph_tracks, walkthrough", faults_make_scored, label, 1, 2),
    ROW("graph_tracks, best first", faults_make_scored, label, 1, 3),
    ROW("graph_tracks, best first, 2 threads", faults_make_scored, label, 2, 3),
    ROW("complete_tracks", faults_make_tracks, complete, 1, 0),
    ROW("complete_tracks, 2 threads", faults_make_tracks, complete, 2, 0),
    ROW("graph_build_radius", NULL, search, 1, ETX_ORIENT_OUTWARD),
    ROW("graph_build_radius, 2 threads", NULL, search, 2, ETX_ORIENT_BOTH),
    ROW("graph_build_radius, nearest", NULL, search, 1, 4),
    ROW("graph_build_knn", NULL, search, 1, 8 + ETX_ORIENT_BOTH),
    ROW("graph_build_knn, 2 threads", NULL, search, 2, 8),
    ROW("graph_from_edges", faults_make_scored, from_edges, 1, 0),
    ROW("graph_set_scores", faults_make_graph, set_scores, 1, 0),
    ROW("graph_set_edge_features", faults_make_graph, set_edge_features, 1, 0),
    ROW("graph_to_triplets", faults_make_scored, to_triplets, 1, 0),
    ROW("graph_to_triplets, 2 threads", faults_make_scored, to_triplets, 2, 0),
    ROW("graph_score_triplets", faults_make_triplets, score_triplets, 1, 0),
    ROW("graph_score_triplets, triplet_gnn", faults_make_triplets,
        score_triplets, 1, 3),
    ROW("graph_partition, phi", faults_make_scored, partition, 1,
        ETX_PARTITION_PHI),
    ROW("graph_partition, kd", faults_make_scored, partition, 1,
        ETX_PARTITION_KD),
    ROW("graph_part_create", faults_make_scored, create_part, 1, 0),
    ROW("graph_part_score", faults_make_part, score_part, 1, 0),
    ROW("dist_graph_score, 2 ranks", faults_make_scored, score_ranks, 1, 0),
    ROW("evaluate", faults_make_tracks, evaluate, 1, 0),
    ROW("evaluate_binned", faults_make_tracks, evaluate_binned, 1, 0),
    ROW("match", faults_make_tracks, match, 1, 0),
    ROW("tracks_from_labels", NULL, from_labels, 1, 0),
    ROW("tracks_from_lists", NULL, from_lists, 1, 0),
    ROW("tracks_select", faults_make_tracks, select_tracks, 1, 0),
    ROW("tracks_resolve", faults_make_tracks, resolve_tracks, 1, 0),
    ROW("fit_tracks", faults_make_fitted, fit_tracks, 1, 0),
    ROW("fit_tracks, 2 threads", faults_make_fitted, fit_tracks, 2, 0),
    WRITE_ROW(
        "out.csv", "tracks_write_csv", faults_make_tracks, write_csv, 1, 0),
    WRITE_ROW("out.csv.gz", "tracks_write_csv, gzip", faults_make_tracks,
        write_gzip, 1, 0),
    FILES_ROW("tracks_read_csv, gzip", faults_write_tracks, read_csv, 1, 0),
    ROW("trainer_create", NULL, create_trainer, 1, 0),
    ROW("trainer_add_event", faults_make_trainer, add_event, 1, 1),
    ROW("trainer_step, embedding", faults_make_trainer, step, 1, 0),
    ROW("trainer_step, filter", faults_make_trainer, step, 1, 1),
    ROW("trainer_step, gnn", faults_make_trainer, step, 1, 2),
    ROW("trainer_step, attention_gnn", faults_make_trainer, step, 1, 8 + 2),
    ROW("trainer_step, graph_convolution", faults_make_trainer, step, 1,
        16 + 2),
    ROW("trainer_step, triplet_gnn", faults_make_trainer, step, 1, 24 + 2),
    ROW("trainer_step, embedding, 2 threads", faults_make_stepped, step, 2, 0),
    ROW("trainer_step, gnn, 2 threads", faults_make_stepped, step, 2, 2),
    FILES_ROW("trainer_step, gnn, cache", faults_make_trainer, step, 1, 6),
    FILES_ROW(
        "trainer_validate, gnn, cached", faults_make_cached, validate, 1, 6),
    ROW("trainer_validate, embedding", faults_make_stepped, validate, 1, 0),
    ROW("trainer_validate, filter", faults_make_stepped, validate, 1, 1),
    ROW("trainer_validate, gnn", faults_make_stepped, validate, 1, 2),
    ROW("trainer of a team, 2 ranks", NULL, train_ranks, 1, 2),
    ROW("trainer of parts, 2 ranks", NULL, train_ranks, 1, FAULTS_PARTS + 2),
    WRITE_ROW("saved.checkpoint", "trainer_save_checkpoint",
        faults_make_stepped, save_checkpoint, 1, 2),
    FILES_ROW("trainer_load_checkpoint", faults_make_checkpoint,
        load_checkpoint, 1, 2),
    FILES_ROW("trainer_load_checkpoint, embedding", faults_make_checkpoint,
        load_checkpoint, 1, 0),
    ROW("trainer_model", faults_make_stepped, trained_model, 1, 2),
};
const int faults_n_scenarios = ROWS(faults_scenarios);
