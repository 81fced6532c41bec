/* cuda/op/connected_components.cu -- the smallest node of every component.
 *
 * After ECL-CC (Jaiganesh and Burtscher, HPDC 2018): every edge hooks the
 * larger of the roots of its ends under the smaller one, then all nodes look
 * up their root. A root is never hooked under a larger one, so whatever the
 * order of arrival, the last root is the smallest node.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/backend/launch.cuh"
#include "cuda/op/operators.h"

__global__ static void start_kernel(int32_t *parent, int64_t n_nodes)
{
    for (int64_t i = etx_first_item(); i < n_nodes; i += etx_item_step())
        parent[i] = (int32_t)i;
}

/* The root of a node. On the way every second node is hooked to its
 * grandparent; others may do the same, all towards smaller nodes. */
__device__ static int32_t find_root(volatile int32_t *parent, int32_t node)
{
    int32_t at = node;
    int32_t next = parent[at];

    while (next != at) {
        const int32_t over = parent[next];

        parent[at] = over;
        at = over;
        next = parent[at];
    }
    return at;
}

__global__ static void hook_kernel(
    int32_t *parent, struct etx_connected_components_args args)
{
    for (int64_t e = etx_first_item(); e < args.n_edges; e += etx_item_step()) {
        if (args.score != NULL && !(args.score[e] > args.cut))
            continue;
        int32_t low = find_root(parent, args.src[e]);
        int32_t high = find_root(parent, args.dst[e]);

        while (low != high) {
            if (low > high) {
                const int32_t other = low;

                low = high;
                high = other;
            }
            if (atomicCAS(&parent[high], high, low) == high)
                break;
            high = find_root(parent, high);
            low = find_root(parent, low);
        }
    }
}

__global__ static void label_kernel(
    int32_t *label, const int32_t *parent, int64_t n_nodes)
{
    for (int64_t i = etx_first_item(); i < n_nodes; i += etx_item_step()) {
        int32_t root = (int32_t)i;

        while (parent[root] != root)
            root = parent[root];
        label[i] = root;
    }
}

etx_status etx_cuda_connected_components(
    struct etx_stream *stream, const struct etx_connected_components_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    int32_t *parent = NULL;

    ETX_TRY(scratch.alloc(&parent, args->n_nodes, "parents of nodes"));
    ETX_TRY(
        etx_launch(stream, args->n_nodes, start_kernel, parent, args->n_nodes));
    ETX_TRY(etx_launch(stream, args->n_edges, hook_kernel, parent, *args));
    return etx_launch(stream, args->n_nodes, label_kernel, args->label,
        (const int32_t *)parent, args->n_nodes);
}
