/* fuzz_calls.c -- sequences of calls with valid and invalid arguments, on a few
 * objects of each kind.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_support.h"

#include "stage/track_building/track_building.h"

#include <exatrkx/eval.h>
#include <exatrkx/graph.h>
#include <stdlib.h>
#include <string.h>

#define N_OBJECTS 3
#define MAX_ITEMS 400 /* elements of an array that is passed */
#define MAX_CALLS 60

static etx_model *models[2];

/* The objects of a run and what its calls read. */
struct run {
    struct fuzz_input input;
    etx_context *kept; /* of other inputs, too */
    etx_context *context[2];
    etx_event *event[N_OBJECTS];
    etx_graph *graph[N_OBJECTS];
    etx_tracks *tracks[2];
    etx_graph_part *part;
    int32_t n_polls; /* until the context cancels, 0: never */
    float value[MAX_ITEMS];
    int32_t index[3][MAX_ITEMS];
    int64_t id[MAX_ITEMS];
};

int LLVMFuzzerInitialize(int *n_arguments, char ***arguments)
{
    (void)n_arguments;
    (void)arguments;
    models[0] = fuzz_model(fuzz_model_config);
    models[1] = fuzz_model(
        "{\"schema\":1,\"embedding\":{\"arch\":\"mlp\",\"options\":{\"hidden\":"
        "[2],\"n_out\":2},\"node_features\":[{\"name\":\"r\",\"scale\":1}],"
        "\"graph\":{\"radius\":1}}}");
    return 0;
}

static uint32_t byte(struct run *run)
{
    return fuzz_byte(&run->input);
}

/* NULL once in a while. */
static void *maybe(struct run *run, void *pointer)
{
    return byte(run) % 25 == 24 ? NULL : pointer;
}

static etx_context *context_of(struct run *run)
{
    return maybe(run, run->context[byte(run) % 2]);
}

static etx_event *event_of(struct run *run)
{
    return maybe(run, run->event[byte(run) % N_OBJECTS]);
}

static etx_graph *graph_of(struct run *run)
{
    return maybe(run, run->graph[byte(run) % N_OBJECTS]);
}

static etx_tracks *tracks_of(struct run *run)
{
    return maybe(run, run->tracks[byte(run) % 2]);
}

static const etx_model *model_of(struct run *run)
{
    return maybe(run, models[byte(run) % 2]);
}

static void fill_values(struct run *run)
{
    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->value[i] = run->input.size > 0 ? fuzz_finite(&run->input)
                                            : 1.0f + 0.01f * (float)i;
    if (byte(run) % 10 == 9)
        run->value[byte(run)] = fuzz_float(&run->input);
}

static void fill_scores(struct run *run)
{
    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->value[i] = (float)byte(run) / 255.0f;
    if (byte(run) % 20 == 19)
        run->value[byte(run)] = fuzz_float(&run->input);
}

static void fill_indices(struct run *run, int32_t k, int64_t n)
{
    const uint32_t below = n < 1 ? 1 : n > 40 ? 40 : (uint32_t)n;

    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->index[k][i] = byte(run) == 255 ? fuzz_int(&run->input)
                                            : (int32_t)(byte(run) % below);
}

/* A number of items that an array holds, or one that is refused. */
static int64_t items(struct run *run)
{
    const int64_t n = fuzz_count(&run->input);

    return n > MAX_ITEMS && n <= INT32_MAX ? MAX_ITEMS : n;
}

static void keep_graph(struct run *run, etx_graph *made)
{
    const uint32_t k = byte(run) % N_OBJECTS;

    if (made == NULL)
        return;
    etx_graph_free(run->graph[k]);
    run->graph[k] = made;
}

static void keep_tracks(struct run *run, etx_tracks *made)
{
    const uint32_t k = byte(run) % 2;

    if (made == NULL)
        return;
    etx_tracks_free(run->tracks[k]);
    run->tracks[k] = made;
}

static int32_t poll(void *user)
{
    struct run *run = user;

    return run->n_polls > 0 && --run->n_polls == 0;
}

/* ----------------------------------------------------------------- calls -- */

#define CALL(name) static etx_status name(struct run *run)

static void free_context(struct run *run, uint32_t k)
{
    if (run->context[k] != run->kept)
        etx_context_free(run->context[k]);
}

