/* op/simd/edge_bins.c -- edges collected in any order, sorted by (dst, src).
 *
 * A radix sort. The most significant digit, dst >> shift, is distributed while
 * edges are found, over as many bins as the first-level cache can append to. A
 * bin then fits the cache, where the other digits of its keys are sorted, least
 * significant first; the last pass writes src and dst of the result. Every edge
 * is written to memory twice: to its bin and to the result.
 *
 *     edge    | dst >> shift | low bits of dst |         src         |
 *             |   the bin    |               key                     |
 *     digits                 |<--- last digit --->| digit 1 | digit 0 |
 *                                                 ^ last_shift
 *
 *     chunk   | address of the chunk before | key key key ... | free  |
 *             |        LINK bytes           | 4 or 8 bytes    ^
 * writer.next[bin]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/simd/edge_bins.h"

#include "base/check.h"
#include "base/heap.h"

#define INLINE static inline __attribute__((always_inline))

#define LINK      ((int64_t)sizeof(uint64_t)) /* bytes in front of a chunk */
#define SLAB      16 /* chunks allocated in one piece */
#define MIN_SHIFT 6
#define MAX_BITS  14 /* of a digit, if the target has not more */

static int32_t bits_of(int64_t largest)
{
    int32_t bits = 1;

    while (largest >> bits != 0)
        bits++;
    return bits;
}

static struct etx_edge_pack choose_pack(int64_t n_points)
{
    struct etx_edge_pack pack = {
        .shift = MIN_SHIFT, .source_bits = bits_of(n_points - 1)};

    while ((n_points - 1) >> pack.shift >= ETX_MAX_EDGE_BINS)
        pack.shift++;
    pack.key_bytes = pack.shift + pack.source_bits <= 32 ? 4 : 8;
    return pack;
}

etx_status etx_edge_bins_open(
    struct etx_edge_bins *out, struct etx_stream *stream, int64_t n_points)
{
    const int32_t n_writers = etx_pool_n_threads(stream->pool);
    etx_status status;

    *out = (struct etx_edge_bins){.n_points = n_points,
        .pack = choose_pack(n_points),
        .arena = stream->arena};
    out->n_bins = (int32_t)((n_points - 1) >> out->pack.shift) + 1;
    ETX_SCRATCH(out->writer, stream->arena, n_writers, "bins of edges");
    memset(out->writer, 0, (size_t)n_writers * sizeof *out->writer);
    pthread_mutex_init(&out->lock, NULL);
    out->n_writers = n_writers;
done:
    return status;
}

void etx_edge_bins_close(struct etx_edge_bins *bins)
{
    if (bins->n_writers > 0)
        pthread_mutex_destroy(&bins->lock);
    bins->n_writers = 0;
}

/* More chunks for one worker. */
static etx_status alloc_slab(
    struct etx_edge_bins *bins, struct etx_edge_writer *writer)
{
    char *slab = NULL;
    etx_status status;

    pthread_mutex_lock(&bins->lock);
    status = etx_arena_alloc(
        &slab, bins->arena, SLAB + 1, ETX_EDGE_CHUNK_BYTES, "edges of a bin");
    pthread_mutex_unlock(&bins->lock);
    if (status != ETX_OK)
        return status;
    slab += ETX_EDGE_CHUNK_BYTES - (uintptr_t)slab % ETX_EDGE_CHUNK_BYTES;
    writer->free = slab;
    writer->n_free = SLAB;
    return ETX_OK;
}

etx_status etx_edge_bins_grow(
    struct etx_edge_bins *bins, struct etx_edge_writer *writer, uint32_t bin)
{
    char *const full = writer->next[bin];
    char *const before = full == NULL ? NULL : full - ETX_EDGE_CHUNK_BYTES;
    etx_status status = ETX_OK;

    if (writer->n_free == 0)
        ETX_CHECK(alloc_slab(bins, writer));
    memcpy(writer->free, &before, sizeof before);
    writer->next[bin] = writer->free + LINK;
    writer->free += ETX_EDGE_CHUNK_BYTES;
    writer->n_free--;
    writer->n_chunks[bin]++;
done:
    return status;
}

