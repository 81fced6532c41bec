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
 * The numbers of edges stay on the device. Where there may be many, the first
 * rounds are launches: by score over all edges, by kink over those that are
 * still to be decided. One block runs the rounds that remain.
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

#define NONE          (-1)
#define SCORE_ROUNDS  3 /* of all edges, where there may be BLOCK_EDGES */
#define KINK_ROUNDS   6
#define KINK_ITEMS    8 /* edges of all to a thread */
#define BLOCK_EDGES   8192
#define BLOCK_THREADS 512

/* A list of edges: at indices of another one, or of all edges 0 .. *n - 1. */
struct edge_list {
    const int32_t *index; /* [*n], or NULL: k itself */
    const int64_t *n;
    const int32_t *of; /* the other list, or NULL: all edges */

    __device__ int32_t operator[](int64_t k) const
    {
        const int32_t p = index != NULL ? index[k] : (int32_t)k;

        return of != NULL ? of[p] : p;
    }

    /* At indices [*count] of this list, which is of all edges. */
    struct edge_list at(const int32_t *indices, const int64_t *count) const
    {
        return {indices, count, index};
    }
};

/* Arguments of the kernels; as in op/ref/best_first.c. */
struct best_first {
    struct etx_best_first_args args;
    struct etx_chains chains;
    int32_t *far_end, *length; /* [n_nodes] of a chain's ends */

    __device__ bool is_open(int32_t tail, int32_t head) const
    {
        return chains.next[tail] == NONE && chains.previous[head] == NONE;
    }

    __device__ bool is_wanted(int32_t e, float cut) const
    {
        return args.score[e] > cut && is_open(args.tail[e], args.head[e]);
    }

    __device__ bool has_support(int32_t tail, int32_t head) const
    {
        const int32_t before = length[tail];
        const int32_t after = length[head];

        return (before > after ? before : after) >= args.support_hits;
    }

    __device__ float kink(int32_t tail, int32_t head) const
    {
        return etx_link_kink(&chains, tail, head, args.max_curvature_change,
            args.max_polar_change);
    }

    __device__ void link(int32_t tail, int32_t head) const
    {
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

/* ------------------------------------------------------------ by score -- */

__device__ static void offer(unsigned long long *best_out,
    unsigned long long *best_in, const struct best_first &work, int32_t e)
{
    atomicMax(&best_out[work.args.tail[e]], etx_rank(work.args.score[e], e));
    atomicMax(&best_in[work.args.head[e]], etx_rank(work.args.score[e], e));
}

/* Link an edge that is the best at both ends. ends_kernel sets far_end and
 * length after the last round. */
__device__ static void link_best(const struct best_first &work, int32_t e,
    const unsigned long long *best_out, const unsigned long long *best_in)
{
    const int32_t tail = work.args.tail[e];
    const int32_t head = work.args.head[e];

    if (best_out[tail] != etx_rank(work.args.score[e], e) ||
        best_in[head] != etx_rank(work.args.score[e], e))
        return;
    work.chains.next[tail] = head;
    work.chains.previous[head] = tail;
}

/* best_out, best_in [n_nodes], zero before. */
__global__ static void offer_kernel(unsigned long long *best_out,
    unsigned long long *best_in, struct best_first work, struct edge_list list,
    float cut)
{
    for (int64_t k = etx_first_item(); k < *list.n; k += etx_item_step())
        if (work.is_wanted(list[k], cut))
            offer(best_out, best_in, work, list[k]);
}

/* After open edges of others were linked, an edge may not be open any more, but
 * then it is not the best. */
__global__ static void link_best_kernel(struct best_first work,
    struct edge_list list, const unsigned long long *best_out,
    const unsigned long long *best_in)
{
    for (int64_t k = etx_first_item(); k < *list.n; k += etx_item_step())
        link_best(work, list[k], best_out, best_in);
}

/* The edges that a block still looks at, in any order: a round reads them
 * from one half of left [2, capacity] and appends those for the next to the
 * other. */
struct block_rounds {
    int32_t *left;
    int64_t capacity;

    __device__ int32_t *of(int32_t round) const
    {
        return left + (round % 2 == 0 ? 0 : capacity);
    }

    __device__ void append(int32_t round, int *n, int32_t value) const
    {
        of(round)[atomicAdd(n, 1)] = value;
    }
};

/* All rounds, in one block; best_out, best_in [n_nodes]. */
__global__ static void __launch_bounds__(BLOCK_THREADS)
    score_block_kernel(unsigned long long *best_out,
        unsigned long long *best_in, struct best_first work,
        struct edge_list list, float cut, struct block_rounds rounds)
{
    __shared__ int n_left[2]; /* of this round, and of the one before */
    int64_t n = *list.n;

    for (int32_t r = 0;; r++) {
        if (threadIdx.x == 0)
            n_left[r % 2] = 0;
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x) {
            const int32_t e = r == 0 ? list[k] : rounds.of(r - 1)[k];

            if (!work.is_wanted(e, cut))
                continue;
            etx_write_same(&best_out[work.args.tail[e]], 0ull);
            etx_write_same(&best_in[work.args.head[e]], 0ull);
            rounds.append(r, &n_left[r % 2], e);
        }
        __syncthreads();
        n = n_left[r % 2];
        if (n == 0)
            return;
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
            offer(best_out, best_in, work, rounds.of(r)[k]);
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n; k += blockDim.x)
            link_best(work, rounds.of(r)[k], best_out, best_in);
    }
}

