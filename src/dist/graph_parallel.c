/* dist/graph_parallel.c -- one graph on all ranks of a group.
 *
 * Before every all-to-all, and at the end, the ranks agree on whether all of
 * them are still running, which costs a barrier and a sum of one number. A rank
 * that failed joins one more agreement instead of leaving the others to their
 * deadline, so the group stays usable. All ranks use the partition of rank 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/graph.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "dist/dist.h"
#include "dist/fail.h"

/* sizeof(etx_part_exchange) in its first release. */
#define EXCHANGE_FIRST_SIZE (offsetof(etx_part_exchange, user) + sizeof(void *))

/* Whether every rank came this far; status is this rank's, which its caller may
 * cancel here. The barrier lets the statistics tell waiting from work. */
static etx_status agree(struct etx_dist *dist, etx_status status)
{
    if (status == ETX_OK && etx_is_cancelled())
        status = ETX_ERR_CANCELLED;
    int64_t n_failed = status != ETX_OK;

    dist->comm->is_leaving = status != ETX_OK;
    etx_status sum = etx_comm_barrier(dist->comm);
    if (sum == ETX_OK)
        sum = etx_comm_sum(dist->comm, &n_failed, 1, ETX_COMM_I64);
    dist->comm->is_leaving = 0;
    if (status != ETX_OK)
        return status;
    if (sum != ETX_OK || n_failed == 0)
        return sum;
    return etx_dist_fail(ETX_ERR_RANK,
        "rank %d: %lld of %d ranks failed, and with them what all of them do "
        "together",
        (int)dist->comm->rank, (long long)n_failed, (int)dist->comm->n_ranks);
}

static etx_status swap(void *user, float *received, const int64_t *n_received,
    const float *sent, const int64_t *n_sent)
{
    struct etx_dist *dist = user;
    etx_status status;

    ETX_CHECK(agree(dist, ETX_OK));
    ETX_CHECK(etx_comm_all_to_all(
        dist->comm, received, n_received, sent, n_sent, sizeof *sent));
done:
    dist->has_failed = status != ETX_OK;
    return status;
}

/* Keep the message of the failure over the agreement. */
static void leave(void *user, etx_status status)
{
    struct etx_dist *dist = user;
    char message[512];

    (void)snprintf(message, sizeof message, "%s", etx_last_error());
    if (!dist->has_failed)
        (void)agree(dist, status);
    dist->has_failed = 0;
    etx_set_last_error(message);
}

etx_status etx_dist_exchange(etx_part_exchange *out, etx_dist *dist)
{
    const etx_part_exchange exchange = {.struct_size = sizeof exchange,
        .swap = swap,
        .leave = leave,
        .user = dist};
    etx_status status;

    ETX_CHECK(etx_dist_check_given("etx_dist_exchange", "out", out));
    ETX_CHECK(etx_dist_check_given("etx_dist_exchange", "dist", dist));
    ETX_CHECK(etx_dist_fill(
        out, &exchange, sizeof exchange, EXCHANGE_FIRST_SIZE, "exchange"));
done:
    return status;
}

etx_status etx_dist_trainer_set_parts(
    etx_trainer *trainer, etx_dist *dist, int32_t order)
{
    etx_part_exchange exchange = {.struct_size = sizeof exchange};
    etx_status status;

    ETX_CHECK(
        etx_dist_check_given("etx_dist_trainer_set_parts", "trainer", trainer));
    ETX_CHECK(etx_dist_check_given("etx_dist_trainer_set_parts", "dist", dist));
    ETX_CHECK(etx_dist_exchange(&exchange, dist));
    ETX_CHECK(etx_trainer_set_parts(
        trainer, dist->comm->n_ranks, dist->comm->rank, order, &exchange));
done:
    return status;
}

/* -------------------------------------------------------------- scores -- */

/* A graph that is scored by all ranks. */
struct scoring {
    struct etx_dist *dist;
    etx_graph *graph;
    int32_t *owner; /* [n_nodes] */
    etx_graph_part *part;
    int64_t *n_own; /* [n_ranks] edges that end at a rank's nodes */
    float *of_part; /* [n_edges of the part] */
    float *by_rank; /* [n_edges] of rank 0, of rank 1, ... */
    float *score;   /* [n_edges] */
};

static etx_status alloc_arrays(struct scoring *scoring)
{
    const int64_t n_edges = etx_graph_n_edges(scoring->graph);
    etx_status status;

    ETX_CHECK(etx_dist_alloc(&scoring->owner, etx_graph_n_nodes(scoring->graph),
        sizeof *scoring->owner, "owners of nodes"));
    ETX_CHECK(etx_dist_alloc(&scoring->n_own, scoring->dist->comm->n_ranks,
        sizeof *scoring->n_own, "edges of ranks"));
    ETX_CHECK(etx_dist_alloc(
        &scoring->by_rank, n_edges, sizeof *scoring->by_rank, "scores"));
    ETX_CHECK(etx_dist_alloc(
        &scoring->score, n_edges, sizeof *scoring->score, "scores"));
done:
    return status;
}

