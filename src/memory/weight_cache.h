/* memory/weight_cache.h -- frozen parameters, and the forms operators read.
 *
 * A context copies the parameters of a frozen network to its memory once.
 * Operators compute other forms of them (packed, folded, float16, ...), which
 * are found again by the address of what they were computed from:
 *
 *   network (by frozen id)                    forms (one hash table)
 *   +------------+-----------+--------+      (weight, packed)     -> array
 *   | parameters | form      | form   | <--- (weight, split)      -> array
 *   +------------+-----------+--------+      (split part, packed) -> array
 *     arena of this network, freed as a whole
 *
 * Nothing fails for want of memory in the cache: the caller then gets
 * scratch instead. One thread at a time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_MEMORY_WEIGHT_CACHE_H
#define ETX_MEMORY_WEIGHT_CACHE_H

#include "memory/arena.h"

/* Networks of five models; a module map counts as one. One more evicts the
 * network that was inserted first, with all its forms; so does a lack of
 * memory. Nothing else evicts: networks of freed models stay until then. */
#define ETX_MAX_CACHED_NETWORKS 16

struct etx_weight_cache;
struct etx_cached_network;

/* Values below 1 << 16 are added to distinguish versions of a form. */
enum etx_weight_form {
    ETX_WEIGHTS_SPLIT = 1 << 16,  /* first layer by blocks of columns; the
                                   * version is the set of separate blocks */
    ETX_WEIGHTS_FOLDED = 2 << 16, /* product of two linear layers */
    ETX_WEIGHTS_PADDED = 3 << 16, /* vector in whole SIMD registers */
    ETX_WEIGHTS_PACKED = 4 << 16, /* panels of the SIMD product */
    ETX_WEIGHTS_HALF = 5 << 16,   /* float16, row-major */
    ETX_WEIGHTS_TILES = 6 << 16   /* float16 tiles of the fused CUDA kernel */
};

/* Equal keys have equal values, as long as the sources are cached. */
struct etx_weight_key {
    const float *source; /* parameters, or a cached form of them */
    const float *second; /* the other factor of a product, or NULL */
    uint32_t form;       /* enum etx_weight_form + version */
    int64_t n;           /* elements of the form */
};

/* A form as etx_weights_open gives it. */
struct etx_weights {
    struct etx_weight_key key;
    void *value;                        /* [key.n] */
    int32_t is_ready;                   /* computed by an earlier call */
    struct etx_cached_network *network; /* to insert it into, or NULL */
};

etx_status etx_weight_cache_create(
    struct etx_weight_cache **out, const struct etx_memory *memory);
void etx_weight_cache_free(struct etx_weight_cache *cache);

/* *out = the cached copy of values [n] on the host, the parameters of the
 * frozen network with this id; NULL when there is no memory for it. The copy
 * and its forms are valid at least until the next call. */
etx_status etx_weight_cache_parameters(float **out,
    struct etx_weight_cache *cache, uint64_t frozen_id, const float *values,
    int64_t n);

/* The copy that the cache has, or NULL. */
float *etx_weight_cache_find(
    const struct etx_weight_cache *cache, uint64_t frozen_id);

/* Find a form of key->n elements of size bytes, or allocate it: in the cache if
 * the sources are cached, else in scratch. If it is not ready the caller
 * computes it and calls etx_weights_close; a form that is not closed before the
 * next one is opened is dropped. cache NULL: always scratch. */
etx_status etx_weights_open(struct etx_weights *out,
    struct etx_weight_cache *cache, struct etx_arena *scratch,
    const struct etx_weight_key *key, size_t size, const char *what);
void etx_weights_close(
    struct etx_weight_cache *cache, const struct etx_weights *weights);

/* What the cache holds. */
struct etx_weight_cache_size {
    int32_t n_networks;
    int64_t n_forms;
    int64_t bytes;
};
struct etx_weight_cache_size etx_weight_cache_size(
    const struct etx_weight_cache *cache);

#endif
