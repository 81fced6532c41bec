/* train/sampling/augment_event.c -- an event as a worse detector sees it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/augment_event.h"

#include "base/check.h"
#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A hit and the module that it lies on. */
struct module_hit {
    int32_t volume, layer, module;
    int64_t hit;
};

int32_t etx_train_changes_events(const struct etx_train_augmentation *options)
{
    return options->drop_hits > 0.0f || options->drop_cells > 0.0f ||
           options->jitter > 0.0f || options->first_pass > 0.0f;
}

/* row [*n] of hits that are kept, each with probability 1 - share. */
static etx_status keep_hits(int32_t **row, int64_t *n,
    const struct etx_event *event, struct etx_random *random, float share)
{
    int64_t n_kept = 0;
    etx_status status;

    ETX_CHECK(etx_alloc(row, event->n_hits, sizeof **row, "kept hits"));
    for (int64_t i = 0; i < event->n_hits; i++)
        if (share == 0.0f || etx_random_uniform(random) >= share)
            (*row)[n_kept++] = (int32_t)i;
    if (n_kept == 0)
        ETX_FAIL(ETX_ERR_ARGUMENT,
            "augmentation.drop_hits left none of the %lld hits of an event",
            (long long)event->n_hits);
    *n = n_kept;
done:
    return status;
}

static int compare_modules(const void *left, const void *right)
{
    const struct module_hit *a = left;
    const struct module_hit *b = right;

    if (a->volume != b->volume)
        return a->volume < b->volume ? -1 : 1;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->hit < b->hit ? -1 : a->hit > b->hit;
}

static bool share_module(const struct module_hit *a, const struct module_hit *b)
{
    return a->volume == b->volume && a->layer == b->layer &&
           a->module == b->module;
}

/* Move the hits of each module together, in each direction by a normal random
 * number of this sigma. */
static etx_status move_modules(
    struct etx_event *event, struct etx_random *random, float sigma)
{
    const int64_t n = event->n_hits;
    struct module_hit *hits = NULL;
    float shift[3] = {0.0f, 0.0f, 0.0f};
    etx_status status;

    if (event->module_id == NULL)
        return etx_fail(ETX_ERR_ARGUMENT,
            "an event to train on has no modules (%d hits), which "
            "augmentation.jitter moves",
            (int)n);
    ETX_NEW(hits, n, "hits of modules");
    for (int64_t i = 0; i < n; i++)
        hits[i] = (struct module_hit){
            event->volume_id[i], event->layer_id[i], event->module_id[i], i};
    qsort(hits, (size_t)n, sizeof *hits, compare_modules);
    for (int64_t k = 0; k < n; k++) {
        if (k == 0 || !share_module(hits + k - 1, hits + k))
            for (int axis = 0; axis < 3; axis++)
                shift[axis] = sigma * etx_random_normal(random);
        for (int axis = 0; axis < 3; axis++)
            event->position[3 * hits[k].hit + axis] += shift[axis];
    }
done:
    etx_free(hits);
    return status;
}

etx_status etx_augment_event(struct etx_event **out,
    const struct etx_event *event, struct etx_random *random,
    const struct etx_train_augmentation *options)
{
    /* Always three draws, of which an option uses one or none. */
    const float share = options->drop_hits * etx_random_uniform(random);
    const bool drops_cells = etx_random_uniform(random) < options->drop_cells;
    const float sigma = options->jitter * etx_random_uniform(random);
    struct etx_event *changed = NULL;
    int32_t *row = NULL;
    int64_t n = 0;
    etx_status status;

    ETX_CHECK(keep_hits(&row, &n, event, random, share));
    ETX_CHECK(etx_event_select_with_truth(&changed, event, row, n));
    if (drops_cells && changed->cell_features != NULL)
        memset(changed->cell_features, 0,
            (size_t)n * ETX_N_CELL_FEATURES * sizeof *changed->cell_features);
    if (options->jitter > 0.0f)
        ETX_CHECK(move_modules(changed, random, sigma));
    *out = changed;
    changed = NULL;
done:
    etx_free(row);
    etx_event_free(changed);
    return status;
}
