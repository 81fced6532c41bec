/* cuda_shim/test_cuda_shim_inputs.c -- hits and edges of a caller in memory of
 * a device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <math.h>
#include <stdlib.h>

#include "device_edges.h"
#include "stage/stage.h"

/* Edges on a device, where their lender writes them late. */
struct borrowed_edges {
    void *src, *dst, *score;
};

static struct borrowed_edges lend_edges(const struct edges *edges)
{
    return (struct borrowed_edges){shim_lend(0, edges->src, sizeof edges->src),
        shim_lend(0, edges->dst, sizeof edges->dst),
        shim_lend(0, edges->score, sizeof edges->score)};
}

static void reclaim(const struct borrowed_edges *borrowed)
{
    shim_reclaim(borrowed->src);
    shim_reclaim(borrowed->dst);
    shim_reclaim(borrowed->score);
}
#define scoped_edges SCOPED(reclaim) const struct borrowed_edges

static void assert_same_graph(const etx_graph *a, const etx_graph *b)
{
    etx_test_same_graph(a, b);
    ck_assert_mem_eq(
        etx_graph_scores(a), etx_graph_scores(b), N_EDGES * sizeof(float));
}

/* The graph of the device is that of the host, and independent of the arrays
 * once it is made. */
SHIM_TEST(test_cuda_shim_inputs_edges)
{
    scoped struct edges *edges = make_edges();
    int64_t order[2][N_EDGES];
    scoped_graph *expected = NULL;

    ck_assert_ok(etx_graph_from_edges(&expected, N_NODES, N_EDGES, edges->src,
        edges->dst, edges->score, order[0]));
    for (int32_t keep = 0; keep < 2; keep++) {
        scoped_context *context = shim_context(0, keep);
        scoped_graph *graph = NULL;
        const struct borrowed_edges borrowed = lend_edges(edges);

        ck_assert_ok(etx_graph_from_edges_device(&graph, context, N_NODES,
            N_EDGES, borrowed.src, borrowed.dst, borrowed.score, order[1],
            shim_lender(0)));
        reclaim(&borrowed);
        assert_same_graph(graph, expected);
        ck_assert_mem_eq(order[1], order[0], sizeof order[0]);
        ck_assert_int_eq(etx_graph_device_index(graph), keep - 1);
        if (keep) {
            ck_assert_mem_eq(etx_graph_src_device(graph), etx_graph_src(graph),
                sizeof edges->src);
            ck_assert_mem_eq(etx_graph_scores_device(graph),
                etx_graph_scores(graph), sizeof edges->score);
        }
    }
}

/* Without a stream named, values are those that the legacy default stream of
 * the context's device writes late: most programs work there. */
SHIM_TEST(test_cuda_shim_inputs_default_stream, .rows = 2)
{
    scoped struct edges *edges = make_edges();
    scoped_context *context = shim_context(_i, 0);
    scoped_edges borrowed = {
        shim_lend_by_default(_i, edges->src, sizeof edges->src),
        shim_lend_by_default(_i, edges->dst, sizeof edges->dst),
        shim_lend_by_default(_i, edges->score, sizeof edges->score)};
    scoped_loan *positions =
        shim_lend_by_default(_i, edges->score, 3 * sizeof(float));
    scoped_graph *expected = NULL;
    scoped_graph *graph = NULL;
    scoped_event *event = NULL;

    ck_assert_ok(
        etx_event_create_device(&event, context, 1, NULL, positions, NULL));
    ck_assert_mem_eq(
        etx_event_positions(event), edges->score, 3 * sizeof(float));
    ck_assert_ok(etx_graph_from_edges(&expected, N_NODES, N_EDGES, edges->src,
        edges->dst, edges->score, NULL));
    ck_assert_ok(etx_graph_from_edges_device(&graph, context, N_NODES, N_EDGES,
        borrowed.src, borrowed.dst, borrowed.score, NULL, NULL));
    assert_same_graph(graph, expected);
}

