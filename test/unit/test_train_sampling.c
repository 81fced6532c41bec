/* test_train_sampling.c -- which events, hits, pairs and edges a step sees.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "cylinders.h"
#include "support.h"
#include "train/sampling/edge_sampling.h"
#include "train/sampling/embedding_pairs.h"
#include "train/sampling/event_order.h"
#include "train_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---------------------------------------------------------- event order -- */

#define N_EVENTS 22

/* A trainer of the embedding with events of 1 .. N_EVENTS particles. */
struct crowd {
    struct train_bench bench;
    etx_event *event[N_EVENTS];
};

static void open_crowd(struct crowd *crowd, const char *change)
{
    crowd->bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, change);
    for (int k = 0; k < N_EVENTS; k++) {
        /* sizes 1, 12, 2, 13, ...: the order of adding is not that of size */
        crowd->event[k] =
            train_event(1 + k / 2 + (k % 2 ? N_EVENTS / 2 : 0), 1);
        ck_assert_ok(
            etx_trainer_add_event(crowd->bench.trainer, crowd->event[k], 0));
    }
}

static void close_crowd(struct crowd *crowd)
{
    train_bench_close(&crowd->bench);
    for (int k = 0; k < N_EVENTS; k++)
        etx_event_free(crowd->event[k]);
}

static int32_t draw(struct etx_train_event ***event,
    const struct etx_trainer *trainer, int64_t step)
{
    const struct etx_event_order order = {.events = &trainer->training,
        .config = &trainer->config,
        .seed = etx_trainer_seed(trainer),
        .arena = trainer->context->stream->arena};
    struct etx_random random;
    int32_t n;

    etx_random_init(&random, 3, (uint32_t)step, 1);
    ck_assert_ok(etx_train_draw_events(event, &n, &order, step, &random));
    return n;
}

static int64_t index_of(
    const struct etx_trainer *trainer, const struct etx_train_event *event)
{
    int64_t k = 0;

    while (trainer->training.event[k] != event)
        k++;
    return k;
}

/* Every event once an epoch, in another order each time. */
ETX_TEST(test_train_sampling_epochs, .rows = 2)
{
    static const char *const changes[] = {
        "{'sampling': {'graphs': 5, 'order': 'epochs'}}",
        "{'sampling': {'graphs': 5, 'order': 'buckets'}}"};
    struct crowd crowd;
    int64_t first[2] = {-1, -1};

    open_crowd(&crowd, changes[_i]);
    const struct etx_trainer *trainer = crowd.bench.trainer;
    const int64_t n_events = trainer->training.n; /* 24 = 4 * 5 + 4 */
    ck_assert_int_eq(
        etx_train_steps_per_epoch(&trainer->training, &trainer->config), 5);
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        int seen[N_EVENTS + TRAIN_BENCH_EVENTS] = {0};
        int64_t n_seen = 0;

        for (int64_t step = 5 * epoch + 1; step <= 5 * epoch + 5; step++) {
            struct etx_train_event **event;
            const int32_t n = draw(&event, trainer, step);

            for (int32_t k = 0; k < n; k++) {
                const int64_t index = index_of(trainer, event[k]);
                ck_assert_int_eq(seen[index]++, 0);
                n_seen++;
                if (first[epoch] < 0)
                    first[epoch] = index;
            }
        }
        ck_assert_int_eq(n_seen, n_events);
    }
    ck_assert_int_ne(first[0], first[1]);
    close_crowd(&crowd);
}

/* The mean over steps of the largest less the smallest event. */
static double mean_spread(const char *change)
{
    struct crowd crowd;
    double sum = 0.0;

    open_crowd(&crowd, change);
    for (int64_t step = 1; step <= 120; step++) {
        struct etx_train_event **event;
        const int32_t n = draw(&event, crowd.bench.trainer, step);
        int64_t low = INT64_MAX;
        int64_t high = 0;

        for (int32_t k = 0; k < n; k++) {
            const int64_t size = event[k]->event->n_hits;
            low = size < low ? size : low;
            high = size > high ? size : high;
        }
        sum += (double)(high - low) / 120.0;
    }
    close_crowd(&crowd);
    return sum;
}

/* Buckets of 4 steps of 2 events: sizes within a step differ far less. */
ETX_TEST(test_train_sampling_buckets_balance)
{
    const double shuffled =
        mean_spread("{'sampling': {'graphs': 2, 'order': 'epochs'}}");
    const double bucketed =
        mean_spread("{'sampling': {'graphs': 2, 'order': 'buckets'}}");

    ck_assert_msg(
        bucketed < 0.6 * shuffled, "spread %g and %g", bucketed, shuffled);
}

