/* differential.c -- random valid programs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "differential.h"

#include "base/random.h"
#include "cylinders.h"
#include "stage/track_building/track_building.h"

#include <exatrkx/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ------------------------------------------------------------- programs -- */

static int32_t below(struct etx_random *random, int32_t n)
{
    return (int32_t)etx_random_below(random, (uint64_t)n);
}

static const struct {
    const char *text;
    int32_t has_parts;
} networks[] = {
    {"'interaction_network', 'options': {'hidden': 8, 'n_iterations': 2}", 1},
    {"'interaction_network', 'options': {'hidden': 17, 'n_iterations': 3, "
     "'edge_update': 'new', 'aggregation': ['mean', 'max'], "
     "'concat_initial': true}",
        1},
    {"'interaction_network', 'options': {'hidden': 6, 'n_iterations': 2, "
     "'direction': 'doubled_mean', 'activation': 'tanh'}",
        1},
    {"'attention_gnn', 'options': {'hidden': 16, 'n_iterations': 2, "
     "'activation': 'silu'}",
        1},
    {"'graph_convolution', 'options': {'hidden': 9, 'n_iterations': 2}", 1},
    {"'triplet_gnn', 'options': {'doublet_hidden': [8], 'triplets': "
     "{'hidden': 6, 'n_iterations': 1}}",
        0},
};

#define NODES                                                                  \
    "'node_features': [{'name': 'r', 'scale': 1000}, {'name': 'phi', "         \
    "'scale': 3.14}, {'name': 'z', 'scale': 1000}]"
#define EDGES                                                                  \
    "'edge_features': [{'name': 'dphi', 'scale': 0.5}, {'name': 'dr', "        \
    "'scale': 100}]"

static etx_model *draw_networks(struct etx_random *random, int32_t *has_parts)
{
    const int32_t n = below(random, ROWS(networks));
    char text[2048];

    *has_parts = networks[n].has_parts;
    (void)snprintf(text, sizeof text,
        "{'schema': 1, 'embedding': {'arch': 'mlp', 'options': {'hidden': "
        "[%d], 'n_out': %d}, " NODES ", 'graph': {'radius': %g, "
        "'orientation': 'outward', 'max_neighbours': %d}}, 'filter': {'arch': "
        "'edge_filter', 'options': {'hidden': [%d]}, " NODES ", " EDGES
        ", 'cut': %g}, 'gnn': {'arch': %s, " NODES "%s}, 'label': {'method': "
        "'%s', 'cut': 0.3, 'min_hits': 3}}",
        2 + below(random, 20), 2 + below(random, 6),
        0.02 + 0.06 * (double)etx_random_uniform(random),
        below(random, 2) * (1 + below(random, 12)), 2 + below(random, 20),
        0.2 + 0.3 * (double)etx_random_uniform(random), networks[n].text,
        strstr(networks[n].text, "interaction") != NULL ? ", " EDGES : "",
        etx_label_method_names[below(random, ETX_N_LABEL_METHODS)]);
    return io_model_make(text);
}

/* The networks with the tables of a detector; the candidates of
 * every fourth program come from a module map. */
static etx_model *draw_model(struct etx_random *random, int32_t *has_parts)
{
    static struct sample *sample;
    scoped_model *start = draw_networks(random, has_parts);
    scoped_model *mapped = NULL;
    scoped_model *completed = NULL;
    etx_model *out = NULL;

    if (sample == NULL)
        sample = new_sample(1);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    if (below(random, 4) == 0)
        ck_assert_ok(
            etx_model_learn_module_map(&mapped, start, 1, events, NULL));
    ck_assert_ok(etx_model_learn_completion(
        &completed, mapped != NULL ? mapped : start, 1, events, NULL));
    ck_assert_ok(etx_model_learn_first_pass(&out, completed, 1, events, NULL));
    return out;
}

/* A few particles, from the beam line or not, and noise. */
static etx_event *draw_event(struct etx_random *random)
{
    scoped struct sample *sample = new_displaced_sample(
        etx_random_below(random, 1000), below(random, 2) ? 10.0f : 0.0f);
    const int64_t n_tracks = 5 + below(random, 40);
    const int64_t n_noise = below(random, 100);
    const int64_t first = sample->n_hits - n_noise;

    for (int64_t k = 0; k < n_noise; k++) {
        const int64_t to = n_tracks * N_LAYERS + k;

        memcpy(sample->position + 3 * to, sample->position + 3 * (first + k),
            3 * sizeof *sample->position);
        sample->layer_id[to] = sample->layer_id[first + k];
        sample->module_id[to] = sample->module_id[first + k];
        sample->particle_id[to] = 0;
    }
    sample->n_hits = n_tracks * N_LAYERS + n_noise;
    return event_of(sample);
}

