/* train/graphs/disk_cache.c -- the graphs of events on disk, and the next ones
 * read ahead.
 *
 * A file is named by the hash of its event and of the stages that made it, so
 * that other models, or events in another order, use files of their own. While
 * a step computes, a thread reads the graphs of the next one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/graphs/disk_cache.h"

#include "base/check.h"
#include "base/heap.h"
#include "io/file.h"
#include "train/hash.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 32 /* "/0123456789abcdef.graph" */

/* One prefetched graph. */
struct slot {
    const struct etx_event *event; /* NULL: empty */
    struct etx_graph *graph;       /* NULL: could not be read */
};

struct etx_graph_disk_cache {
    char *folder;
    uint64_t stages_hash;
    pthread_t thread;
    int is_running;
    int32_t n_slots, capacity;
    struct slot *slot; /* [capacity] the thread's while it runs */
};

static struct etx_graph_key key_of(
    const struct etx_graph_disk_cache *cache, const struct etx_event *event)
{
    uint64_t hash = cache->stages_hash;

    for (int32_t k = 0; k < ETX_N_EVENT_COLUMNS; k++) {
        const struct etx_event_column *column = &etx_event_columns[k];
        const void *values = etx_event_column_get(event, column);

        if (column->kind == ETX_COLUMN_INPUT && values != NULL)
            hash = etx_hash_bytes(hash, values,
                (size_t)event->n_hits * etx_event_row_bytes(event, column));
    }
    return (struct etx_graph_key){.hash = hash, .n_nodes = event->n_hits};
}

/* The path of a key's file; the caller releases it. */
static etx_status make_path(char **out,
    const struct etx_graph_disk_cache *cache, const struct etx_graph_key *key)
{
    const size_t size = strlen(cache->folder) + NAME_BYTES;
    const etx_status status =
        etx_alloc(out, (int64_t)size, 1, "the name of a cached graph");
    char hash[17];

    etx_hash_text(hash, key->hash);
    if (status == ETX_OK)
        (void)snprintf(*out, size, "%s/%s.graph", cache->folder, hash);
    return status;
}

/* NULL when there is no file. */
static etx_status read_graph(struct etx_graph **out,
    const struct etx_graph_disk_cache *cache, const struct etx_event *event)
{
    const struct etx_graph_key key = key_of(cache, event);
    char *path = NULL;
    etx_status status;

    *out = NULL;
    ETX_CHECK(make_path(&path, cache, &key));
    if (etx_file_exists(path))
        ETX_CHECK(etx_graph_file_read(out, path, &key));
done:
    etx_free(path);
    return status;
}

/* ----------------------------------------------------------- prefetch -- */

static void *read_slots(void *argument)
{
    struct etx_graph_disk_cache *cache = argument;

    for (int32_t k = 0; k < cache->n_slots; k++)
        if (read_graph(&cache->slot[k].graph, cache, cache->slot[k].event) !=
            ETX_OK)
            cache->slot[k].graph = NULL;
    return NULL;
}

static void wait_for_thread(struct etx_graph_disk_cache *cache)
{
    if (cache->is_running)
        (void)pthread_join(cache->thread, NULL);
    cache->is_running = 0;
}

static void clear_slots(struct etx_graph_disk_cache *cache)
{
    wait_for_thread(cache);
    for (int32_t k = 0; k < cache->n_slots; k++)
        etx_graph_free(cache->slot[k].graph);
    cache->n_slots = 0;
}

static int has_slot(
    const struct etx_graph_disk_cache *cache, const struct etx_event *event)
{
    int32_t k = 0;

    while (k < cache->n_slots && cache->slot[k].event != event)
        k++;
    return k < cache->n_slots;
}

void etx_graph_disk_cache_prefetch(struct etx_graph_disk_cache *cache,
    struct etx_train_event *const *event, int32_t n)
{
    sigset_t all;
    sigset_t before;

    clear_slots(cache);
    for (int32_t k = 0; k < n && cache->n_slots < cache->capacity; k++)
        if (event[k]->graph == NULL && !has_slot(cache, event[k]->event))
            cache->slot[cache->n_slots++] =
                (struct slot){.event = event[k]->event};
    if (cache->n_slots == 0)
        return;
    (void)sigfillset(&all); /* signals are for the host's threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    cache->is_running =
        pthread_create(&cache->thread, NULL, read_slots, cache) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ------------------------------------------------------------- one graph -- */

etx_status etx_graph_disk_cache_find(struct etx_graph **out,
    struct etx_graph_disk_cache *cache, const struct etx_event *event)
{
    wait_for_thread(cache);
    for (int32_t k = 0; k < cache->n_slots; k++) {
        struct slot *slot = cache->slot + k;

        if (slot->event == event && slot->graph != NULL) {
            *out = slot->graph;
            slot->graph = NULL;
            return ETX_OK;
        }
    }
    return read_graph(out, cache, event);
}

etx_status etx_graph_disk_cache_insert(const struct etx_graph_disk_cache *cache,
    const struct etx_event *event, const struct etx_graph *graph)
{
    const struct etx_graph_key key = key_of(cache, event);
    char *path = NULL;
    etx_status status;

    ETX_CHECK(make_path(&path, cache, &key));
    ETX_CHECK(etx_graph_file_write(path, graph, &key));
done:
    etx_free(path);
    return status;
}

etx_status etx_graph_disk_cache_open(struct etx_graph_disk_cache **out,
    const char *folder, uint64_t stages_hash, int32_t n_ahead)
{
    struct etx_graph_disk_cache *cache = NULL;
    etx_status status;

    ETX_NEW(cache, 1, "cache of graphs");
    cache->stages_hash = stages_hash;
    cache->capacity = n_ahead;
    ETX_CHECK(etx_alloc_copy(&cache->folder, folder,
        (int64_t)strlen(folder) + 1, 1, "the name of a folder"));
    ETX_NEW(cache->slot, n_ahead, "prefetched graphs");
    *out = cache;
    cache = NULL;
done:
    etx_graph_disk_cache_close(cache);
    return status;
}

void etx_graph_disk_cache_close(struct etx_graph_disk_cache *cache)
{
    if (cache == NULL)
        return;
    clear_slots(cache);
    etx_free(cache->slot);
    etx_free(cache->folder);
    etx_free(cache);
}
