/* cuda_shim/test_cuda_shim_fails.c -- a failure at every call of the runtime.
 *
 * The answer is an error, or the right one where nothing depends on the call,
 * as when memory is released; outputs are as they were, nothing is left in
 * the queue or allocated, and the same call is then right.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include "device_edges.h"

/* What the calls work on; graphs are their outputs. */
struct world {
    struct search search;
    etx_context *keeping, *on_device; /* contexts that keep graphs */
    etx_graph *joined; /* edges of the event, scored and kept on the device */
    etx_graph *there;  /* edges that are on the device alone */
    void *src, *dst, *scores, *index;
    struct {
        etx_context *context;
        etx_event *event;
        etx_graph *graph;
        etx_tracks *tracks;
        int64_t n;
    } out;
};

static etx_status create_context(struct world *world)
{
    const etx_context_options options = {.struct_size = sizeof options,
        .n_threads = 1,
        .device = ETX_DEVICE_CUDA};

    return etx_context_create(&world->out.context, &options);
}

static etx_status find_tracks(struct world *world)
{
    const struct search *search = &world->search;

    return etx_find_tracks(
        &world->out.tracks, search->context, search->model, search->event);
}

static etx_status create_event(struct world *world)
{
    return etx_event_create_device(&world->out.event, world->keeping,
        N_EDGES / 3, NULL, world->scores, shim_lender(0));
}

static etx_status join_edges(struct world *world)
{
    return etx_graph_from_edges_device(&world->out.graph, world->keeping,
        N_NODES, N_EDGES, world->src, world->dst, world->scores, NULL,
        shim_lender(0));
}

static etx_status join_index(struct world *world)
{
    return etx_graph_from_index_device(&world->out.graph, world->on_device,
        N_NODES, N_EDGES, world->index, world->scores, shim_lender(0));
}

static etx_status write_index(struct world *world)
{
    return etx_graph_to_index_device(&world->out.n, world->index, world->scores,
        N_EDGES, world->there, world->on_device, 0.5f, shim_lender(0));
}

/* Scores that fail to come to the device are as they were on the host. */
static etx_status score(struct world *world)
{
    float half[N_JOINED];
    etx_status status;

    for (int32_t e = 0; e < N_JOINED; e++)
        half[e] = 0.5f;
    status = etx_graph_score(world->joined, world->keeping, world->search.model,
        world->search.event);
    if (status == ETX_OK) {
        ck_assert_mem_eq(etx_graph_scores_device(world->joined),
            etx_graph_scores(world->joined), sizeof half);
    } else {
        ck_assert_mem_eq(etx_graph_scores(world->joined), half, sizeof half);
        ck_assert_ptr_null(etx_graph_scores_device(world->joined));
    }
    shim_fail_call(-1);
    ck_assert_ok(etx_graph_set_scores(world->joined, half));
    return status;
}

static const struct {
    const char *name;
    etx_status (*call)(struct world *world);
    int32_t most; /* failures that are tried; 0: each call */
} calls[] = {
    {"context_create", create_context, 0},
    {"find_tracks", find_tracks, 8},
    {"event_create_device", create_event, 0},
    {"graph_from_edges_device", join_edges, 0},
    {"graph_from_index_device", join_index, 0},
    {"graph_to_index_device", write_index, 0},
    {"graph_score", score, 8},
};

static struct world open_world(void)
{
    struct world out = {.search = search_open(0),
        .keeping = shim_context(0, 1),
        .on_device = shim_context(0, 2)};
    scoped struct edges *edges = make_edges();

    out.src = shim_lend(0, edges->src, sizeof edges->src);
    out.dst = shim_lend(0, edges->dst, sizeof edges->dst);
    out.scores = shim_lend(0, edges->score, sizeof edges->score);
    out.index = shim_lend(0, edges->index, sizeof edges->index);
    out.joined = join_hits(out.search.event);
    ck_assert_ok(etx_graph_from_index_device(&out.there, out.on_device, N_NODES,
        N_EDGES, out.index, out.scores, shim_lender(0)));
    return out;
}

/* Free what a call made; returns how much it was. */
static int64_t clear(struct world *world)
{
    const int64_t n = etx_tracks_count(world->out.tracks) +
                      etx_graph_n_edges(world->out.graph) +
                      etx_event_n_hits(world->out.event) + world->out.n;

    etx_tracks_free(world->out.tracks);
    etx_graph_free(world->out.graph);
    etx_event_free(world->out.event);
    etx_context_free(world->out.context);
    memset(&world->out, 0, sizeof world->out);
    return n;
}

static void close_world(struct world *world)
{
    etx_graph_free(world->joined);
    etx_graph_free(world->there);
    etx_context_free(world->keeping);
    etx_context_free(world->on_device);
    search_close(&world->search);
    shim_reclaim(world->src);
    shim_reclaim(world->dst);
    shim_reclaim(world->scores);
    shim_reclaim(world->index);
}

SHIM_TEST(test_cuda_shim_fails, .rows = ROWS(calls))
{
    SCOPED(close_world) struct world world = open_world();
    int32_t n_failed = 0;

    ck_assert_ok(calls[_i].call(&world)); /* scratch memory stays */
    const int64_t expected = clear(&world);
    const int64_t live = shim_live();

    shim_fail_call(-1);
    ck_assert_ok(calls[_i].call(&world));
    const int64_t n_calls = shim_calls();
    const int64_t n_queued = shim_queued(); /* by other contexts */
    const int64_t n_tried = calls[_i].most > 0 ? calls[_i].most : n_calls;

    ck_assert_int_eq(clear(&world), expected);
    for (int64_t f = 0; f < n_tried; f++) {
        const int64_t number = f * n_calls / n_tried;

        shim_fail_call(number);
        const etx_status status = calls[_i].call(&world);

        shim_fail_call(-1);
        ck_assert_msg(status == ETX_OK || status == ETX_ERR_MEMORY ||
                          status == ETX_ERR_DEVICE,
            "%s, call %lld: %s (%s)", calls[_i].name, (long long)number,
            etx_status_name(status), etx_last_error());
        n_failed += status != ETX_OK;
        ck_assert(status == ETX_OK || shim_queued() <= n_queued);
        ck_assert(world.out.context == NULL || status == ETX_OK);
        ck_assert_int_eq(clear(&world), status == ETX_OK ? expected : 0);
        ck_assert_int_le(shim_live(), live);
    }
    ck_assert_int_gt(n_failed, n_tried / 2);
    ck_assert_ok(calls[_i].call(&world));
    ck_assert_int_eq(clear(&world), expected);
}
