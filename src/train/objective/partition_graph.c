/* train/objective/partition_graph.c -- one partition of the graph of a step or
 * of a validation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/partition_graph.h"

#include "base/check.h"
#include "stage/stage.h"
#include "train/hash.h"
#include "train/transfer.h"

#include <string.h>

/* Angles decide which hits a sector has and where it is cut, and another C
 * library may round them otherwise: then sizes of what is exchanged differ. */
static uint64_t hash_owners(const int32_t *owner, const struct etx_graph *whole)
{
    const size_t n_nodes = (size_t)whole->n_nodes;
    const size_t n_edges = (size_t)whole->n_edges;
    uint64_t hash =
        etx_hash_bytes(ETX_HASH_START, owner, n_nodes * sizeof *owner);

    hash = etx_hash_bytes(hash, whole->src, n_edges * sizeof *whole->src);
    return etx_hash_bytes(hash, whole->dst, n_edges * sizeof *whole->dst);
}

void etx_partition_graph_close(struct etx_partition_graph *graph)
{
    etx_graph_free(graph->copy);
    etx_part_free(graph->part);
}

etx_status etx_partition_graph_open(struct etx_partition_graph *out,
    struct etx_context *context, const struct etx_train_partition *partition,
    const struct etx_network_input *whole, int32_t n_features)
{
    struct etx_common common[ETX_N_COMMON + 1];
    const struct etx_graph *graph;
    etx_status status;

    *out = (struct etx_partition_graph){
        .context = context, .partition = partition};
    ETX_SCRATCH(out->owner, etx_train_host(context)->arena, whole->n_nodes,
        "owners of nodes");
    ETX_CHECK(etx_partition_nodes(out->owner, whole->graph, whole->position,
        partition->n_parts, partition->order));
    etx_common_begin(
        common, context, partition->hash, "the config or the start model");
    common[ETX_N_COMMON] =
        (struct etx_common){hash_owners(out->owner, whole->graph),
            "edges or owners: files, C library or processor"};
    ETX_CHECK(etx_partition_agree(partition, common, ETX_N_COMMON + 1));
    ETX_CHECK(etx_part_create(&out->part, whole->graph, out->owner,
        partition->n_parts, partition->part));
    out->halo = (struct etx_halo){.part = out->part,
        .exchange = &partition->exchange,
        .whole_nodes = whole->graph->n_nodes,
        .whole_edges = whole->graph->n_edges};
    ETX_CHECK(etx_stage_graph_to_device(
        &graph, &out->copy, context, out->part->graph));
    out->graph = *graph;
    out->graph.halo = &out->halo;
    out->n_edges = out->graph.n_edges;
    out->input.graph = &out->graph;
    ETX_CHECK(etx_stage_part_nodes_to_device(&out->input, context, out->part,
        whole->node_features, n_features, whole->position));
done:
    return status;
}

etx_status etx_partition_graph_targets(float **target, float **weight,
    const struct etx_partition_graph *graph, const float *whole_target,
    const float *whole_weight)
{
    struct etx_arena *arena = etx_train_host(graph->context)->arena;
    const int64_t n = graph->n_edges;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(target, arena, n, sizeof **target, "edge targets"));
    ETX_CHECK(
        etx_arena_alloc(weight, arena, n, sizeof **weight, "edge weights"));
    for (int64_t e = 0; e < n; e++) {
        const int32_t edge = graph->part->edge[e];

        (*target)[e] = whole_target[edge];
        (*weight)[e] =
            etx_part_owns_edge(graph->part, e) ? whole_weight[edge] : 0.0f;
    }
done:
    return status;
}

/* Edges that end at the nodes of every partition: n [n_parts]. */
static void count_own(int64_t *n, const struct etx_partition_graph *graph,
    const struct etx_graph *whole)
{
    memset(n, 0, (size_t)graph->partition->n_parts * sizeof *n);
    for (int64_t e = 0; e < whole->n_edges; e++)
        n[graph->owner[whole->dst[e]]]++;
}

/* logit [whole edges] from by_part, the own edges of partition 0, of 1, ...;
 * n [n_parts], their numbers, become cursors. */
static void scatter_logits(float *logit,
    const struct etx_partition_graph *graph, const struct etx_graph *whole,
    const float *by_part, int64_t *n)
{
    int64_t sum = 0;

    for (int32_t q = 0; q < graph->partition->n_parts; q++) {
        const int64_t n_own = n[q];

        n[q] = sum;
        sum += n_own;
    }
    for (int64_t e = 0; e < whole->n_edges; e++)
        logit[e] = by_part[n[graph->owner[whole->dst[e]]]++];
}

static etx_status gather_logits(float *logit,
    const struct etx_partition_graph *graph, const struct etx_graph *whole,
    const float *of_part)
{
    struct etx_arena *arena = etx_train_host(graph->context)->arena;
    float *by_part;
    float *own;
    int64_t *n;
    int64_t n_own = 0;
    etx_status status;

    ETX_SCRATCH(n, arena, graph->partition->n_parts, "own edges");
    ETX_SCRATCH(by_part, arena, whole->n_edges, "edge logits");
    ETX_SCRATCH(own, arena, graph->n_edges, "edge logits");
    for (int64_t e = 0; e < graph->n_edges; e++)
        if (etx_part_owns_edge(graph->part, e))
            own[n_own++] = of_part[e];
    count_own(n, graph, whole);
    ETX_CHECK(etx_partition_gather(graph->partition, by_part, n, own));
    scatter_logits(logit, graph, whole, by_part, n);
done:
    return status;
}

etx_status etx_partition_graph_logits(float *logit, struct etx_context *context,
    const struct etx_train_partition *partition,
    const struct etx_network *network, const struct etx_network_input *whole)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_partition_graph graph;
    float *of_part;
    etx_status status;

    ETX_CHECK(etx_partition_graph_open(
        &graph, context, partition, whole, network->n_node_features));
    ETX_SCRATCH(of_part, context->stream->arena, graph.n_edges, "edge logits");
    ETX_CHECK(
        network->arch->forward(network, context, &graph.input, NULL, of_part));
    ETX_CHECK(etx_train_to_host(
        &of_part, context, of_part, graph.n_edges, "edge logits"));
    ETX_CHECK(gather_logits(logit, &graph, whole->graph, of_part));
done:
    etx_partition_graph_close(&graph);
    etx_scratch_reset(context, mark);
    return status;
}
