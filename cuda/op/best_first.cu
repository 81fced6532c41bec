/* cuda/op/best_first.cu -- chains of hits, best edge first, in rounds.
 *
 * The reference processes edges one at a time, in order. Kernels link many in
 * parallel and in rounds, and the chains are the same:
 *
 * * By score: locally dominant edges. A round links every open edge that is the
 *   best open one at both its ends: the reference reaches it before any other
 *   edge that could use one of these ends.
 * * By kink: deterministic reservations. Whether an edge is linked depends only
 *   on the two chains that it would join. Each undecided edge claims its two
 *   chains, the first in the order wins, and an edge that wins both is decided;
 *   edges of one round share no chain.
 *
 * The host polls the number of remaining edges once in several rounds; when it
 * is at most BLOCK_EDGES, one block runs the remaining rounds.
 *
 * Sources: Preis, "Linear time 1/2-approximation algorithm for maximum weighted
 * matching in general graphs", STACS 1999. Blelloch, Fineman, Gibbons and Shun,
 * "Internally deterministic parallel algorithms can be fast", PPoPP 2012.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cuda/op/edge_list.cuh"
#include "cuda/op/operators.h"
#include "cuda/op/primitives.h"

#include "op/shared/kink.h"

#define NONE         (-1)
#define SCORE_ROUNDS 4 /* before the host polls */
#define KINK_ROUNDS  8
#define BLOCK_EDGES  8192 /* edges, for one block */

/* Of an edge below the cut: it is to be decided, it won both of its chains and
 * is decided in this round, it is decided. */
enum state { STATE_WAITS, STATE_NEXT, STATE_DONE };

/* A list of edge indices; edge NULL: all edges 0 .. n - 1. */
struct edge_list {
    const int32_t *edge; /* [n] */
    int64_t n;

    __device__ int32_t operator[](int64_t k) const
    {
        return edge != NULL ? edge[k] : (int32_t)k;
    }
};

/* Arguments of the kernels; as in op/ref/best_first.c. */
struct best_first {
    struct etx_best_first_args args;
    struct etx_chains chains;
    int32_t *far_end, *length; /* [n_nodes] of a chain's ends */

    __device__ bool is_open(int32_t e) const
    {
        return chains.next[args.tail[e]] == NONE &&
               chains.previous[args.head[e]] == NONE;
    }

    __device__ bool is_wanted(int32_t e, float cut) const
    {
        return args.score[e] > cut && is_open(e);
    }

    __device__ bool has_support(int32_t e) const
    {
        const int32_t before = length[args.tail[e]];
        const int32_t after = length[args.head[e]];

        return (before > after ? before : after) >= args.support_hits;
    }

    __device__ float kink(int32_t e) const
    {
        return etx_link_kink(&chains, args.tail[e], args.head[e],
            args.max_curvature_change, args.max_polar_change);
    }

    __device__ void link(int32_t e) const
    {
        const int32_t tail = args.tail[e];
        const int32_t head = args.head[e];
        const int32_t first = far_end[tail];
        const int32_t last = far_end[head];
        const int32_t n = length[tail] + length[head];

        chains.next[tail] = head;
        chains.previous[head] = tail;
        far_end[first] = last;
        far_end[last] = first;
        length[first] = length[last] = n;
    }
};

__global__ static void start_kernel(struct best_first work)
{
    for (int64_t i = etx_first_item(); i < work.args.n_nodes;
         i += etx_item_step())
        work.chains.next[i] = work.chains.previous[i] = NONE;
}

/* ------------------------------------------------------------ by score -- */

/* Ascends with the score; of equal ones the first edge is the largest. */
__device__ static unsigned long long rank_of(
    const struct best_first &work, int32_t e)
{
    return (unsigned long long)etx_ordered(work.args.score[e]) << 32 |
           (0xFFFFFFFFu - (uint32_t)e);
}

__device__ static void offer(unsigned long long *best_out,
    unsigned long long *best_in, const struct best_first &work, int32_t e)
{
    atomicMax(&best_out[work.args.tail[e]], rank_of(work, e));
    atomicMax(&best_in[work.args.head[e]], rank_of(work, e));
}

/* Link an edge that is the best at both ends. ends_kernel sets far_end and
 * length after the last round. */
