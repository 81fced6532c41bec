/* test/conformance/test_conformance_parts.c -- networks on partitions.
 *
 * Every network on 1, 2, 4 and 8 partitions of a graph, each a thread: logits
 * have the bits of the whole graph, and gradients summed over the partitions
 * equal the whole graph to 1e-5 of the largest of an array.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "network_fixture.h"
#include "rank_threads.h"
#include "support.h"

#include "arch/halo.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_NODES 90

/* How nodes are assigned to the parts. */
enum assignment {
    CYCLIC,   /* one after the other: nearly every edge is cut */
    BLOCKS,   /* equal ranges of rows */
    UNEVEN,   /* most to part 0; the last part has none at all */
    ISOLATED, /* the last part has only nodes without edges */
    N_ASSIGNMENTS
};

static int32_t owner_of(int32_t assignment, int32_t i, int32_t n_parts)
{
    const int32_t n_used = n_parts > 1 ? n_parts - 1 : 1;

    switch ((enum assignment)assignment) {
    case CYCLIC:
        return i % n_parts;
    case BLOCKS:
        return (int32_t)((int64_t)i * n_parts / N_NODES);
    case UNEVEN:
        return i < N_NODES * 3 / 4 ? 0 : i % n_used;
    case ISOLATED:
        return i == 0 || i == N_NODES - 1 ? n_parts - 1 : i % n_used;
    case N_ASSIGNMENTS:
        break;
    }
    return 0;
}

/* A network on a whole graph, and on its parts. */
struct trial {
    const struct network_case *which;
    struct etx_network *network;
    struct network_problem problem;
    float *d_out;    /* [n_edges] */
    float *out;      /* [n_edges] of the whole graph */
    float *gradient; /* [n_values] of the whole graph */
    int32_t n_parts, assignment;
    float *parts_out;      /* [n_edges] each of the part that owns it */
    float *parts_gradient; /* [n_parts, n_values] */
};

static void trial_open(
    struct trial *trial, const struct network_case *which, int64_t n_edges)
{
    struct etx_context context;

    *trial = (struct trial){.which = which, .network = network_make(which, 5)};
    network_problem_make(
        &trial->problem, 7, N_NODES, n_edges, which->n_node_features);
    trial->d_out = network_randoms(n_edges, 9);
    trial->out = network_zeros(n_edges);
    trial->parts_out = network_zeros(n_edges);
    trial->gradient = network_zeros(trial->network->n_values);
    trial->parts_gradient =
        network_zeros(RANK_THREADS_MAX * trial->network->n_values);
    network_context_open(&context, 1, 0);
    network_backward(trial->out, trial->gradient, trial->network, &context,
        &trial->problem, trial->d_out);
    network_context_close(&context);
}

static void trial_close(struct trial *trial)
{
    free(trial->d_out);
    free(trial->out);
    free(trial->parts_out);
    free(trial->gradient);
    free(trial->parts_gradient);
    network_problem_free(&trial->problem);
    etx_network_free(trial->network);
}

/* The problem of a part: borrows what part and halo own. */
static void part_problem(struct network_problem *out, const struct trial *trial,
    const struct etx_graph_part *part, const struct etx_halo *halo)
{
    const int32_t n_features = trial->network->n_node_features;
    const int64_t n_nodes = part->graph->n_nodes;

    out->graph = part->graph;
    out->graph->halo = halo;
    out->features = network_zeros(n_nodes * n_features);
    out->position = network_zeros(n_nodes * 3);
    etx_part_gather_rows(
        out->features, part, trial->problem.features, n_features);
    etx_part_gather_rows(out->position, part, trial->problem.position, 3);
    out->input = (struct etx_network_input){.n_nodes = n_nodes,
        .node_features = out->features,
        .position = out->position,
        .graph = out->graph};
}

/* Forward and backward of a part, into its rows of the trial. */
static void run_part(struct rank_thread *thread, struct trial *trial,
    const struct etx_graph_part *part)
{
    const struct etx_halo halo = {.part = part,
        .exchange = &thread->exchange,
        .whole_nodes = part->whole_nodes,
        .whole_edges = part->whole_edges};
    const int64_t n = part->graph->n_edges;
    scoped float *out = network_zeros(n);
    scoped float *d_out = network_zeros(n);
    scoped float *inference = network_zeros(n);
    struct network_problem problem;
    struct etx_context context;

    for (int64_t e = 0; e < n; e++)
        if (etx_part_owns_edge(part, e))
            d_out[e] = trial->d_out[part->edge[e]];
    part_problem(&problem, trial, part, &halo);
    network_context_open(&context, 1, 0);
    network_forward(inference, trial->network, &context, &problem);
    network_backward(out,
        trial->parts_gradient + part->part * trial->network->n_values,
        trial->network, &context, &problem, d_out);
    network_context_close(&context);
    ck_assert(n == 0 || memcmp(out, inference, (size_t)n * sizeof *out) == 0);
    for (int64_t e = 0; e < n; e++) {
        /* Both holders of an edge between parts compute the same. */
        ck_assert(
            memcmp(out + e, trial->out + part->edge[e], sizeof *out) == 0);
        if (etx_part_owns_edge(part, e))
            trial->parts_out[part->edge[e]] = out[e];
    }
    free(problem.features);
    free(problem.position);
}