static void draw_points(struct program *program, struct etx_random *random)
{
    program->n_points = below(random, 800);
    program->n_dim = 1 + below(random, 12);
    const int64_t n = program->n_points * program->n_dim;

    program->point = etx_test_alloc(n + 1, sizeof *program->point);
    for (int64_t k = 0; k < n; k++)
        program->point[k] = etx_random_uniform(random);
    ck_assert_ok(
        etx_graph_options_init(&program->search, sizeof program->search));
    program->search.radius = 0.02f + 0.08f * (float)program->n_dim;
    program->search.max_neighbours = 1 + below(random, 15);
    program->search.orientation = below(random, 2) ? ETX_ORIENT_BOTH : 0;
}

static void draw_label(etx_label_options *label, struct etx_random *random)
{
    ck_assert_ok(etx_label_options_init(label, sizeof *label));
    label->method = below(random, ETX_N_LABEL_METHODS);
    label->cut = 0.4f + 0.2f * etx_random_uniform(random);
    label->min_hits = 1 + below(random, 4);
}

/* Candidates of the event with random scores: a random network gives all
 * edges nearly the same. */
static etx_graph *draw_graph(
    const struct program *program, struct etx_random *random)
{
    scoped_context *context = etx_test_context();
    etx_graph *graph = NULL;

    ck_assert_ok(
        etx_graph_build(&graph, context, program->model, program->event));
    const int64_t n = etx_graph_n_edges(graph);
    scoped float *score = etx_test_alloc(n + 1, sizeof *score);

    for (int64_t e = 0; e < n; e++)
        score[e] = etx_random_uniform(random);
    ck_assert_ok(etx_graph_set_scores(graph, score));
    return graph;
}

struct program program_draw(uint64_t seed)
{
    struct program out = {NULL};
    struct etx_random random;

    etx_random_init(&random, seed, 0, 0);
    out.model = draw_model(&random, &out.has_parts);
    out.event = draw_event(&random);
    out.other = draw_event(&random);
    out.graph = draw_graph(&out, &random);
    draw_points(&out, &random);
    draw_label(&out.label, &random);
    scoped_context *context = etx_test_context();
    ck_assert_ok(etx_graph_tracks(
        &out.tracks, out.graph, context, out.event, &out.label));
    return out;
}

void program_free(struct program *program)
{
    free(program->point);
    etx_tracks_free(program->tracks);
    etx_graph_free(program->graph);
    etx_event_free(program->other);
    etx_event_free(program->event);
    etx_model_free(program->model);
}

etx_graph *program_candidates(const struct program *program)
{
    etx_graph *out = NULL;

    ck_assert_ok(etx_graph_from_edges(&out, etx_graph_n_nodes(program->graph),
        etx_graph_n_edges(program->graph), etx_graph_src(program->graph),
        etx_graph_dst(program->graph), NULL, NULL));
    return out;
}

/* ------------------------------------------------------------- outcomes -- */

static void append(char **bytes, int64_t *n, const void *data, size_t size)
{
    *bytes = realloc(*bytes, (size_t)*n + size + 1);
    ck_assert_ptr_nonnull(*bytes);
    if (size > 0)
        memcpy(*bytes + *n, data, size);
    *n += (int64_t)size;
}

static void append_near(struct outcome *out, const float *value, int64_t n)
{
    char *bytes = (char *)out->near;
    int64_t n_bytes = out->n_near * (int64_t)sizeof *value;

    append(&bytes, &n_bytes, value, (size_t)n * sizeof *value);
    out->near = (float *)(void *)bytes;
    out->n_near += n;
}

static void append_graph(char **bytes, int64_t *n, const etx_graph *graph)
{
    const size_t size = (size_t)etx_graph_n_edges(graph) * sizeof(int32_t);

    append(bytes, n, etx_graph_src(graph), size);
    append(bytes, n, etx_graph_dst(graph), size);
}

static void append_tracks(char **bytes, int64_t *n, const etx_tracks *tracks)
{
    const int64_t n_tracks = etx_tracks_count(tracks);
    const int64_t *const offset = etx_tracks_offsets(tracks);

    append(bytes, n, offset, (size_t)(n_tracks + 1) * sizeof *offset);
    append(bytes, n, etx_tracks_hits(tracks),
        (size_t)offset[n_tracks] * sizeof(int32_t));
}

static void run_search(
    struct outcome *out, const struct program *program, etx_context *context)
{
    for (int32_t is_knn = 0; is_knn < 2; is_knn++) {
        scoped_graph *graph = NULL;

        ck_assert_ok((is_knn ? etx_graph_build_knn : etx_graph_build_radius)(
            &graph, context, program->n_points, program->n_dim, program->point,
            NULL, &program->search));
        append_graph(&out->exact, &out->n_exact, graph);
    }
}

