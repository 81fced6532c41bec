/* test_cuda_labels.c -- every label method on a device, compared with the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "device.h"

#include "stage/track_building/track_building.h"

/* Counts the questions whether to go on; after the last it cancels. */
struct polls {
    int64_t n, max;
};

static int32_t count(void *user)
{
    struct polls *polls = user;

    return polls->n++ >= polls->max;
}

/* A graph with the scores of the filter, more tangled than a scored one, and a
 * device to label it on; 0 after etx_test_skip where there is none. */
static int32_t start(
    struct device_job *both, const char *name, struct polls *polls)
{
    etx_context_options options = device_options(ETX_PRECISION_BEST);

    options.cancel = count;
    options.cancel_user = polls;
    polls->max = INT64_MAX;
    if (!device_job_make(both, name, "event000000000", &options))
        return 0;
    device_job_filter(both);
    return 1;
}

/* How many edges of the graph are above the cut: beyond one a hit, components
 * branch. */
static int64_t count_edges(const etx_graph *graph, float cut)
{
    int64_t n = 0;

    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++)
        n += etx_graph_scores(graph)[e] > cut;
    return n;
}

/* From few edges to all of the filter's, hit for hit. */
ETX_TEST(test_cuda_labels, .rows = ETX_N_LABEL_METHODS)
{
    static const float cuts[] = {0.5f, 0.1f, 0.001f};
    scoped_device_job both = {NULL};
    struct polls polls = {0};
    etx_label_options options;

    if (!start(&both, __func__, &polls))
        return;
    const int64_t n = etx_event_n_hits(both.event);
    scoped int32_t *labels = etx_test_alloc(2 * n, sizeof *labels);

    ck_assert_int_gt(count_edges(both.graph, cuts[2]), n);
    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = _i;
    options.min_hits = 1;
    for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
        options.cut = cuts[k];
        ck_assert_ok(etx_graph_label(
            labels, both.graph, both.cpu, both.event, &options));
        ck_assert_ok(etx_graph_label(
            labels + n, both.graph, both.cuda, both.event, &options));
        ck_assert_mem_eq(labels, labels + n, (size_t)n * sizeof *labels);
    }
}

/* Cancelled at the first question, the second, ...: an error, and nothing is
 * written; the next call is right. */
ETX_TEST(test_cuda_labels_cancel, .rows = ETX_N_LABEL_METHODS)
{
    scoped_device_job both = {NULL};
    struct polls polls = {0};
    etx_label_options options;
    etx_status status = ETX_ERR_CANCELLED;
    int64_t n_cancelled = 0;

    if (!start(&both, __func__, &polls))
        return;
    const int64_t n = etx_event_n_hits(both.event);
    scoped int32_t *labels = etx_test_alloc(n, sizeof *labels);

    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = _i;
    for (; status != ETX_OK; n_cancelled++) {
        labels[0] = -7;
        polls.n = 0;
        polls.max = n_cancelled;
        status = etx_graph_label(
            labels, both.graph, both.cuda, both.event, &options);
        ck_assert(status == ETX_OK || status == ETX_ERR_CANCELLED);
        ck_assert_int_eq(labels[0] == -7, status != ETX_OK);
    }
    ck_assert_int_gt(n_cancelled, 2);
}
