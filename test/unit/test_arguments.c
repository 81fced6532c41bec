/* test_arguments.c -- public functions without an object, an output or an array
 * that they need, or with a number that is out of range.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "io_models.h"

#include <exatrkx/dist.h>
#include <exatrkx/eval.h>
#include <exatrkx/fit.h>
#include <exatrkx/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_HITS 2

static const float points[] = {1.0f, 0.0f, 0.0f, 2.0f, 0.0f, 0.0f};
static const int32_t owners[N_HITS] = {0, 0};
static const char config[] =
    "{\"stage\":\"embedding\",\"model\":{\"arch\":\"mlp\",\"options\":"
    "{\"hidden\":[2],\"n_out\":2},\"node_features\":[{\"name\":\"r\","
    "\"scale\":1000}],\"graph\":{\"radius\":0.4}}}";

/* Valid objects for every function, none of which is used. */
struct objects {
    etx_context *context;
    etx_model *model;
    etx_event *event;
    etx_detector *detector;
    etx_graph *graph;
    etx_graph_part *part;
    etx_tracks *tracks;
    etx_trainer *trainer;
    /* Outputs, which must stay NULL. */
    etx_model *new_model;
    etx_event *new_event;
    etx_detector *new_detector;
    etx_graph *new_graph;
    etx_graph_part *new_part;
    etx_tracks *new_tracks;
    etx_trainer *new_trainer;
};

static void free_objects(struct objects *o)
{
    ck_assert(!o->new_model && !o->new_event && !o->new_detector &&
              !o->new_graph && !o->new_part && !o->new_tracks &&
              !o->new_trainer);
    etx_trainer_free(o->trainer);
    etx_tracks_free(o->tracks);
    etx_graph_part_free(o->part);
    etx_graph_free(o->graph);
    etx_detector_free(o->detector);
    etx_event_free(o->event);
    etx_model_free(o->model);
    etx_context_free(o->context);
}

#define scoped_objects SCOPED(free_objects) struct objects

static struct objects make_objects(void)
{
    struct objects o = {.context = etx_test_context(),
        .model = io_model_make("{\"schema\":1}"),
        .event = etx_test_event(N_HITS, points)};

    ck_assert_ok(
        etx_detector_read(&o.detector, "examples/data/detectors.csv.gz"));
    ck_assert_ok(
        etx_graph_from_edges(&o.graph, N_HITS, 0, NULL, NULL, NULL, NULL));
    ck_assert_ok(etx_graph_part_create(&o.part, o.graph, owners, 1, 0));
    ck_assert_ok(etx_tracks_from_labels(&o.tracks, N_HITS, owners));
    ck_assert_ok(etx_trainer_create(&o.trainer, o.context, config, NULL));
    return o;
}

/* Which of the arguments is NULL. */
static size_t null;
#define A(index, pointer) (null == (index) ? NULL : (pointer))

/* Fails unless a call, as text "function(...", is refused for what it lacks. */
static void expect(etx_status status, const char *call, const char *name)
{
    char message[128];

    (void)snprintf(message, sizeof message, "%.*s: %s is NULL",
        (int)strcspn(call, "("), call, name);
    ck_assert_refused(status, message);
}

/* The call, whose arguments A(0, ), A(1, ) have these names, with each of them
 * NULL. */
