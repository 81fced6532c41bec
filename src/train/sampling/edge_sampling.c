/* train/sampling/edge_sampling.c -- the edges of a sector in a training step.
 *
 * A filter scores each edge on its own, so a random subset of the edges can be
 * trained on: every edge of a group is kept with the same probability, and most
 * false edges of a dense event are left out. Groups:
 *
 *     true     target > 0
 *     hard     false, scored at hard_cut or above (none without hard_share)
 *     easy     the other false ones
 *     masked   weight 0 in the loss: never kept
 *
 * A graph network reads its neighbours, so it gets all edges of the sector.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/edge_sampling.h"

#include "base/check.h"
#include "train/sampling/sector_input.h"
#include "train/transfer.h"

#include <math.h>

enum group { GROUP_TRUE, GROUP_EASY, GROUP_HARD, GROUP_MASKED, N_GROUPS };

etx_status etx_step_edges_label(struct etx_step_edges *edges,
    const struct etx_edge_sampler *sampler, const struct etx_truth *truth,
    const struct etx_graph *graph)
{
    struct etx_arena *arena = etx_train_host(sampler->context)->arena;
    etx_status status;

    ETX_SCRATCH(edges->target, arena, edges->n, "edge targets");
    ETX_SCRATCH(edges->weight, arena, edges->n, "edge weights");
    for (int64_t e = 0; e < edges->n; e++) {
        const int64_t edge = edges->id != NULL ? edges->id[e] : e;

        etx_truth_label(edges->target + e, edges->weight + e, truth,
            graph->src[edge], graph->dst[edge], sampler->config);
    }
done:
    return status;
}

/* logit [edges->n], on the host, of the network in its current state. */
static etx_status score_edges(float *logit,
    const struct etx_edge_sampler *sampler, const struct etx_sector *sector,
    const struct etx_graph *graph, const struct etx_step_edges *edges)
{
    struct etx_context *context = sampler->context;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    const struct etx_network *network = sampler->network;
    struct etx_network_input input;
    struct etx_graph *subgraph = NULL;
    struct etx_graph *copy = NULL;
    float *device_logit;
    etx_status status;

    ETX_CHECK(etx_sector_graph(&subgraph, sector, graph, edges->n, edges->id));
    ETX_CHECK(etx_sector_input(
        &input, &copy, context, sector, network->n_node_features, subgraph));
    ETX_SCRATCH(device_logit, context->stream->arena, edges->n, "edge logits");
    ETX_CHECK(
        network->arch->forward(network, context, &input, NULL, device_logit));
    ETX_CHECK(etx_memory_to_host(
        context->stream->memory, logit, device_logit, edges->n, sizeof *logit));
done:
    etx_graph_free(copy);
    etx_graph_free(subgraph);
    etx_scratch_reset(context, mark);
    return status;
}

/* The group of every edge [n], in scratch. */
static etx_status group_edges(uint8_t **out,
    const struct etx_edge_sampler *sampler, const struct etx_sector *sector,
    const struct etx_graph *graph, const struct etx_step_edges *edges)
{
    const struct etx_train_sampling *options = &sampler->config->sampling;
    struct etx_arena *arena = etx_train_host(sampler->context)->arena;
    const double cut = (double)options->hard_cut;
    const double hard_logit = log(cut) - log1p(-cut);
    float *logit = NULL;
    uint8_t *group;
    etx_status status;

    ETX_SCRATCH(group, arena, edges->n, "edges");
    if (options->hard_share > 0.0f) {
        ETX_SCRATCH(logit, arena, edges->n, "edge logits");
        ETX_CHECK(score_edges(logit, sampler, sector, graph, edges));
    }
    for (int64_t e = 0; e < edges->n; e++) {
        const int is_hard = logit != NULL && (double)logit[e] >= hard_logit;

        group[e] = is_hard ? GROUP_HARD : GROUP_EASY;
        if (edges->target[e] > 0.0f)
            group[e] = GROUP_TRUE;
        if (!(edges->weight[e] > 0.0f))
            group[e] = GROUP_MASKED;
    }
    *out = group;
done:
    return status;
}

/* How many false edges each group contributes: hard ones up to hard_share, easy
 * ones for the rest. */
static void split_false(double *wanted, const double *n, double n_false,
    const struct etx_train_sampling *options)
{
    wanted[GROUP_HARD] =
        fmin(n[GROUP_HARD], n_false * (double)options->hard_share);
    wanted[GROUP_EASY] = fmin(n[GROUP_EASY], n_false - wanted[GROUP_HARD]);
}

/* The probability that an edge of each group is kept. */
static void find_probabilities(float *probability, const uint8_t *group,
    int64_t n_edges, const struct etx_train_sampling *options)
{
    double n[N_GROUPS] = {0.0};
    double wanted[N_GROUPS] = {0.0};
    double n_false;

    for (int64_t e = 0; e < n_edges; e++)
        n[group[e]] += 1.0;
    n_false = (double)options->false_per_true * fmax(n[GROUP_TRUE], 1.0);
    if (!(n_false > 0.0) || n_false > n[GROUP_EASY] + n[GROUP_HARD])
        n_false = n[GROUP_EASY] + n[GROUP_HARD];
    const double all = n[GROUP_TRUE] + n_false;
    const double scale = options->n_edges > 0 && all > (double)options->n_edges
                             ? (double)options->n_edges / all
                             : 1.0;
    split_false(wanted, n, n_false, options);
    probability[GROUP_TRUE] = (float)scale;
    probability[GROUP_MASKED] = 0.0f;
    for (int g = GROUP_EASY; g <= GROUP_HARD; g++)
        probability[g] = n[g] > 0.0 ? (float)(scale * wanted[g] / n[g]) : 0.0f;
}

/* Keep each edge with the probability of its group. */
static void thin_edges(struct etx_step_edges *edges, const uint8_t *group,
    const struct etx_train_sampling *options, struct etx_random *random)
{
    float probability[N_GROUPS];
    int64_t n = 0;

    find_probabilities(probability, group, edges->n, options);
    for (int64_t e = 0; e < edges->n; e++) {
        if (group[e] == GROUP_MASKED ||
            (probability[group[e]] < 1.0f &&
                etx_random_uniform(random) >= probability[group[e]]))
            continue;
        edges->id[n] = edges->id[e];
        edges->target[n] = edges->target[e];
        edges->weight[n] = edges->weight[e];
        n++;
    }
    edges->n = n;
}

etx_status etx_step_edges_choose(struct etx_step_edges *out,
    const struct etx_edge_sampler *sampler, const struct etx_truth *truth,
    const struct etx_sector *sector, const struct etx_graph *graph,
    struct etx_random *random)
{
    struct etx_step_edges edges = {.n = 0};
    uint8_t *group;
    etx_status status;

    ETX_CHECK(etx_sector_edges(&edges.id, &edges.n,
        etx_train_host(sampler->context)->arena, sector, graph));
    ETX_CHECK(etx_step_edges_label(&edges, sampler, truth, graph));
    if (sampler->config->stage != ETX_TRAIN_GNN) {
        ETX_CHECK(group_edges(&group, sampler, sector, graph, &edges));
        thin_edges(&edges, group, &sampler->config->sampling, random);
    }
    *out = edges;
done:
    return status;
}
