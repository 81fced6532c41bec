/* test_parts.c -- parts of a graph: how nodes are partitioned, what a part
 * contains, scores of all parts together.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "job.h"
#include "rank_threads.h"

static int32_t *make_owners(
    const struct job *job, int32_t n_parts, int32_t order)
{
    int32_t *owners = etx_test_alloc(job->n_nodes, sizeof *owners);

    ck_assert_ok(
        etx_graph_partition(owners, job->graph, job->event, n_parts, order));
    return owners;
}

/* ----------------------------------------------------------- partition -- */

/* Nodes and ends of edges of every part, and edges between parts. */
static int64_t weigh_parts(const struct job *job, const int32_t *owners,
    int64_t weight[RANK_THREADS_MAX])
{
    const int32_t *src = etx_graph_src(job->graph);
    const int32_t *dst = etx_graph_dst(job->graph);
    int64_t n_cut = 0;

    memset(weight, 0, RANK_THREADS_MAX * sizeof *weight);
    for (int64_t i = 0; i < job->n_nodes; i++)
        weight[owners[i]]++;
    for (int64_t e = 0; e < job->n_edges; e++) {
        weight[owners[src[e]]]++;
        weight[owners[dst[e]]]++;
        n_cut += owners[src[e]] != owners[dst[e]];
    }
    return n_cut;
}

/* The largest of any node. */
static int64_t find_heaviest(const struct job *job)
{
    int64_t *weight = etx_test_alloc(job->n_nodes, sizeof *weight);
    int64_t heaviest = 0;

    for (int64_t e = 0; e < job->n_edges; e++) {
        weight[etx_graph_src(job->graph)[e]]++;
        weight[etx_graph_dst(job->graph)[e]]++;
    }
    for (int64_t i = 0; i < job->n_nodes; i++)
        if (weight[i] + 1 > heaviest)
            heaviest = weight[i] + 1;
    free(weight);
    return heaviest;
}

/* Every part has an equal weight, but for a node at either end of each of the
 * at most three cuts that made it; and few edges are cut. */
ETX_TEST(test_parts_partition)
{
    scoped_job job = job_make_graph();
    double slack;

    slack = 3.0 * (double)find_heaviest(&job);
    for (int32_t order = 0; order < 2; order++)
        for (int32_t n_parts = 1; n_parts <= RANK_THREADS_MAX; n_parts++) {
            scoped int32_t *owners = make_owners(&job, n_parts, order);
            int64_t weight[RANK_THREADS_MAX];
            const int64_t n_cut = weigh_parts(&job, owners, weight);
            const double share =
                (double)(job.n_nodes + 2 * job.n_edges) / n_parts;

            for (int32_t p = 0; p < n_parts; p++)
                ck_assert_msg(fabs((double)weight[p] - share) <= slack,
                    "order %d: part %d of %d weighs %d of %.0f +- %.0f",
                    (int)order, (int)p, (int)n_parts, (int)weight[p], share,
                    slack);
            ck_assert(n_parts > 1 || n_cut == 0);
            ck_assert_int_lt(n_cut, job.n_edges / 4);
        }
}

/* Sectors are intervals of azimuth. */
ETX_TEST(test_parts_sectors)
{
    scoped_job job = job_make_graph();
    scoped int32_t *owners = make_owners(&job, 4, ETX_PARTITION_PHI);
    double low[4] = {9.0, 9.0, 9.0, 9.0};
    double high[4] = {-9.0, -9.0, -9.0, -9.0};
    const float *x;

    x = etx_event_positions(job.event);
    for (int64_t i = 0; i < job.n_nodes; i++) {
        const double phi = atan2((double)x[3 * i + 1], (double)x[3 * i]);

        low[owners[i]] = fmin(low[owners[i]], phi);
        high[owners[i]] = fmax(high[owners[i]], phi);
    }
    for (int32_t p = 1; p < 4; p++)
        ck_assert(high[p - 1] <= low[p]);
}

/* A chain of hits along z, one of them on the beam line, whose azimuths change
 * sides at every hit: half of them by pseudorapidity cuts one edge, half
 * by azimuth seven. */