/* Without epochs an event is drawn as often as it has hits. */
ETX_TEST(test_train_sampling_drawn)
{
    struct crowd crowd;
    double n_hits = 0.0;

    open_crowd(&crowd, "{'sampling': {'graphs': 3}}");
    const struct etx_trainer *trainer = crowd.bench.trainer;
    for (int64_t step = 1; step <= 2000; step++) {
        struct etx_train_event **event;
        struct etx_arena *arena = trainer->context->stream->arena;
        const struct etx_arena_mark mark = etx_arena_mark(arena);

        ck_assert_int_eq(draw(&event, trainer, step), 3);
        for (int32_t k = 0; k < 3; k++)
            n_hits += index_of(trainer, event[k]) == 0;
        etx_arena_reset(arena, mark);
    }
    const double share = (double)trainer->training.event[0]->event->n_hits /
                         (double)trainer->training.n_hits;
    ck_assert_double_eq_tol(n_hits / 6000.0, share, 0.02);
    close_crowd(&crowd);
}

/* ------------------------------------------------------------ filter -- */

/* Counts of one step's edges: true, hard false, easy false. */
struct counts {
    double n_true, n_hard, n_easy;
};

static struct counts count_edges(struct train_bench *bench, int is_chosen)
{
    struct etx_trainer *trainer = bench->trainer;
    struct etx_train_event *event = trainer->training.event[0];
    const struct etx_network *network = trainer->stage->network;
    const double cut = (double)trainer->config.sampling.hard_cut;
    const struct etx_edge_sampler sampler = etx_trainer_edge_sampler(trainer);
    struct counts counts = {0.0, 0.0, 0.0};
    struct etx_step_edges edges;
    struct etx_sector sector;
    struct etx_random random;
    const struct etx_graph *whole;
    struct etx_graph *graph = NULL;
    float *logit;

    etx_random_init(&random, 8, 1, 1);
    ck_assert_ok(etx_event_graph(&whole, &trainer->graphs, event));
    ck_assert_ok(etx_sector_draw(&sector, trainer->context->stream->arena,
        &random, event, 0, &trainer->stage->node_features, &trainer->config));
    if (!is_chosen)
        trainer->config.stage = ETX_TRAIN_GNN; /* all edges */
    ck_assert_ok(etx_step_edges_choose(
        &edges, &sampler, &event->truth, &sector, whole, &random));
    trainer->config.stage = ETX_TRAIN_FILTER;
    ck_assert_ok(etx_sector_graph(&graph, &sector, whole, edges.n, edges.id));
    logit = calloc((size_t)edges.n + 1, sizeof *logit);
    ck_assert_ptr_nonnull(logit);
    const struct etx_network_input input = {.n_nodes = sector.n_hits,
        .node_features = sector.features,
        .position = sector.position,
        .graph = graph};
    ck_assert_ok(
        network->arch->forward(network, trainer->context, &input, NULL, logit));
    for (int64_t e = 0; e < edges.n; e++) {
        const double score = 1.0 / (1.0 + exp(-(double)logit[e]));

        counts.n_true += edges.weight[e] > 0.0f && edges.target[e] > 0.0f;
        if (edges.weight[e] > 0.0f && !(edges.target[e] > 0.0f))
            *(score >= cut ? &counts.n_hard : &counts.n_easy) += 1.0;
    }
    free(logit);
    etx_graph_free(graph);
    return counts;
}

/* Set a cut that about half of the false edges pass. */
static struct counts find_cut(struct train_bench *bench)
{
    float *cut = &bench->trainer->config.sampling.hard_cut;
    struct counts all;

    *cut = 0.0f;
    do {
        *cut += 0.01f;
        all = count_edges(bench, 0);
    } while (all.n_hard > all.n_easy && *cut < 1.0f);
    return all;
}

/* All true edges, and of the false ones the wanted shares of hard and easy. */
ETX_TEST(test_train_sampling_hard_negatives)
{
    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1,
        "{'sampling': {'edges': 0, 'false_per_true': 1, 'hard_share': 0.25}}");
    train_bench_steps(bench.trainer, 10);
    const struct counts all = find_cut(&bench);
    const struct counts chosen = count_edges(&bench, 1);
    const double n_false = all.n_true;
    ck_assert_double_gt(all.n_hard, 0.25 * n_false);
    ck_assert_double_gt(all.n_easy, 0.75 * n_false);
    ck_assert_double_eq(chosen.n_true, all.n_true);
    ck_assert_double_eq_tol(
        chosen.n_hard, 0.25 * n_false, 4.0 * sqrt(0.25 * n_false));
    ck_assert_double_eq_tol(
        chosen.n_easy, 0.75 * n_false, 4.0 * sqrt(0.75 * n_false));
}

