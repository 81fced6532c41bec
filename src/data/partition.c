/* data/partition.c -- assign nodes to partitions.
 *
 * Partitions have equal weight: one per node and one per edge at a node. Edges
 * run outward at nearly constant azimuth and polar angle, so cuts are planes
 * through the beam or cones around it, never shells. Sectors cut the azimuth.
 * The kd order bisects recursively (k-d tree: Bentley,
 * doi:10.1145/361002.361007), each time along azimuth or pseudorapidity,
 * whichever cuts fewer edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/part.h"

#include "base/cancel.h"
#include "base/check.h"
#include "base/heap.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

#define N_AXES 2
/* 2^30: keys of few bytes, which the radix sort reads */
#define STEPS     1073741824.0
#define MIDDLE    2147483648 /* 2^31, the key of z = 0 */
#define MIN_R     1e-3
#define MAX_SLOPE 1e30

/* Nodes of n_parts partitions to be; a group is named by the first of them. */
struct group {
    int32_t n_parts; /* 0: not the first partition of a group */
    int64_t weight;
    int64_t n_cut[N_AXES]; /* edges cut if it is bisected along the axis */
};

struct partition {
    const struct etx_graph *graph;
    int32_t *owner; /* [n_nodes] the first partition of the node's group */
    int32_t *axis[N_AXES];    /* [n_nodes] nodes sorted along an axis */
    int8_t *is_right[N_AXES]; /* [n_nodes] if the group is bisected along it */
    struct group *group;      /* [n_parts], of the kd order */
    int64_t *sum;             /* [n_parts] weight of a group so far */
};

static int64_t weigh(const struct etx_graph *graph, int32_t i)
{
    return 1 + graph->in_offset[i + 1] - graph->in_offset[i] +
           graph->out_offset[i + 1] - graph->out_offset[i];
}

/* Grows with the azimuth from -pi, as 2^30 steps for a quarter of a turn. */
static int64_t find_azimuth(double x, double y)
{
    const double sum = fabs(x) + fabs(y);
    double turn = sum > 0.0 ? y / sum : 0.0;

    if (x < 0.0)
        turn = (y < 0.0 ? -2.0 : 2.0) - turn;
    return (int64_t)((turn + 2.0) * STEPS);
}

/* Grows with pseudorapidity, as z / r does. */
static int64_t find_slope(double x, double y, double z)
{
    const double r = sqrt(x * x + y * y);
    const double slope = z / (r > MIN_R ? r : MIN_R);

    return (int64_t)MIDDLE +
           etx_sort_key((float)fmax(-MAX_SLOPE, fmin(slope, MAX_SLOPE)));
}

static int64_t find_key(int32_t axis, const float *x)
{
    return axis == 0 ? find_azimuth((double)x[0], (double)x[1])
                     : find_slope((double)x[0], (double)x[1], (double)x[2]);
}

static etx_status sort_axis(
    struct partition *partition, int32_t a, const float *position)
{
    etx_status status = ETX_OK;
    const int64_t n = partition->graph->n_nodes;
    int64_t *key = NULL;

    ETX_CHECK(etx_alloc_uncleared(&key, n, sizeof *key, "nodes by angle"));
    ETX_CHECK(etx_alloc_uncleared(
        &partition->axis[a], n, sizeof *partition->axis[a], "nodes by angle"));
    for (int64_t i = 0; i < n; i++) {
        ETX_POLL(i);
        key[i] = find_key(a, position + 3 * i);
    }
    ETX_CHECK(etx_sort_order(partition->axis[a], key, n));
done:
    etx_free(key);
    return status;
}

/* Sectors of equal weight in azimuth, from -pi on. */
static void cut_sectors(struct partition *partition, int32_t n_parts)
{
    const struct etx_graph *graph = partition->graph;
    const int64_t total = graph->n_nodes + 2 * graph->n_edges;
    int64_t sum = 0;

    for (int64_t k = 0; k < graph->n_nodes; k++) {
        const int32_t i = partition->axis[0][k];
        const int64_t weight = weigh(graph, i);

        partition->owner[i] =
            (int32_t)((2 * sum + weight) * n_parts / (2 * total));
        sum += weight;
    }
}

static void weigh_groups(struct partition *partition, int32_t n_parts)
{
    const struct etx_graph *graph = partition->graph;

    for (int32_t p = 0; p < n_parts; p++)
        partition->group[p].weight = 0;
    for (int64_t i = 0; i < graph->n_nodes; i++)
        partition->group[partition->owner[i]].weight +=
            weigh(graph, (int32_t)i);
}