/* ---------------------------------------------------------------- sort -- */

/* Scratch of a worker. */
struct scratch {
    uint32_t *count; /* [n_low << low_bits, 1 << last_bits] */
    uint64_t *key;   /* [2, capacity], from etx_alloc */
    int64_t capacity;
};

/* n_low passes of low_bits sort by the low bits of the source, the last pass by
 * the key from last_shift on. Digit n_low - 1 may reach beyond last_shift:
 * sorting twice by the same bits does no harm. */
struct job {
    const struct etx_stream *stream;
    struct etx_edge_bins *bins;
    struct scratch *scratch; /* [n_writers] */
    int64_t *offset;         /* [n_bins + 1] of the result */
    int32_t *src, *dst;      /* [n_edges] the result */
    int32_t n_low, low_bits, last_shift, last_bits;
};

/* The keys in a chunk, from its last key on backwards. */
struct chunk {
    const char *start;
    int64_t n_keys;
    int64_t n_before; /* chunks */
};

static struct chunk last_chunk(
    const struct etx_edge_writer *writer, int32_t bin, int32_t key_bytes)
{
    const int64_t used =
        (int64_t)((uintptr_t)writer->next[bin] % ETX_EDGE_CHUNK_BYTES);
    const int64_t bytes = used == 0 ? ETX_EDGE_CHUNK_BYTES : used;

    if (writer->n_chunks[bin] == 0)
        return (struct chunk){.n_before = -1};
    return (struct chunk){writer->next[bin] - bytes, (bytes - LINK) / key_bytes,
        writer->n_chunks[bin] - 1};
}

static struct chunk chunk_before(struct chunk chunk, int32_t key_bytes)
{
    chunk.n_keys = (ETX_EDGE_CHUNK_BYTES - LINK) / key_bytes;
    const char *before;

    memcpy(&before, chunk.start, sizeof before);
    chunk.start = before;
    chunk.n_before--;
    return chunk;
}

