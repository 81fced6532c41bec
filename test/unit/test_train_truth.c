/* test_train_truth.c -- true pairs by every rule, signal, what is dropped.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/truth.h"

#include "cylinders.h"
#include "support.h"

#include "data/hit_order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A particle made at x = 10 mm: hits in the order of x; two of them on module
 * 2 and two on layer 4. Then a soft particle of two hits, and noise. */
#define N_HITS 10
static const float position[3 * N_HITS] = {20, 0, 0, 30, 0, 0, 31, 0, 0, 40, 0,
    0, 50, 0, 0, 51, 1, 0, 5, 0, 0, 20, 9, 0, 30, 9, 0, 70, 0, 0};
static const int32_t volume[N_HITS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const int32_t layer[N_HITS] = {2, 2, 2, 4, 4, 4, 6, 2, 2, 4};
static const int32_t module[N_HITS] = {1, 2, 2, 3, 4, 5, 6, 7, 8, 9};
static const int64_t particle[N_HITS] = {7, 7, 7, 7, 7, 7, 7, 9, 9, 0};
static const float weight[N_HITS] = {
    0.1f, 0.2f, 0.3f, 0.1f, 0.1f, 0.1f, 0.1f, 0.5f, 0.5f, 0.0f};

static etx_event *make_event(int32_t with_modules)
{
    const etx_particle particles[2] = {
        {.id = 7, .vertex = {10, 0, 0}, .momentum = {1, 0, 1}, .charge = 1},
        {.id = 9, .vertex = {10, 9, 0}, .momentum = {0.1f, 0, 0}}};
    etx_event *event = NULL;

    ck_assert_ok(etx_event_create(&event, N_HITS, NULL, position));
    if (with_modules)
        ck_assert_ok(etx_event_set_modules(event, volume, layer, module));
    ck_assert_ok(etx_event_set_truth(event, particle, weight, 2, particles));
    return event;
}

/* Defaults, with this truth section and loss. */
static struct etx_train_config make_config(const char *truth, float hit_weight)
{
    struct etx_train_config config;
    char text[256];

    (void)snprintf(text, sizeof text,
        "{'stage': 'gnn', 'truth': %s, 'loss': {'hit_weight': %g}}", truth,
        (double)hit_weight);
    ck_assert_ok(etx_train_config_read(&config, etx_test_json(text)));
    return config;
}

/* An event and its truth under a config. */
struct labelled {
    struct etx_train_config config;
    etx_event *event;
    struct etx_truth truth;
};

static void close_labelled(struct labelled *labelled)
{
    etx_truth_clear(&labelled->truth);
    etx_event_free(labelled->event);
    etx_train_config_clear(&labelled->config);
}

/* The event becomes the struct's. */
static struct labelled open_labelled(
    const char *truth, float hit_weight, etx_event *event)
{
    struct labelled out = {make_config(truth, hit_weight), event, {0}};

    ck_assert_ok(etx_truth_build(
        &out.truth, event, &out.config.truth, hit_weight > 0.0f));
    return out;
}

#define scoped_labelled SCOPED(close_labelled) struct labelled

/* A truth section, pairs that follow from it and how many of them are
 * signal. The distances from x = 10 order the hits 6 0 1 2 3 4 5, as hit 6
 * lies 5 mm on the other side. */
struct rule {
    const char *truth;
    int32_t n_pairs, n_signal;
    int32_t n_known;
    int32_t known[12][2];
};

static const struct rule rules[] = {
    {"{'pairs': 'hit'}", 7, 6, 7,
        {{6, 0}, {0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {7, 8}}},
    {"{'pairs': 'module'}", 6, 5, 6,
        {{6, 0}, {0, 1}, {1, 3}, {3, 4}, {4, 5}, {7, 8}}},
    {"{'pairs': 'module_all'}", 8, 7, 8,
        {{6, 0}, {0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 5}, {7, 8}}},
    {"{'pairs': 'layer'}", 12, 12, 12,
        {{6, 0}, {6, 1}, {6, 2}, {0, 3}, {0, 4}, {0, 5}, {1, 3}, {1, 4}, {1, 5},
            {2, 3}, {2, 4}, {2, 5}}},
    {"{'pairs': 'any'}", 22, 21, 2, {{6, 5}, {7, 8}}},
    {"{'min_pt': 0.05}", 7, 7, 0, {{0, 0}}},
    {"{'min_pt': 0.05, 'max_eta': 0.5}", 7, 1, 0, {{0, 0}}},
    {"{'min_pt': 0.05, 'min_hits': 3}", 7, 6, 0, {{0, 0}}},
    {"{'min_pt': 0.05, 'min_hits': 8}", 7, 0, 0, {{0, 0}}},
};

ETX_TEST(test_train_truth_rules, .rows = ROWS(rules))
{
    const struct rule *rule = rules + _i;
    scoped_labelled labelled = open_labelled(rule->truth, 0.0f, make_event(1));
    const struct etx_truth *truth = &labelled.truth;

    ck_assert_int_eq(truth->n_pairs, rule->n_pairs);
    ck_assert_int_eq(truth->n_signal_pairs, rule->n_signal);
    for (int32_t k = 0; k < rule->n_known; k++) {
        const int32_t a = rule->known[k][0];
        const int32_t b = rule->known[k][1];
        const int32_t wanted = a < 7 ? ETX_PAIR_SIGNAL : ETX_PAIR_LOW_PT;
        ck_assert_int_eq(etx_truth_pair(truth, a, b), wanted);
        ck_assert_int_eq(etx_truth_pair(truth, b, a), wanted);
    }
    ck_assert_int_eq(etx_truth_pair(truth, 0, 7), ETX_PAIR_FALSE);
    ck_assert_int_eq(etx_truth_pair(truth, 0, 9), ETX_PAIR_FALSE);
    ck_assert_ptr_null(truth->is_dropped);
}

/* Only the pair that begins at the particle's first hit weighs more, whichever
 * way its edge points. */
ETX_TEST(test_train_truth_first_weight)
{
    scoped_labelled labelled =
        open_labelled("{\"first_weight\": 3}", 0.0f, make_event(1));
    static const struct {
        int32_t a, b;
        float factor;
    } known[] = {{6, 0, 3.0f}, {0, 6, 3.0f}, {0, 1, 1.0f}, {1, 0, 1.0f},
        {4, 5, 1.0f}, {7, 8, 1.5f}, {8, 7, 1.5f}};

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        float target;
        float factor;

        etx_truth_label(&target, &factor, &labelled.truth, known[k].a,
            known[k].b, &labelled.config);
        ck_assert_float_eq(target, 1.0f);
        ck_assert_float_eq_tol(factor, known[k].factor, 1e-6f);
    }
}

ETX_TEST(test_train_truth_dropped, .rows = 2)
{
    static const char *const sections[] = {
        "{'drop_noise': true}", "{'background_min_pt': 0.5}"};
    scoped_labelled labelled = open_labelled(sections[_i], 0.0f, make_event(0));
    const struct etx_truth *truth = &labelled.truth;

    for (int32_t i = 0; i < N_HITS; i++)
        ck_assert_int_eq(truth->is_dropped[i],
            _i == 0 ? particle[i] == 0 : particle[i] == 9);
}

/* w = p (s_i + s_j) / 2 for true edges, 1 for false ones; s are the weights of
 * hits over their mean. */
ETX_TEST(test_train_truth_hit_weights)
{
    scoped_labelled labelled =
        open_labelled("{'low_pt_weight': 0.5}", 20.0f, make_event(0));
    const struct etx_truth *truth = &labelled.truth;
    float s[N_HITS];
    double mean = 0.0;
    int n = 0;
    float target;
    float w;

    for (int i = 0; i < N_HITS; i++) {
        mean += particle[i] != 0 ? (double)truth->weight[i] : 0.0;
        n += particle[i] != 0;
    }
    for (int i = 0; i < N_HITS; i++)
        s[i] = (float)((double)truth->weight[i] * n / mean);
    etx_truth_label(&target, &w, truth, 1, 2, &labelled.config);
    ck_assert_float_eq(target, 1.0f);
    ck_assert_float_eq_tol(w, 20.0f * 0.5f * (s[1] + s[2]), 1e-4f);
    ck_assert_float_gt(s[2], s[1]);
    etx_truth_label(&target, &w, truth, 7, 8, &labelled.config);
    ck_assert_float_eq_tol(w, 0.5f * 20.0f * 0.5f * (s[7] + s[8]), 1e-4f);
    etx_truth_label(&target, &w, truth, 1, 8, &labelled.config);
    ck_assert_float_eq(target, 0.0f);
    ck_assert_float_eq(w, 1.0f);
    etx_truth_label(&target, &w, truth, 0, 2, &labelled.config);
    ck_assert_float_eq(w, 0.0f);
}

/* Particle 7 starts 10 mm from the beam line, particle 9 at 13.5 mm: on one
 * side of these radii each, or between. */
ETX_TEST(test_train_truth_displaced, .rows = 3)
{
    static const struct {
        const char *truth;
        float of_7, of_9;
    } rows[] = {
        {"{'low_pt_weight': 0.5, 'displaced_weight': 3}", 1.0f, 1.5f},
        {"{'low_pt_weight': 0.5, 'displaced_weight': 3, 'displaced_radius': 9}",
            3.0f, 1.5f},
        {"{'low_pt_weight': 0.5, 'displaced_weight': 3, 'displaced_radius': "
         "14}",
            1.0f, 0.5f},
    };
    scoped_labelled labelled =
        open_labelled(rows[_i].truth, 0.0f, make_event(0));
    const struct etx_truth *truth = &labelled.truth;
    float target;
    float w;

    etx_truth_label(&target, &w, truth, 1, 2, &labelled.config);
    ck_assert_float_eq(w, rows[_i].of_7);
    etx_truth_label(&target, &w, truth, 7, 8, &labelled.config);
    ck_assert_float_eq(target, 1.0f);
    ck_assert_float_eq(w, rows[_i].of_9);
    etx_truth_label(&target, &w, truth, 1, 8, &labelled.config);
    ck_assert_float_eq(w, 1.0f);
}

ETX_TEST(test_train_truth_chains)
{
    scoped_labelled labelled =
        open_labelled("{'min_pt': 0.1}", 0.0f, train_event(5, 1));
    const struct etx_truth *truth = &labelled.truth;

    ck_assert_int_eq(truth->n_pairs, 5 * 7);
    ck_assert_int_eq(truth->n_signal_pairs, 5 * 7);
    ck_assert_int_eq(etx_truth_pair(truth, 0, 1), ETX_PAIR_SIGNAL);
    ck_assert_int_eq(etx_truth_pair(truth, 0, 2), ETX_PAIR_SAME);
    ck_assert_int_eq(etx_truth_pair(truth, 0, 11), ETX_PAIR_FALSE);
    ck_assert_int_eq(etx_truth_pair(truth, 8, 17), ETX_PAIR_FALSE);
}

ETX_TEST(test_train_truth_missing)
{
    struct etx_train_config config = make_config("{'pairs': 'layer'}", 0.0f);
    etx_event *event = NULL;
    struct etx_truth truth;

    ck_assert_ok(etx_event_create(&event, 1, NULL, position));
    ck_assert_fails(etx_truth_build(&truth, event, &config.truth, 0),
        ETX_ERR_ARGUMENT, "no truth");
    etx_event_free(event);
    event = make_event(0);
    ck_assert_fails(etx_truth_build(&truth, event, &config.truth, 0),
        ETX_ERR_ARGUMENT, "no modules");
    etx_event_free(event);
    etx_train_config_clear(&config);
}

/* One particle with every hit of an event: refused before memory is allocated.
 */
ETX_TEST(test_train_truth_too_many_pairs)
{
    enum { N = 3000 };
    struct etx_train_config config = make_config("{'pairs': 'any'}", 0.0f);
    const etx_particle one = {.id = 1, .momentum = {1, 0, 0}};
    scoped float *positions = calloc((size_t)(3 * N), sizeof *positions);
    scoped int64_t *ids = calloc(N, sizeof *ids);
    scoped_event *event = NULL;
    struct etx_truth truth;

    ck_assert_ptr_nonnull(positions);
    ck_assert_ptr_nonnull(ids);
    for (int64_t i = 0; i < N; i++)
        ids[i] = 1;
    ck_assert_ok(etx_event_create(&event, N, NULL, positions));
    ck_assert_ok(etx_event_set_truth(event, ids, NULL, 1, &one));
    ck_assert_fails(etx_truth_build(&truth, event, &config.truth, 0),
        ETX_ERR_LIMIT, "1000 per hit");
    etx_train_config_clear(&config);
}

/* From inside out, along all axes, however many hits a particle has. */
ETX_TEST(test_train_truth_order_of_hits)
{
    enum { MANY = 40 };
    static const int32_t group[MANY];

    for (int32_t n = 1; n <= MANY; n++) {
        float at[3 * MANY] = {0.0f};
        int32_t begin[2];
        int32_t hit[MANY];

        for (int32_t i = 0; i < n; i++)
            at[3 * i + i % 3] = (float)((7 * i) % MANY) - 3.5f;
        scoped_event *event = etx_test_event(n, at);
        ck_assert_ok(etx_order_hits(begin, hit, group, 1, event, 0));
        ck_assert_int_eq(begin[0], 0);
        ck_assert_int_eq(begin[1], n);
        for (int32_t k = 1; k < n; k++) {
            const float *const a = at + 3 * hit[k - 1];
            const float *const b = at + 3 * hit[k];

            ck_assert_float_le(
                fabsf(a[0] + a[1] + a[2]), fabsf(b[0] + b[1] + b[2]));
        }
    }
}

/* From its vertex, not from the middle: 3.25, 1.75, 0.25 and 2.75 mm. */
ETX_TEST(test_train_truth_order_from_the_vertex)
{
    static const float at[] = {6, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0};
    static const int32_t group[4], order[4] = {2, 1, 3, 0};
    const etx_particle one = {.id = 1, .vertex = {2.75f, 0, 0}};
    scoped_event *event = etx_test_event(4, at);
    const int64_t ids[4] = {1, 1, 1, 1};
    int32_t begin[2], hit[4];

    ck_assert_ok(etx_event_set_truth(event, ids, NULL, 1, &one));
    ck_assert_ok(etx_order_hits(begin, hit, group, 1, event, 1));
    ck_assert_mem_eq(hit, order, sizeof order);
}

/* The partners of each hit ascend, also where those further out come first. */
ETX_TEST(test_train_truth_partners_ascend)
{
    static const float at[] = {1, 0, 0, 5, 0, 0, 4, 0, 0, 3, 0, 0, 2, 0, 0};
    static const int64_t ids[5] = {1, 1, 1, 1, 1};
    static const int32_t partners[] = {1, 2, 3, 4, 1, 1, 2, 1, 2, 3};
    static const int64_t offsets[] = {0, 4, 4, 5, 7, 10};
    const etx_particle one = {.id = 1, .momentum = {1, 0, 0}};
    etx_event *event = etx_test_event(5, at);

    ck_assert_ok(etx_event_set_truth(event, ids, NULL, 1, &one));
    scoped_labelled labelled = open_labelled("{'pairs': 'any'}", 0.0f, event);
    ck_assert_mem_eq(labelled.truth.offset, offsets, sizeof offsets);
    ck_assert_mem_eq(labelled.truth.partner, partners, sizeof partners);
}