ETX_TEST(test_parts_halves)
{
    enum { N_HITS = 8 };
    float x[3 * N_HITS];
    int32_t src[N_HITS - 1];
    int32_t dst[N_HITS - 1];
    int32_t owners[N_HITS];
    scoped_event *event = NULL;
    scoped_graph *graph = NULL;

    for (int32_t i = 0; i < N_HITS; i++) {
        x[3 * i] = i == 0 ? 0.0f : 100.0f;
        x[3 * i + 1] = i == 0 ? 0.0f : i % 2 == 0 ? -5.0f : 5.0f;
        x[3 * i + 2] = 100.0f * ((float)i - 3.5f);
    }
    for (int32_t i = 0; i + 1 < N_HITS; i++) {
        src[i] = i;
        dst[i] = i + 1;
    }
    ck_assert_ok(etx_event_create(&event, N_HITS, NULL, x));
    ck_assert_ok(
        etx_graph_from_edges(&graph, N_HITS, N_HITS - 1, src, dst, NULL, NULL));
    ck_assert_ok(
        etx_graph_partition(owners, graph, event, 2, ETX_PARTITION_KD));
    for (int32_t i = 0; i < N_HITS; i++)
        ck_assert_int_eq(owners[i], i >= N_HITS / 2);
}

ETX_TEST(test_parts_refused)
{
    scoped_job job = job_make_graph();
    scoped int32_t *owners = make_owners(&job, 2, ETX_PARTITION_KD);
    etx_graph_part *part = NULL;

    ck_assert_refused(
        etx_graph_partition(owners, job.graph, job.event, 0, 0), "n_parts 0");
    ck_assert_refused(
        etx_graph_partition(owners, job.graph, job.event, 65537, 0),
        "1..65536");
    ck_assert_refused(
        etx_graph_partition(owners, job.graph, job.event, 2, 2), "order 2");
    ck_assert_refused(
        etx_graph_part_create(&part, job.graph, owners, 2, 2), "part 2");
    ck_assert_fails(etx_graph_part_create(&part, job.graph, owners, 1, 0),
        ETX_ERR_ARGUMENT, "owner 1 of node");
    ck_assert_ok(etx_graph_part_create(&part, job.graph, owners, 2, 0));
    etx_graph_part_free(part);
}

/* -------------------------------------------------------- what they contain --
 */

#define N_FEATURES 2

/* A part has nodes and edges of the whole graph, in its order. */
static void check_part(const struct job *job, const int32_t *owners,
    const etx_graph_part *part, int32_t p)
{
    const etx_graph *graph = etx_graph_part_graph(part);
    const int32_t *node = etx_graph_part_nodes(part);
    const int32_t *edge = etx_graph_part_edges(part);
    int64_t n_in_part = 0;
    int64_t n_own = 0;

    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++) {
        const int32_t src = node[etx_graph_src(graph)[e]];
        const int32_t dst = node[etx_graph_dst(graph)[e]];

        ck_assert(e == 0 || edge[e] > edge[e - 1]);
        ck_assert_int_eq(src, etx_graph_src(job->graph)[edge[e]]);
        ck_assert_int_eq(dst, etx_graph_dst(job->graph)[edge[e]]);
        ck_assert(etx_graph_scores(graph)[e] ==
                  etx_graph_scores(job->graph)[edge[e]]);
        ck_assert_mem_eq(etx_graph_edge_features(graph) + N_FEATURES * e,
            etx_graph_edge_features(job->graph) + N_FEATURES * (int64_t)edge[e],
            N_FEATURES * sizeof(float));
        n_own += owners[dst] == p;
    }
    for (int64_t e = 0; e < job->n_edges; e++)
        n_in_part += owners[etx_graph_src(job->graph)[e]] == p ||
                     owners[etx_graph_dst(job->graph)[e]] == p;
    ck_assert_int_eq(n_in_part, etx_graph_n_edges(graph));
    ck_assert_int_eq(n_own, etx_graph_part_n_own_edges(part));
}

