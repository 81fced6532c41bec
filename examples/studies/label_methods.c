/* examples/studies/label_methods.c -- label methods on graphs that are hard for
 * them.
 *
 * One connected piece each, unlike the graphs of events. Prints one line per
 * graph and method, tab-separated: graph, edges, method, processor seconds of
 * the fastest of three runs, tracks. make build/studies/label-methods
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_HITS 100000
#define N_MAX  1000000
#define N_RUNS 3

struct edges {
    int64_t n;
    int32_t src[N_MAX], dst[N_MAX];
    float score[N_MAX];
};

static uint64_t state = 88172645463325252u;

/* 0 .. bound - 1; xorshift. */
static int32_t draw(int32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int32_t)(state % (uint64_t)bound);
}

static void add(struct edges *edges, int32_t src, int32_t dst, float score)
{
    edges->src[edges->n] = src;
    edges->dst[edges->n] = dst;
    edges->score[edges->n++] = score;
}

static float draw_score(void)
{
    return (float)draw(1 << 24) / (float)(1 << 24);
}

static void make_random(struct edges *edges)
{
    while (edges->n < N_MAX)
        add(edges, draw(N_HITS), draw(N_HITS), draw_score());
}

static void make_near(struct edges *edges)
{
    while (edges->n < N_MAX) {
        const int32_t i = draw(N_HITS - 50);

        add(edges, i, i + 1 + draw(50), draw_score());
    }
}

static void make_layers(struct edges *edges)
{
    while (edges->n < N_MAX) {
        const int32_t first = 1000 * draw(99);

        add(edges, first + draw(1000), first + 1000 + draw(1000), draw_score());
    }
}

/* Every start has two ways: through the hub, and a slightly better one of its
 * own to the end that the hub likes best. */
static void make_hub(struct edges *edges)
{
    const int32_t n = 25000;

    for (int32_t i = 0; i < n; i++) {
        const float score = 0.45f - 0.4f * (float)i / (float)n;
        const int32_t side = n + 1 + i;
        const int32_t end = 2 * n + 1 + i;

        add(edges, n, end, score);
        add(edges, i, n, 0.25f);
        add(edges, i, side, 0.1f);
        add(edges, side, end, score + 0.15f + 0.2f / (float)n);
    }
}

/* Every start likes the same ends best. */
static void make_rivals(struct edges *edges)
{
    for (int32_t e = 0; e < N_MAX; e++)
        add(edges, e / 1000, 1000 + e % 1000,
            1.0f - (float)(e % 1000) / 1001.0f);
}

static const struct {
    const char *name;
    void (*make)(struct edges *edges);
    float cut;
} graphs[] = {
    {"random", make_random, 0.0f},
    {"random above 0.9", make_random, 0.9f},
    {"each to its next 50", make_near, 0.0f},
    {"100 layers", make_layers, 0.0f},
    {"hub", make_hub, 0.0f},
    {"rivals", make_rivals, 0.0f},
};

static void die(etx_status status)
{
    if (status == ETX_OK)
        return;
    fprintf(stderr, "label_methods: %s\n", etx_last_error());
    exit(1);
}

static void time_methods(const char *name, etx_context *context,
    const etx_graph *graph, const etx_event *event, float cut)
{
    static const char *const methods[] = {
        "components", "mutual best", "walkthrough", "best first"};

    for (int32_t method = 0; method < 4; method++) {
        etx_label_options options;
        double best = 1e30;
        int64_t n_tracks = 0;

        die(etx_label_options_init(&options, sizeof options));
        options.method = method;
        options.cut = cut;
        options.min_hits = 2;
        for (int run = 0; run < N_RUNS; run++) {
            const clock_t start = clock();
            etx_tracks *tracks = NULL;
            double seconds;

            die(etx_graph_tracks(&tracks, graph, context, event, &options));
            seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            best = seconds < best ? seconds : best;
            n_tracks = etx_tracks_count(tracks);
            etx_tracks_free(tracks);
        }
        printf("%s\t%lld\t%s\t%.4f\t%lld\n", name,
            (long long)etx_graph_n_edges(graph), methods[method], best,
            (long long)n_tracks);
    }
}

int main(void)
{
    struct edges *edges = malloc(sizeof *edges);
    float *position = calloc(3 * N_HITS, sizeof *position);
    etx_context *context = NULL;
    etx_event *event = NULL;

    if (edges == NULL || position == NULL)
        return 1;
    for (int32_t i = 0; i < N_HITS; i++)
        position[3 * i] = (float)(i + 1);
    die(etx_context_create(&context, NULL));
    die(etx_event_create(&event, N_HITS, NULL, position));
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        etx_graph *graph = NULL;

        edges->n = 0;
        graphs[k].make(edges);
        die(etx_graph_from_edges(&graph, N_HITS, edges->n, edges->src,
            edges->dst, edges->score, NULL));
        time_methods(graphs[k].name, context, graph, event, graphs[k].cut);
        etx_graph_free(graph);
    }
    etx_event_free(event);
    etx_context_free(context);
    free(position);
    free(edges);
    return 0;
}
