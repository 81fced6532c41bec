/* test_own_edge_features.c -- features of edges that the caller gives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "io_models.h"
#include "job.h"

#define NODES "'node_features': [{'name': 'r', 'scale': 1e3}]"
#define GNN(options, feature, scale)                                           \
    "'gnn': {'arch': 'interaction_network', 'options': {'hidden': 4" options   \
    "}," NODES ", 'edge_features': [{'name': '" feature "', 'scale': " scale   \
    "}]}}"
#define MODEL(options, feature, scale)                                         \
    "{'schema': 1," GNN(options, feature, scale)
#define FILTER(feature)                                                        \
    "{'schema': 1, 'filter': {'arch': 'edge_filter'," NODES                    \
    ", 'edge_features': [{'name': '" feature "', 'scale': 100}], 'cut': "      \
    "0.5}," GNN("", feature, "100")

/* Distances in space of the ends, mm, after a column that nobody reads. */
static float *make_lengths(const struct job *job)
{
    const float *x = etx_event_positions(job->event);
    float *length = etx_test_alloc(2 * job->n_edges, sizeof *length);

    for (int64_t e = 0; e < job->n_edges; e++) {
        const float *s = x + 3 * (int64_t)etx_graph_src(job->graph)[e];
        const float *d = x + 3 * (int64_t)etx_graph_dst(job->graph)[e];

        length[2 * e] = -7.0f;
        length[2 * e + 1] =
            hypotf(hypotf(d[0] - s[0], d[1] - s[1]), d[2] - s[2]);
    }
    return length;
}

static struct job make_job(void)
{
    struct job job = job_make_graph();
    float *length = make_lengths(&job);

    ck_assert_ok(etx_graph_set_edge_features(job.graph, 2, length));
    free(length);
    return job;
}

static float *score(const struct job *job, const char *text)
{
    scoped_model *model = io_model_make(text);
    const size_t bytes = (size_t)job->n_edges * sizeof(float);
    float *scores = malloc(bytes);

    ck_assert_ptr_nonnull(scores);
    ck_assert_ok(etx_graph_score(job->graph, job->context, model, job->event));
    memcpy(scores, etx_graph_scores(job->graph), bytes);
    return scores;
}

/* A column that has the values of a feature is that feature. */
static const struct {
    const char *by_name, *own;
} alike[] = {
    {MODEL("", "length", "100"), MODEL("", "own_1", "100")},
    {MODEL(", 'direction': 'doubled_mean'", "length", "100"),
        MODEL(", 'direction': 'doubled_mean'", "own_1", "100")},
    {FILTER("length"), FILTER("own_1")},
};

ETX_TEST(test_own_edge_features_are_read, .rows = ROWS(alike))
{
    scoped_job job = make_job();
    scoped float *expected = score(&job, alike[_i].by_name);
    scoped float *found = score(&job, alike[_i].own);
    double largest = 0.0, spread = 0.0;

    for (int64_t e = 0; e < job.n_edges; e++) {
        largest = fmax(largest, fabs((double)(found[e] - expected[e])));
        spread = fmax(spread, fabs((double)(found[e] - found[0])));
    }
    ck_assert_double_lt(largest, 1e-6);
    ck_assert_double_gt(spread, 1e-3);
}

/* The filter leaves them with their edges. */
ETX_TEST(test_own_edge_features_pass_the_filter)
{
    scoped_job job = make_job();
    scoped_model *model = io_model_make(FILTER("own_1"));
    scoped_graph *kept = NULL;
    const float *all = etx_graph_edge_features(job.graph);
    int64_t e = 0;

    ck_assert_ok(
        etx_graph_filter(&kept, job.graph, job.context, model, job.event));
    const int64_t n = etx_graph_n_edges(kept);
    ck_assert(n > 10 && n < job.n_edges - 10);
    ck_assert_int_eq(etx_graph_n_edge_features(kept), 2);
    for (int64_t k = 0; k < n; k++, e++) {
        while (etx_graph_src(job.graph)[e] != etx_graph_src(kept)[k] ||
               etx_graph_dst(job.graph)[e] != etx_graph_dst(kept)[k])
            e++;
        ck_assert_mem_eq(etx_graph_edge_features(kept) + 2 * k, all + 2 * e,
            2 * sizeof *all);
    }
}

/* A partition has the features of its edges. */
ETX_TEST(test_own_edge_features_of_parts)
{
    scoped_job job = make_job();
    scoped int32_t *owners = etx_test_alloc(job.n_nodes, sizeof *owners);
    scoped_part *part = NULL;

    ck_assert_ok(etx_graph_partition(
        owners, job.graph, job.event, 3, ETX_PARTITION_PHI));
    ck_assert_ok(etx_graph_part_create(&part, job.graph, owners, 3, 1));
    const etx_graph *graph = etx_graph_part_graph(part);
    ck_assert_int_eq(etx_graph_n_edge_features(graph), 2);
    for (int64_t k = 0; k < etx_graph_n_edges(graph); k++)
        ck_assert(
            etx_graph_edge_features(graph)[2 * k + 1] ==
            etx_graph_edge_features(
                job.graph)[2 * (int64_t)etx_graph_part_edges(part)[k] + 1]);
}

ETX_TEST(test_own_edge_features_refused)
{
    scoped_job job = make_job();
    scoped_model *model = io_model_make(MODEL("", "own_2", "1"));
    scoped float *values = etx_test_alloc(17 * job.n_edges, sizeof *values);

    ck_assert_refused(etx_graph_score(job.graph, job.context, model, job.event),
        "the edge feature own_2 is column 2 of etx_graph_set_edge_features, "
        "which gave the graph 2");
    ck_assert_fails(etx_graph_set_edge_features(job.graph, 17, values),
        ETX_ERR_LIMIT, "n_features 17 is not in 0..16");
    ck_assert_refused(
        etx_graph_set_edge_features(job.graph, -1, values), "n_features -1");
    ck_assert_refused(
        etx_graph_set_edge_features(job.graph, 1, NULL), "features");
    values[5] = NAN;
    ck_assert_refused(
        etx_graph_set_edge_features(job.graph, 3, values), "features");
    ck_assert_int_eq(etx_graph_n_edge_features(job.graph), 2);
    ck_assert_ok(etx_graph_set_edge_features(job.graph, 0, NULL));
    ck_assert_int_eq(etx_graph_n_edge_features(job.graph), 0);
    ck_assert_ptr_null(etx_graph_edge_features(job.graph));
}
