/* cuda_shim/device_edges.h -- what tests on an emulated device share: contexts,
 * a search for tracks, edges and memory of a caller.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_SHIM_DEVICE_EDGES_H
#define ETX_SHIM_DEVICE_EDGES_H

#include "shim.h"
#include "support.h"

#define N_NODES 700
#define N_EDGES 5000

/* A test after which nothing of any device is left. */
#define SHIM_TEST(...) ETX_TEST_WITH(NULL, shim_assert_all_freed, __VA_ARGS__)
void shim_assert_all_freed(void);

/* Memory of shim_lend, for shim_reclaim at the end of the block. */
#define scoped_loan SCOPED(shim_end_loan) void
void shim_end_loan(void **memory);

/* Networks compute in float32, or in the precision by default. */
etx_context *shim_context(int32_t index, int32_t keep_graphs);
etx_context *shim_context_best(int32_t index);

/* The default model and a part of an event, in a context of a device with the
 * precision by default; and the tracks that search_find found first. */
struct search {
    etx_context *context;
    etx_model *model;
    etx_event *event;
    etx_tracks *tracks;
};
#define scoped_search SCOPED(search_close) struct search
struct search search_open(int32_t index);
void search_close(struct search *search);
/* Find the tracks and keep them, or compare them with those that are kept.
 * Returns the kernels that were started. */
int64_t search_find(struct search *search);

/* What the device did since before. */
struct shim_counts shim_count_since(const struct shim_counts *before);

/* In any order, some of them twice; index: as rows of 64-bit numbers. */
struct edges {
    int32_t src[N_EDGES];
    int32_t dst[N_EDGES];
    int64_t index[2 * N_EDGES];
    float score[N_EDGES];
};

/* To be freed. */
struct edges *make_edges(void);

/* Edges from hit to hit, each as good as not. */
#define N_JOINED 40
etx_graph *join_hits(const etx_event *event);

#endif
