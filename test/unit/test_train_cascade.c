/* test_train_cascade.c -- a cheap network that rejects before the filter.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"
#include "train_bench.h"
#include "train_events.h"

#include "train/sampling/truth.h"

#include <exatrkx/graph.h>

#include <string.h>

#define FEATURES                                                               \
    "'node_features': [{'name': 'r', 'scale': 1000.0}], 'edge_features': "     \
    "[{'name': 'dphi', 'scale': 0.3}, {'name': 'deta', 'scale': 1.0}, "        \
    "{'name': 'dr', 'scale': 100.0}], "
#define NETWORK(stage, width, cut)                                             \
    "{'stage': '" stage                                                        \
    "', 'model': {'arch': 'edge_filter', 'options': {'hidden': [" width        \
    "]}, " FEATURES "'cut': " cut                                              \
    "}, 'schedule': {'steps': 200, 'learning_rate': 0.01, 'warmup_steps': "    \
    "2}, 'sampling': {'hits': 0, 'edges': 2000}"

static const char filter_config[] = NETWORK(
    "filter", "16", "0.1") ", 'validation': {'target_efficiency': 0.98}}";
static const char cascade_config[] = NETWORK("cascade", "8", "0.0") "}";

/* Make the model so far the start, and train and validate the next stage. */
static void train_next(struct train_bench *bench, const char *config)
{
    etx_model *made = NULL;

    ck_assert_ok(etx_trainer_model(&made, bench->trainer));
    etx_trainer_free(bench->trainer);
    bench->trainer = NULL;
    etx_model_free(bench->start);
    bench->start = made;
    ck_assert_ok(etx_trainer_create(
        &bench->trainer, bench->context, etx_test_json(config), bench->start));
    for (int k = 0; k < TRAIN_BENCH_EVENTS; k++)
        ck_assert_ok(etx_trainer_add_event(
            bench->trainer, bench->event[k], k == TRAIN_BENCH_EVENTS - 1));
    train_bench_steps(bench->trainer, 200);
    (void)train_bench_validate(bench->trainer);
}

/* A model with a cascade, whose trainer stays; the start is the model without.
 * The radius is so wide that most candidates are plainly false. */
static etx_model *train(struct train_bench *bench)
{
    etx_model *model = NULL;

    *bench = train_bench_new(
        ETX_TRAIN_EMBEDDING, 1, "{'validation': {'radius': 1.0}}");
    train_bench_steps(bench->trainer, 20);
    (void)train_bench_validate(bench->trainer);
    train_next(bench, filter_config);
    train_next(bench, cascade_config);
    ck_assert_ok(etx_trainer_model(&model, bench->trainer));
    return model;
}

/* The edges of an event that pass the filter, by themselves and with the
 * cascade before it. */
struct filtered {
    etx_graph *candidates, *alone, *cascaded;
};

static void filter(struct filtered *out, struct train_bench *bench,
    const etx_model *cascaded, const etx_event *event)
{
    *out = (struct filtered){NULL, NULL, NULL};
    ck_assert_ok(
        etx_graph_build(&out->candidates, bench->context, bench->start, event));
    ck_assert_ok(etx_graph_filter(
        &out->alone, out->candidates, bench->context, bench->start, event));
    ck_assert_ok(etx_graph_filter(
        &out->cascaded, out->candidates, bench->context, cascaded, event));
}

static void filtered_free(struct filtered *filtered)
{
    etx_graph_free(filtered->candidates);
    etx_graph_free(filtered->alone);
    etx_graph_free(filtered->cascaded);
}

static int64_t count_signal(
    const struct etx_graph *graph, const struct etx_truth *truth)
{
    int64_t n = 0;

    for (int64_t e = 0; e < graph->n_edges; e++)
        n += etx_truth_pair(truth, graph->src[e], graph->dst[e]) ==
             ETX_PAIR_SIGNAL;
    return n;
}

/* On events that neither training nor validation saw: signal that the filter
 * keeps stays, and candidates go before the filter. The 99.9 % of a validation
 * of 300 pairs is all of them; held-out ones may lose some more. */
