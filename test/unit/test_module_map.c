/* test_module_map.c -- candidate edges by modules or layers.
 *
 * In the detector of cylinders.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cylinders.h"

#include "data/event.h"
#include "learn/samples.h"
#include "op/shared/module_map.h"
#include "stage/graph_construction/module_map.h"
#include "stage/model.h"

#include <exatrkx/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const etx_module_map_options variants[] = {
    {.units = ETX_MAP_MODULES, .use_triplets = 0, .margin = 3.0f},
    {.units = ETX_MAP_MODULES, .use_triplets = 1, .margin = 3.0f},
    {.units = ETX_MAP_LAYERS, .use_triplets = 0, .margin = 0.0f},
    {.units = ETX_MAP_LAYERS, .use_triplets = 1, .tail = 0.02f},
};

/* A model without an embedding that learned from the event with this seed. */
static etx_model *learned_model(
    uint64_t seed, const etx_module_map_options *variant)
{
    scoped_model *start =
        io_model_make("{'schema': 1, 'label': {'method': 'components'}}");
    scoped struct sample *sample = new_sample(seed);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    etx_module_map_options options;
    etx_model *model = NULL;

    ck_assert_ok(etx_module_map_options_init(&options, sizeof options));
    ck_assert_float_eq(options.margin, 10.0f);
    options = *variant;
    options.struct_size = sizeof options;
    ck_assert_ok(
        etx_model_learn_module_map(&model, start, 1, events, &options));
    return model;
}

/* Every true edge of the event that a map was learned from is found, and a
 * stricter option drops edges. */
ETX_TEST(test_module_map_learned_edges, .rows = 2)
{
    const etx_module_map_options variant = {.use_triplets = _i};
    etx_module_map_options strict = variant;
    scoped_model *model = learned_model(1, &variant);
    scoped_context *context = etx_test_context();
    scoped struct sample *sample = new_sample(1);
    scoped_event *event = event_of(sample);
    scoped_graph *graph = NULL;
    int64_t n_found = 0;

    ck_assert_ok(
        etx_graph_build_module_map(&graph, context, model, event, INT32_MAX));
    for (int64_t e = 0; e < graph->n_edges; e++)
        n_found += sample->particle_id[graph->src[e]] > 0 &&
                   graph->dst[e] == graph->src[e] + 1 &&
                   sample->particle_id[graph->src[e]] ==
                       sample->particle_id[graph->dst[e]];
    ck_assert_int_eq(n_found, N_PARTICLES * (N_LAYERS - 1));
    for (int32_t change = 0; change < 2; change++) {
        strict = variant;
        if (change == 0)
            strict.min_pt = 1.5f;
        else
            strict.tail = 0.1f;
        scoped_model *other = learned_model(1, &strict);
        scoped_graph *fewer = NULL;

        ck_assert_ok(etx_graph_build(&fewer, context, other, event));
        ck_assert_int_lt(fewer->n_edges, graph->n_edges);
        ck_assert_int_gt(fewer->n_edges, 0);
    }
}

/* The median length of the windows of quantity q. */
static float median_length(const struct etx_map_window *window, int32_t q)
{
    float length[N_LAYERS - 1];

    for (int64_t k = 0; k < N_LAYERS - 1; k++)
        length[k] = window[k * ETX_MAP_N_DOUBLET + q].high -
                    window[k * ETX_MAP_N_DOUBLET + q].low;
    ck_assert_ok(etx_sort_floats(length, N_LAYERS - 1));
    return length[(N_LAYERS - 1) / 2];
}

/* A margin of 30 widens windows of 300 samples by a tenth at either end, and
 * short ones by a tenth of the median. */
