/* test_triplet_scores.c -- scores of triplets, from doublets and by a network.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "backend/backend.h"
#include "data/graph.h"
#include "io/model_file.h"

#include <math.h>
#include <string.h>

#define NODES "\"node_features\":[{\"name\":\"r\",\"scale\":100}]"
#define DOUBLETS                                                               \
    "{\"schema\":1,\"gnn\":{\"arch\":\"graph_convolution\","                   \
    "\"options\":{\"hidden\":4}," NODES "}}"
#define TRIPLETS                                                               \
    "{\"schema\":1,\"gnn\":{\"arch\":\"triplet_gnn\",\"options\":"             \
    "{\"triplets\":{\"hidden\":4,\"n_iterations\":1}}," NODES "}}"
#define N_HITS  5
#define N_EDGES 5

/* Five hits in a row, each joined to the next, and the second to the fourth. */
struct bench {
    etx_context *context;
    etx_model *model;
    etx_event *event;
    etx_graph *graph, *triplets;
};

static void open_bench(struct bench *bench, const char *config, int scored)
{
    static const int32_t src[N_EDGES] = {0, 1, 2, 3, 1};
    static const int32_t dst[N_EDGES] = {1, 2, 3, 4, 3};
    static const float score[N_EDGES] = {0.5f, 0.25f, 1.0f, 0.75f, 0.0f};
    float position[N_HITS][3];
    struct etx_json *parsed = NULL;

    for (int i = 0; i < N_HITS; i++) {
        position[i][0] = 30.0f * (float)(i + 1);
        position[i][1] = (float)(i * i);
        position[i][2] = 5.0f;
    }
    *bench = (struct bench){NULL};
    ck_assert_ok(etx_context_create(&bench->context, NULL));
    ck_assert_ok(etx_json_parse(&parsed, "config", config, strlen(config), 8));
    ck_assert_ok(etx_model_from_config(&bench->model, parsed));
    etx_json_free(parsed);
    etx_network_init(bench->model->gnn.network, 3);
    ck_assert_ok(
        etx_event_create(&bench->event, N_HITS, NULL, &position[0][0]));
    ck_assert_ok(etx_graph_from_edges(
        &bench->graph, N_HITS, N_EDGES, src, dst, scored ? score : NULL, NULL));
    ck_assert_ok(etx_graph_to_triplets(
        &bench->triplets, bench->graph, bench->context, 100));
    ck_assert_int_eq(etx_graph_n_edges(bench->triplets), 5);
}

static void close_bench(struct bench *bench)
{
    etx_graph_free(bench->triplets);
    etx_graph_free(bench->graph);
    etx_event_free(bench->event);
    etx_model_free(bench->model);
    etx_context_free(bench->context);
}

#define scoped_bench SCOPED(close_bench) struct bench

static etx_status score(struct bench *bench)
{
    return etx_graph_score_triplets(bench->triplets, bench->graph,
        bench->context, bench->model, bench->event);
}

ETX_TEST(test_triplet_scores_are_products)
{
    scoped_bench bench;

    open_bench(&bench, DOUBLETS, 1);
    for (int repeat = 0; repeat < 2; repeat++) {
        ck_assert_ok(score(&bench));
        const float *scores = etx_graph_scores(bench.triplets);
        const float *doublet = etx_graph_scores(bench.graph);
        for (int64_t t = 0; t < 5; t++)
            ck_assert(
                scores[t] == doublet[etx_graph_src(bench.triplets)[t]] *
                                 doublet[etx_graph_dst(bench.triplets)[t]]);
    }
}

/* The sigmoid of the network's own logits; scores of doublets do not matter. */
ETX_TEST(test_triplet_scores_of_a_network)
{
    scoped_bench bench;
    scoped_bench other;
    const struct etx_network *network = NULL;
    float r[N_HITS];
    float logit[5];

    open_bench(&bench, TRIPLETS, 0);
    open_bench(&other, TRIPLETS, 1);
    ck_assert_ok(score(&bench));
    ck_assert_ok(score(&other));
    network = bench.model->gnn.network;
    for (int64_t i = 0; i < N_HITS; i++) {
        const float *at = etx_event_positions(bench.event) + 3 * i;

        r[i] = sqrtf(at[0] * at[0] + at[1] * at[1]) / 100.0f;
    }
    const struct etx_network_input input = {
        .n_nodes = N_HITS, .node_features = r, .graph = bench.graph};
    ck_assert_ok(network->arch->forward_triplets(
        network, bench.context, &input, bench.triplets, logit));
    for (int64_t t = 0; t < 5; t++) {
        const float found = etx_graph_scores(bench.triplets)[t];

        ck_assert(
            fabs((double)found - 1.0 / (1.0 + exp(-(double)logit[t]))) <= 1e-5);
        ck_assert(found == etx_graph_scores(other.triplets)[t]);
        ck_assert(t == 0 || found != etx_graph_scores(bench.triplets)[t - 1]);
    }
}

ETX_TEST(test_triplet_scores_refuse)
{
    scoped_bench bench;
    scoped_graph *line = NULL;

    open_bench(&bench, DOUBLETS, 0);
    ck_assert_ok(
        etx_graph_to_triplets(&line, bench.triplets, bench.context, 100));
    ck_assert_refused(score(&bench), "no scores");
    ck_assert_ptr_null(etx_graph_scores(bench.triplets));
    ck_assert_refused(etx_graph_score_triplets(bench.graph, bench.graph,
                          bench.context, bench.model, bench.event),
        "share no hit");
    ck_assert_refused(etx_graph_score_triplets(bench.triplets, line,
                          bench.context, bench.model, bench.event),
        "triplets has 5 nodes");
}
