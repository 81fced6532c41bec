/* op/simd/edge_bins.h -- edges collected in any order, sorted by (dst, src).
 *
 * Every worker appends to bins of neighbouring targets, which are sorted one by
 * one in cache. The result does not depend on the order of appending, since
 * edges are unique.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_SIMD_EDGE_BINS_H
#define ETX_OP_SIMD_EDGE_BINS_H

#include <pthread.h>
#include <string.h>

#include "op/op.h"

#define ETX_MAX_EDGE_BINS    256
#define ETX_EDGE_CHUNK_BYTES 4096

/* How an edge is packed: in bin dst >> shift, the key is the rest of dst, then
 * source_bits of src, in key_bytes. */
struct etx_edge_pack {
    int32_t shift, source_bits;
    int32_t key_bytes; /* 4 where it fits, else 8 */
};

/* The edges of one worker. A chunk is ETX_EDGE_CHUNK_BYTES, aligned to that:
 * the address of the bin's chunk before, then keys. */
struct etx_edge_writer {
    char *next[ETX_MAX_EDGE_BINS]; /* end of the keys; NULL: no chunk yet */
    int64_t n_chunks[ETX_MAX_EDGE_BINS];
    char *free; /* chunks not yet used */
    int64_t n_free;
};

struct etx_edge_bins {
    int64_t n_points;
    struct etx_edge_pack pack;
    int32_t n_bins, n_writers;
    struct etx_edge_writer *writer; /* [n_writers] one per worker */
    struct etx_arena *arena;        /* of the chunks; guarded by lock */
    pthread_mutex_t lock;
};

/* Chunks are allocated from the stream's arena while edges are added, so inside
 * a parallel loop nothing else may allocate from it until close. n_points >
 * 0. */
etx_status etx_edge_bins_open(
    struct etx_edge_bins *out, struct etx_stream *stream, int64_t n_points);
/* Also after a failed open, or on a zeroed struct. */
void etx_edge_bins_close(struct etx_edge_bins *bins);

/* Begin another chunk of a bin. */
etx_status etx_edge_bins_grow(
    struct etx_edge_bins *bins, struct etx_edge_writer *writer, uint32_t bin);

/* Add src -> dst. pack is a copy of the bins', which a loop keeps in
 * registers. */
static inline etx_status etx_edge_bins_add(struct etx_edge_bins *bins,
    struct etx_edge_writer *writer, const struct etx_edge_pack pack,
    uint32_t src, uint32_t dst)
{
    const uint32_t bin = dst >> pack.shift;
    const uint64_t key =
        (uint64_t)(dst - (bin << pack.shift)) << pack.source_bits | src;

    /* A full chunk ends at the alignment of the next; NULL is aligned, too. */
    if ((uintptr_t)writer->next[bin] % ETX_EDGE_CHUNK_BYTES == 0) {
        const etx_status status = etx_edge_bins_grow(bins, writer, bin);
        if (status != ETX_OK)
            return status;
    }
    if (pack.key_bytes == 4) {
        const uint32_t narrow = (uint32_t)key;
        memcpy(writer->next[bin], &narrow, sizeof narrow);
    } else {
        memcpy(writer->next[bin], &key, sizeof key);
    }
    writer->next[bin] += pack.key_bytes;
    return ETX_OK;
}

/* The added edges by (dst, src); the arrays of out are from etx_alloc. To be
 * called once. */
etx_status etx_edge_bins_sort(struct etx_edge_list *out,
    struct etx_edge_bins *bins, struct etx_stream *stream);

#endif