__device__ static void link_best(const struct best_first &work, int32_t e,
    const unsigned long long *best_out, const unsigned long long *best_in)
{
    const int32_t tail = work.args.tail[e];
    const int32_t head = work.args.head[e];

    if (best_out[tail] != rank_of(work, e) || best_in[head] != rank_of(work, e))
        return;
    work.chains.next[tail] = head;
    work.chains.previous[head] = tail;
}

/* best_out, best_in [n_nodes], zero before. */
__global__ static void offer_kernel(unsigned long long *best_out,
    unsigned long long *best_in, struct best_first work, struct edge_list list,
    float cut)
{
    for (int64_t k = etx_first_item(); k < list.n; k += etx_item_step()) {
        if (work.is_wanted(list[k], cut))
            offer(best_out, best_in, work, list[k]);
    }
}

__global__ static void link_best_kernel(struct best_first work,
    struct edge_list list, const unsigned long long *best_out,
    const unsigned long long *best_in)
{
    for (int64_t k = etx_first_item(); k < list.n; k += etx_item_step())
        link_best(work, list[k], best_out, best_in);
}

/* All rounds, in one block; best_out, best_in [n_nodes], zero before. */
__global__ static void score_block_kernel(unsigned long long *best_out,
    unsigned long long *best_in, struct best_first work, struct edge_list list,
    float cut)
{
    __shared__ int is_left;

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            is_left = 0;
        for (int64_t k = threadIdx.x; k < list.n; k += blockDim.x)
            if (work.is_wanted(list[k], cut)) {
                etx_write_same(&best_out[work.args.tail[list[k]]], 0ull);
                etx_write_same(&best_in[work.args.head[list[k]]], 0ull);
            }
        __syncthreads();
        for (int64_t k = threadIdx.x; k < list.n; k += blockDim.x)
            if (work.is_wanted(list[k], cut)) {
                offer(best_out, best_in, work, list[k]);
                etx_write_same(&is_left, 1);
            }
        __syncthreads();
        if (!is_left)
            return;
        for (int64_t k = threadIdx.x; k < list.n; k += blockDim.x)
            link_best(work, list[k], best_out, best_in);
    }
}

/* Open edges above the cut, or those that are not above it. */
__global__ static void open_kernel(uint8_t *flag, struct best_first work,
    struct edge_list list, float cut, int32_t is_above)
{
    for (int64_t k = etx_first_item(); k < list.n; k += etx_item_step())
        flag[k] = work.is_open(list[k]) &&
                  (work.args.score[list[k]] > cut) == (is_above != 0);
}

__global__ static void pick_kernel(
    int32_t *out, const int32_t *index, int64_t n, struct edge_list list)
{
    for (int64_t k = etx_first_item(); k < n; k += etx_item_step())
        out[k] = list[index[k]];
}

/* A thread walks a chain from its first hit. */
__global__ static void ends_kernel(struct best_first work)
{
    for (int64_t i = etx_first_item(); i < work.args.n_nodes;
         i += etx_item_step()) {
        int32_t last = (int32_t)i;
        int32_t n = 1;

        if (work.chains.previous[i] != NONE)
            continue;
        for (; work.chains.next[last] != NONE; n++)
            last = work.chains.next[last];
        work.far_end[i] = last;
        work.far_end[last] = (int32_t)i;
        work.length[i] = work.length[last] = n;
    }
}

/* -------------------------------------------------------- by kink -- */

/* Ascends as the score descends. */
__global__ static void score_keys_kernel(
    uint64_t *key, struct best_first work, struct edge_list list)
{
    for (int64_t k = etx_first_item(); k < list.n; k += etx_item_step())
        key[k] = (uint64_t)~etx_ordered(work.args.score[list[k]]) & 0xFFFFFFFFu;
}

/* Links without support yet come last. */
__global__ static void kink_keys_kernel(
    uint64_t *key, struct best_first work, struct edge_list list)
{
    const float beyond = 2.0f * ETX_MAX_KINK;

    for (int64_t k = etx_first_item(); k < list.n; k += etx_item_step()) {
        const int32_t e = list[k];
        const float x = work.has_support(e) ? work.kink(e) : beyond;

        key[k] = (uint64_t)etx_ordered(x < beyond ? x : beyond);
    }
}

/* claim [n_nodes], all ones before: at the first hit of every chain, the lowest
 * index in list of the undecided edges that touch it. */