SHIM_TEST(test_cuda_shim_inputs_edges_refused)
{
    scoped struct edges *edges = make_edges();
    scoped_context *context = shim_context(0, 0);
    scoped_edges borrowed = lend_edges(edges);
    int64_t order[N_EDGES + 1];
    const struct {
        int64_t n_nodes, n_edges;
        const int32_t *src, *dst;
        const float *score;
        int64_t *order;
        const char *error;
    } rows[] = {
        {-1, N_EDGES, borrowed.src, borrowed.dst, borrowed.score, order,
            "n_nodes -1"},
        {N_NODES, -1, borrowed.src, borrowed.dst, borrowed.score, order,
            "n_edges -1"},
        {N_NODES, N_EDGES, edges->src, borrowed.dst, borrowed.score, order,
            "src is in memory of the host"},
        {N_NODES, N_EDGES, borrowed.src, edges->dst, borrowed.score, order,
            "dst is in memory of the host"},
        {N_NODES, N_EDGES, borrowed.src, borrowed.dst, edges->score, order,
            "scores is in memory of the host"},
        {N_NODES, N_EDGES, borrowed.src, borrowed.dst, borrowed.score,
            (int64_t *)((uintptr_t)order + 4), "order_out"},
    };

    for (size_t k = 0; k < ROWS(rows); k++) {
        etx_graph *graph = NULL;

        ck_assert_refused(
            etx_graph_from_edges_device(&graph, context, rows[k].n_nodes,
                rows[k].n_edges, rows[k].src, rows[k].dst, rows[k].score,
                rows[k].order, shim_lender(0)),
            rows[k].error);
        ck_assert_ptr_null(graph);
    }
}

/* Events of the same hits on the host and on the device, where they begin
 * between two multiples of 16 bytes; for a model whose networks see them all.
 */
struct hits {
    etx_model *model;
    etx_event *host, *device;
    float *borrowed;
};

static float *lend_positions(const etx_event *host)
{
    const size_t n = 3 * (size_t)etx_event_n_hits(host);
    scoped float *values = etx_test_alloc((int64_t)n + 1, sizeof *values);

    memcpy(values + 1, etx_event_positions(host), n * sizeof *values);
    return shim_lend(0, values, (n + 1) * sizeof *values);
}

static void open_hits(struct hits *hits, etx_context *context)
{
    etx_test_open_part(&hits->model, &hits->host, "event000000001");
    hits->model->first_pass_options.min_event_hits = INT32_MAX;
    hits->borrowed = lend_positions(hits->host);
    ck_assert_ok(etx_event_create_device(&hits->device, context,
        etx_event_n_hits(hits->host), etx_event_hit_ids(hits->host),
        hits->borrowed + 1, shim_lender(0)));
    ck_assert_ok(etx_event_set_cell_features(
        hits->device, etx_event_cell_features(hits->host)));
    ck_assert_ok(
        etx_event_set_modules(hits->device, etx_event_volume_ids(hits->host),
            etx_event_layer_ids(hits->host), etx_event_module_ids(hits->host)));
    ck_assert_mem_eq(etx_event_positions(hits->device),
        etx_event_positions(hits->host),
        3 * (size_t)etx_event_n_hits(hits->host) * sizeof(float));
}

static void close_hits(struct hits *hits)
{
    etx_event_free(hits->device);
    etx_event_free(hits->host);
    etx_model_free(hits->model);
    shim_reclaim(hits->borrowed);
}
#define scoped_hits SCOPED(close_hits) struct hits

/* Bytes that a search copies to the device; *tracks for etx_tracks_free. */
static int64_t search(etx_tracks **tracks, etx_context *context,
    const etx_model *model, const etx_event *event)
{
    const int64_t before = shim_count().bytes_in;

    ck_assert_ok(etx_find_tracks(tracks, context, model, event));
    return shim_count().bytes_in - before;
}

/* Hits that the first pass leaves to the networks. */
static int64_t count_left(const etx_model *model, const etx_event *event)
{
    scoped_context *cpu = etx_test_context();
    const int64_t n = etx_event_n_hits(event);
    scoped int32_t *label = etx_test_alloc(n, sizeof *label);
    int32_t n_tracks = 0;
    int64_t n_left = 0;

    ck_assert_ok(etx_stage_first_pass(label, &n_tracks, cpu, model, event));
    for (int64_t i = 0; i < n; i++)
        n_left += label[i] < 0;
    ck_assert_int_gt(n_left, 0);
    ck_assert_int_lt(n_left, n);
    return n_left;
}