#define EACH_NULL(call, ...)                                                   \
    do {                                                                       \
        static const char *const name[] = {__VA_ARGS__};                       \
        for (null = 0; null < sizeof name / sizeof *name; null++)              \
            expect(call, #call, name[null]);                                   \
    } while (0)

ETX_TEST(test_arguments_events)
{
    scoped_objects o = make_objects();
    const int32_t ids[N_HITS] = {0};
    const int64_t long_ids[N_HITS] = {0};
    const int64_t offsets[] = {0, 0, 1};
    const float values[N_HITS * 6] = {0};
    char text[8];

    EACH_NULL(etx_event_create(A(0, &o.new_event), N_HITS, NULL, A(1, points)),
        "out", "positions");
    EACH_NULL(etx_event_set_features(A(0, o.event), 1, A(1, values)), "event",
        "features");
    EACH_NULL(etx_event_set_cell_features(A(0, o.event), A(1, values)), "event",
        "cell_features");
    EACH_NULL(etx_event_set_cluster_positions(A(0, o.event), A(1, values)),
        "event", "positions");
    EACH_NULL(
        etx_event_set_modules(A(0, o.event), A(1, ids), A(2, ids), A(3, ids)),
        "event", "volume_ids", "layer_ids", "module_ids");
    EACH_NULL(etx_event_set_cells(A(0, o.event), 1, A(2, ids), A(3, ids),
                  A(4, ids), A(5, values), A(1, o.detector)),
        "event", "detector", "hit", "channel0", "channel1", "value");
    EACH_NULL(
        etx_event_set_shared_hits(A(0, o.event), 1, A(1, ids), A(2, long_ids)),
        "event", "hits", "particle_ids");
    EACH_NULL(etx_event_set_truth(A(0, o.event), A(1, long_ids), NULL, 0, NULL),
        "event", "particle_ids");
    EACH_NULL(
        etx_event_check(A(0, text), sizeof text, A(1, o.event), NULL, NULL),
        "text", "event");
    ck_assert_refused(etx_event_check(text, 0, o.event, NULL, NULL),
        "text_bytes 0 is below 1");
    EACH_NULL(
        etx_detector_read(A(0, &o.new_detector), A(1, "none")), "out", "path");
    EACH_NULL(etx_event_read_trackml(A(0, &o.new_event), A(1, "none"), NULL),
        "out", "prefix");
    EACH_NULL(etx_event_read_trackml_files(
                  A(0, &o.new_event), A(1, "none"), NULL, NULL, NULL, NULL),
        "out", "hits");
    EACH_NULL(
        etx_event_read_features(A(0, &o.new_event), A(1, "none"), A(2, values)),
        "out", "path", "scales");
    EACH_NULL(etx_tracks_from_labels(A(0, &o.new_tracks), N_HITS, A(1, owners)),
        "out", "labels");
    EACH_NULL(etx_tracks_from_lists(
                  A(0, &o.new_tracks), N_HITS, 0, A(1, offsets), NULL),
        "out", "offsets");
    EACH_NULL(etx_tracks_from_lists(
                  &o.new_tracks, N_HITS, 1, offsets + 1, A(0, owners)),
        "hits");
    EACH_NULL(etx_tracks_set_ids(A(0, o.tracks), NULL), "tracks");
    EACH_NULL(etx_tracks_write_csv(A(0, o.tracks), A(1, o.event), A(2, "none")),
        "tracks", "event", "path");
    EACH_NULL(
        etx_tracks_read_csv(A(0, &o.new_tracks), A(1, o.event), A(2, "none")),
        "out", "event", "path");
    EACH_NULL(
        etx_tracks_select(A(0, &o.new_tracks), A(1, o.tracks), NULL, NULL),
        "out", "tracks");
}

ETX_TEST(test_arguments_models)
{
    scoped_objects o = make_objects();
    const etx_event *const events[] = {o.event};
    etx_label_options label = {.struct_size = sizeof label};
    etx_completion_options completion = {.struct_size = sizeof completion};
    etx_first_pass_options first_pass = {.struct_size = sizeof first_pass};

    EACH_NULL(etx_model_load(A(0, &o.new_model), A(1, "none")), "out", "path");
    EACH_NULL(etx_model_load_memory(A(0, &o.new_model), A(1, "{}"), 2), "out",
        "data");
    EACH_NULL(etx_model_save(A(0, o.model), A(1, "none")), "model", "path");
    EACH_NULL(
        etx_model_label_options(A(0, &label), A(1, o.model)), "out", "model");
    EACH_NULL(etx_model_completion_options(A(0, &completion), A(1, o.model)),
        "out", "model");
    EACH_NULL(etx_model_first_pass_options(A(0, &first_pass), A(1, o.model)),
        "out", "model");
    EACH_NULL(etx_model_learn_completion(
                  A(0, &o.new_model), A(1, o.model), 1, A(2, events), NULL),
        "out", "model", "events");
    EACH_NULL(etx_model_learn_first_pass(
                  A(0, &o.new_model), A(1, o.model), 1, A(2, events), NULL),
        "out", "model", "events");
    EACH_NULL(etx_model_learn_module_map(
                  A(0, &o.new_model), A(1, o.model), 1, A(2, events), NULL),
        "out", "model", "events");
}

ETX_TEST(test_arguments_stages)
{
    scoped_objects o = make_objects();
    const etx_event *const events[] = {o.event};
    etx_graph_options options;
    int64_t n_dim = 0;
    int32_t labels[N_HITS] = {0};
    int64_t n_tracks = 0;

    ck_assert_ok(etx_graph_options_init(&options, sizeof options));
    EACH_NULL(etx_embed(A(0, &n_dim), NULL, 0, A(1, o.context), A(2, o.model),
                  A(3, o.event)),
        "n_dim", "context", "model", "event");
    EACH_NULL(etx_graph_build(A(0, &o.new_graph), A(1, o.context),
                  A(2, o.model), A(3, o.event)),
        "out", "context", "model", "event");
    EACH_NULL(etx_graph_build_module_map(A(0, &o.new_graph), A(1, o.context),
                  A(2, o.model), A(3, o.event), 1),
        "out", "context", "model", "event");
    EACH_NULL(etx_graph_build_radius(A(0, &o.new_graph), A(1, o.context),
                  N_HITS, 3, A(2, points), NULL, &options),
        "out", "context", "points");
    EACH_NULL(etx_graph_build_knn(A(0, &o.new_graph), A(1, o.context), N_HITS,
                  3, A(2, points), NULL, &options),
        "out", "context", "points");
    EACH_NULL(etx_graph_filter(A(0, &o.new_graph), A(1, o.graph),
                  A(2, o.context), A(3, o.model), A(4, o.event)),
        "out", "graph", "context", "model", "event");
    EACH_NULL(etx_graph_score(
                  A(0, o.graph), A(1, o.context), A(2, o.model), A(3, o.event)),
        "graph", "context", "model", "event");
    EACH_NULL(etx_graph_score_triplets(A(0, o.graph), A(1, o.graph),
                  A(2, o.context), A(3, o.model), A(4, o.event)),
        "triplets", "graph", "context", "model", "event");
    EACH_NULL(etx_graph_to_triplets(
                  A(0, &o.new_graph), A(1, o.graph), A(2, o.context), 1),
        "out", "graph", "context");
    EACH_NULL(etx_find_tracks(A(0, &o.new_tracks), A(1, o.context),
                  A(2, o.model), A(3, o.event)),
        "out", "context", "model", "event");
    EACH_NULL(etx_find_tracks_batch(A(0, &o.new_tracks), A(1, o.context),
                  A(2, o.model), 1, A(3, events)),
        "out", "context", "model", "events");
    EACH_NULL(etx_find_tracks_begin(A(0, labels), A(1, &n_tracks),
                  A(2, o.context), A(3, o.model), A(4, o.event)),
        "labels", "n_tracks", "context", "model", "event");
    EACH_NULL(etx_find_tracks_end(A(0, &o.new_tracks), A(1, labels), 0,
                  A(2, o.context), A(3, o.model), A(4, o.event)),
        "out", "labels", "context", "model", "event");
    EACH_NULL(etx_find_long_tracks(A(0, &o.new_tracks), A(1, o.context),
                  A(2, o.model), A(3, o.event), NULL),
        "out", "context", "model", "event");
    EACH_NULL(etx_complete_tracks(A(0, &o.new_tracks), A(1, o.tracks),
                  A(2, o.context), A(3, o.model), A(4, o.event), NULL),
        "out", "tracks", "context", "model", "event");
}

ETX_TEST(test_arguments_graphs)
{
    scoped_objects o = make_objects();
    const int32_t ends[] = {0};
    const float values[] = {0.5f};
    int32_t labels[N_HITS];
    etx_track_parameters parameters[1];
    etx_stage_timing timing = {.struct_size = sizeof timing};
    etx_part_exchange exchange = etx_test_no_exchange();
    scoped_graph *one = NULL;
    scoped_part *part = NULL;
    float scores[1];

    ck_assert_ok(etx_graph_from_edges(&one, N_HITS, 1, ends, ends, NULL, NULL));
    ck_assert_ok(etx_graph_part_create(&part, one, owners, 1, 0));
    EACH_NULL(etx_graph_from_edges(A(0, &o.new_graph), N_HITS, 1, A(1, ends),
                  A(2, ends), NULL, NULL),
        "out", "src", "dst");
    EACH_NULL(etx_graph_set_scores(A(0, one), values), "graph");
    EACH_NULL(etx_graph_set_edge_features(A(0, one), 1, A(1, values)), "graph",
        "features");
    EACH_NULL(etx_graph_label(A(0, labels), A(1, o.graph), A(2, o.context),
                  A(3, o.event), NULL),
        "labels", "graph", "context");
    EACH_NULL(etx_graph_tracks(A(0, &o.new_tracks), A(1, o.graph),
                  A(2, o.context), A(3, o.event), NULL),
        "out", "graph", "context");
    EACH_NULL(etx_graph_partition(A(0, labels), A(1, o.graph), A(2, o.event), 1,
                  ETX_PARTITION_PHI),
        "owners", "graph", "event");
    EACH_NULL(etx_graph_part_create(
                  A(0, &o.new_part), A(1, o.graph), A(2, owners), 1, 0),
        "out", "graph", "owners");
    EACH_NULL(etx_graph_part_score(A(0, scores), A(1, part), A(2, o.context),
                  A(3, o.model), A(4, o.event), &exchange),
        "scores", "part", "context", "model", "event");
    EACH_NULL(etx_tracks_resolve(
                  A(0, &o.new_tracks), A(1, o.tracks), A(2, parameters), NULL),
        "out", "tracks", "parameters");
    EACH_NULL(etx_context_timing(A(0, &timing), A(1, o.context), 0), "out",
        "context");
    EACH_NULL(etx_fit_tracks(A(0, parameters), NULL, A(1, o.tracks),
                  A(2, o.context), NULL, A(3, o.event), A(4, o.detector), NULL),
        "out", "tracks", "context", "event", "detector");
}

ETX_TEST(test_arguments_training)
{
    scoped_objects o = make_objects();
    etx_training_report report = {.struct_size = sizeof report};
    float slice[1] = {0};
    float *slices[] = {slice};

    EACH_NULL(etx_trainer_create(
                  A(0, &o.new_trainer), A(1, o.context), A(2, config), NULL),
        "out", "context", "config");
    EACH_NULL(etx_trainer_add_event(A(0, o.trainer), A(1, o.event), 0),
        "trainer", "event");
    EACH_NULL(
        etx_trainer_add_event_of_rank(A(0, o.trainer), o.event, N_HITS, 0, 0),
        "trainer");
    EACH_NULL(etx_trainer_set_team(A(0, o.trainer), NULL), "trainer");
    EACH_NULL(etx_trainer_set_cache(A(0, o.trainer), A(1, "none")), "trainer",
        "folder");
    EACH_NULL(
        etx_trainer_set_parts(A(0, o.trainer), 1, 0, ETX_PARTITION_PHI, NULL),
        "trainer");
    EACH_NULL(
        etx_trainer_step(A(1, &report), A(0, o.trainer)), "trainer", "report");
    EACH_NULL(etx_trainer_validate(A(1, &report), A(0, o.trainer)), "trainer",
        "report");
    EACH_NULL(etx_trainer_save_checkpoint(A(0, o.trainer), A(1, "none")),
        "trainer", "path");
    EACH_NULL(etx_trainer_load_checkpoint(A(0, o.trainer), A(1, "none")),
        "trainer", "path");
    EACH_NULL(etx_trainer_model(A(0, &o.new_model), A(1, o.trainer)), "out",
        "trainer");
    EACH_NULL(etx_gradient_sum(A(0, slices), 1, 1), "slice");
}

ETX_TEST(test_arguments_evaluation)
{
    scoped_objects o = make_objects();
    const double edges[] = {0.0, 1.0};
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates};
    const int64_t particle_ids[N_HITS] = {0};
    int64_t total[1], matched[1];

    ck_assert_ok(etx_event_set_truth(o.event, particle_ids, NULL, 0, NULL));
    EACH_NULL(etx_evaluate(A(0, &counts), A(1, o.event), A(2, o.tracks), NULL),
        "counts", "event", "tracks");
    EACH_NULL(
        etx_evaluation_rates(A(0, &rates), A(1, &counts)), "out", "counts");
    EACH_NULL(etx_evaluate_binned(A(0, total), A(1, matched), A(2, o.event),
                  A(3, o.tracks), 0, 1, A(4, edges), NULL),
        "total", "matched", "event", "tracks", "edges");
    EACH_NULL(etx_match(NULL, NULL, A(0, o.event), A(1, o.tracks), NULL),
        "event", "tracks");
}

