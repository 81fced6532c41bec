/* memory/weight_cache.c -- frozen parameters, and the forms operators read.
 *
 * Forms are entries of a dense array; an open hash table with linear probing
 * holds their indices. Evicting a network removes its entries and fills the
 * table again, which needs no memory.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "memory/weight_cache.h"

#include "base/check.h"
#include "base/heap.h"

#include <string.h>

#define MIN_BLOCK   ((size_t)64 << 10) /* bytes of a network's arena */
#define MIN_ENTRIES 256
#define LOAD        2 /* slots per entry */

struct etx_cached_network {
    uint64_t frozen_id;
    struct etx_arena *arena;      /* parameters and all their forms */
    struct etx_arena_mark in_use; /* end of the last form that was closed */
    float *parameters;
};

struct entry {
    struct etx_weight_key key;
    void *value;
    uint64_t frozen_id;
};

struct etx_weight_cache {
    const struct etx_memory *memory;
    int32_t n_networks;
    struct etx_cached_network
        network[ETX_MAX_CACHED_NETWORKS]; /* oldest first */
    int64_t n_entries, capacity;          /* capacity: a power of two, or 0 */
    struct entry *entry;                  /* [capacity] */
    int64_t *slot; /* [LOAD * capacity] 1 + entry, 0: empty */
};

etx_status etx_weight_cache_create(
    struct etx_weight_cache **out, const struct etx_memory *memory)
{
    struct etx_weight_cache *cache = NULL;
    etx_status status;

    ETX_NEW(cache, 1, "weight cache");
    cache->memory = memory;
    *out = cache;
done:
    return status;
}

/* ------------------------------------------------------------ hash table -- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static int32_t are_equal(
    const struct etx_weight_key *a, const struct etx_weight_key *b)
{
    return a->source == b->source && a->second == b->second &&
           a->form == b->form && a->n == b->n;
}

/* The slot of key, or the empty one where it belongs. */
static int64_t *find_slot(
    const struct etx_weight_cache *cache, const struct etx_weight_key *key)
{
    const uint64_t mask = (uint64_t)(LOAD * cache->capacity - 1);
    uint64_t s = mix(0, (uint64_t)(uintptr_t)key->source);

    s = mix(s, (uint64_t)(uintptr_t)key->second);
    s = mix(s, (uint64_t)key->form << 32 ^ (uint64_t)key->n);
    for (s &= mask; cache->slot[s] != 0; s = (s + 1) & mask)
        if (are_equal(&cache->entry[cache->slot[s] - 1].key, key))
            break;
    return &cache->slot[s];
}

static void fill_slots(struct etx_weight_cache *cache)
{
    if (cache->capacity > 0)
        memset(cache->slot, 0,
            (size_t)(LOAD * cache->capacity) * sizeof *cache->slot);
    for (int64_t k = 0; k < cache->n_entries; k++)
        *find_slot(cache, &cache->entry[k].key) = k + 1;
}

/* Memory for one more entry. */
static etx_status reserve_entry(struct etx_weight_cache *cache)
{
    const int64_t capacity =
        cache->capacity > 0 ? 2 * cache->capacity : MIN_ENTRIES;
    int64_t *slot = NULL;
    etx_status status = ETX_OK;

    if (cache->n_entries < cache->capacity)
        return ETX_OK;
    ETX_NEW(slot, LOAD * capacity, "weight cache");
    ETX_CHECK(etx_resize(&cache->entry, cache->capacity, capacity,
        sizeof *cache->entry, "weight cache"));
    etx_free(cache->slot);
    cache->slot = slot;
    slot = NULL;
    cache->capacity = capacity;
    fill_slots(cache);
done:
    etx_free(slot);
    return status;
}

/* -------------------------------------------------------------- networks -- */

static void evict_oldest(struct etx_weight_cache *cache)
{
    const uint64_t frozen_id = cache->network[0].frozen_id;
    int64_t n = 0;

    etx_arena_free(cache->network[0].arena);
    cache->n_networks--;
    memmove(cache->network, cache->network + 1,
        (size_t)cache->n_networks * sizeof *cache->network);
    for (int64_t k = 0; k < cache->n_entries; k++)
        if (cache->entry[k].frozen_id != frozen_id)
            cache->entry[n++] = cache->entry[k];
    cache->n_entries = n;
    fill_slots(cache);
}

void etx_weight_cache_free(struct etx_weight_cache *cache)
{
    if (cache == NULL)
        return;
    for (int32_t k = 0; k < cache->n_networks; k++)
        etx_arena_free(cache->network[k].arena);
    etx_free(cache->entry);
    etx_free(cache->slot);
    etx_free(cache);
}

