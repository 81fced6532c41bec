/* cuda/op/longest_paths.cu -- disjoint paths of largest score, in rounds.
 *
 * The rounds of op/ref/longest_paths.c, one block per component: what a round
 * accepts does not depend on an order. The nodes of a component are sorted into
 * levels (Kahn's topological sort): level 0 has the nodes without edges out,
 * level l + 1 those whose heads are all in levels 0 .. l. Suffixes are computed
 * in ascending order of the levels, ancestors in descending order, the nodes of
 * a level in parallel. Levels and rounds are sequential, so time grows with the
 * depth of a component.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/longest_paths.cuh"

#define NONE        (-1)
#define ROUNDS      16 /* of a component before the host polls */
#define WIDE_PASSES 4  /* as in op/ref/longest_paths.c */

struct component {
    int64_t visits_left;
    int32_t first, n_nodes;
    int32_t n_levels;
    int32_t n_passes;
    int32_t is_open; /* 1: it may have paths left */
};

/* Arguments of the kernels; names as in op/ref/longest_paths.c. */
struct search {
    struct etx_cuda_dag dag;
    struct component *component; /* [n_components] */
    double *sum;                 /* [n_nodes] score of the suffix */
    int32_t *n_suffix, *next;    /* [n_nodes] its nodes; its second node */
    int32_t *start, *ancestor;   /* [n_nodes] */
    int32_t *missing;            /* [n_nodes] heads that have no level yet */
    int32_t *order;     /* [n_nodes] of each component, level by level */
    int32_t *level_end; /* [n_nodes] of each component, ends in order */

    __device__ bool is_used(int32_t node) const
    {
        return start[node] != NONE;
    }

    __device__ bool is_better(int32_t a, int32_t b) const
    {
        if (a == NONE || b == NONE)
            return b == NONE && a != NONE;
        if (sum[a] != sum[b])
            return sum[a] > sum[b];
        if (n_suffix[a] != n_suffix[b])
            return n_suffix[a] > n_suffix[b];
        return a < b;
    }

    __device__ int32_t n_edges_of(int32_t node) const
    {
        return dag.out_offset[node + 1] - dag.out_offset[node] +
               dag.in_offset[node + 1] - dag.in_offset[node];
    }
};

/* Kind of a round. */
struct round_kind {
    bool is_pass, is_narrow;
};

/* -------------------------------------------------------------- levels -- */

__device__ static void begin(const struct search &search,
    struct component *component, int32_t c, int64_t work_budget)
{
    const struct etx_cuda_dag &dag = search.dag;
    const int32_t first = dag.first[c];
    const int32_t end =
        c + 1 < dag.n_components ? dag.first[c + 1] : dag.n_nodes;

    component->first = first;
    component->n_nodes = end - first;
    component->n_levels = 0;
    component->n_passes = 0;
    component->is_open = 1;
    component->visits_left =
        work_budget *
        ((int64_t)dag.out_offset[end] - dag.out_offset[first] + end - first);
}

/* The node has its level: of its tails, those without other heads that miss a
 * level are in the next one, in any order. */
__device__ static void release_tails(const struct search &search,
    int32_t *n_ordered, int32_t *order, int32_t node)
{
    const struct etx_cuda_dag &dag = search.dag;

    for (int32_t e = dag.in_offset[node]; e < dag.in_offset[node + 1]; e++)
        if (atomicAdd(&search.missing[dag.tail[e]], -1) == 1)
            order[atomicAdd(n_ordered, 1)] = dag.tail[e];
}

/* The levels of all components. */
__global__ static void levels_kernel(struct search search, int64_t work_budget)
{
    __shared__ int32_t n_ordered;

    for (int32_t c = (int32_t)blockIdx.x; c < search.dag.n_components;
         c += (int32_t)gridDim.x) {
        struct component *component = &search.component[c];

        if (threadIdx.x == 0) {
            begin(search, component, c, work_budget);
            n_ordered = 0;
        }
        __syncthreads();
        const int32_t first = component->first;
        const int32_t n = component->n_nodes;
        int32_t *order = search.order + first;

        for (int32_t i = first + (int32_t)threadIdx.x; i < first + n;
             i += (int32_t)blockDim.x) {
            search.start[i] = NONE;
            search.missing[i] =
                search.dag.out_offset[i + 1] - search.dag.out_offset[i];
            if (search.missing[i] == 0)
                order[atomicAdd(&n_ordered, 1)] = i;
        }
        for (int32_t begin = 0, n_levels = 1;; n_levels++) {
            __syncthreads();
            const int32_t end = n_ordered;

            __syncthreads();
            if (threadIdx.x == 0) {
                search.level_end[first + n_levels - 1] = end;
                component->n_levels = n_levels;
            }
            if (end == n)
                break;
            for (int32_t k = begin + (int32_t)threadIdx.x; k < end;
                 k += (int32_t)blockDim.x)
                release_tails(search, &n_ordered, order, order[k]);
            begin = end;
        }
        __syncthreads();
    }
}