/* --------------------------------------------------------- embedding -- */

/* Its second hit, which is the partner of the first, becomes the first. */
static void rotate(struct etx_sector *sector)
{
    const int64_t n = sector->n_hits;
    const int32_t first = sector->row[0];

    memmove(sector->row, sector->row + 1, (size_t)(n - 1) * sizeof first);
    sector->row[n - 1] = first;
    for (int64_t k = 0; k < n; k++)
        sector->local[sector->row[k]] = (int32_t)k;
}

/* The sample and the pairs of one step on the first event. */
static void make_pairs(struct etx_embedding_pairs *pairs,
    struct etx_sector *sector, struct train_bench *bench)
{
    struct etx_trainer *trainer = bench->trainer;
    struct etx_train_event *event = trainer->training.event[0];
    const int32_t n_dim = trainer->stage->network->n_out;
    struct etx_random random;
    scoped float *point = NULL;

    etx_random_init(&random, 8, 1, 1);
    ck_assert_ok(etx_sector_draw(sector, trainer->context->stream->arena,
        &random, event, 0, &trainer->stage->node_features, &trainer->config));
    rotate(sector);
    point = calloc((size_t)(sector->n_hits * n_dim), sizeof *point);
    ck_assert_ptr_nonnull(point);
    for (int64_t k = 0; k < sector->n_hits * n_dim; k++)
        point[k] = etx_random_uniform(&random);
    const struct etx_pair_source source = {.stream = trainer->context->stream,
        .config = &trainer->config,
        .truth = &event->truth,
        .sector = sector,
        .n_dim = n_dim,
        .point = point};
    ck_assert_ok(etx_embedding_pairs_choose(pairs, &source, &random));
}

/* Hits of signal particles alone are searched around, and begin the random
 * pairs. */
ETX_TEST(test_train_sampling_queries, .rows = 3)
{
    static const char *const changes[] = {
        "{'sampling': {'queries_from': 'signal', 'random_from_queries': true}}",
        ("{'sampling': {'queries_from': 'no_noise',"
         " 'random_from_queries': true}}"),
        "{'sampling': {'queries_from': 'all'}}"};
    struct etx_embedding_pairs pairs;
    struct etx_sector sector;
    int64_t n_noise = 0;
    int64_t n_soft = 0;

    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, changes[_i]);
    make_pairs(&pairs, &sector, &bench);
    const struct etx_truth *truth = &bench.trainer->training.event[0]->truth;
    for (int64_t p = 0; p < pairs.n; p++) {
        const int32_t row = sector.row[pairs.a[p]];
        if (pairs.target[p])
            continue;
        n_noise += truth->particle[row] < 0;
        n_soft += truth->particle[row] >= 0 && !truth->is_signal[row];
    }
    ck_assert_int_gt(pairs.n_negative, 1000);
    ck_assert_int_eq(n_noise > 0, _i == 2);
    ck_assert_int_eq(n_soft > 0, _i >= 1);
}

/* Every hit is a query that finds all others. 50 particles of 8 hits, and 50 of
 * noise: a particle has 7 true pairs, each once from the truth and, where they
 * count twice, from either end by the search. Of its 56 ordered pairs 42 are
 * not true: left out, or attracted, or repelled as in the reference. */
#define PAIRS(rest)                                                            \
    "{'sampling': {'neighbours': 1000, 'random_pairs': 0" rest "}"
static const struct {
    const char *change;
    int32_t n_positive, n_repelled; /* of the same particle */
} pair_rows[] = {
    {PAIRS("}"), 50 * 7, 0},
    {PAIRS(", 'count_true_twice': true}"), 50 * 7 * 3, 0},
    {PAIRS("}, 'truth': {'same_particle': 'ignore'}"), 50 * 7, 0},
    {PAIRS("}, 'truth': {'same_particle': 'true'}"), 50 * 7 + 50 * 42, 0},
    {PAIRS("}, 'truth': {'same_particle': 'false'}"), 50 * 7, 50 * 42},
};

ETX_TEST(test_train_sampling_pairs, .rows = ROWS(pair_rows))
{
    struct etx_embedding_pairs pairs;
    struct etx_sector sector;

    scoped_bench bench =
        train_bench_new(ETX_TRAIN_EMBEDDING, 1, pair_rows[_i].change);
    make_pairs(&pairs, &sector, &bench);
    ck_assert_int_eq(pairs.n_positive, pair_rows[_i].n_positive);
    ck_assert_int_eq(
        pairs.n_negative, 450 * 449 - 50 * 56 + pair_rows[_i].n_repelled);
}

/* -------------------------------------------------------------- hits -- */