ETX_TEST(test_train_cascade_keeps_signal)
{
    scoped_bench bench = {NULL};
    scoped_model *model = train(&bench);
    int64_t n_alone = 0;
    int64_t n_cascaded = 0;
    int64_t n_candidates = 0;
    int64_t n_left = 0;

    ck_assert(model->cascade_cut > 0.0f);
    ck_assert(model->cascade_kept >= 0.999f);
    for (uint64_t seed = 20; seed < 26; seed++) {
        scoped_event *event = train_event(50, seed);
        struct etx_truth truth;
        struct filtered filtered;
        scoped_graph *left = NULL;
        const float cut = model->filter_cut;

        ck_assert_ok(
            etx_truth_build(&truth, event, &bench.trainer->config.truth, 0));
        filter(&filtered, &bench, model, event);
        n_alone += count_signal(filtered.alone, &truth);
        n_cascaded += count_signal(filtered.cascaded, &truth);
        n_candidates += filtered.candidates->n_edges;
        model->filter_cut = 0.0f; /* what the cascade alone lets through */
        ck_assert_ok(etx_graph_filter(
            &left, filtered.candidates, bench.context, model, event));
        model->filter_cut = cut;
        n_left += left->n_edges;
        filtered_free(&filtered);
        etx_truth_clear(&truth);
    }
    ck_assert_int_gt(n_alone, 500);
    ck_assert_msg((double)n_cascaded >= 0.99 * (double)n_alone,
        "%lld of %lld signal edges stay", (long long)n_cascaded,
        (long long)n_alone);
    ck_assert_msg((double)n_left < 0.6 * (double)n_candidates,
        "%lld of %lld candidates reach the filter", (long long)n_left,
        (long long)n_candidates);
}

/* What passes both has the score that the filter gives it without. */
ETX_TEST(test_train_cascade_leaves_scores)
{
    scoped_bench bench = {NULL};
    scoped_model *model = train(&bench);
    struct filtered filtered;
    int64_t e_all = 0;

    filter(&filtered, &bench, model, bench.event[0]);
    const struct etx_graph *few = filtered.cascaded;
    const struct etx_graph *all = filtered.alone;
    ck_assert_int_gt(few->n_edges, 0);
    ck_assert_int_lt(few->n_edges, all->n_edges);
    for (int64_t e = 0; e < few->n_edges; e++, e_all++) {
        while (e_all < all->n_edges && (all->src[e_all] != few->src[e] ||
                                           all->dst[e_all] != few->dst[e]))
            e_all++;
        ck_assert_int_lt(e_all, all->n_edges);
        ck_assert_float_eq(all->score[e_all], few->score[e]);
    }
    filtered_free(&filtered);
}

/* Through a file and back: the same edges. */
ETX_TEST(test_train_cascade_is_saved)
{
    scoped_bench bench = {NULL};
    scoped_model *model = train(&bench);
    scoped_model *read = etx_test_saved(model);
    scoped_graph *a = NULL;
    scoped_graph *b = NULL;
    scoped_graph *candidates = NULL;

    ck_assert_float_eq(read->cascade_cut, model->cascade_cut);
    ck_assert_float_eq(read->cascade_kept, model->cascade_kept);
    ck_assert_ok(
        etx_graph_build(&candidates, bench.context, read, bench.event[1]));
    ck_assert_ok(
        etx_graph_filter(&a, candidates, bench.context, model, bench.event[1]));
    ck_assert_ok(
        etx_graph_filter(&b, candidates, bench.context, read, bench.event[1]));
    ck_assert_int_eq(a->n_edges, b->n_edges);
    ck_assert_mem_eq(a->score, b->score, (size_t)a->n_edges * sizeof *a->score);
}

/* A filter that is trained again has no cascade, a graph network keeps it. */
ETX_TEST(test_train_cascade_goes_with_its_filter, .rows = 2)
{
    static const char *const configs[] = {"{'stage': 'filter'}",
        "{'stage': 'gnn', 'model': {'arch': 'interaction_network', "
        "'node_features': [{'name': 'r', 'scale': 1000.0}]}}"};
    scoped_bench bench = {NULL};
    scoped_model *model = train(&bench);
    scoped_trainer *trainer = NULL;
    scoped_model *made = NULL;

    ck_assert_ok(etx_trainer_create(
        &trainer, bench.context, etx_test_json(configs[_i]), model));
    ck_assert_ok(etx_trainer_model(&made, trainer));
    ck_assert((made->cascade.network == NULL) == (_i == 0));
    ck_assert(_i == 0 || made->cascade_cut == model->cascade_cut);
}

ETX_TEST(test_train_cascade_needs_a_filter)
{
    etx_trainer *trainer = NULL;

    scoped_bench bench = train_bench_new(ETX_TRAIN_FILTER, 1, NULL);
    ck_assert_fails(
        etx_trainer_create(&trainer, bench.context,
            etx_test_json(
                "{'stage': 'cascade', 'model': {'arch': 'edge_filter', "
                "'node_features': [], 'cut': 0.0}}"),
            bench.start),
        ETX_ERR_FORMAT, "filter");
}