/* What takes arrays on a device: the context, which the arrays need, comes
 * first, and this one has no device. */
ETX_TEST(test_arguments_device)
{
    scoped_objects o = make_objects();
    const int32_t ends[] = {0};
    const int64_t index[] = {0, 0};
    const float values[N_HITS] = {0};
    int64_t n_edges;

    EACH_NULL(etx_event_create_device(A(0, &o.new_event), A(1, o.context),
                  N_HITS, NULL, points, NULL),
        "out", "context");
    EACH_NULL(etx_event_set_features_device(
                  A(0, o.event), A(1, o.context), 1, values, NULL),
        "event", "context");
    EACH_NULL(etx_graph_from_edges_device(A(0, &o.new_graph), A(1, o.context),
                  N_HITS, 1, ends, ends, NULL, NULL, NULL),
        "out", "context");
    EACH_NULL(etx_graph_from_index_device(A(0, &o.new_graph), A(1, o.context),
                  N_HITS, 1, index, NULL, NULL),
        "out", "context");
    EACH_NULL(etx_graph_to_index_device(A(0, &n_edges), NULL, NULL, 0,
                  A(1, o.graph), A(2, o.context), 0.0f, NULL),
        "n_edges", "graph", "context");
    ck_assert_refused(etx_event_create_device(
                          &o.new_event, o.context, N_HITS, NULL, points, NULL),
        "the context is on the CPU");
    ck_assert_int_eq(etx_graph_device_index(NULL), -1);
}