ETX_TEST(test_module_map_margin)
{
    const etx_module_map_options narrow = {.units = ETX_MAP_LAYERS};
    const etx_module_map_options wide = {
        .units = ETX_MAP_LAYERS, .margin = 30.0f};
    scoped_model *first = learned_model(1, &narrow);
    scoped_model *second = learned_model(1, &wide);

    ck_assert_int_eq(etx_model_has_stage(first, ETX_STAGE_GRAPH), 1);
    ck_assert_int_eq(first->module_map->n_units, N_LAYERS);
    ck_assert_int_eq(first->module_map->n_pairs, N_LAYERS - 1);
    for (int64_t k = 0; k < (N_LAYERS - 1) * ETX_MAP_N_DOUBLET; k++) {
        const struct etx_map_window a = first->module_map->pair_window[k];
        const struct etx_map_window b = second->module_map->pair_window[k];
        const float length =
            fmaxf(a.high - a.low, median_length(first->module_map->pair_window,
                                      (int32_t)(k % ETX_MAP_N_DOUBLET)));

        ck_assert_float_eq_tol(a.low - b.low, 0.1f * length, 1e-3f * length);
        ck_assert_float_eq_tol(b.high - a.high, 0.1f * length, 1e-3f * length);
    }
}

/* Quantities worked out by hand, across azimuth pi and at equal radius. */
ETX_TEST(test_module_map_quantities)
{
    float position[] = {-3, -0.3f, 10, -6, 0.6f, 30, 0, 3.0149627f, 40};
    scoped_event *event = etx_test_event(3, position);
    const struct etx_map_hit a = etx_map_hit_of(event->position, 0);
    const struct etx_map_hit b = etx_map_hit_of(event->position, 1);
    const struct etx_map_hit c = etx_map_hit_of(event->position, 2);
    const struct etx_map_direction first = etx_map_direction_of(&a, &b);
    const struct etx_map_direction second = etx_map_direction_of(&b, &c);
    float value[ETX_MAP_N_DOUBLET];

    etx_map_doublet(value, &a, &b);
    ck_assert_float_eq_tol(value[ETX_MAP_Z0], -10.0f, 1e-4f);
    ck_assert_float_eq_tol(value[ETX_MAP_DPHI], -0.1993373f, 1e-6f);
    ck_assert_float_eq_tol(value[ETX_MAP_PHI_SLOPE], -0.0661161f, 1e-6f);
    ck_assert_float_eq_tol(value[ETX_MAP_DETA], 0.3934f, 1e-4f);
    ck_assert_int_eq(etx_map_is_outward(&a, &b), 1);
    ck_assert_int_eq(etx_map_is_outward(&b, &a), 0);
    ck_assert_int_eq(etx_map_is_outward(&a, &a), 0);
    etx_map_doublet(value, &a, &c);
    ck_assert_float_eq(value[ETX_MAP_Z0], 0.0f);
    ck_assert_float_eq(value[ETX_MAP_PHI_SLOPE], 0.0f);
    etx_map_triplet(value, &first, &second);
    ck_assert_float_eq_tol(value[ETX_MAP_TURN],
        (float)(atan2(2.4149627, 6.0) - atan2(0.9, -3.0)), 1e-5f);
    ck_assert_float_eq_tol(value[ETX_MAP_BEND],
        (float)(atan2(10.0, 3.0149627 - 6.0299254) -
                atan2(20.0, 6.0299254 - 3.0149627)),
        1e-5f);
}

static void check_same(const etx_graph *graph, const etx_graph *expected)
{
    const size_t size = (size_t)expected->n_edges * sizeof(int32_t);

    ck_assert_int_eq(graph->n_edges, expected->n_edges);
    ck_assert_mem_eq(graph->src, expected->src, size);
    ck_assert_mem_eq(graph->dst, expected->dst, size);
}

/* A copy of a model keeps its map, and a new map replaces it. */
ETX_TEST(test_module_map_copied)
{
    scoped_model *model = learned_model(1, &variants[1]);
    scoped_model *completed = NULL;
    scoped_model *replaced = NULL;
    scoped struct sample *sample = new_sample(4);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    scoped_context *context = etx_test_context();
    scoped_graph *graph = NULL;
    scoped_graph *same = NULL;

    ck_assert_ok(
        etx_model_learn_completion(&completed, model, 1, events, NULL));
    ck_assert_ok(etx_graph_build(&graph, context, model, event));
    ck_assert_ok(etx_graph_build(&same, context, completed, event));
    check_same(same, graph);
    ck_assert_ok(etx_model_learn_module_map(&replaced, model, 1, events, NULL));
    ck_assert_int_eq(replaced->module_map->n_triplets, 0);
}