/* Open edges above the cut. */
__global__ static void open_kernel(uint8_t *flag, struct best_first work,
    struct edge_list list, int64_t capacity, float cut)
{
    for (int64_t k = etx_first_item(); k < capacity; k += etx_item_step())
        flag[k] = k < *list.n && work.is_wanted(list[k], cut);
}

/* A thread walks a chain from its first hit. */
__device__ static void walk_chain(const struct best_first &work, int32_t first)
{
    int32_t last = first;
    int32_t n = 1;

    if (work.chains.previous[first] != NONE)
        return;
    for (; work.chains.next[last] != NONE; n++)
        last = work.chains.next[last];
    work.far_end[first] = last;
    work.far_end[last] = first;
    work.length[first] = work.length[last] = n;
}

/* The ends of chains, and flags of the open edges that are not above the cut.
 */
__global__ static void ends_kernel(uint8_t *flag, struct best_first work,
    struct edge_list list, int64_t capacity, float cut)
{
    for (int64_t i = etx_first_item(); i < work.args.n_nodes;
         i += etx_item_step())
        walk_chain(work, (int32_t)i);
    for (int64_t k = etx_first_item(); k < capacity; k += etx_item_step())
        flag[k] =
            k < *list.n && !(work.args.score[list[k]] > cut) &&
            work.is_open(work.args.tail[list[k]], work.args.head[list[k]]);
}

/* -------------------------------------------------------- by kink -- */

/* Ascends with the kink, then as the score descends; links without support yet
 * come last, and after them what is no edge. */
__global__ static void kink_keys_kernel(uint64_t *key, struct best_first work,
    struct edge_list list, int64_t capacity)
{
    const float beyond = 2.0f * ETX_MAX_KINK;

    for (int64_t k = etx_first_item(); k < capacity; k += etx_item_step()) {
        if (k >= *list.n) {
            key[k] = UINT64_MAX;
            continue;
        }
        const int32_t e = list[k];
        const int32_t tail = work.args.tail[e];
        const int32_t head = work.args.head[e];
        const float x =
            work.has_support(tail, head) ? work.kink(tail, head) : beyond;

        key[k] = (uint64_t)etx_ordered(x < beyond ? x : beyond) << 32 |
                 (uint32_t)~etx_ordered(work.args.score[e]);
    }
}

/* An edge that is to be decided. */
struct waiting {
    int32_t rank; /* in the order by kink; below 0: it was decided */
    int32_t tail, head;
};

/* The edges of each round, in any order: a round appends the ones that are
 * still to be decided of the round before, or of a list. */
struct kink_rounds {
    struct best_first work;
    struct edge_list list;
    struct waiting *waiting; /* [2, capacity] of rounds in turn */
    int64_t capacity;
    unsigned *claim; /* [n_nodes] at the first hit of every chain, the lowest
                      * rank of the edges that touch it */

