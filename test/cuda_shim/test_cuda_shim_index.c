/* cuda_shim/test_cuda_shim_index.c -- edges as an index of 64-bit rows on a
 * device, and graphs that are there alone.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "device_edges.h"

#define ON_DEVICE 2 /* keep_graphs: there alone */

/* What the caller gets: memory that its stream sets to zero late. */
struct written {
    int64_t *index;
    float *score;
};

static struct written lend_space(int64_t n_edges)
{
    scoped int64_t *zeros = etx_test_alloc(2 * n_edges, sizeof *zeros);

    return (struct written){
        shim_lend(0, zeros, 2 * (size_t)n_edges * sizeof *zeros),
        shim_lend(0, zeros, (size_t)n_edges * sizeof(float))};
}

static void reclaim(const struct written *written)
{
    shim_reclaim(written->index);
    shim_reclaim(written->score);
}
#define scoped_space SCOPED(reclaim) const struct written

/* Written are the edges of graph with a score above cut, in order. */
static void assert_written(
    struct written written, int64_t n, const etx_graph *graph, float cut)
{
    int64_t k = 0;

    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++) {
        const float *const score = etx_graph_scores(graph);

        if (score != NULL && !(score[e] > cut))
            continue;
        ck_assert_int_lt(k, n);
        if (written.index[k] != etx_graph_src(graph)[e] ||
            written.index[n + k] != etx_graph_dst(graph)[e] ||
            (score != NULL && written.score[k] != score[e]))
            ck_abort_msg("edge %lld is another", (long long)k);
        k++;
    }
    ck_assert_int_eq(k, n);
}

/* As etx_graph_from_edges, and back with and without a cut; of the edges
 * nothing but a few numbers is copied. */
SHIM_TEST(test_cuda_shim_index_round, .rows = 2)
{
    const int32_t is_scored = _i;
    scoped struct edges *edges = make_edges();
    const float *const scores = is_scored ? edges->score : NULL;
    scoped_context *context = shim_context(0, ON_DEVICE);
    scoped_graph *expected = NULL;
    scoped_graph *graph = NULL;
    void *index = shim_lend(0, edges->index, sizeof edges->index);
    void *score = shim_lend(0, edges->score, sizeof edges->score);

    ck_assert_ok(etx_graph_from_edges(
        &expected, N_NODES, N_EDGES, edges->src, edges->dst, scores, NULL));
    const struct shim_counts before = shim_count();

    ck_assert_ok(etx_graph_from_index_device(&graph, context, N_NODES, N_EDGES,
        index, is_scored ? score : NULL, shim_lender(0)));
    shim_reclaim(index);
    shim_reclaim(score);
    for (int32_t c = 0; c < 4; c++) {
        const float cut = (float[]){-1.0f, 0.0f, 0.5f, 1.0f}[c];
        scoped_space written = lend_space(N_EDGES);
        int64_t n = -1;
        int64_t n_again = -1;

        ck_assert_ok(etx_graph_to_index_device(
            &n, NULL, NULL, 0, graph, context, cut, NULL));
        ck_assert_ok(etx_graph_to_index_device(&n_again, written.index,
            is_scored ? written.score : NULL, n, graph, context, cut,
            shim_lender(0)));
        ck_assert_int_eq(n, n_again);
        assert_written(written, n, expected, cut);
    }
    const struct shim_counts count = shim_count_since(&before);

    ck_assert_int_eq(count.bytes_in, 0);
    ck_assert_int_le(count.bytes_out, 80);
}

/* Contexts that keep graphs, or none, on the device give their edges, too. */
SHIM_TEST(test_cuda_shim_index_other_graphs, .rows = 2)
{
    scoped struct edges *edges = make_edges();
    scoped_context *context = shim_context(0, _i);
    scoped_space written = lend_space(N_EDGES);
    scoped_loan *index = shim_lend(0, edges->index, sizeof edges->index);
    scoped_graph *graph = NULL;
    int64_t n = 0;

    ck_assert_ok(etx_graph_from_index_device(
        &graph, context, N_NODES, N_EDGES, index, NULL, shim_lender(0)));
    ck_assert_int_eq(etx_graph_device_index(graph), _i - 1);
    ck_assert_ok(etx_graph_set_scores(graph, edges->score));
    ck_assert_ok(etx_graph_to_index_device(&n, written.index, written.score,
        N_EDGES, graph, context, 0.25f, shim_lender(0)));
    assert_written(written, n, graph, 0.25f);
}

/* The tracks of an event stage by stage, from tensor to tensor as ACTS has
 * them, or with graphs that stay; *out for etx_tracks_free. */