/* -------------------------------------------------------------- rounds -- */

__device__ static void compute_suffix(const struct search &search, int32_t node)
{
    const struct etx_cuda_dag &dag = search.dag;
    double best = 0.0;
    int32_t n = 1;
    int32_t next = NONE;

    for (int32_t e = dag.out_offset[node]; e < dag.out_offset[node + 1]; e++) {
        const int32_t head = dag.head[e];

        if (search.is_used(head))
            continue;
        const double sum = (double)dag.score[e] + search.sum[head];
        const int32_t n_nodes = search.n_suffix[head] + 1;

        if (sum > best || (sum == best && n_nodes > n)) {
            best = sum;
            n = n_nodes;
            next = head;
        }
    }
    search.sum[node] = best;
    search.n_suffix[node] = n;
    search.next[node] = next;
}

__device__ static void find_ancestor(
    const struct search &search, struct round_kind kind, int32_t node)
{
    const struct etx_cuda_dag &dag = search.dag;
    bool may_start = true;
    int32_t best = NONE;

    for (int32_t e = dag.in_offset[node]; e < dag.in_offset[node + 1]; e++) {
        const int32_t tail = dag.tail[e];

        if (search.is_used(tail))
            continue;
        may_start = !kind.is_narrow;
        if ((!kind.is_pass || search.next[tail] == node) &&
            search.is_better(search.ancestor[tail], best))
            best = search.ancestor[tail];
    }
    if (may_start && search.is_better(node, best))
        best = node;
    search.ancestor[node] = best;
}

/* A thread walks the path. Paths of one round have no node in common, and where
 * one starts no other one passes. */
__device__ static void accept_path(
    const struct search &search, struct round_kind kind, int32_t first)
{
    int32_t last = first;

    if (search.ancestor[first] != first || search.is_used(first) ||
        search.next[first] == NONE)
        return;
    while (!kind.is_pass && search.next[last] != NONE)
        last = search.next[last];
    if (kind.is_pass)
        last = search.next[first];
    if (search.ancestor[last] != first)
        return;
    for (int32_t node = first; node != NONE && search.ancestor[node] == first;
         node = search.next[node])
        search.start[node] = first;
}

/* Of the block: unused nodes with an edge to another one, and visits. */
struct shared_counts {
    int32_t n_open;
    unsigned long long n_visits;
};

/* Heads before tails. */
__device__ static void compute_suffixes(const struct search &search,
    const struct component &component, struct shared_counts *counts)
{
    const int32_t *order = search.order + component.first;
    const int32_t *level_end = search.level_end + component.first;
    int32_t n_open = 0;
    unsigned long long n_visits = 0;

    for (int32_t l = 0; l < component.n_levels; l++) {
        const int32_t begin = l == 0 ? 0 : level_end[l - 1];

        for (int32_t k = begin + (int32_t)threadIdx.x; k < level_end[l];
             k += (int32_t)blockDim.x) {
            if (search.is_used(order[k]))
                continue;
            compute_suffix(search, order[k]);
            n_open += search.next[order[k]] != NONE;
            n_visits += 2 + (unsigned long long)search.n_edges_of(order[k]);
        }
        __syncthreads();
    }
    atomicAdd(&counts->n_open, n_open);
    atomicAdd(&counts->n_visits, n_visits);
    __syncthreads();
}

