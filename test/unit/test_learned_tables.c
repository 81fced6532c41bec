/* test_learned_tables.c -- what all tables that a model learns from tracks have
 * in common: events that say nothing, and what is refused.
 *
 * In the detector of cylinders.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"

#include "learn/samples.h"

#include <exatrkx/train.h>

/* A call that reads the table; how many tracks or edges it found. */
static etx_status complete(int64_t *n_found, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    const int64_t n = etx_event_n_hits(event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    scoped_tracks *none = NULL;
    scoped_tracks *tracks = NULL;

    memset(label, -1, (size_t)n * sizeof *label);
    ck_assert_ok(etx_tracks_from_labels(&none, n, label));
    const etx_status status =
        etx_complete_tracks(&tracks, none, context, model, event, NULL);
    *n_found = etx_tracks_count(tracks);
    return status;
}

static etx_status find_long(int64_t *n_found, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    scoped_tracks *tracks = NULL;
    const etx_status status =
        etx_find_long_tracks(&tracks, context, model, event, NULL);

    *n_found = etx_tracks_count(tracks);
    return status;
}

static etx_status build(int64_t *n_found, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    scoped_graph *graph = NULL;
    const etx_status status =
        etx_graph_build_module_map(&graph, context, model, event, INT32_MAX);

    *n_found = etx_graph_n_edges(graph);
    return status;
}

#define LEARN(table)                                                           \
    static etx_status learn_the_##table(etx_model **out,                       \
        const etx_model *model, const etx_event *const *events, int64_t n)     \
    {                                                                          \
        return etx_model_learn_##table(out, model, n, events, NULL);           \
    }
LEARN(completion)
LEARN(first_pass)
LEARN(module_map)

static const struct {
    const char *missing;   /* what is said of a model without it, */
    const char *no_tracks; /* and of events without tracks; NULL: anything */
    etx_status (*learn)(etx_model **out, const etx_model *model,
        const etx_event *const *events, int64_t n);
    etx_status (*use)(int64_t *n_found, etx_context *context,
        const etx_model *model, const etx_event *event);
} tables[] = {
    {"no completion", NULL, learn_the_completion, complete},
    {"no first pass", "no track of the events", learn_the_first_pass,
        find_long},
    {"no module map", "no track of the events", learn_the_module_map, build},
};

/* A model with the table, and one with what the table needs. */
static etx_model *learned_model(int32_t table, etx_model **before)
{
    scoped struct sample *sample = new_sample(1);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    etx_model *model = NULL;

    *before =
        table == 1 ? learn_completion(sample) : io_model_make(io_model_small);
    ck_assert_ok(tables[table].learn(&model, *before, events, 1));
    return model;
}

/* No hits, hits at one point, and hits on modules that the table lacks. */
ETX_TEST(test_learned_tables_degenerate, .rows = 4 * ROWS(tables))
{
    static const int64_t counts[] = {0, 1, 200, 200};
    const int64_t n = counts[_i % 4];
    scoped_model *before = NULL;
    scoped_model *model = learned_model(_i / 4, &before);
    scoped_context *context = etx_test_context();
    scoped float *position = etx_test_alloc(3 * n, sizeof *position);
    scoped int32_t *volume = etx_test_alloc(n, sizeof *volume);
    scoped int32_t *layer = etx_test_alloc(n, sizeof *layer);
    int64_t n_found = -1;

    for (int64_t i = 0; i < n; i++) {
        volume[i] = _i % 4 == 3 ? 99 : 3;
        layer[i] = 2 + 2 * (int32_t)(i % N_LAYERS);
    }
    scoped_event *event = etx_test_event(n, position);
    ck_assert_ok(etx_event_set_modules(event, volume, layer, layer));
    ck_assert_ok(tables[_i / 4].use(&n_found, context, model, event));
    ck_assert_int_eq(n_found, 0);
}

