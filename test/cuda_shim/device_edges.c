/* cuda_shim/device_edges.c -- what tests on an emulated device share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "device_edges.h"

#include "../cuda/device.h"

void shim_assert_all_freed(void)
{
    ck_assert_int_eq(shim_live(), 0);
}

void shim_end_loan(void **memory)
{
    shim_reclaim(*memory);
}

static etx_context *new_context(
    int32_t index, int32_t precision, int32_t keep_graphs)
{
    etx_context_options options = device_options(precision);
    etx_context *context = NULL;

    options.device_index = index;
    options.keep_graphs = keep_graphs;
    ck_assert_ok(etx_context_create(&context, &options));
    return context;
}

etx_context *shim_context(int32_t index, int32_t keep_graphs)
{
    return new_context(index, ETX_PRECISION_FLOAT32, keep_graphs);
}

etx_context *shim_context_best(int32_t index)
{
    return new_context(index, ETX_PRECISION_BEST, 0);
}

struct search search_open(int32_t index)
{
    struct search out = {.context = shim_context_best(index)};

    etx_test_open_part(&out.model, &out.event, "event000000000");
    return out;
}

void search_close(struct search *search)
{
    etx_tracks_free(search->tracks);
    etx_event_free(search->event);
    etx_model_free(search->model);
    etx_context_free(search->context);
}

int64_t search_find(struct search *search)
{
    const int64_t before = shim_count().kernels;
    etx_tracks *tracks = NULL;

    ck_assert_ok(etx_find_tracks(
        &tracks, search->context, search->model, search->event));
    const int64_t n_kernels = shim_count().kernels - before;

    if (search->tracks == NULL) {
        ck_assert_int_gt(etx_tracks_count(tracks), 0);
        search->tracks = tracks;
        return n_kernels;
    }
    etx_test_same_tracks(tracks, search->tracks);
    etx_tracks_free(tracks);
    return n_kernels;
}

struct shim_counts shim_count_since(const struct shim_counts *before)
{
    struct shim_counts now = shim_count();
    int64_t *const value = (int64_t *)&now;

    for (size_t k = 0; k < sizeof now / sizeof *value; k++)
        value[k] -= ((const int64_t *)before)[k];
    return now;
}

struct edges *make_edges(void)
{
    struct edges *edges = etx_test_alloc(1, sizeof *edges);
    uint32_t random = 1;

    for (int32_t e = 0; e < N_EDGES; e++) {
        random = random * 1664525u + 1013904223u;
        edges->src[e] = (int32_t)(random >> 8) % N_NODES;
        edges->dst[e] = (int32_t)(random >> 20) % 64;
        edges->index[e] = edges->src[e];
        edges->index[N_EDGES + e] = edges->dst[e];
        edges->score[e] = (float)(e % 100) / 100.0f;
    }
    return edges;
}

etx_graph *join_hits(const etx_event *event)
{
    etx_graph *graph = NULL;
    int32_t src[N_JOINED];
    int32_t dst[N_JOINED];
    float score[N_JOINED];

    for (int32_t e = 0; e < N_JOINED; e++) {
        score[e] = 0.5f;
        src[e] = e;
        dst[e] = e + 1;
    }
    ck_assert_ok(etx_graph_from_edges(
        &graph, etx_event_n_hits(event), N_JOINED, src, dst, score, NULL));
    return graph;
}