/* Tails before heads. */
__device__ static void find_ancestors(const struct search &search,
    const struct component &component, struct round_kind kind)
{
    const int32_t *order = search.order + component.first;
    const int32_t *level_end = search.level_end + component.first;

    for (int32_t l = component.n_levels - 1; l >= 0; l--) {
        const int32_t begin = l == 0 ? 0 : level_end[l - 1];

        for (int32_t k = begin + (int32_t)threadIdx.x; k < level_end[l];
             k += (int32_t)blockDim.x)
            if (!search.is_used(order[k]))
                find_ancestor(search, kind, order[k]);
        __syncthreads();
    }
}

/* The next paths of a component, or its single nodes when there are none. */
__device__ static void accept_paths(const struct search &search,
    const struct component &component, struct round_kind kind, bool is_last)
{
    for (int32_t i = component.first + (int32_t)threadIdx.x;
         i < component.first + component.n_nodes; i += (int32_t)blockDim.x) {
        if (!is_last)
            accept_path(search, kind, i);
        else if (!search.is_used(i))
            search.start[i] = i;
    }
}

/* *is_left = 1 when a component has rounds left after these. */
__global__ static void rounds_kernel(struct search search, int32_t *is_left)
{
    __shared__ struct component component;
    __shared__ struct shared_counts counts;

    for (int32_t c = (int32_t)blockIdx.x; c < search.dag.n_components;
         c += (int32_t)gridDim.x) {
        if (threadIdx.x == 0)
            component = search.component[c];
        __syncthreads();
        for (int32_t r = 0; r < ROUNDS && component.is_open; r++) {
            struct round_kind kind;

            if (threadIdx.x == 0) {
                counts = {};
                component.n_passes += component.visits_left <= 0;
            }
            __syncthreads();
            kind.is_pass = component.visits_left <= 0;
            kind.is_narrow =
                kind.is_pass && component.n_passes % WIDE_PASSES != 0;
            compute_suffixes(search, component, &counts);
            find_ancestors(search, component, kind);
            accept_paths(search, component, kind, counts.n_open == 0);
            __syncthreads();
            if (threadIdx.x == 0) {
                component.visits_left -= (int64_t)counts.n_visits;
                component.is_open = counts.n_open > 0;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            search.component[c] = component;
            if (component.is_open)
                *is_left = 1;
        }
        __syncthreads();
    }
}

/* ------------------------------------------------------------ the host -- */

static etx_status alloc_arrays(
    struct search *search, struct etx_cuda_scratch *scratch)
{
    const int64_t n = search->dag.n_nodes;
    int32_t **arrays[] = {&search->n_suffix, &search->next, &search->ancestor,
        &search->missing, &search->order, &search->level_end};

    for (int32_t **array : arrays)
        ETX_TRY(scratch->alloc(array, n, "suffixes of paths"));
    ETX_TRY(scratch->alloc(&search->sum, n, "suffixes of paths"));
    return scratch->alloc(
        &search->component, search->dag.n_components, "components");
}

etx_status etx_cuda_longest_paths(int32_t *start, struct etx_stream *stream,
    const struct etx_cuda_dag *dag, int64_t work_budget)
{
    struct etx_cuda_scratch scratch(stream);
    struct search search = {};
    const int64_t n_blocks = dag->n_components < ETX_CUDA_MAX_BLOCKS
                                 ? dag->n_components
                                 : ETX_CUDA_MAX_BLOCKS;
    int32_t *is_left_device = NULL;
    int32_t is_left = dag->n_components > 0;

    search.dag = *dag;
    search.start = start;
    ETX_TRY(alloc_arrays(&search, &scratch));
    ETX_TRY(scratch.alloc(&is_left_device, 1, "whether paths are left"));
    if (is_left)
        ETX_TRY(etx_launch_grid(stream, n_blocks, ETX_CUDA_BLOCK, 0,
            levels_kernel, search, work_budget));
    while (is_left) {
        ETX_TRY(etx_cuda_check_cancelled(stream));
        ETX_CUDA(cudaMemsetAsync(is_left_device, 0, sizeof *is_left_device,
            etx_cuda_of(stream)->stream));
        ETX_TRY(etx_launch_grid(stream, n_blocks, ETX_CUDA_BLOCK, 0,
            rounds_kernel, search, is_left_device));
        ETX_TRY(etx_memory_to_host(
            stream->memory, &is_left, is_left_device, 1, sizeof is_left));
    }
    return ETX_OK;
}