static void release(struct scoring *scoring)
{
    free(scoring->owner);
    free(scoring->n_own);
    free(scoring->of_part);
    free(scoring->by_rank);
    free(scoring->score);
    etx_graph_part_free(scoring->part);
}

/* Ranks with graphs of other sizes would wait for each other's bytes. */
static etx_status agree_sizes(struct scoring *scoring)
{
    etx_status status;

    ETX_CHECK(etx_dist_agree(scoring->dist,
        (uint64_t)etx_graph_n_nodes(scoring->graph), "nodes of the graph"));
    ETX_CHECK(etx_dist_agree(scoring->dist,
        (uint64_t)etx_graph_n_edges(scoring->graph), "edges of the graph"));
done:
    return status;
}

/* owner [n_nodes], the same on all ranks. */
static etx_status share_nodes(
    struct scoring *scoring, const etx_event *event, int32_t order)
{
    struct etx_comm *comm = scoring->dist->comm;
    etx_status status = alloc_arrays(scoring);

    if (status == ETX_OK)
        status = etx_graph_partition(
            scoring->owner, scoring->graph, event, comm->n_ranks, order);
    ETX_CHECK(agree(scoring->dist, status));
    ETX_CHECK(agree_sizes(scoring));
    ETX_CHECK(etx_comm_broadcast(comm, scoring->owner,
        etx_graph_n_nodes(scoring->graph), sizeof *scoring->owner, 0));
done:
    return status;
}

static etx_status make_part(struct scoring *scoring)
{
    const struct etx_comm *comm = scoring->dist->comm;
    const int32_t *dst = etx_graph_dst(scoring->graph);
    etx_status status;

    ETX_CHECK(etx_graph_part_create(&scoring->part, scoring->graph,
        scoring->owner, comm->n_ranks, comm->rank));
    ETX_CHECK(etx_dist_alloc(&scoring->of_part,
        etx_graph_n_edges(etx_graph_part_graph(scoring->part)),
        sizeof *scoring->of_part, "scores"));
    for (int64_t e = 0; e < etx_graph_n_edges(scoring->graph); e++)
        scoring->n_own[scoring->owner[dst[e]]]++;
done:
    return status;
}

/* This rank's own scores, in front of the scores of all of its part. */
static void choose_own(struct scoring *scoring)
{
    const etx_graph *graph = etx_graph_part_graph(scoring->part);
    const int32_t *dst = etx_graph_dst(graph);
    const int32_t *node = etx_graph_part_nodes(scoring->part);
    int64_t n = 0;

    for (int64_t e = 0; e < etx_graph_n_edges(graph); e++)
        if (scoring->owner[node[dst[e]]] == scoring->dist->comm->rank)
            scoring->of_part[n++] = scoring->of_part[e];
}

/* score [n_edges] in the order of the graph; spoils n_own. */
static void order_scores(struct scoring *scoring)
{
    const int32_t *dst = etx_graph_dst(scoring->graph);
    int64_t sum = 0;

    for (int32_t r = 0; r < scoring->dist->comm->n_ranks; r++) {
        const int64_t n = scoring->n_own[r];

        scoring->n_own[r] = sum;
        sum += n;
    }
    for (int64_t e = 0; e < etx_graph_n_edges(scoring->graph); e++)
        scoring->score[e] =
            scoring->by_rank[scoring->n_own[scoring->owner[dst[e]]]++];
}

static etx_status gather_scores(struct scoring *scoring)
{
    etx_status status;

    choose_own(scoring);
    ETX_CHECK(agree(scoring->dist, ETX_OK));
    ETX_CHECK(etx_comm_gather(scoring->dist->comm, scoring->by_rank,
        scoring->of_part, scoring->n_own, sizeof *scoring->of_part));
    order_scores(scoring);
    ETX_CHECK(agree(
        scoring->dist, etx_graph_set_scores(scoring->graph, scoring->score)));
done:
    return status;
}

etx_status etx_dist_graph_score(etx_graph *graph, etx_dist *dist,
    etx_context *context, const etx_model *model, const etx_event *event,
    int32_t order)
{
    struct scoring scoring = {.dist = dist, .graph = graph};
    etx_part_exchange exchange = {.struct_size = sizeof exchange};
    fenv_t host;
    etx_status status;

    etx_dist_enter(&host);
    ETX_CHECK(etx_dist_check_given("etx_dist_graph_score", "graph", graph));
    ETX_CHECK(etx_dist_check_given("etx_dist_graph_score", "dist", dist));
    ETX_CHECK(etx_dist_exchange(&exchange, dist));
    ETX_CHECK(share_nodes(&scoring, event, order));
    status = make_part(&scoring);
    if (status != ETX_OK)
        leave(dist, status);
    ETX_CHECK(status);
    ETX_CHECK(etx_graph_part_score(
        scoring.of_part, scoring.part, context, model, event, &exchange));
    ETX_CHECK(gather_scores(&scoring));
done:
    release(&scoring);
    return etx_dist_leave(&host, status);
}