static etx_dist *open_alone(void)
{
    etx_dist *dist = NULL;

    ck_assert_ok(etx_dist_open_threads(&dist, 1, NULL));
    return dist;
}

ETX_TEST(test_arguments_ranks)
{
    scoped_objects o = make_objects();
    etx_dist *const dist = open_alone();
    etx_dist *new_dist = NULL;
    etx_dist_options options;
    etx_dist_statistics statistics = {.struct_size = sizeof statistics};
    etx_part_exchange exchange = {.struct_size = sizeof exchange};
    etx_team team = {.struct_size = sizeof team};
    double value = 0.0;

    EACH_NULL(etx_dist_options_init(A(0, &options), sizeof options), "options");
    EACH_NULL(etx_dist_open_threads(A(0, &new_dist), 1, NULL), "out");
    EACH_NULL(etx_dist_open_mpi(A(0, &new_dist), NULL), "out");
    EACH_NULL(etx_dist_open_nccl(A(0, &new_dist), A(1, dist), 0, NULL), "out",
        "host");
    EACH_NULL(etx_dist_barrier(A(0, dist)), "dist");
    EACH_NULL(etx_dist_sum(A(0, dist), A(1, &value), 1), "dist", "values");
    EACH_NULL(etx_dist_agree(A(0, dist), 0, A(1, "it")), "dist", "what");
    EACH_NULL(etx_dist_team(A(0, &team), A(1, dist)), "out", "dist");
    EACH_NULL(
        etx_dist_get_statistics(A(0, &statistics), A(1, dist)), "out", "dist");
    EACH_NULL(etx_dist_exchange(A(0, &exchange), A(1, dist)), "out", "dist");
    EACH_NULL(etx_dist_graph_score(A(0, o.graph), A(1, dist), o.context,
                  o.model, o.event, ETX_PARTITION_PHI),
        "graph", "dist");
    EACH_NULL(etx_dist_trainer_set_parts(
                  A(0, o.trainer), A(1, dist), ETX_PARTITION_PHI),
        "trainer", "dist");
    ck_assert_ptr_null(new_dist);
    ck_assert_int_eq(etx_dist_rank(NULL), 0);
    ck_assert_int_eq(etx_dist_n_ranks(NULL), 1);
    etx_dist_give_up(NULL);
    etx_dist_end_processes(NULL, 1);
    etx_dist_close(NULL);
    etx_dist_close(dist);
}