/* Copy values [n] to the memory of the cache, as its newest network. */
static etx_status insert_network(struct etx_weight_cache *cache,
    uint64_t frozen_id, const float *values, int64_t n)
{
    struct etx_cached_network network = {.frozen_id = frozen_id};
    float *copy = NULL;
    etx_status status;

    if (cache->n_networks == ETX_MAX_CACHED_NETWORKS)
        evict_oldest(cache);
    ETX_CHECK(etx_arena_create_at(&network.arena, 0, MIN_BLOCK, cache->memory));
    ETX_SCRATCH(copy, network.arena, n, "network parameters");
    ETX_CHECK(
        etx_memory_to_device(cache->memory, copy, values, n, sizeof *copy));
    network.parameters = copy;
    network.in_use = etx_arena_mark(network.arena);
    cache->network[cache->n_networks++] = network;
    network.arena = NULL;
done:
    etx_arena_free(network.arena);
    return status;
}

float *etx_weight_cache_find(
    const struct etx_weight_cache *cache, uint64_t frozen_id)
{
    for (int32_t k = 0; k < cache->n_networks; k++)
        if (cache->network[k].frozen_id == frozen_id)
            return cache->network[k].parameters;
    return NULL;
}

etx_status etx_weight_cache_parameters(float **out,
    struct etx_weight_cache *cache, uint64_t frozen_id, const float *values,
    int64_t n)
{
    etx_status status;

    *out = etx_weight_cache_find(cache, frozen_id);
    if (*out != NULL)
        return ETX_OK;
    status = insert_network(cache, frozen_id, values, n);
    while (status == ETX_ERR_MEMORY && cache->n_networks > 0) {
        evict_oldest(cache);
        status = insert_network(cache, frozen_id, values, n);
    }
    if (status == ETX_OK)
        *out = cache->network[cache->n_networks - 1].parameters;
    return status == ETX_ERR_MEMORY ? ETX_OK : status;
}

/* ----------------------------------------------------------------- forms -- */

/* The network that holds both sources, or NULL. */
static struct etx_cached_network *find_network(
    struct etx_weight_cache *cache, const struct etx_weight_key *key)
{
    for (int32_t k = 0; k < cache->n_networks; k++) {
        const struct etx_arena *arena = cache->network[k].arena;

        if (etx_arena_contains(arena, key->source) &&
            (key->second == NULL || etx_arena_contains(arena, key->second)))
            return &cache->network[k];
    }
    return NULL;
}

/* Memory for a form in the arena of its network; what lies after the last
 * closed form belongs to nobody. */
static etx_status reserve_form(void **out, struct etx_weight_cache *cache,
    struct etx_cached_network *network, int64_t n, size_t size,
    const char *what)
{
    etx_status status;

    ETX_CHECK(reserve_entry(cache));
    etx_arena_reset(network->arena, network->in_use);
    ETX_CHECK(etx_arena_alloc(out, network->arena, n, size, what));
done:
    return status;
}

etx_status etx_weights_open(struct etx_weights *out,
    struct etx_weight_cache *cache, struct etx_arena *scratch,
    const struct etx_weight_key *key, size_t size, const char *what)
{
    etx_status status = ETX_ERR_MEMORY;

    *out = (struct etx_weights){.key = *key};
    if (cache != NULL && cache->n_entries > 0) {
        const int64_t slot = *find_slot(cache, key);

        if (slot != 0) {
            out->value = cache->entry[slot - 1].value;
            out->is_ready = 1;
            return ETX_OK;
        }
    }
    if (cache != NULL)
        out->network = find_network(cache, key);
    if (out->network != NULL)
        status =
            reserve_form(&out->value, cache, out->network, key->n, size, what);
    if (status != ETX_ERR_MEMORY)
        return status;
    out->network = NULL;
    return etx_arena_alloc(&out->value, scratch, key->n, size, what);
}

void etx_weights_close(
    struct etx_weight_cache *cache, const struct etx_weights *weights)
{
    struct etx_cached_network *const network = weights->network;

    if (network == NULL)
        return;
    network->in_use = etx_arena_mark(network->arena);
    cache->entry[cache->n_entries] = (struct entry){.key = weights->key,
        .value = weights->value,
        .frozen_id = network->frozen_id};
    *find_slot(cache, &weights->key) = ++cache->n_entries;
}

struct etx_weight_cache_size etx_weight_cache_size(
    const struct etx_weight_cache *cache)
{
    struct etx_weight_cache_size size = {
        .n_networks = cache->n_networks, .n_forms = cache->n_entries};

    for (int32_t k = 0; k < cache->n_networks; k++)
        size.bytes += etx_arena_in_use(cache->network[k].arena);
    return size;
}