static void run_embedding(
    struct outcome *out, const struct program *program, etx_context *context)
{
    const int64_t n_values = 64 * etx_event_n_hits(program->event);
    scoped float *point = etx_test_alloc(n_values, sizeof *point);
    scoped_graph *graph = NULL;
    int64_t n_dim = 0;

    ck_assert_ok(
        etx_graph_build(&graph, context, program->model, program->event));
    append_graph(&out->own, &out->n_own, graph);
    if (!etx_model_has_stage(program->model, ETX_STAGE_EMBEDDING))
        return;
    ck_assert_ok(etx_embed(
        &n_dim, point, n_values, context, program->model, program->event));
    append_near(out, point, n_dim * etx_event_n_hits(program->event));
}

static void run_edges(
    struct outcome *out, const struct program *program, etx_context *context)
{
    scoped_graph *graph = program_candidates(program);
    scoped_graph *kept = NULL;
    scoped_graph *triplets = NULL;

    ck_assert_ok(etx_graph_filter(
        &kept, program->graph, context, program->model, program->event));
    append_graph(&out->own, &out->n_own, kept);
    ck_assert_ok(
        etx_graph_score(graph, context, program->model, program->event));
    append_near(out, etx_graph_scores(graph), etx_graph_n_edges(graph));
    ck_assert_ok(etx_graph_to_triplets(&triplets, kept, context, INT32_MAX));
    append_graph(&out->own, &out->n_own, triplets);
}

static void run_tracks(
    struct outcome *out, const struct program *program, etx_context *context)
{
    scoped_tracks *labelled = NULL;
    scoped_tracks *completed = NULL;
    scoped_tracks *early = NULL;

    ck_assert_ok(etx_graph_tracks(
        &labelled, program->graph, context, program->event, &program->label));
    append_tracks(&out->exact, &out->n_exact, labelled);
    ck_assert_ok(etx_complete_tracks(&completed, program->tracks, context,
        program->model, program->event, NULL));
    append_tracks(&out->exact, &out->n_exact, completed);
    ck_assert_ok(etx_find_long_tracks(
        &early, context, program->model, program->event, NULL));
    append_tracks(&out->exact, &out->n_exact, early);
}

/* The whole pipeline: of two events, one by one and together. */
static void run_pipeline(
    struct outcome *out, const struct program *program, etx_context *context)
{
    const etx_event *const events[] = {
        program->event, program->other, program->event};
    etx_tracks *together[3] = {NULL};
    struct outcome batch = {0};
    const int64_t begin = out->n_own;

    for (int32_t e = 0; e < 3; e++) {
        scoped_tracks *tracks = NULL;

        ck_assert_ok(
            etx_find_tracks(&tracks, context, program->model, events[e]));
        append_tracks(&out->own, &out->n_own, tracks);
    }
    ck_assert_ok(
        etx_find_tracks_batch(together, context, program->model, 3, events));
    for (int32_t e = 0; e < 3; e++) {
        append_tracks(&batch.own, &batch.n_own, together[e]);
        etx_tracks_free(together[e]);
    }
    ck_assert_int_eq(batch.n_own, out->n_own - begin);
    ck_assert_mem_eq(batch.own, out->own + begin, (size_t)batch.n_own);
    outcome_free(&batch);
}

struct outcome program_run(const struct program *program, etx_context *context)
{
    struct outcome out = {0};

    run_search(&out, program, context);
    run_embedding(&out, program, context);
    run_edges(&out, program, context);
    run_tracks(&out, program, context);
    run_pipeline(&out, program, context);
    return out;
}

void outcome_free(struct outcome *outcome)
{
    free(outcome->exact);
    free(outcome->own);
    free(outcome->near);
}

static void assert_same_exact(const struct outcome *a, const struct outcome *b)
{
    ck_assert_int_eq(a->n_exact, b->n_exact);
    ck_assert_mem_eq(a->exact, b->exact, (size_t)a->n_exact);
    ck_assert_int_eq(a->n_near, b->n_near);
}

void outcome_assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_same_exact(a, b);
    ck_assert_int_eq(a->n_own, b->n_own);
    ck_assert_mem_eq(a->own, b->own, (size_t)a->n_own);
    ck_assert_mem_eq(a->near, b->near, (size_t)a->n_near * sizeof *a->near);
}

void outcome_assert_near(
    const struct outcome *a, const struct outcome *b, double tolerance)
{
    double largest = 1.0;

    assert_same_exact(a, b);
    for (int64_t k = 0; k < a->n_near; k++)
        largest = fmax(largest, fabs((double)a->near[k]));
    for (int64_t k = 0; k < a->n_near; k++)
        ck_assert_double_eq_tol(
            (double)a->near[k], (double)b->near[k], tolerance * largest);
}