ETX_TEST(test_parts_contain)
{
    const int32_t n_parts = 5;
    scoped_job job = job_make_graph();
    scoped int32_t *owners = make_owners(&job, n_parts, ETX_PARTITION_PHI);
    scoped float *feature =
        etx_test_alloc(N_FEATURES * job.n_edges, sizeof *feature);
    etx_graph_part *part[5] = {NULL};
    int64_t n_own = 0;

    for (int64_t k = 0; k < N_FEATURES * job.n_edges; k++)
        feature[k] = (float)(1 + k);
    ck_assert_ok(etx_graph_set_edge_features(job.graph, N_FEATURES, feature));
    for (int32_t p = 0; p < n_parts; p++) {
        ck_assert_ok(
            etx_graph_part_create(&part[p], job.graph, owners, n_parts, p));
        check_part(&job, owners, part[p], p);
        n_own += etx_graph_part_n_own_edges(part[p]);
    }
    ck_assert_int_eq(n_own, job.n_edges);
    for (int32_t p = 0; p < n_parts; p++)
        for (int32_t q = 0; q < n_parts; q++) {
            ck_assert_int_eq(etx_graph_part_sent(part[p])[q],
                etx_graph_part_received(part[q])[p]);
            ck_assert(p != q || etx_graph_part_sent(part[p])[q] == 0);
        }
    for (int32_t p = 0; p < n_parts; p++)
        etx_graph_part_free(part[p]);
}

ETX_TEST(test_parts_set_scores)
{
    scoped_job job = job_make_graph();
    scoped float *scores = etx_test_alloc(job.n_edges, sizeof *scores);

    scores[7] = 0.25f;
    ck_assert_ok(etx_graph_set_scores(job.graph, scores));
    ck_assert_mem_eq(etx_graph_scores(job.graph), scores,
        (size_t)job.n_edges * sizeof *scores);
    scores[3] = 1.5f;
    ck_assert_refused(
        etx_graph_set_scores(job.graph, scores), "score 3 is 1.5");
    ck_assert(etx_graph_scores(job.graph)[3] == 0.0f);
    ck_assert_ok(etx_graph_set_scores(job.graph, NULL));
    ck_assert_ptr_null(etx_graph_scores(job.graph));
}

/* -------------------------------------------------------------- failure -- */

/* An exchange that fails at its third call: what its swap then returns, the
 * message that it sets (NULL: none), and what the caller gets. */
static const struct {
    etx_status returned;
    const char *message;
    etx_status status;
    const char *text;
} failures[] = {
    {ETX_ERR_IO, "the cable", ETX_ERR_IO, "the cable"},
    {ETX_ERR_IO, NULL, ETX_ERR_IO, "swap of the caller returned ETX_ERR_IO"},
    {1, NULL, ETX_ERR_IO, "swap of the caller returned 1, which is no status"},
    {-99, "the cable", ETX_ERR_IO,
        "swap of the caller returned -99, which is no status"},
};

struct failing {
    int32_t n_swaps, n_left, row;
    etx_status left_with;
};

static etx_status fail_third(void *user, float *received,
    const int64_t *n_received, const float *sent, const int64_t *n_sent)
{
    struct failing *failing = user;

    memset(received, 0, (size_t)(n_received[0] + n_received[1]) * 4);
    (void)sent;
    (void)n_sent;
    if (++failing->n_swaps < 3)
        return ETX_OK;
    if (failures[failing->row].message != NULL)
        etx_set_last_error(failures[failing->row].message);
    return failures[failing->row].returned;
}

static void leave(void *user, etx_status status)
{
    struct failing *failing = user;

    failing->n_left++;
    failing->left_with = status;
}

ETX_TEST(test_parts_failure, .rows = ROWS(failures))
{
    scoped_job job = job_make_graph();
    struct failing failing = {.row = _i};
    const etx_part_exchange exchange = {.struct_size = sizeof exchange,
        .swap = fail_third,
        .leave = leave,
        .user = &failing};
    scoped_part *part = NULL;
    scoped float *scores = NULL;
    scoped int32_t *owners = make_owners(&job, 2, ETX_PARTITION_PHI);

    ck_assert_ok(etx_graph_part_create(&part, job.graph, owners, 2, 1));
    scores = malloc((size_t)job.n_edges * sizeof *scores);
    etx_set_last_error("of an earlier call");
    ck_assert_fails(etx_graph_part_score(scores, part, job.context, job.model,
                        job.event, &exchange),
        failures[_i].status, failures[_i].text);
    ck_assert_int_eq(failing.n_swaps, 3);
    ck_assert_int_eq(failing.n_left, 1);
    ck_assert_status(failing.left_with, failures[_i].status);
}