/* Numbers next to their ranges, and objects that lack what a call needs. */
ETX_TEST(test_arguments_numbers_of_objects)
{
    scoped_objects o = make_objects();
    const float values[N_HITS] = {0};
    const int32_t ids[N_HITS] = {0};
    const int32_t wrong[N_HITS] = {0, 1};
    const int32_t negative[N_HITS] = {0, -1};
    etx_evaluation rates = {.struct_size = 4};
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    scoped_event *other = etx_test_event(1, points);
    int32_t out[N_HITS];

    ck_assert_refused(etx_graph_set_edge_features(o.graph, -1, values),
        "n_features -1 is not in 0..");
    ck_assert_fails(etx_graph_set_edge_features(o.graph, 1 << 20, values),
        ETX_ERR_LIMIT, "n_features 1048576 is not in 0..");
    ck_assert_refused(
        etx_event_set_cells(o.event, 1, ids, ids, ids, values, o.detector),
        "the event has no modules");
    ck_assert_refused(etx_evaluation_rates(&rates, &counts), "evaluation");
    ck_assert_refused(
        etx_graph_partition(out, o.graph, other, 1, ETX_PARTITION_PHI),
        "etx_graph_partition: ");
    ck_assert_refused(
        etx_graph_partition(out, o.graph, o.event, 0, ETX_PARTITION_PHI),
        "n_parts 0");
    ck_assert_refused(etx_graph_part_create(&o.new_part, o.graph, wrong, 1, 0),
        "owner 1 of node 1 is not in 0..0");
    ck_assert_refused(
        etx_graph_part_create(&o.new_part, o.graph, negative, 1, 0),
        "owner -1 of node 1 is not in 0..0");
}