CALL(create_context)
{
    etx_context_options options;
    etx_context *made = NULL;
    const uint32_t k = byte(run) % 2;

    fuzz_require(
        etx_context_options_init(&options, sizeof options) == ETX_OK, "init");
    options.n_threads = 1 + (int32_t)(byte(run) % 3);
    options.memory_limit = (int64_t)8 << 20;
    options.cpu_level = (int32_t)(byte(run) % 5);
    options.cancel = byte(run) % 3 == 0 ? poll : NULL;
    options.cancel_user = run;
    run->n_polls = (int32_t)byte(run);
    if (byte(run) % 16 == 15)
        options.cancel_interval = fuzz_int(&run->input);
    if (byte(run) % 16 == 15)
        options.memory_limit = fuzz_count(&run->input);
    const etx_status status =
        etx_context_create(maybe(run, &made), maybe(run, &options));
    if (made != NULL) {
        /* Graphs may not outlive what keeps their copies; there is none. */
        free_context(run, k);
        run->context[k] = made;
    }
    return status;
}

CALL(create_event)
{
    const int64_t n = items(run);
    const uint32_t k = byte(run) % N_OBJECTS;
    etx_event *made = NULL;

    fill_values(run);
    for (int64_t i = 0; i < MAX_ITEMS; i++)
        run->id[i] = byte(run) == 255 ? fuzz_count(&run->input) : i + 1;
    const etx_status status = etx_event_create(maybe(run, &made),
        n <= MAX_ITEMS / 3 || n > INT32_MAX ? n : MAX_ITEMS / 3,
        byte(run) % 2 == 0 ? NULL : run->id, maybe(run, run->value));
    if (made != NULL) {
        etx_event_free(run->event[k]);
        run->event[k] = made;
    }
    return status;
}

CALL(set_features)
{
    etx_event *event = event_of(run);
    const int64_t n = (int64_t)(byte(run) % 9) - 1;

    fill_values(run);
    return etx_event_set_features(event, n,
        n * etx_event_n_hits(event) <= MAX_ITEMS ? maybe(run, run->value)
                                                 : NULL);
}

CALL(set_modules)
{
    for (int32_t k = 0; k < 3; k++)
        fill_indices(run, k, 5);
    return etx_event_set_modules(event_of(run), maybe(run, run->index[0]),
        maybe(run, run->index[1]), maybe(run, run->index[2]));
}

CALL(set_truth)
{
    etx_particle particle[20];

    memset(particle, 0, sizeof particle);
    for (int32_t i = 0; i < 20; i++) {
        particle[i].id = byte(run) % 30 == 29 ? fuzz_count(&run->input) : i + 1;
        particle[i].charge = fuzz_int(&run->input);
        for (int32_t c = 0; c < 3; c++) {
            particle[i].momentum[c] = fuzz_finite(&run->input);
            particle[i].vertex[c] =
                byte(run) % 8 == 7 ? fuzz_float(&run->input) : 0.0f;
        }
    }
    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->id[i] = byte(run) == 255 ? fuzz_count(&run->input)
                                      : (int64_t)(byte(run) % 21);
    return etx_event_set_truth(event_of(run), maybe(run, run->id), NULL,
        byte(run) % 10 == 9 ? -1 : 20, maybe(run, particle));
}

CALL(search)
{
    etx_graph_options options;
    etx_graph *made = NULL;
    const int64_t n = fuzz_count(&run->input);
    const int64_t n_dim = 1 + (int64_t)(byte(run) % 8);

    fuzz_require(
        etx_graph_options_init(&options, sizeof options) == ETX_OK, "init");
    options.radius = fuzz_float(&run->input);
    options.max_neighbours = fuzz_int(&run->input);
    options.orientation = (int32_t)(byte(run) % 4);
    options.max_edges = byte(run) % 4 == 3 ? fuzz_count(&run->input) : 1000000;
    fill_values(run);
    float *points = n > 40 && n <= INT32_MAX ? NULL : maybe(run, run->value);
    const etx_status status =
        (byte(run) % 2 == 0 ? etx_graph_build_radius : etx_graph_build_knn)(
            maybe(run, &made), context_of(run), n, n_dim, points, event_of(run),
            maybe(run, &options));
    keep_graph(run, made);
    return status;
}

CALL(from_edges)
{
    const int64_t n_nodes = fuzz_count(&run->input);
    const int64_t n_edges = items(run);
    etx_graph *made = NULL;

    fill_indices(run, 0, n_nodes);
    fill_indices(run, 1, n_nodes);
    fill_scores(run);
    const etx_status status = etx_graph_from_edges(maybe(run, &made),
        n_nodes > 100000 && n_nodes <= INT32_MAX ? 100000 : n_nodes, n_edges,
        maybe(run, run->index[0]), maybe(run, run->index[1]),
        byte(run) % 2 == 0 ? NULL : run->value,
        byte(run) % 2 == 0 ? NULL : run->id);
    keep_graph(run, made);
    return status;
}