static void run_thread(struct rank_thread *thread, void *argument)
{
    struct trial *trial = argument;
    struct etx_graph_part *part = NULL;
    int32_t owner[N_NODES];

    for (int32_t i = 0; i < N_NODES; i++)
        owner[i] = owner_of(trial->assignment, i, trial->n_parts);
    ck_assert_ok(etx_part_create(
        &part, trial->problem.graph, owner, trial->n_parts, thread->rank));
    run_part(thread, trial, part);
    etx_part_free(part);
}

static double largest_gradient(const struct trial *trial)
{
    double largest = 0.0;

    for (int64_t v = 0; v < trial->network->n_values; v++)
        largest = fmax(largest, fabs((double)trial->gradient[v]));
    return largest;
}

/* The sum over the parts, against the whole graph, array by array. A sum whose
 * terms cancel is as exact as its terms, which are as large as other gradients.
 */
static void check_gradient(const struct trial *trial)
{
    const struct etx_network *network = trial->network;
    const double cancelled = FLT_EPSILON * largest_gradient(trial);

    for (int32_t p = 0; p < network->n_parameters; p++) {
        const struct etx_parameter *parameter = &network->parameter[p];
        const int64_t n = (int64_t)parameter->n_rows * parameter->n_cols;
        double largest = 0.0;
        double difference = 0.0;

        for (int64_t v = parameter->offset; v < parameter->offset + n; v++) {
            double sum = 0.0;

            for (int32_t q = 0; q < trial->n_parts; q++)
                sum += (double)trial->parts_gradient[q * network->n_values + v];
            largest = fmax(largest, fabs((double)trial->gradient[v]));
            difference =
                fmax(difference, fabs(sum - (double)trial->gradient[v]));
        }
        ck_assert_msg(difference <= 1e-5 * largest + cancelled + 1e-30,
            "%s (%s): %s: %d parts, assignment %d: differs by %.3g of %.3g",
            trial->which->arch, trial->which->name, parameter->name,
            (int)trial->n_parts, (int)trial->assignment, difference, largest);
    }
}

static void check_parts(struct trial *trial)
{
    const int64_t n = trial->problem.graph->n_edges;

    memset(trial->parts_gradient, 0,
        (size_t)trial->n_parts * (size_t)trial->network->n_values *
            sizeof(float));
    memset(trial->parts_out, 0xff, (size_t)n * sizeof(float));
    rank_threads_run(trial->n_parts, NULL, run_thread, trial);
    ck_assert(
        memcmp(trial->parts_out, trial->out, (size_t)n * sizeof(float)) == 0);
    check_gradient(trial);
}

static void check_all_parts(const struct network_case *which, int64_t n_edges)
{
    struct trial trial;

    trial_open(&trial, which, n_edges);
    for (trial.n_parts = 1; trial.n_parts <= RANK_THREADS_MAX;
         trial.n_parts *= 2) {
        const int32_t n_assignments = trial.n_parts == 1 ? 1 : N_ASSIGNMENTS;

        for (trial.assignment = 0; trial.assignment < n_assignments;
             trial.assignment++)
            check_parts(&trial);
    }
    trial_close(&trial);
}

/* Networks in which distant edges depend on each other. */
static int32_t expects_whole(const struct network_case *which)
{
    return which->is_global || strcmp(which->arch, "triplet_gnn") == 0 ||
           strcmp(which->arch, "edge_pooling") == 0 ||
           which->n_edge_features > ETX_EDGE_LOG_HOUGH_VOTES;
}

/* More edges than nodes, and fewer: the first layer is factorised or not by the
 * whole graph, whatever the parts have. */
ETX_TEST(test_parts_networks, .rows = network_n_cases())
{
    const struct network_case which = network_case_at(_i);
    scoped_network *network = network_make(&which, 5);
    const int32_t needs_whole = etx_halo_check(network) != ETX_OK;

    if (needs_whole || network->arch->kind != ETX_NETWORK_EDGE) {
        ck_assert_int_eq(needs_whole, expects_whole(&which));
    } else {
        check_all_parts(&which, 240);
        check_all_parts(&which, 70);
    }
}

static const struct {
    struct network_case which;
    const char *reason;
} refused[] = {
    {{"triplets", "triplet_gnn", NULL, .n_node_features = 3}, "triplet"},
    {{"batch norm", "interaction_network", "{'norm': 'batch'}",
         .n_node_features = 3},
        "batch norm"},
    {{"vanilla, batch norm", "edge_filter",
         "{'hidden': [4, 4], 'style': 'vanilla', 'norm': 'batch'}",
         .n_node_features = 3},
        "batch norm"},
};

ETX_TEST(test_parts_refused, .rows = ROWS(refused))
{
    scoped_network *network = network_make(&refused[_i].which, 1);

    ck_assert_status(etx_halo_check(network), ETX_ERR_UNSUPPORTED);
    ck_assert(strstr(etx_last_error(), refused[_i].reason) != NULL);
}