ETX_TEST(test_arguments_numbers_of_trainers)
{
    scoped_objects o = make_objects();
    etx_training_report report = {.struct_size = 4};
    float slice[1] = {0};
    float *slices[] = {slice};

    ck_assert_refused(
        etx_trainer_add_event_of_rank(o.trainer, o.event, -1, 0, 0),
        "n_hits -1");
    ck_assert_refused(
        etx_trainer_add_event_of_rank(o.trainer, o.event, N_HITS, -1, 0),
        "rank -1 of a team of 1");
    ck_assert_refused(
        etx_trainer_add_event_of_rank(o.trainer, o.event, N_HITS, 1, 0),
        "rank 1 of a team of 1");
    ck_assert_refused(
        etx_trainer_add_event_of_rank(o.trainer, NULL, N_HITS, 0, 0),
        "event is NULL");
    ck_assert_refused(
        etx_trainer_add_event_of_rank(o.trainer, o.event, N_HITS + 1, 0, 0),
        "not the 3 that the ranks agreed on");
    ck_assert_refused(
        etx_trainer_set_parts(o.trainer, 0, 0, ETX_PARTITION_PHI, NULL),
        "n_parts 0");
    ck_assert_refused(
        etx_trainer_set_parts(o.trainer, 1, 1, ETX_PARTITION_PHI, NULL),
        "part 1");
    ck_assert_refused(etx_trainer_validate(&report, o.trainer), "report");
    ck_assert_refused(etx_trainer_step(&report, o.trainer), "report");
    ck_assert_refused(etx_gradient_sum(slices, 1, -1), "n_slices -1");
    ck_assert_refused(etx_gradient_sum(slices, -1, 1), "n_values -1");
}

