/* cuda/op/walkthrough.cu -- longest scored paths, outward.
 *
 * The components in which a node has two edges in or two out become one acyclic
 * graph, as in op/ref/walkthrough.c: sorts put its nodes by component and, in
 * each, outward, and its edges by either end. longest_paths.cu has the search.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/longest_paths.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

#define NONE (-1)

struct walk {
    struct etx_walkthrough_args args; /* group: first the components */
    int32_t *has_in, *has_out;        /* [n_nodes] an edge, zero before */
    uint8_t *branching; /* [n_nodes] at the group of a branching component; zero
                         * before */
    int32_t *local;     /* [n_nodes] number in dag, NONE outside */
    int32_t *node;      /* [dag.n_nodes] and back */
    struct etx_cuda_dag dag;
};

/* Of the edges at an end, atomicCAS lets one through as the first; any other
 * marks the component. */
__global__ static void branching_kernel(struct walk walk)
{
    for (int64_t e = etx_first_item(); e < walk.args.n_edges;
         e += etx_item_step()) {
        const int32_t tail = walk.args.tail[e];
        const int32_t head = walk.args.head[e];
        const int32_t is_second_out = atomicCAS(&walk.has_out[tail], 0, 1);
        const int32_t is_second_in = atomicCAS(&walk.has_in[head], 0, 1);

        if (is_second_out != 0 || is_second_in != 0)
            etx_write_same(&walk.branching[walk.args.group[tail]], (uint8_t)1);
    }
}

__global__ static void node_flags_kernel(uint8_t *flag, struct walk walk)
{
    for (int64_t i = etx_first_item(); i < walk.args.n_nodes;
         i += etx_item_step())
        flag[i] = walk.branching[walk.args.group[i]];
}

/* By component, then outward: floats that are not negative ascend as their bits
 * do. */
__global__ static void node_keys_kernel(
    uint64_t *key, struct walk walk, const int32_t *node, int64_t n)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step())
        key[k] = (uint64_t)walk.args.group[node[k]] << 32 |
                 __float_as_uint(walk.args.key[node[k]]);
}

/* Number the sorted nodes. first [n]: 1 where a component begins. */
__global__ static void number_kernel(
    uint8_t *first, struct walk walk, const uint64_t *key, int64_t n)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step()) {
        walk.local[walk.node[k]] = (int32_t)k;
        first[k] = k == 0 || key[k] >> 32 != key[k - 1] >> 32;
    }
}

/* Both ends are in the dag, or none. */
__global__ static void edge_flags_kernel(uint8_t *flag, struct walk walk)
{
    for (int64_t e = etx_first_item(); e < walk.args.n_edges;
         e += etx_item_step())
        flag[e] = walk.local[walk.args.tail[e]] != NONE;
}

/* Edges by their tail, then by their head, and the other way round. */
__global__ static void edge_keys_kernel(uint64_t *by_tail, uint64_t *by_head,
    struct walk walk, const int32_t *edge, int64_t n)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step()) {
        const uint64_t tail = (uint64_t)walk.local[walk.args.tail[edge[k]]];
        const uint64_t head = (uint64_t)walk.local[walk.args.head[edge[k]]];

        by_tail[k] = tail << 32 | head;
        by_head[k] = head << 32 | tail;
    }
}

/* Of sorted keys [n]: other [n], the end in the lower half, and offset
 * [n_nodes + 1] of the runs of equal ends in the upper one. */
__global__ static void ends_kernel(int32_t *other, int32_t *offset,
    const uint64_t *key, int64_t n, int64_t n_nodes)
{
    for (int64_t k = etx_first_item(); k <= n; k += etx_item_step()) {
        const int64_t before = k == 0 ? -1 : (int64_t)(key[k - 1] >> 32);
        const int64_t node = k == n ? n_nodes : (int64_t)(key[k] >> 32);

        if (k < n)
            other[k] = (int32_t)(key[k] & 0xFFFFFFFFu);
        for (int64_t i = before + 1; i <= node; i++)
            offset[i] = (int32_t)k;
    }
}

__global__ static void scores_kernel(
    float *score, const float *edge_score, const int32_t *edge, int64_t n)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step())
        score[k] = edge_score[edge[k]];
}

__global__ static void group_kernel(
    int32_t *group, struct walk walk, const int32_t *start)
{
    for (int64_t k = etx_first_item(); k < walk.dag.n_nodes;
         k += etx_item_step())
        group[walk.node[k]] = walk.node[start[k]];
}

/* ------------------------------------------------------------ the host -- */

static etx_status find_components(
    struct etx_stream *stream, const struct etx_walkthrough_args *args)
{
    struct etx_connected_components_args components = {};

    components.n_nodes = args->n_nodes;
    components.n_edges = args->n_edges;
    components.src = args->tail;
    components.dst = args->head;
    components.label = args->group;
    return etx_cuda_connected_components(stream, &components);
}