/* A trained embedding would have no effect. */
ETX_TEST(test_module_map_trains_no_embedding)
{
    static const char config[] =
        "{'stage': 'embedding', 'seed': 1, 'model': {'arch': 'mlp', 'options': "
        "{'hidden': [4], 'n_out': 2}, 'node_features': [{'name': 'r', 'scale': "
        "1000.0}], 'graph': {'radius': 0.4}}, 'schedule': {'steps': 1, "
        "'learning_rate': 0.01}}";
    scoped_model *model = learned_model(1, &variants[1]);
    scoped_context *context = etx_test_context();
    etx_trainer *trainer = NULL;

    ck_assert_fails(
        etx_trainer_create(&trainer, context, etx_test_json(config), model),
        ETX_ERR_FORMAT, "module map");
    ck_assert_ok(
        etx_trainer_create(&trainer, context, etx_test_json(config), NULL));
    etx_trainer_free(trainer);
}

/* What a table of a file may not say. */
enum { UNIT, PAIR, PAIR_WINDOW, TRIPLET, TRIPLET_WINDOW };

static const struct {
    int32_t what;
    double value;
    const char *error;
} bad_tables[] = {
    {UNIT, 99, "unit 1 is (3, 2, 1)"},
    {UNIT, -2, "unit 0 is (-2"},
    {PAIR, -1, "pair 0 is (-1"},
    {PAIR, 1e6, "pair 0 is (1000000"},
    {PAIR_WINDOW, NAN, "pair window 0 is nan"},
    {PAIR_WINDOW, 1e9, "pair window 0 is 1000000000 to"},
    {TRIPLET, -1, "triplet 0 is (-1"},
    {TRIPLET, 1e6, "triplet 0 is (1000000"},
    {TRIPLET_WINDOW, INFINITY, "triplet window 0 is inf"},
};

ETX_TEST(test_module_map_table_refused, .rows = ROWS(bad_tables))
{
    scoped_model *model = learned_model(1, &variants[1]);
    struct etx_module_map *map = model->module_map;
    const double value = bad_tables[_i].value;

    ck_assert_ok(etx_module_map_check(map));
    switch (bad_tables[_i].what) {
    case UNIT:
        map->unit[0] = (int64_t)value;
        map->unit[2] = value < 0 ? (int64_t)value : map->unit[2];
        break;
    case PAIR:
        map->pair[0] = (int64_t)value;
        break;
    case PAIR_WINDOW:
        map->pair_window[0].low = (float)value;
        break;
    case TRIPLET:
        map->triplet[0] = (int64_t)value;
        break;
    default:
        map->triplet_window[0].low = (float)value;
    }
    ck_assert_fails(
        etx_module_map_check(map), ETX_ERR_FORMAT, bad_tables[_i].error);
}

ETX_TEST(test_module_map_too_large)
{
    struct etx_module_map map = {.n_units = INT64_C(1) << 31};

    ck_assert_fails(etx_module_map_check(&map), ETX_ERR_LIMIT,
        "2147483648 units and 0 pairs");
    map = (struct etx_module_map){.n_pairs = INT64_C(1) << 31};
    ck_assert_fails(etx_module_map_check(&map), ETX_ERR_LIMIT,
        "0 units and 2147483648 pairs");
}

/* What a model says of its training stays where it is an object, and is
 * replaced where it is not. */
ETX_TEST(test_module_map_notes_its_events, .rows = 4)
{
    static const char *const trainings[] = {
        "{'seed': 7}", "'by hand'", "5", "null"};
    char text[100];
    (void)snprintf(text, sizeof text,
        "{'schema': 1, 'label': {'method': 'components'}, 'training': %s}",
        trainings[_i]);
    scoped_model *start = io_model_make(text);
    scoped struct sample *sample = new_sample(1);
    scoped_event *event = event_of(sample);
    const etx_event *const events[] = {event};
    scoped_model *model = NULL;

    ck_assert_ok(etx_model_learn_module_map(&model, start, 1, events, NULL));
    const char *const training = strstr(model->config, "\"training\"");
    ck_assert_ptr_nonnull(training);
    ck_assert_ptr_nonnull(strstr(training, "\"module_map\""));
    ck_assert((strstr(training, "\"seed\"") != NULL) == (_i == 0));
    ck_assert_ptr_null(strstr(training, "by hand"));
}