__device__ static void claim_chains(
    unsigned *claim, const struct best_first &work, int32_t e, int32_t k)
{
    atomicMin(&claim[work.far_end[work.args.tail[e]]], (unsigned)k);
    atomicMin(&claim[work.args.head[e]], (unsigned)k);
}

__device__ static bool has_both(
    const unsigned *claim, const struct best_first &work, int32_t e, int32_t k)
{
    return claim[work.far_end[work.args.tail[e]]] == (unsigned)k &&
           claim[work.args.head[e]] == (unsigned)k;
}

__device__ static void decide(const struct best_first &work, int32_t e)
{
    if (work.has_support(e) && work.kink(e) <= ETX_MAX_KINK)
        work.link(e);
}

/* waiting: indices into list. */
__global__ static void claim_kernel(unsigned *claim, uint8_t *state,
    struct best_first work, struct edge_list list, struct edge_list waiting)
{
    for (int64_t t = etx_first_item(); t < waiting.n; t += etx_item_step()) {
        const int32_t k = waiting[t];
        const int32_t e = list[k];

        if (state[k] == STATE_DONE)
            continue;
        if (!work.is_open(e)) {
            state[k] = STATE_DONE;
            continue;
        }
        claim_chains(claim, work, e, k);
    }
}

__global__ static void choose_kernel(uint8_t *state, const unsigned *claim,
    struct best_first work, struct edge_list list, struct edge_list waiting)
{
    for (int64_t t = etx_first_item(); t < waiting.n; t += etx_item_step()) {
        const int32_t k = waiting[t];

        if (state[k] == STATE_WAITS && has_both(claim, work, list[k], k))
            state[k] = STATE_NEXT;
    }
}

__global__ static void decide_kernel(uint8_t *state, struct best_first work,
    struct edge_list list, struct edge_list waiting)
{
    for (int64_t t = etx_first_item(); t < waiting.n; t += etx_item_step()) {
        const int32_t k = waiting[t];

        if (state[k] != STATE_NEXT)
            continue;
        state[k] = STATE_DONE;
        decide(work, list[k]);
    }
}

/* All rounds, in one block. A thread has the same edges in each. */
__global__ static void kink_block_kernel(unsigned *claim, uint8_t *state,
    struct best_first work, struct edge_list list, struct edge_list waiting)
{
    __shared__ int is_left;

    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            is_left = 0;
        for (int64_t t = threadIdx.x; t < waiting.n; t += blockDim.x) {
            const int32_t k = waiting[t];
            const int32_t e = list[k];

            if (state[k] != STATE_DONE && !work.is_open(e))
                state[k] = STATE_DONE;
            if (state[k] == STATE_DONE)
                continue;
            etx_write_same(
                &claim[work.far_end[work.args.tail[e]]], 0xFFFFFFFFu);
            etx_write_same(&claim[work.args.head[e]], 0xFFFFFFFFu);
        }
        __syncthreads();
        for (int64_t t = threadIdx.x; t < waiting.n; t += blockDim.x)
            if (state[waiting[t]] != STATE_DONE) {
                claim_chains(claim, work, list[waiting[t]], waiting[t]);
                etx_write_same(&is_left, 1);
            }
        __syncthreads();
        if (!is_left)
            return;
        for (int64_t t = threadIdx.x; t < waiting.n; t += blockDim.x)
            if (state[waiting[t]] != STATE_DONE &&
                has_both(claim, work, list[waiting[t]], waiting[t]))
                state[waiting[t]] = STATE_NEXT;
        __syncthreads();
        for (int64_t t = threadIdx.x; t < waiting.n; t += blockDim.x)
            if (state[waiting[t]] == STATE_NEXT) {
                state[waiting[t]] = STATE_DONE;
                decide(work, list[waiting[t]]);
            }
    }
}

__global__ static void waits_kernel(
    uint8_t *flag, const uint8_t *state, struct edge_list waiting)
{
    for (int64_t t = etx_first_item(); t < waiting.n; t += etx_item_step())
        flag[t] = state[waiting[t]] != STATE_DONE;
}

