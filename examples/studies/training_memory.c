/* examples/studies/training_memory.c -- what a training step needs, plain and
 * less.
 *
 * Forward and backward of an interaction network on one random graph: plain,
 * with latents made again, as bfloat16, and both. One line each, separated by
 * tabs: what, processor seconds of the fastest pass, MiB that are kept between
 * forward and backward, highest mark of the arena, highest resident size of
 * the process before and after. Each runs in a process of its own.
 *   make build/studies/training-memory
 *   build/studies/training-memory [EDGES [NODES [HIDDEN [ITERATIONS
 * [PASSES]]]]]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/arch.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/random.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_NODE_FEATURES 3
#define MIB             1048576.0

/* The sizes of the problem, in the order of the command line. */
enum size { N_EDGES, N_NODES, HIDDEN, N_ITERATIONS, N_PASSES, N_SIZES };

struct problem {
    struct etx_context *context;
    struct etx_network *network;
    struct etx_network_input input;
    struct etx_graph *graph;
    float *features; /* [n_nodes, N_NODE_FEATURES] */
    float *out;      /* [n_edges] */
    float *d_out;    /* [n_edges] */
    float *gradient; /* [n_values] */
};

static const struct way {
    const char *name;
    struct etx_tape tape;
} ways[] = {{"plain", {.state = NULL}}, {"checkpointing", {.recomputes = 1}},
    {"bf16", {.half = ETX_HALF_BFLOAT16}},
    {"both", {.recomputes = 1, .half = ETX_HALF_BFLOAT16}}};

/* Of the processor: others may use it, too. */
static double now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double rss_mib(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024.0;
}

/* Edges that join a node to one of the next 500, as in a detector. */
static etx_status make_graph(struct problem *problem, const int64_t *size)
{
    struct etx_random random;
    int32_t *ends = NULL;
    etx_status status;

    etx_random_init(&random, 1, 1, 1);
    ETX_CHECK(etx_alloc(&ends, 2 * size[N_EDGES], sizeof *ends, "ends"));
    for (int64_t e = 0; e < size[N_EDGES]; e++) {
        const uint64_t src =
            etx_random_below(&random, (uint64_t)size[N_NODES] - 500);

        ends[e] = (int32_t)src;
        ends[size[N_EDGES] + e] =
            (int32_t)(src + 1 + etx_random_below(&random, 499));
    }
    ETX_CHECK(etx_graph_from_edges(&problem->graph, size[N_NODES],
        size[N_EDGES], ends, ends + size[N_EDGES], NULL, NULL));
done:
    etx_free(ends);
    return status;
}

static etx_status make_network(struct problem *problem, const int64_t *size)
{
    struct etx_json *options = NULL;
    etx_status status = ETX_OK;

    ETX_CHECK(etx_json_create_object(&options));
    ETX_CHECK(etx_json_set_integer(options, "hidden", size[HIDDEN]));
    ETX_CHECK(
        etx_json_set_integer(options, "n_iterations", size[N_ITERATIONS]));
    ETX_CHECK(etx_network_create(&problem->network, "interaction_network",
        N_NODE_FEATURES, NULL, options));
    etx_network_init(problem->network, 1);
done:
    etx_json_free(options);
    return status;
}

static void fill(float *value, int64_t n, float scale, uint32_t stream)
{
    struct etx_random random;

    etx_random_init(&random, 2, stream, 0);
    for (int64_t i = 0; i < n; i++)
        value[i] = scale * (2.0f * etx_random_uniform(&random) - 1.0f);
}

static etx_status make_problem(struct problem *problem, const int64_t *size)
{
    const int64_t n_features = size[N_NODES] * N_NODE_FEATURES;
    etx_status status;

    ETX_CHECK(etx_context_create(&problem->context, NULL));
    ETX_CHECK(make_graph(problem, size));
    ETX_CHECK(make_network(problem, size));
    ETX_CHECK(
        etx_alloc(&problem->features, n_features, sizeof(float), "features"));
    ETX_CHECK(etx_alloc(&problem->out, size[N_EDGES], sizeof(float), "logits"));
    ETX_CHECK(
        etx_alloc(&problem->d_out, size[N_EDGES], sizeof(float), "gradient"));
    ETX_CHECK(etx_alloc(&problem->gradient, problem->network->n_values,
        sizeof(float), "gradient"));
    fill(problem->features, n_features, 1.0f, 1);
    fill(problem->d_out, size[N_EDGES], 1.0f / (float)size[N_EDGES], 2);
    problem->input = (struct etx_network_input){.n_nodes = size[N_NODES],
        .node_features = problem->features,
        .graph = problem->graph};
done:
    return status;
}

static void free_problem(struct problem *problem)
{
    etx_free(problem->features);
    etx_free(problem->out);
    etx_free(problem->d_out);
    etx_free(problem->gradient);
    etx_network_free(problem->network);
    etx_graph_free(problem->graph);
    etx_context_free(problem->context);
}

/* *kept: bytes between forward and backward. */
static etx_status run_pass(
    int64_t *kept, const struct problem *problem, struct etx_tape tape)
{
    const struct etx_network *network = problem->network;
    struct etx_arena *arena = problem->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    etx_status status;

    ETX_CHECK(network->arch->forward(
        network, problem->context, &problem->input, &tape, problem->out));
    *kept = etx_arena_in_use(arena);
    ETX_CHECK(network->arch->backward(network, problem->context,
        &problem->input, &tape, problem->d_out, problem->gradient));
done:
    etx_arena_reset(arena, mark);
    return status;
}

static etx_status measure(const struct way *way, const int64_t *size)
{
    struct problem problem = {.context = NULL};
    double fastest = DBL_MAX;
    double before = 0.0;
    int64_t kept = 0;
    etx_status status;

    ETX_CHECK(make_problem(&problem, size));
    before = rss_mib();
    for (int64_t p = 0; p < size[N_PASSES]; p++) {
        const double start = now();

        ETX_CHECK(run_pass(&kept, &problem, way->tape));
        fastest = now() - start < fastest ? now() - start : fastest;
    }
    (void)printf("%s\t%.2f s\tkept %.1f\tarena %.1f\tresident %.0f to %.0f\n",
        way->name, fastest, (double)kept / MIB,
        (double)etx_arena_peak(problem.context->stream->arena) / MIB, before,
        rss_mib());
done:
    free_problem(&problem);
    return status;
}

int main(int argc, char **argv)
{
    int64_t size[N_SIZES] = {100000, 10000, 64, 8, 3};
    int failed = 0;

    for (int k = 1; k < argc && k <= N_SIZES; k++)
        size[k - 1] = strtoll(argv[k], NULL, 10);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        const pid_t child = fork();
        int result = 1;

        if (child == 0) {
            const etx_status status = measure(&ways[w], size);

            if (status != ETX_OK)
                (void)fprintf(stderr, "%s\n", etx_last_error());
            (void)fflush(stdout);
            _exit(status != ETX_OK);
        }
        if (child < 0 || waitpid(child, &result, 0) != child || result != 0)
            failed = 1;
    }
    return failed;
}