    __device__ struct waiting *of(int32_t round) const
    {
        return waiting + (round % 2 == 0 ? 0 : capacity);
    }

    __device__ unsigned *claim_before(const struct waiting &edge) const
    {
        return &claim[work.far_end[edge.tail]];
    }

    __device__ unsigned *claim_after(const struct waiting &edge) const
    {
        return &claim[edge.head];
    }
};

/* Edge k of the round before, or of the list. */
__device__ static struct waiting edge_before(
    const struct kink_rounds &rounds, int32_t round, int64_t k)
{
    if (round > 0)
        return rounds.of(round - 1)[k];
    const int32_t e = rounds.list[k];

    return {(int32_t)k, rounds.work.args.tail[e], rounds.work.args.head[e]};
}

/* The parts of a round, for its item k, all of one before the next: it goes on
 * to wait; */
__device__ static void wait_on(
    const struct kink_rounds &rounds, int32_t round, int64_t k, int *n)
{
    const struct waiting edge = edge_before(rounds, round, k);

    if (edge.rank < 0 || !rounds.work.is_open(edge.tail, edge.head))
        return;
    etx_write_same(rounds.claim_before(edge), 0xFFFFFFFFu);
    etx_write_same(rounds.claim_after(edge), 0xFFFFFFFFu);
    rounds.of(round)[atomicAdd(n, 1)] = edge;
}

/* it claims its chains; */
__device__ static void claim_chains(
    const struct kink_rounds &rounds, int32_t round, int64_t k)
{
    const struct waiting edge = rounds.of(round)[k];

    atomicMin(rounds.claim_before(edge), (unsigned)edge.rank);
    atomicMin(rounds.claim_after(edge), (unsigned)edge.rank);
}

/* it waits no more where it has both; */
__device__ static void choose(
    const struct kink_rounds &rounds, int32_t round, int64_t k)
{
    struct waiting *const edge = rounds.of(round) + k;

    if (*rounds.claim_before(*edge) == (unsigned)edge->rank &&
        *rounds.claim_after(*edge) == (unsigned)edge->rank)
        edge->rank = NONE;
}

/* and is decided. */
__device__ static void decide(
    const struct kink_rounds &rounds, int32_t round, int64_t k)
{
    const struct best_first &work = rounds.work;
    const struct waiting edge = rounds.of(round)[k];

    if (edge.rank < 0 && work.has_support(edge.tail, edge.head) &&
        work.kink(edge.tail, edge.head) <= ETX_MAX_KINK)
        work.link(edge.tail, edge.head);
}

/* n [KINK_ROUNDS], 0 before: edges of each round. */
__global__ static void wait_kernel(
    struct kink_rounds rounds, int32_t round, int *n)
{
    const int64_t n_before = round > 0 ? n[round - 1] : *rounds.list.n;

    for (int64_t k = etx_first_item(); k < n_before; k += etx_item_step())
        wait_on(rounds, round, k, &n[round]);
}

__global__ static void claim_kernel(
    struct kink_rounds rounds, int32_t round, const int *n)
{
    for (int64_t k = etx_first_item(); k < n[round]; k += etx_item_step())
        claim_chains(rounds, round, k);
}

__global__ static void choose_kernel(
    struct kink_rounds rounds, int32_t round, const int *n)
{
    for (int64_t k = etx_first_item(); k < n[round]; k += etx_item_step())
        choose(rounds, round, k);
}

__global__ static void decide_kernel(
    struct kink_rounds rounds, int32_t round, const int *n)
{
    for (int64_t k = etx_first_item(); k < n[round]; k += etx_item_step())
        decide(rounds, round, k);
}

/* The rounds from first on, in one block. */
__global__ static void __launch_bounds__(BLOCK_THREADS)
    kink_block_kernel(struct kink_rounds rounds, int32_t first, const int *n)
{
    __shared__ int n_waiting[2]; /* of this round, and of the one before */
    int64_t n_now = first > 0 ? n[first - 1] : *rounds.list.n;

    for (int32_t r = first;; r++) {
        if (threadIdx.x == 0)
            n_waiting[r % 2] = 0;
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n_now; k += blockDim.x)
            wait_on(rounds, r, k, &n_waiting[r % 2]);
        __syncthreads();
        n_now = n_waiting[r % 2];
        if (n_now == 0)
            return;
        for (int64_t k = threadIdx.x; k < n_now; k += blockDim.x)
            claim_chains(rounds, r, k);
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n_now; k += blockDim.x)
            choose(rounds, r, k);
        __syncthreads();
        for (int64_t k = threadIdx.x; k < n_now; k += blockDim.x)
            decide(rounds, r, k);
    }
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