CALL(build)
{
    etx_graph *made = NULL;
    const etx_status status = etx_graph_build(
        maybe(run, &made), context_of(run), model_of(run), event_of(run));

    keep_graph(run, made);
    return status;
}

CALL(filter)
{
    etx_graph *made = NULL;
    const etx_status status = etx_graph_filter(maybe(run, &made), graph_of(run),
        context_of(run), model_of(run), event_of(run));

    keep_graph(run, made);
    return status;
}

CALL(score)
{
    return etx_graph_score(
        graph_of(run), context_of(run), model_of(run), event_of(run));
}

CALL(to_triplets)
{
    etx_graph *made = NULL;
    const etx_status status =
        etx_graph_to_triplets(maybe(run, &made), graph_of(run), context_of(run),
            byte(run) % 4 == 3 ? fuzz_count(&run->input) : 2000);

    keep_graph(run, made);
    return status;
}

CALL(score_triplets)
{
    return etx_graph_score_triplets(graph_of(run), graph_of(run),
        context_of(run), model_of(run), event_of(run));
}

CALL(set_scores)
{
    etx_graph *graph = graph_of(run);

    fill_scores(run);
    return etx_graph_set_scores(graph,
        etx_graph_n_edges(graph) <= MAX_ITEMS ? maybe(run, run->value) : NULL);
}

CALL(set_edge_features)
{
    etx_graph *graph = graph_of(run);
    const int64_t n = byte(run) % 18;

    fill_values(run);
    return etx_graph_set_edge_features(graph, n,
        etx_graph_n_edges(graph) * n <= MAX_ITEMS ? maybe(run, run->value)
                                                  : NULL);
}

/* A number in 0 .. 1, seldom any other. */
static float share(struct run *run)
{
    const uint32_t one = byte(run);

    return one < 240 ? (float)one / 239.0f : fuzz_float(&run->input);
}

CALL(label)
{
    etx_label_options options;
    etx_graph *graph = graph_of(run);
    etx_tracks *made = NULL;
    etx_status status;

    fuzz_require(
        etx_label_options_init(&options, sizeof options) == ETX_OK, "init");
    options.method = (int32_t)(byte(run) % (ETX_N_LABEL_METHODS + 1));
    options.cut = share(run);
    options.min_hits = fuzz_int(&run->input);
    options.sure_cut = share(run);
    options.strong_cut = share(run);
    options.support_hits = 1 + (int32_t)(byte(run) % 5);
    options.max_curvature_change = fuzz_float(&run->input);
    options.max_polar_change = share(run);
    if (byte(run) % 2 == 0 && etx_graph_n_nodes(graph) <= MAX_ITEMS)
        return etx_graph_label(maybe(run, run->index[0]), graph,
            context_of(run), event_of(run), maybe(run, &options));
    status = etx_graph_tracks(maybe(run, &made), graph, context_of(run),
        event_of(run), maybe(run, &options));
    keep_tracks(run, made);
    return status;
}

CALL(find_tracks)
{
    etx_tracks *made = NULL;
    const etx_status status = etx_find_tracks(
        maybe(run, &made), context_of(run), model_of(run), event_of(run));

    keep_tracks(run, made);
    return status;
}

CALL(from_labels)
{
    etx_tracks *made = NULL;
    const int64_t n = items(run);

    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->index[0][i] = byte(run) == 255 ? fuzz_int(&run->input)
                                            : (int32_t)(byte(run) % 20) - 1;
    const etx_status status =
        etx_tracks_from_labels(maybe(run, &made), n, maybe(run, run->index[0]));
    keep_tracks(run, made);
    return status;
}

CALL(from_lists)
{
    etx_tracks *made = NULL;
    int64_t offset[4] = {0};

    for (int32_t i = 0; i < MAX_ITEMS; i++)
        run->index[0][i] = byte(run) == 255 ? fuzz_int(&run->input)
                                            : (int32_t)(byte(run) % 20);
    for (int32_t t = 0; t < 3; t++)
        offset[t + 1] = offset[t] + byte(run) % (MAX_ITEMS / 3);
    const etx_status status = etx_tracks_from_lists(
        maybe(run, &made), items(run), 3, offset, run->index[0]);
    keep_tracks(run, made);
    return status;
}

