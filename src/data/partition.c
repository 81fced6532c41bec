/* data/partition.c -- which part owns a node.
 *
 * A part costs what its edges cost, so a node weighs one and an edge each of
 * its ends, and parts are of equal weight. Edges run outward at nearly one
 * azimuth and one polar angle: cuts are planes through the beam or cones
 * around it, never shells. Sectors cut the azimuth. The kd order halves again
 * and again (Bentley, doi:10.1145/361002.361007), each time along azimuth or
 * pseudorapidity, whichever takes fewer edges apart.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/part.h"

#include "base/check.h"
#include "base/memory.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

#define N_AXES     2
#define RESOLUTION 1099511627776.0 /* 2^40 steps for one of phi and of eta */

struct partition {
    const struct etx_graph *graph;
    int32_t *owner;         /* [n_nodes] the first part of the node's group */
    int32_t *axis[N_AXES];  /* [n_nodes] nodes in the order of an axis */
    int8_t *is_right[N_AXES]; /* [n_nodes] if the group were cut along it */
};

static int64_t weigh(const struct etx_graph *graph, int32_t i)
{
    return 1 + graph->in_offset[i + 1] - graph->in_offset[i] +
           graph->out_offset[i + 1] - graph->out_offset[i];
}

/* Where a hit lies on the axes, in steps. */
static void find_keys(int64_t key[N_AXES], const float *x)
{
    const double r = hypot((double)x[0], (double)x[1]);
    const double eta = asinh((double)x[2] / (r > 1e-3 ? r : 1e-3));

    key[0] = (int64_t)(atan2((double)x[1], (double)x[0]) * RESOLUTION);
    key[1] = (int64_t)(eta * RESOLUTION);
}

static etx_status sort_axes(
    struct partition *partition, const float *position)
{
    etx_status status = ETX_OK;
    const int64_t n = partition->graph->n_nodes;
    int64_t *key = NULL;

    ETX_CHECK(etx_alloc_uncleared(&key, n, sizeof *key, "nodes by angle"));
    for (int32_t a = 0; a < N_AXES; a++) {
        ETX_CHECK(etx_alloc_uncleared(&partition->axis[a], n,
            sizeof *partition->axis[a], "nodes by angle"));
        ETX_CHECK(etx_alloc(&partition->is_right[a], n,
            sizeof *partition->is_right[a], "sides of nodes"));
        for (int64_t i = 0; i < n; i++) {
            int64_t both[N_AXES];

            find_keys(both, position + 3 * i);
            key[i] = both[a];
        }
        ETX_CHECK(etx_sort_order(partition->axis[a], key, n));
    }
done:
    etx_release(key);
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

static int64_t weigh_group(const struct partition *partition, int32_t group)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < partition->graph->n_nodes; i++)
        if (partition->owner[i] == group)
            sum += weigh(partition->graph, (int32_t)i);
    return sum;
}

/* Sides of the nodes of a group along an axis: the first n_left of n_parts by
 * weight are left. */
static void choose_sides(struct partition *partition, int32_t a,
    int32_t group, int32_t n_left, int32_t n_parts)
{
    const int64_t total = weigh_group(partition, group);
    int64_t sum = 0;

    for (int64_t k = 0; k < partition->graph->n_nodes; k++) {
        const int32_t i = partition->axis[a][k];

        if (partition->owner[i] == group) {
            const int64_t weight = weigh(partition->graph, i);

            partition->is_right[a][i] =
                (2 * sum + weight) * n_parts >= 2 * total * n_left;
            sum += weight;
        }
    }
}

static int64_t count_cut(
    const struct partition *partition, int32_t a, int32_t group)
{
    const struct etx_graph *graph = partition->graph;
    const int8_t *is_right = partition->is_right[a];
    int64_t n = 0;

    for (int64_t e = 0; e < graph->n_edges; e++) {
        const int32_t src = graph->src[e];
        const int32_t dst = graph->dst[e];

        n += partition->owner[src] == group &&
             partition->owner[dst] == group && is_right[src] != is_right[dst];
    }
    return n;
}

/* Share a group, numbered by its first part, out to n_parts parts: at most 32
 * levels deep. */
static void cut_group(
    struct partition *partition, int32_t group, int32_t n_parts)
{
    const int32_t n_left = n_parts / 2;
    int32_t best = 0;

    if (n_parts < 2)
        return;
    for (int32_t a = 0; a < N_AXES; a++)
        choose_sides(partition, a, group, n_left, n_parts);
    if (count_cut(partition, 1, group) < count_cut(partition, 0, group))
        best = 1;
    for (int64_t i = 0; i < partition->graph->n_nodes; i++)
        if (partition->owner[i] == group && partition->is_right[best][i])
            partition->owner[i] = group + n_left;
    cut_group(partition, group, n_left);
    cut_group(partition, group + n_left, n_parts - n_left);
}

etx_status etx_partition_nodes(int32_t *owner, const struct etx_graph *graph,
    const float *position, int32_t n_parts, int32_t order)
{
    etx_status status = ETX_OK;
    struct partition partition = {.graph = graph, .owner = owner};

    ETX_CHECK(sort_axes(&partition, position));
    memset(owner, 0, (size_t)graph->n_nodes * sizeof *owner);
    if (order == ETX_PARTITION_PHI)
        cut_sectors(&partition, n_parts);
    else
        cut_group(&partition, 0, n_parts);
done:
    for (int32_t a = 0; a < N_AXES; a++) {
        etx_release(partition.axis[a]);
        etx_release(partition.is_right[a]);
    }
    return status;
}
