/* op/ref/connected_components.c -- union-find with the smaller root on top.
 *
 * The smallest node of a component is then its root, so roots are labels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/ref/ref.h"

/* Root of node i; halves the path on the way (Tarjan and van Leeuwen). */
static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    const int32_t root_a = find_root(parent, a);
    const int32_t root_b = find_root(parent, b);

    if (root_a < root_b)
        parent[root_b] = root_a;
    else
        parent[root_a] = root_b;
}

etx_status etx_ref_connected_components(
    struct etx_stream *stream, const struct etx_connected_components_args *args)
{
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < args->n_nodes; i++)
        args->label[i] = (int32_t)i;
    for (int64_t e = 0; e < args->n_edges; e++) {
        ETX_POLL_STREAM(stream, e);
        if (args->score == NULL || args->score[e] > args->cut)
            join(args->label, args->src[e], args->dst[e]);
    }
    for (int64_t i = 0; i < args->n_nodes; i++)
        args->label[i] = find_root(args->label, (int32_t)i);
done:
    return status;
}