/* Contexts on the device of the positions read them there, others and the CPU
 * read the copy on the host; all find the same tracks. After a first pass,
 * the rows of the hits that are left are copied in place of their positions. */
SHIM_TEST(test_cuda_shim_inputs_positions, .rows = 4)
{
    scoped_context *context = shim_context(0, 0);
    scoped_context *other = shim_context(_i % 2, 0);
    scoped_tracks *of_host = NULL;
    scoped_tracks *of_device = NULL;
    scoped_hits hits = {NULL};
    int64_t saved;

    open_hits(&hits, context);
    if (_i < 2) {
        saved = 12 * etx_event_n_hits(hits.host);
    } else {
        hits.model->first_pass_options.min_event_hits = 0;
        saved = (12 - 4) * count_left(hits.model, hits.host);
    }
    search(&of_host, other, hits.model, hits.host);
    etx_tracks_free(of_host);
    const int64_t from_host = search(&of_host, other, hits.model, hits.host);
    const int64_t borrowed = search(&of_device, other, hits.model, hits.device);

    ck_assert_int_eq(from_host - borrowed, _i % 2 == 0 ? saved : 0);
    ck_assert_int_gt(etx_tracks_count(of_host), 0);
    etx_test_same_tracks(of_host, of_device);
}

/* Cancels at a poll, in the caller's device, which it leaves for another. */
struct polls {
    int64_t n, last;
};

static int32_t poll(void *user)
{
    struct polls *polls = user;

    ck_assert_int_eq(shim_device(), 2);
    shim_set_device(3);
    shim_set_device(2);
    return polls->n++ >= polls->last;
}

/* A search that is cancelled leaves nothing queued: the caller frees what it
 * borrowed. */
SHIM_TEST(test_cuda_shim_inputs_cancel)
{
    static const int64_t step = 7;
    struct polls polls = {0};
    scoped_context *context = shim_context(0, 0);
    scoped_hits hits = {NULL};
    scoped_tracks *tracks = NULL;

    open_hits(&hits, context);
    shim_set_device(2);
    context->stream->cancel = poll;
    context->stream->cancel_user = &polls;
    for (; tracks == NULL; polls = (struct polls){0, polls.last + step}) {
        const etx_status status =
            etx_find_tracks(&tracks, context, hits.model, hits.device);

        ck_assert(status == ETX_OK || status == ETX_ERR_CANCELLED);
        ck_assert(status == ETX_OK || shim_queued() == 0);
        ck_assert_int_eq(shim_device(), 2);
        ck_assert_int_eq(shim_capture_mode(), 0);
    }
    ck_assert_int_gt(polls.last, 3 * step);
    shim_set_device(0);
}

/* A stream of the caller belongs to the device of the context. */
SHIM_TEST(test_cuda_shim_inputs_stream)
{
    etx_context_options options;
    scoped_context *context = NULL;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.stream = shim_lender(1);
    ck_assert_fails(etx_context_create(&context, &options), ETX_ERR_UNSUPPORTED,
        "a stream needs a device");
    options.device = ETX_DEVICE_CUDA;
    ck_assert_refused(etx_context_create(&context, &options),
        "stream is of device 1 and device_index is 0");
    options.device_index = 1;
    ck_assert_ok(etx_context_create(&context, &options));
}

/* The same points from features of the caller here and there; features of the
 * host replace them. */