/* Scratch of one call; n: edges at most. */
struct arrays {
    int64_t n;
    unsigned long long *best_out, *best_in; /* [n_nodes] ranks, by score */
    unsigned *claim;                        /* [n_nodes] of chains, by kink */
    uint64_t *key, *sorted;                 /* [n] of a radix sort */
    int32_t *weak[2]; /* [n] open edges at most the cut of each level */
    int32_t *picked;  /* [n] strong edges that are left, then weak ones by kink
                       */
    int32_t *left;    /* [2, n] struct block_rounds */
    struct waiting *waiting; /* [2, n] struct kink_rounds */
    int *n_waiting;          /* [KINK_ROUNDS] */
    int64_t *count;          /* [3] of weak and picked */
    uint8_t *flag;           /* [n] to be picked */
};

static etx_status alloc_arrays(struct arrays *arrays, struct best_first *work,
    struct etx_cuda_scratch *scratch)
{
    const int64_t n_nodes = work->args.n_nodes;
    const int64_t n = work->args.max_edges;
    int32_t **nodes[] = {&work->chains.next, &work->chains.previous,
        &work->far_end, &work->length};
    int32_t **edges[] = {&arrays->weak[0], &arrays->weak[1], &arrays->picked};

    arrays->n = n;
    for (int32_t **array : nodes)
        ETX_TRY(scratch->alloc(array, n_nodes, "chains of hits"));
    for (int32_t **array : edges)
        ETX_TRY(scratch->alloc(array, n, "edges by score"));
    ETX_TRY(scratch->alloc(&arrays->left, 2 * n, "edges that are left"));
    ETX_TRY(scratch->alloc(&arrays->count, 3, "edges that are left"));
    ETX_TRY(scratch->alloc_all(n_nodes, "best edges", &arrays->best_out,
        &arrays->best_in, &arrays->claim));
    ETX_TRY(scratch->alloc(&arrays->waiting, 2 * n, "edges that are left"));
    ETX_TRY(
        scratch->alloc(&arrays->n_waiting, KINK_ROUNDS, "edges that are left"));
    ETX_TRY(scratch->alloc_all(n, "edge keys", &arrays->key, &arrays->sorted));
    return scratch->alloc(&arrays->flag, n, "edges that are left");
}

static etx_status score_round(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    cudaStream_t queue = etx_cuda_of(stream)->stream;
    const size_t bytes = (size_t)work.args.n_nodes * sizeof(unsigned long long);

    ETX_CUDA(cudaMemsetAsync(arrays->best_out, 0, bytes, queue));
    ETX_CUDA(cudaMemsetAsync(arrays->best_in, 0, bytes, queue));
    ETX_TRY(etx_launch(stream, arrays->n, offer_kernel, arrays->best_out,
        arrays->best_in, work, list, cut));
    return etx_launch(stream, arrays->n, link_best_kernel, work, list,
        (const unsigned long long *)arrays->best_out,
        (const unsigned long long *)arrays->best_in);
}

/* Join the edges of list above the cut. */
static etx_status link_by_score(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut)
{
    const struct block_rounds rounds = {arrays->left, arrays->n};

    if (arrays->n > BLOCK_EDGES) {
        int64_t *const n = arrays->count + 2;

        for (int r = 0; r < SCORE_ROUNDS; r++)
            ETX_TRY(score_round(stream, work, arrays, list, cut));
        ETX_TRY(etx_launch(stream, arrays->n, open_kernel, arrays->flag, work,
            list, arrays->n, cut));
        ETX_TRY(
            etx_cuda_pick(stream, arrays->picked, n, arrays->flag, arrays->n));
        list = list.at(arrays->picked, n);
    }
    return etx_launch_grid(stream, 1, BLOCK_THREADS, 0, score_block_kernel,
        arrays->best_out, arrays->best_in, work, list, cut, rounds);
}