CALL(evaluate)
{
    etx_evaluation_options options;
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    etx_evaluation rates = {.struct_size = sizeof rates};
    etx_status status;

    fuzz_require(
        etx_evaluation_options_init(&options, sizeof options) == ETX_OK,
        "init");
    options.matching = (int32_t)(byte(run) % 4);
    options.matching_fraction =
        byte(run) % 4 == 3 ? fuzz_float(&run->input) : 0.5f;
    options.min_pt = fuzz_float(&run->input);
    options.max_eta = fuzz_float(&run->input);
    options.min_track_hits = fuzz_int(&run->input);
    status = etx_evaluate(maybe(run, &counts), event_of(run), tracks_of(run),
        maybe(run, &options));
    if (status == ETX_OK && counts.n_events > 0)
        fuzz_require(
            etx_evaluation_rates(&rates, &counts) == ETX_OK, "no rates");
    return status;
}

CALL(match)
{
    uint8_t matched[MAX_ITEMS];
    etx_tracks *tracks = tracks_of(run);

    if (etx_tracks_count(tracks) > MAX_ITEMS)
        tracks = NULL;
    return etx_match(maybe(run, run->index[0]), maybe(run, matched),
        event_of(run), tracks, NULL);
}

CALL(partition)
{
    etx_graph *graph = graph_of(run);

    if (etx_graph_n_nodes(graph) > MAX_ITEMS)
        graph = NULL;
    return etx_graph_partition(maybe(run, run->index[0]), graph, event_of(run),
        fuzz_int(&run->input), (int32_t)(byte(run) % 3));
}

CALL(create_part)
{
    etx_graph *graph = graph_of(run);
    etx_graph_part *made = NULL;
    const int32_t n = fuzz_int(&run->input);

    if (etx_graph_n_nodes(graph) > MAX_ITEMS)
        graph = NULL;
    fill_indices(run, 0, n > 4 ? 4 : n);
    const etx_status status = etx_graph_part_create(maybe(run, &made), graph,
        maybe(run, run->index[0]), n, fuzz_int(&run->input));
    if (made != NULL) {
        etx_graph_part_free(run->part);
        run->part = made;
    }
    return status;
}

CALL(embed)
{
    int64_t n_dim = 0;

    return etx_embed(maybe(run, &n_dim), maybe(run, run->value),
        byte(run) % 4 == 3 ? (int64_t)byte(run) : MAX_ITEMS, context_of(run),
        model_of(run), event_of(run));
}

CALL(complete)
{
    etx_tracks *made = NULL;

    return etx_complete_tracks(maybe(run, &made), tracks_of(run),
        context_of(run), model_of(run), event_of(run), NULL);
}

CALL(free_object)
{
    const uint32_t k = byte(run) % N_OBJECTS;

    if (byte(run) % 2 == 0) {
        etx_event_free(run->event[k]);
        run->event[k] = NULL;
    } else {
        etx_graph_free(run->graph[k]);
        run->graph[k] = NULL;
    }
    return ETX_OK;
}

static etx_status (*const calls[])(struct run *run) = {create_context,
    create_event, create_event, set_features, set_modules, set_truth, search,
    search, from_edges, from_edges, build, filter, score, to_triplets,
    score_triplets, set_scores, set_edge_features, label, label, find_tracks,
    from_labels, from_lists, evaluate, match, partition, create_part, embed,
    complete, free_object};
#define N_FUNCTIONS (sizeof calls / sizeof *calls)

static void free_all(struct run *run)
{
    etx_graph_part_free(run->part);
    for (int32_t k = 0; k < N_OBJECTS; k++) {
        etx_graph_free(run->graph[k]);
        etx_event_free(run->event[k]);
    }
    for (int32_t k = 0; k < 2; k++) {
        etx_tracks_free(run->tracks[k]);
        free_context(run, (uint32_t)k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run *run = calloc(1, sizeof *run);

    fuzz_require(run != NULL, "no memory");
    run->input = (struct fuzz_input){data, size};
    run->kept = fuzz_kept_context(1);
    run->context[0] = run->kept;
    run->event[0] = fuzz_event(2, 1);
    for (int32_t n = 0; n < MAX_CALLS && run->input.size > 0; n++) {
        etx_set_last_error("");
        const etx_status status = calls[byte(run) % N_FUNCTIONS](run);

        fuzz_require(strcmp(etx_status_name(status), "unknown") != 0,
            "an unknown status");
        fuzz_require(status == ETX_OK || etx_last_error()[0] != '\0',
            "an error without a message");
    }
    free_all(run);
    free(run);
    fuzz_check_kept(ETX_OK);
    return 0;
}