static void run_stages(etx_tracks **out, etx_context *context,
    const etx_model *model, const etx_event *event, int32_t with_tensors)
{
    const int64_t n_hits = etx_event_n_hits(event);
    scoped_graph *graph = NULL;

    ck_assert_ok(etx_graph_build(&graph, context, model, event));
    for (int32_t stage = 0; stage < 3; stage++) {
        etx_graph *next = NULL;

        if (with_tensors) {
            scoped_space tensor = lend_space(etx_graph_n_edges(graph));
            const int32_t is_scored = stage > 0;
            int64_t n = 0;

            ck_assert_ok(etx_graph_to_index_device(&n, tensor.index,
                is_scored ? tensor.score : NULL, etx_graph_n_edges(graph),
                graph, context, -1.0f, shim_lender(0)));
            etx_graph_free(graph);
            ck_assert_ok(etx_graph_from_index_device(&graph, context, n_hits, n,
                tensor.index, is_scored ? tensor.score : NULL, shim_lender(0)));
        }
        if (stage == 0) {
            ck_assert_ok(etx_graph_filter(&next, graph, context, model, event));
            etx_graph_free(graph);
            graph = next;
        } else if (stage == 1) {
            ck_assert_ok(etx_graph_score(graph, context, model, event));
        }
    }
    ck_assert_ok(etx_graph_tracks(out, graph, context, event, NULL));
}

/* The same tracks, and copies that do not grow with the edges: to the device
 * what a hit has, for each of four calls, and back its group. */
SHIM_TEST(test_cuda_shim_index_stages)
{
    scoped_context *plain = shim_context(0, 0);
    scoped_context *keeping = shim_context(0, ON_DEVICE);
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_tracks *expected = NULL;
    scoped_tracks *first = NULL;
    scoped_tracks *tracks = NULL;

    etx_test_open_part(&model, &event, "event000000001");
    run_stages(&expected, plain, model, event, 0);
    run_stages(&first, keeping, model, event, 1); /* now the model is there */
    const struct shim_counts before = shim_count();
    const int64_t n_hits = etx_event_n_hits(event);

    run_stages(&tracks, keeping, model, event, 1);
    const struct shim_counts count = shim_count_since(&before);

    ck_assert_int_le(count.bytes_in, 4 * 24 * n_hits);
    ck_assert_int_le(count.bytes_out, 4 * n_hits + 256);
    ck_assert_int_gt(etx_tracks_count(tracks), 0);
    etx_test_same_tracks(tracks, expected);
}

/* A graph without arrays on the host; whoever needs them says so, and leaves it
 * as it is. */
SHIM_TEST(test_cuda_shim_index_host_refused)
{
    static const char *const text = "the graph has no arrays on the host";
    scoped struct edges *edges = make_edges();
    etx_context *context = shim_context(0, ON_DEVICE);
    scoped_context *other = shim_context(0, 1);
    scoped_context *cpu = etx_test_context();
    void *index = shim_lend(0, edges->index, sizeof edges->index);
    void *scores = shim_lend(0, edges->score, sizeof edges->score);
    scoped_model *model = NULL;
    scoped_event *event = NULL;
    scoped_graph *graph = NULL;
    etx_graph *copy = NULL;
    etx_graph_part *part = NULL;
    etx_tracks *tracks = NULL;
    int64_t n = 0;

    etx_test_open_example(&model, &event, "event000000001");
    const int64_t n_hits = etx_event_n_hits(event);

    scoped int32_t *owners = etx_test_alloc(n_hits, sizeof *owners);

    ck_assert_int_ge(n_hits, N_NODES);
    ck_assert_ok(etx_graph_from_index_device(
        &graph, context, n_hits, N_EDGES, index, scores, shim_lender(0)));
    shim_reclaim(index);
    shim_reclaim(scores);
    ck_assert_ptr_null(etx_graph_src(graph));
    ck_assert_ptr_null(etx_graph_dst(graph));
    ck_assert_ptr_null(etx_graph_offsets(graph));
    ck_assert_refused(etx_graph_filter(&copy, graph, cpu, model, event), text);
    ck_assert_refused(
        etx_graph_filter(&copy, graph, other, model, event), text);
    ck_assert_refused(etx_graph_score(graph, cpu, model, event), text);
    ck_assert_refused(etx_graph_score(graph, other, model, event), text);
    ck_assert_refused(etx_graph_set_scores(graph, edges->score), text);
    ck_assert_refused(etx_graph_set_edge_features(graph, 0, NULL), text);
    ck_assert_refused(etx_graph_to_triplets(&copy, graph, cpu, 100), text);
    ck_assert_refused(
        etx_graph_score_triplets(graph, graph, context, model, event), text);
    ck_assert_refused(etx_graph_part_create(&part, graph, owners, 1, 0), text);
    ck_assert_refused(
        etx_graph_to_index_device(&n, NULL, NULL, 0, graph, other, 0.0f, NULL),
        text);
    ck_assert_ok(etx_graph_score(graph, context, model, event));
    ck_assert_ptr_nonnull(etx_graph_scores_device(graph));
    ck_assert_ptr_null(etx_graph_scores(graph));
    shim_fail_call(0);
    ck_assert_int_ne(etx_graph_score(graph, context, model, event), ETX_OK);
    shim_fail_call(-1);
    ck_assert_ok(etx_graph_tracks(&tracks, graph, context, event, NULL));
    etx_tracks_free(tracks);
    etx_context_free(context);
    ck_assert_refused(
        etx_graph_to_index_device(&n, NULL, NULL, 0, graph, other, 0.0f, NULL),
        text);
}

