/* examples/studies/messages.c -- the sum of messages over the edges of every
 * node.
 *
 *     m_i = sum over e into i of w_e x_src + sum over e out of i of w_e x_dst
 *
 * by segment_reduce, and its gradients of x and w, on one thread. Prints
 * processor seconds of the fastest forward and backward, and how far the
 * highest resident size grows, in MiB. tables/messages.py compares other ways.
 *   make build/studies/messages
 *   build/studies/messages NODES EDGES WIDTH PASSES
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "arch/edge_steps.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/random.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum size { N_NODES, N_EDGES, WIDTH, N_PASSES, N_SIZES };

struct problem {
    struct etx_context *context;
    struct etx_graph *graph;
    int32_t width;
    float *x, *m, *d_m, *d_x; /* [n_nodes, width] */
    float *w, *d_w, *term;    /* [n_edges] */
};

/* Of the processor: others may use it, too. */
static double now(void)
{
    struct timespec time = {0, 0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The highest resident size, MiB; that of getrusage outlives exec. */
static double peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    double kib = 0.0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kib = strtod(line + 6, NULL);
    if (file != NULL)
        (void)fclose(file);
    return kib / 1024.0;
}

static etx_status make_graph(struct problem *problem, const int64_t *size)
{
    struct etx_random random;
    int32_t *ends = NULL;
    etx_status status;

    etx_random_init(&random, 1, 1, 1);
    ETX_CHECK(etx_alloc(&ends, 2 * size[N_EDGES], sizeof *ends, "ends"));
    for (int64_t e = 0; e < 2 * size[N_EDGES]; e++)
        ends[e] = (int32_t)etx_random_below(&random, (uint64_t)size[N_NODES]);
    ETX_CHECK(etx_graph_from_edges(&problem->graph, size[N_NODES],
        size[N_EDGES], ends, ends + size[N_EDGES], NULL, NULL));
done:
    etx_free(ends);
    return status;
}

static etx_status make_values(float **out, int64_t n, uint32_t stream)
{
    struct etx_random random;
    etx_status status;

    etx_random_init(&random, 2, stream, 0);
    ETX_CHECK(etx_alloc(out, n, sizeof **out, "values"));
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = 2.0f * etx_random_uniform(&random) - 1.0f;
done:
    return status;
}

static etx_status make_problem(struct problem *problem, const int64_t *size)
{
    const int64_t n = size[N_NODES] * size[WIDTH];
    const etx_context_options options = {
        .struct_size = sizeof options, .n_threads = 1};
    etx_status status;

    problem->width = (int32_t)size[WIDTH];
    ETX_CHECK(etx_context_create(&problem->context, &options));
    ETX_CHECK(make_graph(problem, size));
    ETX_CHECK(make_values(&problem->x, n, 1));
    ETX_CHECK(make_values(&problem->m, n, 2));
    ETX_CHECK(make_values(&problem->d_m, n, 3));
    ETX_CHECK(make_values(&problem->d_x, n, 4));
    ETX_CHECK(make_values(&problem->w, size[N_EDGES], 5));
    ETX_CHECK(make_values(&problem->d_w, size[N_EDGES], 6));
    ETX_CHECK(make_values(&problem->term, size[N_EDGES], 7));
done:
    return status;
}

static void free_problem(struct problem *problem)
{
    etx_free(problem->x);
    etx_free(problem->m);
    etx_free(problem->d_m);
    etx_free(problem->d_x);
    etx_free(problem->w);
    etx_free(problem->d_w);
    etx_free(problem->term);
    etx_graph_free(problem->graph);
    etx_context_free(problem->context);
}

/* The operator is symmetric in the ends: its adjoint for x is itself. That for
 * w is the products of the rows at both ends. */
static etx_status backward(const struct problem *problem)
{
    struct etx_context *context = problem->context;
    const struct etx_graph *graph = problem->graph;
    struct etx_row_dot_args dot = {.n_rows = graph->n_edges,
        .width = problem->width,
        .a = problem->d_m,
        .a_index = graph->dst,
        .b = problem->x,
        .b_index = graph->src,
        .out = problem->d_w};
    etx_status status;

    ETX_CHECK(etx_propagate(problem->d_x, 0, context, graph, problem->w,
        problem->d_m, problem->width));
    ETX_CHECK(context->ops->row_dot(context->stream, &dot));
    dot.a_index = graph->src;
    dot.b_index = graph->dst;
    dot.out = problem->term;
    ETX_CHECK(context->ops->row_dot(context->stream, &dot));
    ETX_CHECK(
        etx_add_values(context, problem->d_w, problem->term, graph->n_edges));
done:
    return status;
}

static etx_status measure(const struct problem *problem, int64_t n_passes)
{
    const struct etx_graph *graph = problem->graph;
    double fastest[2] = {DBL_MAX, DBL_MAX};
    etx_status status = ETX_OK;

    for (int64_t p = 0; p < n_passes; p++) {
        const double start = now();
        ETX_CHECK(etx_propagate(problem->m, 0, problem->context, graph,
            problem->w, problem->x, problem->width));
        const double middle = now();
        ETX_CHECK(backward(problem));
        const double end = now();
        fastest[0] = middle - start < fastest[0] ? middle - start : fastest[0];
        fastest[1] = end - middle < fastest[1] ? end - middle : fastest[1];
    }
    (void)printf("%.6f %.6f", fastest[0], fastest[1]);
done:
    return status;
}

int main(int argc, char **argv)
{
    int64_t size[N_SIZES] = {10000, 100000, 64, 5};
    struct problem problem = {.context = NULL};
    const double before = peak_mib();
    etx_status status;

    for (int k = 1; k < argc && k <= N_SIZES; k++)
        size[k - 1] = strtoll(argv[k], NULL, 10);
    ETX_CHECK(make_problem(&problem, size));
    ETX_CHECK(measure(&problem, size[N_PASSES]));
    (void)printf(" %.1f\n", peak_mib() - before);
done:
    if (status != ETX_OK)
        (void)fprintf(stderr, "%s\n", etx_last_error());
    free_problem(&problem);
    return status != ETX_OK;
}