/* node [n]: those in branching components, ascending. */
static etx_status list_branching(struct etx_stream *stream, int32_t *node,
    int64_t *n, struct walk *walk, struct etx_cuda_scratch *scratch)
{
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const int64_t n_nodes = walk->args.n_nodes;
    const size_t bytes = (size_t)n_nodes * sizeof(int32_t);
    uint8_t *flag = NULL;

    ETX_TRY(scratch->alloc_all(n_nodes, "hits walked", &walk->has_in,
        &walk->has_out, &walk->branching, &flag));
    ETX_CUDA(cudaMemsetAsync(walk->has_in, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(walk->has_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(walk->branching, 0, (size_t)n_nodes, queue));
    ETX_TRY(etx_launch(stream, walk->args.n_edges, branching_kernel, *walk));
    ETX_TRY(etx_launch(stream, n_nodes, node_flags_kernel, flag, *walk));
    return etx_cuda_compact(stream, node, n, flag, n_nodes);
}

/* Number the listed nodes by component, in each outward. */
static etx_status sort_outward(struct etx_stream *stream, struct walk *walk,
    const int32_t *node, int64_t n, struct etx_cuda_scratch *scratch)
{
    uint64_t *key = NULL;
    uint64_t *sorted = NULL;
    uint8_t *is_first = NULL;
    int64_t n_components = 0;

    ETX_TRY(scratch->alloc(&walk->node, n, "outward order"));
    ETX_TRY(scratch->alloc(&walk->local, walk->args.n_nodes, "hits walked"));
    ETX_TRY(scratch->alloc(&walk->dag.first, n, "components"));
    ETX_TRY(
        scratch->alloc_all(n, "distances of hits", &key, &sorted, &is_first));
    ETX_TRY(etx_launch(stream, n, node_keys_kernel, key, *walk, node, n));
    ETX_TRY(etx_cuda_sort_pairs(stream, sorted, key, walk->node, node, n,
        32 + etx_bits_of(walk->args.n_nodes)));
    ETX_CUDA(cudaMemsetAsync(walk->local, 0xFF,
        (size_t)walk->args.n_nodes * sizeof *walk->local,
        etx_cuda_of(stream)->stream));
    ETX_TRY(etx_launch(stream, n, number_kernel, is_first, *walk,
        (const uint64_t *)sorted, n));
    ETX_TRY(
        etx_cuda_compact(stream, walk->dag.first, &n_components, is_first, n));
    walk->dag.n_nodes = (int32_t)n;
    walk->dag.n_components = (int32_t)n_components;
    return ETX_OK;
}

static etx_status alloc_dag(
    struct etx_cuda_dag *dag, int64_t n, struct etx_cuda_scratch *scratch)
{
    dag->n_edges = (int32_t)n;
    ETX_TRY(scratch->alloc(
        &dag->out_offset, (int64_t)dag->n_nodes + 1, "edges out"));
    ETX_TRY(
        scratch->alloc(&dag->in_offset, (int64_t)dag->n_nodes + 1, "edges in"));
    return scratch->alloc_all(
        n, "edges of paths", &dag->head, &dag->tail, &dag->score);
}

static etx_status build_dag(struct etx_stream *stream, struct walk *walk,
    struct etx_cuda_scratch *scratch)
{
    struct etx_cuda_dag *dag = &walk->dag;
    const int32_t n_bits = 32 + etx_bits_of(dag->n_nodes);
    int32_t *edge = NULL, *by_tail = NULL;
    uint64_t *out_key = NULL, *in_key = NULL, *sorted = NULL;
    uint8_t *flag = NULL;
    int64_t n = 0;

    ETX_TRY(
        scratch->alloc_all(walk->args.n_edges, "edges walked", &edge, &flag));
    ETX_TRY(
        etx_launch(stream, walk->args.n_edges, edge_flags_kernel, flag, *walk));
    ETX_TRY(etx_cuda_compact(stream, edge, &n, flag, walk->args.n_edges));
    ETX_TRY(alloc_dag(dag, n, scratch));
    ETX_TRY(scratch->alloc_all(
        n, "edges by end", &by_tail, &out_key, &in_key, &sorted));
    ETX_TRY(etx_launch(stream, n, edge_keys_kernel, out_key, in_key, *walk,
        (const int32_t *)edge, n));
    ETX_TRY(
        etx_cuda_sort_pairs(stream, sorted, out_key, by_tail, edge, n, n_bits));
    ETX_TRY(etx_launch(stream, n + 1, ends_kernel, dag->head, dag->out_offset,
        (const uint64_t *)sorted, n, (int64_t)dag->n_nodes));
    ETX_TRY(etx_launch(stream, n, scores_kernel, dag->score, walk->args.score,
        (const int32_t *)by_tail, n));
    ETX_TRY(etx_cuda_sort(stream, sorted, in_key, n, n_bits));
    return etx_launch(stream, n + 1, ends_kernel, dag->tail, dag->in_offset,
        (const uint64_t *)sorted, n, (int64_t)dag->n_nodes);
}

etx_status etx_cuda_walkthrough(
    struct etx_stream *stream, const struct etx_walkthrough_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    struct walk walk = {};
    int32_t *node = NULL;
    int32_t *start = NULL;
    int64_t n = 0;

    walk.args = *args;
    ETX_TRY(find_components(stream, args));
    ETX_TRY(scratch.alloc(&node, args->n_nodes, "hits walked"));
    ETX_TRY(list_branching(stream, node, &n, &walk, &scratch));
    if (n == 0)
        return ETX_OK;
    ETX_TRY(sort_outward(stream, &walk, node, n, &scratch));
    ETX_TRY(build_dag(stream, &walk, &scratch));
    ETX_TRY(scratch.alloc(&start, n, "path starts"));
    ETX_TRY(
        etx_cuda_longest_paths(start, stream, &walk.dag, args->work_budget));
    return etx_launch(
        stream, n, group_kernel, args->group, walk, (const int32_t *)start);
}