ETX_TEST(test_train_sampling_noise_dropped)
{
    struct etx_embedding_pairs pairs;
    struct etx_sector sector;

    scoped_bench bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{'truth': {'drop_noise': true}}");
    make_pairs(&pairs, &sector, &bench);
    ck_assert_int_eq(sector.n_hits, 400); /* of 450 */
    for (int64_t k = 0; k < sector.n_hits; k++)
        ck_assert_int_ge(bench.event[0]->particle_row[sector.row[k]], 0);
}

/* The side to which the first particle bends: the sign of the turn between
 * its first, fifth and last hit. */
static int bend(const float *position)
{
    const float *a = position;
    const float *b = position + 3 * 4;
    const float *c = position + 3 * 7;
    const double cross = (double)(b[0] - a[0]) * (double)(c[1] - b[1]) -
                         (double)(b[1] - a[1]) * (double)(c[0] - b[0]);

    return cross > 0.0 ? 1 : -1;
}

struct mirror {
    const char *key;
    int axis;
    int exchanges_charge;
};

static const struct mirror mirrors[] = {
    {"reflect_x", 0, 1}, {"reflect_y", 1, 1}, {"reflect_z", 2, 0}};

/* A reflection turns one coordinate alone, in about half of the steps. One in
 * x or y makes a track of the other charge in the same field, one in z not. */
ETX_TEST(test_train_sampling_reflections, .rows = 3)
{
    const struct mirror *mirror = mirrors + _i;
    char change[160];
    int n_mirrored = 0;

    (void)snprintf(change, sizeof change,
        "{'augmentation': {'rotate_phi': false, 'reflect_x': %s, 'reflect_y': "
        "%s, 'reflect_z': %s}}",
        _i == 0 ? "true" : "false", _i == 1 ? "true" : "false",
        _i == 2 ? "true" : "false");
    scoped_bench bench = train_bench_new(ETX_TRAIN_EMBEDDING, 1, change);
    struct etx_trainer *trainer = bench.trainer;
    const float *before = bench.event[0]->position;
    for (uint32_t step = 0; step < 60; step++) {
        struct etx_sector sector;
        struct etx_random random;

        etx_random_init(&random, 8, step, 1);
        ck_assert_ok(etx_sector_draw(&sector, trainer->context->stream->arena,
            &random, trainer->training.event[0], 0,
            &trainer->stage->node_features, &trainer->config));
        const int is_mirrored =
            sector.position[mirror->axis] != before[mirror->axis];
        n_mirrored += is_mirrored;
        for (int64_t i = 0; i < 3 * sector.n_hits; i++)
            ck_assert_float_eq(sector.position[i],
                is_mirrored && i % 3 == mirror->axis ? -before[i] : before[i]);
        ck_assert_int_eq(bend(sector.position) == bend(before),
            !(is_mirrored && mirror->exchanges_charge));
    }
    ck_assert_int_gt(n_mirrored, 15);
    ck_assert_int_lt(n_mirrored, 45);
}

static const struct cell_feature {
    const char *name;
    int moves; /* 1: a mirror or a turn changes it */
} cell_features[] = {{"cell_count", 0}, {"lx", 0}, {"ly", 0}, {"lz", 0},
    {"leta", 1}, {"lphi", 1}, {"geta", 1}, {"gphi", 1}};

/* Each alone moves the hits. */
static const char *const moves[] = {"{'reflect_y': false}",
    "{'rotate_phi': false}",
    "{'rotate_phi': false, 'reflect_y': false, 'reflect_x': true}",
    "{'rotate_phi': false, 'reflect_y': false, 'reflect_z': true}"};

/* Directions do not move along with the hits, so they are refused; numbers
 * and lengths of cells stay as they are. */
ETX_TEST(test_train_sampling_cell_features, .rows = ROWS(cell_features))
{
    const struct cell_feature *feature = &cell_features[_i];
    scoped_context *context = train_bench_context(1);
    scoped_trainer *trainer = NULL;
    char config[400];

    (void)snprintf(config, sizeof config,
        "{'stage': 'embedding', 'model': {'arch': 'mlp', 'options': {'hidden': "
        "[4], 'n_out': 2}, 'node_features': [{'name': 'r', 'scale': 1000.0}, "
        "{'name': '%s', 'scale': 1.0}], 'graph': {'radius': 0.1}}, "
        "'augmentation': %s}",
        feature->name, moves[_i % ROWS(moves)]);
    if (feature->moves)
        ck_assert_fails(
            etx_trainer_create(&trainer, context, etx_test_json(config), NULL),
            ETX_ERR_FORMAT, feature->name);
    else
        ck_assert_ok(
            etx_trainer_create(&trainer, context, etx_test_json(config), NULL));
}