/* weak = the open edges of list that are not above the cut. */
static etx_status find_weak(struct etx_stream *stream, struct edge_list *weak,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list list, float cut, int level)
{
    const int64_t n_nodes = work.args.n_nodes;
    int64_t *const n = arrays->count + level;

    ETX_TRY(etx_launch(stream, arrays->n > n_nodes ? arrays->n : n_nodes,
        ends_kernel, arrays->flag, work, list, arrays->n, cut));
    ETX_TRY(
        etx_cuda_pick(stream, arrays->weak[level], n, arrays->flag, arrays->n));
    *weak = list.at(arrays->weak[level], n);
    return ETX_OK;
}

/* A round as launches. Few edges of all are weak: a thread may have several. */
static etx_status kink_round(struct etx_stream *stream,
    const struct kink_rounds &rounds, int32_t round, int *n)
{
    const int64_t n_threads = rounds.capacity / KINK_ITEMS + 1;

    ETX_TRY(etx_launch(stream, n_threads, wait_kernel, rounds, round, n));
    ETX_TRY(etx_launch(stream, n_threads, claim_kernel, rounds, round, n));
    ETX_TRY(etx_launch(stream, n_threads, choose_kernel, rounds, round, n));
    return etx_launch(stream, n_threads, decide_kernel, rounds, round, n);
}

/* Join the edges of weak that fit, the smoothest first. */
static etx_status link_by_kink(struct etx_stream *stream,
    const struct best_first &work, const struct arrays *arrays,
    struct edge_list weak)
{
    const struct kink_rounds rounds = {work, {arrays->picked, weak.n, weak.of},
        arrays->waiting, arrays->n, arrays->claim};
    const int32_t n_launched = arrays->n > BLOCK_EDGES ? KINK_ROUNDS : 0;

    ETX_TRY(etx_launch(stream, arrays->n, kink_keys_kernel, arrays->key, work,
        weak, arrays->n));
    ETX_TRY(etx_cuda_sort_pairs(stream, arrays->sorted, arrays->key,
        arrays->picked, weak.index, arrays->n, 64));
    ETX_CUDA(cudaMemsetAsync(arrays->n_waiting, 0,
        KINK_ROUNDS * sizeof *arrays->n_waiting, etx_cuda_of(stream)->stream));
    for (int32_t r = 0; r < n_launched; r++)
        ETX_TRY(kink_round(stream, rounds, r, arrays->n_waiting));
    return etx_launch_grid(stream, 1, BLOCK_THREADS, 0, kink_block_kernel,
        rounds, n_launched, arrays->n_waiting);
}

etx_status etx_cuda_best_first(
    struct etx_stream *stream, const struct etx_best_first_args *args)
{
    struct etx_cuda_scratch scratch(stream);
    const float cuts[] = {
        args->sure_cut > args->strong_cut ? args->sure_cut : args->strong_cut,
        args->strong_cut};
    const int n_levels = cuts[0] > cuts[1] ? 2 : 1;
    struct edge_list list = {NULL, args->n_edges, NULL};
    struct best_first work = {};
    struct arrays arrays = {};

    work.args = *args;
    work.chains.position = args->position;
    ETX_TRY(alloc_arrays(&arrays, &work, &scratch));
    for (int32_t *const array : {work.chains.next, work.chains.previous})
        ETX_CUDA(cudaMemsetAsync(array, 0xFF, /* NONE */
            (size_t)args->n_nodes * sizeof *array,
            etx_cuda_of(stream)->stream));
    for (int k = 0; k < n_levels && arrays.n > 0; k++) {
        ETX_TRY(etx_cuda_check_cancelled(stream));
        ETX_TRY(link_by_score(stream, work, &arrays, list, cuts[k]));
        ETX_TRY(find_weak(stream, &list, work, &arrays, list, cuts[k], k));
        ETX_TRY(link_by_kink(stream, work, &arrays, list));
    }
    return etx_launch(stream, args->n_nodes, group_kernel, work);
}
