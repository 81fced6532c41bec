/* test_cuda_labels.c -- every label method on a device, compared with the CPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <stdlib.h>
#include <string.h>

#include "support.h"

/* A graph with the scores of the filter, more tangled than a scored one, and a
 * device to label it on. */
struct labelling {
    etx_context *cpu, *cuda;
    etx_model *model;
    etx_event *event;
    etx_graph *graph;
    int64_t n_polls, max_polls; /* of cancel; after the last it cancels */
};

static int32_t count(void *user)
{
    struct labelling *labelling = user;

    return labelling->n_polls++ >= labelling->max_polls;
}

static etx_status open_device(struct labelling *labelling)
{
    etx_context_options options;

    ck_assert_ok(etx_context_options_init(&options, sizeof options));
    options.device = ETX_DEVICE_CUDA;
    options.cancel = count;
    options.cancel_user = labelling;
    labelling->max_polls = INT64_MAX;
    return etx_context_create(&labelling->cuda, &options);
}

static void make_graph(struct labelling *labelling, const char *event)
{
    etx_graph *candidates = NULL;

    etx_test_open_example(&labelling->model, &labelling->event, event);
    ck_assert_ok(etx_graph_build(
        &candidates, labelling->cpu, labelling->model, labelling->event));
    ck_assert_ok(etx_graph_filter(&labelling->graph, candidates, labelling->cpu,
        labelling->model, labelling->event));
    etx_graph_free(candidates);
}

/* 0 after etx_test_skip where there is no device. */
static int32_t start(
    struct labelling *labelling, const char *name, const char *event)
{
    *labelling = (struct labelling){NULL};
    if (open_device(labelling) != ETX_OK) {
        etx_test_skip(name, etx_last_error());
        return 0;
    }
    ck_assert_ok(etx_context_create(&labelling->cpu, NULL));
    make_graph(labelling, event);
    return 1;
}

static void stop(struct labelling *labelling)
{
    etx_graph_free(labelling->graph);
    etx_event_free(labelling->event);
    etx_model_free(labelling->model);
    etx_context_free(labelling->cuda);
    etx_context_free(labelling->cpu);
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
ETX_TEST(test_cuda_labels, .rows = ETX_LABEL_BEST_FIRST + 1)
{
    static const float cuts[] = {0.5f, 0.1f, 0.001f};
    struct labelling labelling;
    etx_label_options options;

    if (!start(&labelling, __func__, "event000000000"))
        return;
    const int64_t n = etx_event_n_hits(labelling.event);
    int32_t *labels = calloc(2 * (size_t)n, sizeof *labels);

    ck_assert_ptr_nonnull(labels);
    ck_assert_int_gt(count_edges(labelling.graph, cuts[2]), n);
    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = _i;
    options.min_hits = 1;
    for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
        options.cut = cuts[k];
        ck_assert_ok(etx_graph_label(
            labels, labelling.graph, labelling.cpu, labelling.event, &options));
        ck_assert_ok(etx_graph_label(labels + n, labelling.graph,
            labelling.cuda, labelling.event, &options));
        ck_assert_mem_eq(labels, labels + n, (size_t)n * sizeof *labels);
    }
    free(labels);
    stop(&labelling);
}

/* Cancelled at the first question, the second, ...: an error, and nothing is
 * written; the next call is right. */
ETX_TEST(test_cuda_labels_cancel, .rows = ETX_LABEL_BEST_FIRST + 1)
{
    struct labelling labelling;
    etx_label_options options;
    etx_status status = ETX_ERR_CANCELLED;
    int64_t n_cancelled = 0;

    if (!start(&labelling, __func__, "event000000000"))
        return;
    const int64_t n = etx_event_n_hits(labelling.event);
    int32_t *labels = calloc((size_t)n, sizeof *labels);

    ck_assert_ptr_nonnull(labels);
    ck_assert_ok(etx_label_options_init(&options, sizeof options));
    options.method = _i;
    for (; status != ETX_OK; n_cancelled++) {
        labels[0] = -7;
        labelling.n_polls = 0;
        labelling.max_polls = n_cancelled;
        status = etx_graph_label(
            labels, labelling.graph, labelling.cuda, labelling.event, &options);
        ck_assert(status == ETX_OK || status == ETX_ERR_CANCELLED);
        ck_assert_int_eq(labels[0] == -7, status != ETX_OK);
    }
    ck_assert_int_gt(n_cancelled, 2);
    free(labels);
    stop(&labelling);
}