INLINE uint64_t key_at(struct chunk chunk, int64_t t, const int32_t key_bytes)
{
    uint64_t wide;
    uint32_t narrow;

    if (key_bytes == 4) {
        memcpy(&narrow, chunk.start + LINK + t * 4, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, chunk.start + LINK + t * 8, sizeof wide);
    return wide;
}

static int64_t edges_of(const struct etx_edge_bins *bins, int32_t bin)
{
    const int32_t key_bytes = bins->pack.key_bytes;
    int64_t n = 0;

    for (int32_t w = 0; w < bins->n_writers; w++) {
        const struct chunk last = last_chunk(&bins->writer[w], bin, key_bytes);
        if (last.n_before >= 0)
            n += last.n_keys +
                 last.n_before * ((ETX_EDGE_CHUNK_BYTES - LINK) / key_bytes);
    }
    return n;
}

/* Digits of about the same number of bits, but the last contains the whole
 * target, so that its counts give the first edge of every target. */
static void choose_digits(struct job *job)
{
    const struct etx_edge_pack *pack = &job->bins->pack;
    const int32_t all = pack->shift + pack->source_bits;
    const int32_t n_passes = (all + MAX_BITS - 1) / MAX_BITS;
    const int32_t more = all / n_passes - pack->shift;

    job->last_bits = pack->shift + (more > 0 ? more : 0);
    const int32_t low = all - job->last_bits;
    job->last_shift = low;
    job->n_low = (low + MAX_BITS - 1) / MAX_BITS;
    job->low_bits = job->n_low == 0 ? 0 : (low + job->n_low - 1) / job->n_low;
}

static etx_status reserve_keys(struct scratch *scratch, int64_t n)
{
    const int64_t larger = n + n / 4;
    etx_status status = ETX_OK;

    if (n <= scratch->capacity)
        return ETX_OK;
    scratch->capacity = 0;
    etx_free(scratch->key);
    scratch->key = NULL;
    ETX_CHECK(etx_alloc_uncleared(
        &scratch->key, 2 * larger, sizeof *scratch->key, "edges to sort"));
    scratch->capacity = larger;
done:
    return status;
}

/* Count the digits of the keys of a chunk. n_low and key_bytes are constants
 * where this is inlined. */
INLINE void count_chunk(uint32_t *count, struct chunk chunk,
    const struct job *job, const int32_t n_low, const int32_t key_bytes)
{
    const int32_t low_bits = job->low_bits;
    const int32_t last_shift = job->last_shift;
    const uint64_t mask = (UINT64_C(1) << low_bits) - 1;

    for (int64_t t = 0; t < chunk.n_keys; t++) {
        const uint64_t key = key_at(chunk, t, key_bytes);
        for (int32_t p = 0; p < n_low; p++)
            count[((uint64_t)p << low_bits) + (key >> p * low_bits & mask)]++;
        count[((uint64_t)n_low << low_bits) + (key >> last_shift)]++;
    }
}

static void count_keys(uint32_t *count, const struct job *job, int32_t bin)
{
    const int32_t key_bytes = job->bins->pack.key_bytes;

    for (int32_t w = 0; w < job->bins->n_writers; w++) {
        struct chunk chunk = last_chunk(&job->bins->writer[w], bin, key_bytes);
        for (; chunk.n_before >= 0; chunk = chunk_before(chunk, key_bytes))
            if (key_bytes == 4 && job->n_low == 1)
                count_chunk(count, chunk, job, 1, 4);
            else
                count_chunk(count, chunk, job, job->n_low, key_bytes);
    }
}

/* Counts to offsets (exclusive prefix sum). */
static void sum_counts(uint32_t *count, int64_t n_digits)
{
    uint32_t sum = 0;

    for (int64_t d = 0; d < n_digits; d++) {
        const uint32_t n = count[d];
        count[d] = sum;
        sum += n;
    }
}

/* The keys of a chunk by digit 0. cursor: where the next key of a digit goes.
 */
INLINE void spread_chunk(uint64_t *to, struct chunk chunk, uint32_t *cursor,
    uint64_t mask, const int32_t key_bytes)
{
    for (int64_t t = 0; t < chunk.n_keys; t++) {
        const uint64_t key = key_at(chunk, t, key_bytes);
        to[cursor[key & mask]++] = key;
    }
}

/* The pass of digit 0, of `bits` bits; with bits 0 it is a copy. */
static void spread_keys(uint64_t *to, uint32_t *cursor, const struct job *job,
    int32_t bin, int32_t bits)
{
    const int32_t key_bytes = job->bins->pack.key_bytes;
    const uint64_t mask = (UINT64_C(1) << bits) - 1;

    for (int32_t w = 0; w < job->bins->n_writers; w++) {
        struct chunk chunk = last_chunk(&job->bins->writer[w], bin, key_bytes);
        for (; chunk.n_before >= 0; chunk = chunk_before(chunk, key_bytes))
            if (key_bytes == 4)
                spread_chunk(to, chunk, cursor, mask, 4);
            else
                spread_chunk(to, chunk, cursor, mask, 8);
    }
}

/* One pass of a radix sort, least significant digit first: stable. */
static void spread(uint64_t *to, const uint64_t *from, int64_t n,
    uint32_t *cursor, int32_t shift, uint64_t mask)
{
    for (int64_t t = 0; t < n; t++)
        to[cursor[from[t] >> shift & mask]++] = from[t];
}

/* The last pass: sources to the result. */
static void spread_sources(int32_t *src, const uint64_t *from, int64_t n,
    uint32_t *cursor, int32_t shift, int32_t source_bits)
{
    const uint64_t mask = (UINT64_C(1) << source_bits) - 1;

    for (int64_t t = 0; t < n; t++)
        src[cursor[from[t] >> shift]++] = (int32_t)(from[t] & mask);
}

/* The targets of the result. After the last pass the cursor of a digit is at
 * the end of its keys; a target is the upper bits of 1 << more digits. */
static void fill_targets(
    const struct job *job, int32_t bin, const uint32_t *cursor)
{
    const int32_t shift = job->bins->pack.shift;
    const int32_t more = job->last_bits - shift; /* of the source */
    const int32_t first = bin << shift;
    int32_t *const dst = job->dst + job->offset[bin];
    uint32_t at = 0;

    for (int32_t j = 0; j < 1 << shift; j++) {
        const uint32_t end = cursor[((int64_t)(j + 1) << more) - 1];
        for (; at < end; at++)
            dst[at] = first + j;
    }
}

static etx_status sort_bin(void *argument, int64_t block, int32_t worker)
{
    const struct job *job = argument;
    const int32_t bin = (int32_t)block;
    const int32_t bits = job->low_bits;
    const int64_t n = job->offset[bin + 1] - job->offset[bin];
    const int64_t n_low = (int64_t)job->n_low << bits;
    const int64_t n_last = INT64_C(1) << job->last_bits;
    struct scratch *scratch = &job->scratch[worker];
    uint32_t zero = 0;
    etx_status status;

    if (n == 0)
        return ETX_OK;
    ETX_CHECK(reserve_keys(scratch, n));
    uint32_t *count = scratch->count;
    uint64_t *from = scratch->key;
    uint64_t *to = from + scratch->capacity;
    memset(count, 0, (size_t)(n_low + n_last) * sizeof *count);
    count_keys(count, job, bin);
    for (int64_t p = 0; p < job->n_low; p++)
        sum_counts(count + (p << bits), INT64_C(1) << bits);
    sum_counts(count + n_low, n_last);
    ETX_CHECK(etx_check_cancelled(job->stream));
    spread_keys(from, job->n_low > 0 ? count : &zero, job, bin, bits);
    for (int32_t p = 1; p < job->n_low; p++) {
        uint64_t *const other = from;
        spread(to, from, n, count + ((int64_t)p << bits), p * bits,
            (UINT64_C(1) << bits) - 1);
        from = to;
        to = other;
    }
    ETX_CHECK(etx_check_cancelled(job->stream));
    spread_sources(job->src + job->offset[bin], from, n, count + n_low,
        job->last_shift, job->bins->pack.source_bits);
    fill_targets(job, bin, count + n_low);
done:
    return status;
}

static etx_status alloc_scratch(struct job *job, struct etx_arena *arena)
{
    const int64_t n =
        ((int64_t)job->n_low << job->low_bits) + (INT64_C(1) << job->last_bits);
    const int32_t n_workers = job->bins->n_writers;
    etx_status status;

    ETX_SCRATCH(job->offset, arena, job->bins->n_bins + 1, "bins of edges");
    ETX_SCRATCH(job->scratch, arena, n_workers, "scratch of a sort");
    memset(job->scratch, 0, (size_t)n_workers * sizeof *job->scratch);
    for (int32_t w = 0; w < n_workers; w++)
        ETX_SCRATCH(job->scratch[w].count, arena, n, "scratch of a sort");
done:
    return status;
}

etx_status etx_edge_bins_sort(struct etx_edge_list *out,
    struct etx_edge_bins *bins, struct etx_stream *stream)
{
    const struct etx_arena_mark mark = etx_arena_mark(stream->arena);
    struct job job = {.stream = stream, .bins = bins};
    etx_status status;

    choose_digits(&job);
    ETX_CHECK(alloc_scratch(&job, stream->arena));
    job.offset[0] = 0;
    for (int32_t b = 0; b < bins->n_bins; b++)
        job.offset[b + 1] = job.offset[b] + edges_of(bins, b);
    const int64_t n_edges = job.offset[bins->n_bins];
    ETX_CHECK(etx_alloc_uncleared(
        &job.src, n_edges, sizeof *job.src, "sources of edges"));
    ETX_CHECK(etx_alloc_uncleared(
        &job.dst, n_edges, sizeof *job.dst, "targets of edges"));
    ETX_CHECK(etx_parallel_for(stream->pool, bins->n_bins, sort_bin, &job));
    *out = (struct etx_edge_list){n_edges, job.src, job.dst};
    job.src = NULL;
    job.dst = NULL;
done:
    for (int32_t w = 0; job.scratch != NULL && w < bins->n_writers; w++)
        etx_free(job.scratch[w].key);
    etx_free(job.src);
    etx_free(job.dst);
    etx_arena_reset(stream->arena, mark);
    return status;
}