/* Edges that are none, and memory that is not the device's or too small. */
SHIM_TEST(test_cuda_shim_index_refused)
{
    const float score[1] = {NAN};
    const float positions[9] = {0};
    const int64_t index[2][4] = {{0, 1, 2, INT64_C(1) << 32}, {0, -1, 2, 1}};
    scoped_context *context = shim_context(0, ON_DEVICE);
    scoped_context *cpu = etx_test_context();
    scoped_event *event = etx_test_event(3, positions);
    void *const stream = shim_lender(0);
    void *scores = shim_lend(0, score, sizeof score);
    void *rows[2] = {shim_lend(0, index[0], sizeof index[0]),
        shim_lend(0, index[1], sizeof index[1])};
    scoped_space written = lend_space(2);
    etx_graph *graph = NULL;
    int32_t label[3];
    int64_t n = 7;

    ck_assert_refused(
        etx_graph_from_index_device(&graph, cpu, 3, 2, rows[0], NULL, stream),
        "the context is on the CPU: it has no device for index");
    ck_assert_refused(etx_graph_from_index_device(
                          &graph, context, -1, 2, rows[0], NULL, stream),
        "n_nodes -1");
    ck_assert_refused(etx_graph_from_index_device(
                          &graph, context, 3, -1, rows[0], NULL, stream),
        "n_edges -1");
    ck_assert_refused(etx_graph_from_index_device(
                          &graph, context, 3, 2, index[0], NULL, stream),
        "index is in memory of the host");
    ck_assert_refused(etx_graph_from_index_device(
                          &graph, context, 3, 2, rows[0], score, stream),
        "scores is in memory of the host");
    ck_assert_fails(etx_graph_from_index_device(
                        &graph, context, 3, 2, rows[0], NULL, stream),
        ETX_ERR_ARGUMENT, "edge 1 is from 1 to 4294967296 and not in 0..2");
    ck_assert_fails(etx_graph_from_index_device(
                        &graph, context, 3, 2, rows[1], NULL, stream),
        ETX_ERR_ARGUMENT, "edge 1 is from -1 to 1 and not in 0..2");
    ck_assert_ptr_null(graph);
    ck_assert_ok(etx_graph_from_index_device(
        &graph, context, 3, 1, rows[0], NULL, stream));
    ck_assert_refused(
        etx_graph_partition(label, graph, event, 1, ETX_PARTITION_PHI),
        "the graph has no arrays on the host");
    ck_assert_refused(
        etx_graph_to_index_device(&n, NULL, NULL, 0, graph, context, NAN, NULL),
        "cut is nan");
    ck_assert_refused(
        etx_graph_to_index_device(&n, NULL, NULL, 0, graph, cpu, 0.0f, NULL),
        "the context is on the CPU");
    ck_assert_refused(etx_graph_to_index_device(&n, written.index, NULL, 0,
                          graph, context, 0.0f, stream),
        "capacity 0 is below the 1 edges");
    ck_assert_refused(etx_graph_to_index_device(&n, written.index,
                          written.score, 1, graph, context, 0.0f, stream),
        "the graph is not scored");
    ck_assert_refused(
        etx_graph_to_index_device(&n, (int64_t *)(uintptr_t)index[0], NULL, 1,
            graph, context, 0.0f, stream),
        "index is in memory of the host");
    ck_assert_int_eq(n, 7);
    ck_assert_ptr_null(etx_graph_scores_device(graph));
    ck_assert_ptr_nonnull(strstr(etx_last_error(), "the graph is not scored"));
    ck_assert_refused(etx_graph_label(label, graph, context, NULL, NULL),
        "the graph is not scored");
    etx_graph_free(graph);
    graph = NULL;
    ck_assert_refused(etx_graph_from_index_device(
                          &graph, context, 3, 1, rows[0], scores, stream),
        "score 0 is nan and not in 0..1");
    ck_assert_ok(
        etx_graph_from_index_device(&graph, context, 3, 0, NULL, NULL, stream));
    ck_assert_ok(etx_graph_to_index_device(
        &n, NULL, NULL, 0, graph, context, 0.0f, NULL));
    ck_assert_int_eq(n, 0);
    etx_graph_free(graph);
    shim_reclaim(scores);
    shim_reclaim(rows[0]);
    shim_reclaim(rows[1]);
}
