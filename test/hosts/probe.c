/* test/hosts/probe.c -- what must not depend on the processor or the C library:
 * graphs, triplets, labels and partitions of random hits, a model that is saved
 * and read again, the tracks of a shipped event. One line each.
 *
 *     probe MODEL EVENT DETECTORS FILE
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <exatrkx/graph.h>

#define N_HITS   1500
#define N_LABELS 4

static float positions[3 * N_HITS];
static float scores[1 << 20];

static void require(etx_status status)
{
    if (status == ETX_OK)
        return;
    fprintf(stderr, "%s\n", etx_last_error());
    exit(1);
}

/* FNV-1a of 32-bit values. */
static void print(const char *name, const int32_t *value, int64_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (int64_t i = 0; i < n; i++)
        hash = (hash ^ (uint32_t)value[i]) * UINT64_C(0x100000001b3);
    printf("%s: %" PRId64 " values, %016" PRIx64 "\n", name, n, hash);
}

static uint32_t random_bits(void)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 40); /* 24 bits: exact as a float */
}

static etx_graph *search(etx_context *context, const etx_event *event,
    float radius, int32_t max_neighbours)
{
    etx_graph_options options;
    etx_graph *graph = NULL;

    require(etx_graph_options_init(&options, sizeof options));
    options.radius = radius;
    options.max_neighbours = max_neighbours;
    options.orientation = ETX_ORIENT_OUTWARD;
    require(etx_graph_build_radius(
        &graph, context, N_HITS, 3, positions, event, &options));
    print("sources", etx_graph_src(graph), etx_graph_n_edges(graph));
    print("targets", etx_graph_dst(graph), etx_graph_n_edges(graph));
    return graph;
}

static void label(
    const etx_graph *graph, etx_context *context, const etx_event *event)
{
    static int32_t labels[N_HITS];

    for (int32_t method = 0; method < N_LABELS; method++) {
        etx_label_options options;

        require(etx_label_options_init(&options, sizeof options));
        options.method = method;
        options.cut = 0.7f;
        require(etx_graph_label(labels, graph, context, event, &options));
        print("labels", labels, N_HITS);
    }
    require(etx_graph_partition(labels, graph, event, 5, ETX_PARTITION_KD));
    print("parts", labels, N_HITS);
}

static void probe_graphs(etx_context *context)
{
    etx_event *event = NULL;
    etx_graph *triplets = NULL;
    etx_graph *graph;

    for (int32_t i = 0; i < 3 * N_HITS; i++)
        positions[i] = (float)(random_bits() % 20001) / 16.0f - 625.0f;
    require(etx_event_create(&event, N_HITS, NULL, positions));
    etx_graph_free(search(context, event, 1e30f, 7));
    graph = search(context, event, 130.0f, 0);
    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++)
        scores[e] = (float)(random_bits() % 1001) / 1024.0f;
    require(etx_graph_set_scores(graph, scores));
    label(graph, context, event);
    require(etx_graph_to_triplets(&triplets, graph, context, 1 << 24));
    print("triplets", etx_graph_src(triplets), etx_graph_n_edges(triplets));
    etx_graph_free(triplets);
    etx_graph_free(graph);
    etx_event_free(event);
}

static void probe_files(etx_context *context, char **path)
{
    etx_model *model = NULL;
    etx_model *again = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;
    etx_graph *graph = NULL;

    require(etx_model_load(&model, path[0]));
    require(etx_model_save(model, path[3]));
    require(etx_model_load(&again, path[3]));
    require(etx_detector_read(&detector, path[2]));
    require(etx_event_read_trackml(&event, path[1], detector));
    printf("hits: %" PRId64 "\n", etx_event_n_hits(event));
    require(etx_graph_build(&graph, context, again, event));
    /* The mathematical functions of C libraries differ in the last bit. */
    printf("thousands of candidate edges: %.0f\n",
        rint((double)etx_graph_n_edges(graph) / 1000.0));
    etx_graph_free(graph);
    etx_event_free(event);
    etx_detector_free(detector);
    etx_model_free(again);
    etx_model_free(model);
}

int main(int n_arguments, char **argument)
{
    etx_context_options options;
    etx_context *context = NULL;

    if (n_arguments != 5)
        return fprintf(stderr, "usage: probe MODEL EVENT DETECTORS FILE\n"), 2;
    require(etx_context_options_init(&options, sizeof options));
    options.n_threads = 2;
    options.cpu_level = ETX_CPU_REF;
    require(etx_context_create(&context, &options));
    probe_graphs(context);
    probe_files(context, argument + 1);
    etx_context_free(context);
    return 0;
}
