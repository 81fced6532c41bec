/* test/dist/parts_input.h -- what the test and the studies of parts read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TEST_BENCH_PARTS_INPUT_H
#define ETX_TEST_BENCH_PARTS_INPUT_H

#include <exatrkx/graph.h>

#include <stdio.h>
#include <stdlib.h>

/* End the program with the library's message unless the call succeeds. */
#define DO(call)                                                               \
    do {                                                                       \
        if ((call) != ETX_OK) {                                                \
            fprintf(stderr, "%s: %s\n", #call, etx_last_error());              \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* An event and its graph as the filter leaves it. */
struct input {
    etx_event *event;
    etx_graph *graph;
    int64_t n_nodes, n_edges;
};

static inline etx_context *make_context(void)
{
    etx_context *context = NULL;

    DO(etx_context_create(&context, NULL));
    return context;
}

static inline struct input read_input(const char *prefix, etx_context *context,
    const etx_model *model, const etx_detector *detector)
{
    struct input input = {NULL, NULL, 0, 0};
    etx_graph *all = NULL;

    DO(etx_event_read_trackml(&input.event, prefix, detector));
    DO(etx_graph_build(&all, context, model, input.event));
    DO(etx_graph_filter(&input.graph, all, context, model, input.event));
    etx_graph_free(all);
    input.n_nodes = etx_graph_n_nodes(input.graph);
    input.n_edges = etx_graph_n_edges(input.graph);
    return input;
}

static inline void free_input(struct input *input)
{
    etx_graph_free(input->graph);
    etx_event_free(input->event);
}

static inline void *alloc(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);

    if (memory == NULL) {
        fprintf(stderr, "no memory for %lld elements\n", (long long)n);
        exit(1);
    }
    return memory;
}

/* A graph of its own with the same edges and scores, without those whose ends
 * have different owners unless owners is NULL. */
static inline etx_graph *copy_graph(
    const struct input *input, const int32_t *owners)
{
    const int32_t *src = etx_graph_src(input->graph);
    const int32_t *dst = etx_graph_dst(input->graph);
    const float *score = etx_graph_scores(input->graph);
    int32_t *src_kept = alloc(input->n_edges, sizeof *src_kept);
    int32_t *dst_kept = alloc(input->n_edges, sizeof *dst_kept);
    float *score_kept = alloc(input->n_edges, sizeof *score_kept);
    etx_graph *graph = NULL;
    int64_t n = 0;

    for (int64_t e = 0; e < input->n_edges; e++)
        if (owners == NULL || owners[src[e]] == owners[dst[e]]) {
            src_kept[n] = src[e];
            dst_kept[n] = dst[e];
            score_kept[n++] = score[e];
        }
    DO(etx_graph_from_edges(
        &graph, input->n_nodes, n, src_kept, dst_kept, score_kept, NULL));
    free(src_kept);
    free(dst_kept);
    free(score_kept);
    return graph;
}

#endif