/* Sides of the nodes along an axis: the first half of a group, by weight, is
 * left. */
static void choose_sides(
    struct partition *partition, int32_t a, int32_t n_parts)
{
    int64_t *sum = partition->sum;

    memset(sum, 0, (size_t)n_parts * sizeof *sum);
    for (int64_t k = 0; k < partition->graph->n_nodes; k++) {
        const int32_t i = partition->axis[a][k];
        const int32_t p = partition->owner[i];
        const struct group *group = partition->group + p;
        const int64_t weight = weigh(partition->graph, i);

        partition->is_right[a][i] = (2 * sum[p] + weight) * group->n_parts >=
                                    2 * group->weight * (group->n_parts / 2);
        sum[p] += weight;
    }
}

static etx_status count_cut(
    struct partition *partition, int32_t a, int32_t n_parts)
{
    const struct etx_graph *graph = partition->graph;
    const int8_t *is_right = partition->is_right[a];
    etx_status status = ETX_OK;

    for (int32_t p = 0; p < n_parts; p++)
        partition->group[p].n_cut[a] = 0;
    for (int64_t e = 0; e < graph->n_edges; e++) {
        const int32_t src = graph->src[e];
        const int32_t dst = graph->dst[e];
        const int32_t p = partition->owner[src];

        ETX_POLL(e);
        partition->group[p].n_cut[a] +=
            p == partition->owner[dst] && is_right[src] != is_right[dst];
    }
done:
    return status;
}

/* Nodes on the right of groups of several partitions go to the second half of
 * these. */
static void move_right(struct partition *partition)
{
    for (int64_t i = 0; i < partition->graph->n_nodes; i++) {
        const struct group *group = partition->group + partition->owner[i];
        const int32_t best = group->n_cut[1] < group->n_cut[0];

        if (group->n_parts > 1 && partition->is_right[best][i])
            partition->owner[i] += group->n_parts / 2;
    }
}

/* Last to first, so that no group is bisected twice; 1: some groups still have
 * several partitions. */
static int halve_groups(struct partition *partition, int32_t n_parts)
{
    int is_left = 0;

    for (int32_t p = n_parts - 1; p >= 0; p--) {
        struct group *group = partition->group + p;
        const int32_t half = group->n_parts / 2;

        if (half == 0)
            continue;
        group[half].n_parts = group->n_parts - half;
        group->n_parts = half;
        is_left |= group[half].n_parts > 1;
    }
    return is_left;
}

/* One group of all nodes, with memory for those that it is bisected into. */
static etx_status alloc_groups(struct partition *partition, int32_t n_parts)
{
    etx_status status;

    for (int32_t a = 0; a < N_AXES; a++)
        ETX_NEW(partition->is_right[a], partition->graph->n_nodes,
            "sides of nodes");
    ETX_NEW(partition->group, n_parts, "groups of nodes");
    ETX_NEW(partition->sum, n_parts, "weights of groups");
    partition->group[0].n_parts = n_parts;
done:
    return status;
}

/* All groups of a level in one pass over nodes and edges, so the cost of a
 * level does not depend on the number of partitions. */
static etx_status cut_halves(struct partition *partition, int32_t n_parts)
{
    int is_left = n_parts > 1;
    etx_status status = ETX_OK;

    while (is_left) {
        weigh_groups(partition, n_parts);
        for (int32_t a = 0; a < N_AXES; a++) {
            choose_sides(partition, a, n_parts);
            ETX_CHECK(count_cut(partition, a, n_parts));
        }
        move_right(partition);
        is_left = halve_groups(partition, n_parts);
    }
done:
    return status;
}

etx_status etx_partition_nodes(int32_t *owner, const struct etx_graph *graph,
    const float *position, int32_t n_parts, int32_t order)
{
    etx_status status = ETX_OK;
    struct partition partition = {.graph = graph, .owner = owner};

    ETX_CHECK(sort_axis(&partition, 0, position));
    if (order != ETX_PARTITION_PHI) {
        ETX_CHECK(sort_axis(&partition, 1, position));
        ETX_CHECK(alloc_groups(&partition, n_parts));
    }
    memset(owner, 0, (size_t)graph->n_nodes * sizeof *owner);
    if (order == ETX_PARTITION_PHI)
        cut_sectors(&partition, n_parts);
    else
        ETX_CHECK(cut_halves(&partition, n_parts));
done:
    etx_free(partition.group);
    etx_free(partition.sum);
    for (int32_t a = 0; a < N_AXES; a++) {
        etx_free(partition.axis[a]);
        etx_free(partition.is_right[a]);
    }
    return status;
}