/* The first hit of its chain is the group of a hit. */
__global__ static void group_kernel(struct best_first work)
{
    for (int64_t i = etx_first_item(); i < work.args.n_nodes;
         i += etx_item_step()) {
        if (work.chains.previous[i] != NONE)
            continue;
        for (int32_t hit = (int32_t)i; hit != NONE; hit = work.chains.next[hit])
            work.args.group[hit] = (int32_t)i;
    }
}

/* ------------------------------------------------------------- the host -- */

/* Scratch of one call. An edge_list is a view of strong, weak or smooth. */
struct arrays {
    unsigned long long *best_out, *best_in; /* [n_nodes] ranks, by score */
    unsigned *claim;                        /* [n_nodes] of chains, by kink */
    uint64_t *key, *sorted;                 /* [n_edges] of a radix sort */
    int32_t *list, *index;                  /* [n_edges] of pick() */
    int32_t *strong; /* [n_edges] that are left for the next rounds */
    int32_t *weak;   /* [n_edges] at most the cut, by descending score */
    int32_t *smooth; /* [n_edges] the same by kink */
    uint8_t *flag;   /* [n_edges] to be picked */
    uint8_t *state;  /* [n_edges] enum state, of an index into smooth */
};

static etx_status alloc_arrays(struct arrays *arrays, struct best_first *work,
    struct etx_cuda_scratch *scratch)
{
    const int64_t n_nodes = work->args.n_nodes;
    const int64_t n = work->args.n_edges;
    int32_t **nodes[] = {&work->chains.next, &work->chains.previous,
        &work->far_end, &work->length};
    int32_t **edges[] = {&arrays->list, &arrays->index, &arrays->strong,
        &arrays->weak, &arrays->smooth};

    for (int32_t **array : nodes)
        ETX_TRY(scratch->alloc(array, n_nodes, "chains of hits"));
    for (int32_t **array : edges)
        ETX_TRY(scratch->alloc(array, n, "edges by score"));
    ETX_TRY(scratch->alloc(&arrays->best_out, n_nodes, "best edges"));
    ETX_TRY(scratch->alloc(&arrays->best_in, n_nodes, "best edges"));
    ETX_TRY(scratch->alloc(&arrays->claim, n_nodes, "first edges"));
    ETX_TRY(scratch->alloc(&arrays->key, n, "edge keys"));
    ETX_TRY(scratch->alloc(&arrays->sorted, n, "edge keys"));
    ETX_TRY(scratch->alloc(&arrays->flag, n, "edges that are left"));
    return scratch->alloc(&arrays->state, n, "edges that are left");
}

/* out = the edges of list whose flag is set; into may alias list. */
static etx_status pick(struct etx_stream *stream, struct edge_list *out,
    int32_t *into, const struct arrays *arrays, struct edge_list list)
{
    const struct edge_list all = {NULL, list.n};
    int64_t n = 0;

    ETX_TRY(etx_cuda_compact(stream, arrays->index, &n, arrays->flag, list.n));
    ETX_TRY(etx_launch(stream, n, pick_kernel, arrays->list,
        (const int32_t *)arrays->index, n, list));
    ETX_TRY(etx_launch(
        stream, n, pick_kernel, into, (const int32_t *)arrays->list, n, all));
    *out = {into, n};
    return ETX_OK;
}