/* The call with options of the wrong size, and with a field out of its bounds.
 */
#define BAD_OPTIONS(name, field, value, call)                                  \
    do {                                                                       \
        etx_##name##_options options;                                          \
                                                                               \
        ck_assert_refused(etx_##name##_options_init(NULL, sizeof options),     \
            "options is NULL");                                                \
        ck_assert_ok(etx_##name##_options_init(&options, sizeof options));     \
        options.struct_size = 4;                                               \
        ck_assert_refused(call, "options: struct_size 4");                     \
        ck_assert_ok(etx_##name##_options_init(&options, sizeof options));     \
        options.field = value;                                                 \
        ck_assert_refused(call, #field " " #value);                            \
    } while (0)

ETX_TEST(test_arguments_options)
{
    scoped_objects o = make_objects();
    const etx_event *const events[] = {o.event};
    const double edges[] = {0.0, 1.0};
    const int64_t particle_ids[N_HITS] = {0};
    etx_context *new_context = NULL;
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_track_parameters parameters[1];
    int32_t labels[N_HITS];
    int64_t total[1], matched[1];
    scoped_graph *scored = NULL;

    ck_assert_ok(etx_event_set_truth(o.event, particle_ids, NULL, 0, NULL));
    ck_assert_ok(etx_event_set_modules(o.event, owners, owners, owners));
    ck_assert_ok(etx_graph_from_edges(&scored, N_HITS, 1, (int32_t[]){0},
        (int32_t[]){1}, (float[]){0.5f}, NULL));
    BAD_OPTIONS(
        context, n_threads, 257, etx_context_create(&new_context, &options));
    ck_assert_ptr_null(new_context);
    BAD_OPTIONS(graph, orientation, 3,
        etx_graph_build_radius(
            &o.new_graph, o.context, N_HITS, 3, points, NULL, &options));
    BAD_OPTIONS(graph, max_edges, -1,
        etx_graph_build_knn(
            &o.new_graph, o.context, N_HITS, 3, points, NULL, &options));
    BAD_OPTIONS(label, min_hits, 0,
        etx_graph_label(labels, scored, o.context, o.event, &options));
    BAD_OPTIONS(label, min_hits, 0,
        etx_graph_tracks(&o.new_tracks, scored, o.context, o.event, &options));
    BAD_OPTIONS(completion, min_layers, 21,
        etx_model_learn_completion(&o.new_model, o.model, 1, events, &options));
    BAD_OPTIONS(module_map, units, 2,
        etx_model_learn_module_map(&o.new_model, o.model, 1, events, &options));
    BAD_OPTIONS(fit, n_r, -1,
        etx_fit_tracks(parameters, NULL, o.tracks, o.context, NULL, o.event,
            o.detector, &options));
    BAD_OPTIONS(resolve, min_hits, 0,
        etx_tracks_resolve(&o.new_tracks, o.tracks, parameters, &options));
    BAD_OPTIONS(evaluation, matching, 3,
        etx_evaluate(&counts, o.event, o.tracks, &options));
    BAD_OPTIONS(evaluation, matching, 3,
        etx_evaluate_binned(
            total, matched, o.event, o.tracks, 0, 1, edges, &options));
    BAD_OPTIONS(evaluation, matching, 3,
        etx_match(NULL, NULL, o.event, o.tracks, &options));
    ck_assert_int_eq(counts.n_tracks, 0);
}

#define NOTHING_OF_NULL(getter) ck_assert(!getter(NULL))
ETX_TEST(test_arguments_getters)
{
    etx_context_free(NULL);
    etx_event_free(NULL);
    etx_graph_free(NULL);
    etx_tracks_free(NULL);
    NOTHING_OF_NULL(etx_graph_n_nodes);
    NOTHING_OF_NULL(etx_graph_n_edges);
    NOTHING_OF_NULL(etx_graph_src);
    NOTHING_OF_NULL(etx_graph_dst);
    NOTHING_OF_NULL(etx_graph_offsets);
    NOTHING_OF_NULL(etx_graph_scores);
    NOTHING_OF_NULL(etx_event_n_hits);
    NOTHING_OF_NULL(etx_event_hit_ids);
    NOTHING_OF_NULL(etx_event_positions);
    NOTHING_OF_NULL(etx_event_particle_ids);
    NOTHING_OF_NULL(etx_event_n_particles);
    NOTHING_OF_NULL(etx_event_particles);
    NOTHING_OF_NULL(etx_event_cell_features);
    NOTHING_OF_NULL(etx_event_cluster_positions);
    NOTHING_OF_NULL(etx_event_n_shared_hits);
    NOTHING_OF_NULL(etx_event_shared_hits);
    NOTHING_OF_NULL(etx_event_shared_particle_ids);
    NOTHING_OF_NULL(etx_event_volume_ids);
    NOTHING_OF_NULL(etx_event_layer_ids);
    NOTHING_OF_NULL(etx_event_module_ids);
    NOTHING_OF_NULL(etx_event_weights);
    NOTHING_OF_NULL(etx_event_n_features);
    NOTHING_OF_NULL(etx_event_features);
    NOTHING_OF_NULL(etx_detector_n_modules);
    NOTHING_OF_NULL(etx_graph_n_edge_features);
    NOTHING_OF_NULL(etx_graph_edge_features);
    NOTHING_OF_NULL(etx_graph_part_graph);
    NOTHING_OF_NULL(etx_graph_part_nodes);
    NOTHING_OF_NULL(etx_graph_part_edges);
    NOTHING_OF_NULL(etx_graph_part_n_own_edges);
    NOTHING_OF_NULL(etx_graph_part_sent);
    NOTHING_OF_NULL(etx_graph_part_received);
    NOTHING_OF_NULL(etx_tracks_count);
    NOTHING_OF_NULL(etx_tracks_n_hits);
    NOTHING_OF_NULL(etx_tracks_offsets);
    NOTHING_OF_NULL(etx_tracks_ids);
    NOTHING_OF_NULL(etx_tracks_hits);
    NOTHING_OF_NULL(etx_trainer_steps_done);
    NOTHING_OF_NULL(etx_trainer_n_steps);
    NOTHING_OF_NULL(etx_trainer_epoch_steps);
    NOTHING_OF_NULL(etx_trainer_is_new);
    NOTHING_OF_NULL(etx_trainer_hash);
    NOTHING_OF_NULL(etx_graph_src_device);
    NOTHING_OF_NULL(etx_graph_dst_device);
    NOTHING_OF_NULL(etx_graph_offsets_device);
    NOTHING_OF_NULL(etx_graph_scores_device);
    ck_assert_int_eq(etx_trainer_is_finished(NULL), 1);
    ck_assert_int_eq(etx_model_has_stage(NULL, ETX_STAGE_GNN), 0);
    etx_set_last_error(NULL);
    ck_assert_str_eq(etx_last_error(), "");
    ck_assert_str_eq(etx_model_describe(NULL), "");
}