ETX_TEST(test_learned_tables_refused, .rows = ROWS(tables))
{
    scoped_model *before = NULL;
    scoped_model *model = learned_model(_i, &before);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(5);
    scoped_event *event = event_of(sample);
    scoped_event *bare = etx_test_event(sample->n_hits, sample->position);
    scoped_event *empty = etx_test_event(0, NULL);
    const etx_event *const events[] = {event, NULL};
    const etx_event *const no_modules[] = {bare};
    const etx_event *const no_hits[] = {empty};
    etx_model *learned = NULL;
    int64_t n = 0;

    ck_assert_refused(
        tables[_i].use(&n, context, before, event), tables[_i].missing);
    ck_assert_refused(tables[_i].use(&n, context, model, bare), "no modules");
    ck_assert_refused(
        tables[_i].learn(&learned, before, events, 0), "n_events 0");
    ck_assert_refused(
        tables[_i].learn(&learned, before, events, 2), "event 1 is NULL");
    ck_assert_refused(tables[_i].learn(&learned, before, no_modules, 1),
        "event 0 has no modules");
    ck_assert_ok(etx_event_set_modules(
        bare, sample->volume_id, sample->layer_id, sample->module_id));
    ck_assert_refused(tables[_i].learn(&learned, before, no_modules, 1),
        "event 0 has no truth");
    ck_assert_ok(etx_event_set_modules(empty, NULL, NULL, NULL));
    ck_assert_ok(etx_event_set_truth(empty, NULL, NULL, 0, NULL));
    ck_assert_int_ne(tables[_i].learn(&learned, before, no_hits, 1), ETX_OK);
    if (tables[_i].no_tracks != NULL)
        ck_assert_error(tables[_i].no_tracks);
    ck_assert_ptr_null(learned);
}

/* Options out of their bounds, and tables that others need. */
ETX_TEST(test_learned_tables_options)
{
    scoped_model *completed = NULL;
    scoped_model *model = learned_model(1, &completed);
    scoped_model *earlier = NULL;
    scoped_model *mapped = learned_model(2, &earlier);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(5);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    scoped int32_t *none = etx_test_alloc(sample->n_hits, sizeof *none);
    scoped_tracks *tracks = NULL;
    etx_tracks *out = NULL;
    etx_graph *graph = NULL;
    etx_model *learned = NULL;
    etx_completion_options completion;
    etx_first_pass_options first_pass;

    ck_assert_ok(etx_tracks_from_labels(&tracks, sample->n_hits, none));
    ck_assert_ok(etx_completion_options_init(&completion, sizeof completion));
    ck_assert_ok(etx_first_pass_options_init(&first_pass, sizeof first_pass));
    completion.min_layers = 21;
    first_pass.min_layers = 2;
    ck_assert_refused(
        etx_complete_tracks(&out, tracks, context, model, event, &completion),
        "min_layers 21 is not in 0..20");
    ck_assert_refused(
        etx_find_long_tracks(&out, context, model, event, &first_pass),
        "min_layers 2 is not in 3..20");
    ck_assert_refused(
        etx_model_learn_first_pass(&learned, completed, 1, events, &first_pass),
        "min_layers 2 is not in 3..20");
    ck_assert_refused(
        etx_model_learn_first_pass(&learned, mapped, 1, events, NULL),
        "no completion");
    ck_assert_refused(
        etx_graph_build_module_map(&graph, context, mapped, event, -1),
        "max_edges -1");
    ck_assert_fails(
        etx_graph_build_module_map(&graph, context, mapped, event, 100),
        ETX_ERR_LIMIT, "more than 100 edges");
    ck_assert(out == NULL && graph == NULL && learned == NULL);
}

/* More than are sorted by comparing. */
ETX_TEST(test_learned_tables_sort)
{
    const int32_t n = 70001;
    scoped float *value = etx_test_alloc(n, sizeof *value);

    for (int32_t k = 0; k < n; k++)
        value[k] = (float)(n / 2 - k);
    ck_assert_ok(etx_sort_floats(value, n));
    for (int32_t k = 0; k < n; k++)
        ck_assert_float_eq(value[k], (float)(k - n / 2));
}