static etx_status score_round(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const size_t bytes = (size_t)work.args.n_nodes * sizeof(unsigned long long);

    ETX_CUDA(cudaMemsetAsync(arrays->best_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(arrays->best_in, 0, bytes, queue));
    ETX_TRY(etx_launch(stream, list.n, offer_kernel, arrays->best_out,
        arrays->best_in, work, list, cut));
    return etx_launch(stream, list.n, link_best_kernel, work, list,
        (const unsigned long long *)arrays->best_out,
        (const unsigned long long *)arrays->best_in);
}

/* The rounds of few edges. */
static etx_status finish_strong(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const size_t bytes = (size_t)work.args.n_nodes * sizeof(unsigned long long);

    if (list.n == 0)
        return ETX_OK;
    ETX_CUDA(cudaMemsetAsync(arrays->best_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(arrays->best_in, 0, bytes, queue));
    return etx_launch_blocks(stream, 1, 0, score_block_kernel, arrays->best_out,
        arrays->best_in, work, list, cut);
}

/* Join the edges of list above the cut. */
static etx_status link_by_score(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    while (list.n > BLOCK_EDGES) {
        ETX_TRY(etx_check_cancelled(stream));
        for (int r = 0; r < SCORE_ROUNDS; r++)
            ETX_TRY(score_round(stream, work, arrays, list, cut));
        ETX_TRY(etx_launch(
            stream, list.n, open_kernel, arrays->flag, work, list, cut, 1));
        ETX_TRY(pick(stream, &list, arrays->strong, arrays, list));
    }
    ETX_TRY(finish_strong(stream, work, arrays, list, cut));
    return etx_launch(stream, work.args.n_nodes, ends_kernel, work);
}

/* weak = the open edges of list that are not above the cut, by score. */
static etx_status find_weak(struct etx_stream *stream, struct edge_list *weak,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    struct edge_list open;

    ETX_TRY(etx_launch(
        stream, list.n, open_kernel, arrays->flag, work, list, cut, 0));
    ETX_TRY(pick(stream, &open, arrays->smooth, arrays, list));
    ETX_TRY(
        etx_launch(stream, open.n, score_keys_kernel, arrays->key, work, open));
    ETX_TRY(etx_cuda_sort_pairs(stream, arrays->sorted, arrays->key,
        arrays->weak, open.edge, open.n, 32));
    *weak = {arrays->weak, open.n};
    return ETX_OK;
}

static etx_status kink_round(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, struct edge_list waiting)
{
    ETX_CUDA(cudaMemsetAsync(arrays->claim, 0xFF,
        (size_t)work.args.n_nodes * sizeof *arrays->claim,
        etx_cuda_of(stream)->stream));
    ETX_TRY(etx_launch(stream, waiting.n, claim_kernel, arrays->claim,
        arrays->state, work, list, waiting));
    ETX_TRY(etx_launch(stream, waiting.n, choose_kernel, arrays->state,
        (const unsigned *)arrays->claim, work, list, waiting));
    return etx_launch(
        stream, waiting.n, decide_kernel, arrays->state, work, list, waiting);
}

/* Join the edges of weak that fit, the smoothest first. */
static etx_status link_by_kink(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list weak)
{
    const struct edge_list list = {arrays->smooth, weak.n};
    struct edge_list waiting = {NULL, weak.n};

    ETX_TRY(
        etx_launch(stream, weak.n, kink_keys_kernel, arrays->key, work, weak));
    ETX_TRY(etx_cuda_sort_pairs(stream, arrays->sorted, arrays->key,
        arrays->smooth, weak.edge, weak.n, 32));
    ETX_CUDA(cudaMemsetAsync(arrays->state, STATE_WAITS, (size_t)weak.n,
        etx_cuda_of(stream)->stream));
    while (waiting.n > BLOCK_EDGES) {
        ETX_TRY(etx_check_cancelled(stream));
        for (int r = 0; r < KINK_ROUNDS; r++)
            ETX_TRY(kink_round(stream, work, arrays, list, waiting));
        ETX_TRY(etx_launch(stream, waiting.n, waits_kernel, arrays->flag,
            (const uint8_t *)arrays->state, waiting));
        ETX_TRY(pick(stream, &waiting, arrays->strong, arrays, waiting));
    }
    if (waiting.n == 0)
        return ETX_OK;
    return etx_launch_blocks(stream, 1, 0, kink_block_kernel, arrays->claim,
        arrays->state, work, list, waiting);
}

etx_status etx_cuda_best_first(
    struct etx_stream *stream, const struct etx_best_first_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const float cuts[] = {
        args->sure_cut > args->strong_cut ? args->sure_cut : args->strong_cut,
        args->strong_cut};
    const int n_levels = cuts[0] > cuts[1] ? 2 : 1;
    struct edge_list list = {NULL, args->n_edges};
    struct best_first work = {};
    struct arrays arrays = {};

    work.args = *args;
    work.chains.position = args->position;
    ETX_TRY(alloc_arrays(&arrays, &work, &scratch));
    ETX_TRY(etx_launch(stream, args->n_nodes, start_kernel, work));
    for (int k = 0; k < n_levels; k++) {
        ETX_TRY(link_by_score(stream, work, &arrays, list, cuts[k]));
        ETX_TRY(find_weak(stream, &list, work, &arrays, list, cuts[k]));
        ETX_TRY(link_by_kink(stream, work, &arrays, list));
    }
    return etx_launch(stream, args->n_nodes, group_kernel, work);
}