SHIM_TEST(test_cuda_shim_inputs_features)
{
    enum { N_FEATURES = 5 }; /* of the embedding */
    scoped_context *context = shim_context(0, 0);
    scoped_hits hits = {NULL};
    int64_t n_dim = 0;

    open_hits(&hits, context);
    const int64_t n = etx_event_n_hits(hits.host);
    scoped float *points[2] = {NULL};
    scoped float *features = etx_test_alloc(n * N_FEATURES, sizeof *features);

    for (int64_t i = 0; i < n * N_FEATURES; i++)
        features[i] = sinf((float)i);
    float *borrowed =
        shim_lend(0, features, (size_t)(n * N_FEATURES) * sizeof *features);

    ck_assert_ok(etx_embed(&n_dim, NULL, 0, context, hits.model, hits.host));
    points[0] = etx_test_alloc(2 * n * n_dim, sizeof **points);
    points[1] = points[0] + n * n_dim;
    ck_assert_ok(etx_event_set_features(hits.host, N_FEATURES, features));
    ck_assert_ok(etx_event_set_features_device(
        hits.device, context, N_FEATURES, borrowed, shim_lender(0)));
    ck_assert_mem_eq(etx_event_features(hits.device), features,
        (size_t)(n * N_FEATURES) * sizeof *features);
    ck_assert_ok(etx_embed(
        &n_dim, points[0], n * n_dim, context, hits.model, hits.host));
    const int64_t before = shim_count().bytes_in;

    ck_assert_ok(etx_embed(
        &n_dim, points[1], n * n_dim, context, hits.model, hits.device));
    ck_assert_int_eq(shim_count().bytes_in, before);
    ck_assert_mem_eq(
        points[0], points[1], (size_t)(n * n_dim) * sizeof **points);
    ck_assert_ok(etx_event_set_features(hits.device, N_FEATURES, features));
    shim_reclaim(borrowed);
    ck_assert_ok(etx_embed(
        &n_dim, points[1], n * n_dim, context, hits.model, hits.device));
    ck_assert_int_gt(shim_count().bytes_in, before);
}

/* What is not in memory of the device of the context, and values that are not
 * allowed there. */
SHIM_TEST(test_cuda_shim_inputs_refused)
{
    const float position[6] = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, NAN};
    const int32_t end[2] = {0, 2};
    scoped_context *context = shim_context(0, 0);
    scoped_context *other = shim_context(1, 0);
    scoped_context *cpu = etx_test_context();
    scoped_loan *borrowed = shim_lend(0, position, sizeof position);
    scoped_loan *ends = shim_lend(0, end, sizeof end);
    scoped_event *event = NULL;
    scoped_graph *graph = NULL;
    void *const stream = shim_lender(0);

    ck_assert_refused(
        etx_event_create_device(&event, context, 2, NULL, position, stream),
        "positions is in memory of the host, and not of device 0");
    ck_assert_refused(
        etx_event_create_device(&event, other, 1, NULL, borrowed, NULL),
        "positions is in memory of device 0, and the context on device 1");
    ck_assert_refused(
        etx_event_create_device(&event, cpu, 1, NULL, borrowed, NULL),
        "etx_event_create_device: the context is on the CPU: it has no device "
        "for positions");
    ck_assert_refused(
        etx_event_create_device(&event, context, 2, NULL, borrowed, stream),
        "etx_event_create_device: positions row 1 column 2 is not finite");
    ck_assert_refused(
        etx_event_create_device(&event, context, 2, NULL, NULL, stream),
        "positions is NULL");
    ck_assert_refused(
        etx_event_create_device(&event, context, -1, NULL, borrowed, stream),
        "n_hits -1");
    ck_assert_ok(
        etx_event_create_device(&event, context, 1, NULL, borrowed, stream));
    ck_assert_refused(
        etx_event_set_features_device(event, context, 2, position, stream),
        "features is in memory of the host");
    ck_assert_refused(
        etx_event_set_features_device(event, context, 0, borrowed, stream),
        "n_features 0 is not in 1..");
    ck_assert_refused(
        etx_event_set_features_device(event, context, 6, borrowed, stream),
        "features row 0 column 5 is not finite");
    ck_assert_ptr_null(etx_event_features(event));
    ck_assert_refused(etx_graph_from_edges_device(
                          &graph, context, 3, 2, end, ends, NULL, NULL, stream),
        "src is in memory of the host");
    ck_assert_fails(etx_graph_from_edges_device(
                        &graph, context, 2, 2, ends, ends, NULL, NULL, stream),
        ETX_ERR_ARGUMENT, "edge 1: src 2 is not in 0..1");
    ck_assert_refused(etx_graph_from_edges_device(&graph, context, 3, 2, ends,
                          ends, borrowed, NULL, stream),
        "score 1 is 2 and not in 0..1");
    ck_assert_ptr_null(graph);
    ck_assert_ok(etx_graph_from_edges_device(
        &graph, context, 3, 0, NULL, NULL, NULL, NULL, stream));
}
