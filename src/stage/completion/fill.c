/* stage/completion/fill.c -- hits that found tracks lack on their way.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/search.h"

#include "base/check.h"
#include "data/hit_order.h"
#include "data/tracks.h"
#include "stage/helix/field.h"

#include <math.h>
#include <string.h>

#define BLOCK    16 /* tracks of one task */
#define MIN_HITS 3  /* of a helix */

struct filling {
    const struct etx_first_pass_search *search;
    int32_t n_tracks;                /* those that were not filled before */
    int32_t *begin;                  /* [n_tracks + 1] of hit */
    int32_t *hit;                    /* by track, then from inside out */
    struct etx_candidate *candidate; /* [n_tracks] */
};

/* The hits of all tracks in order, from number n_filled on. */
static etx_status list_hits(struct filling *filling, struct etx_arena *arena,
    const int32_t *label, int32_t n_filled)
{
    const struct etx_event *const event = filling->search->event;
    const int32_t n_all = etx_count_labels(label, event->n_hits);
    const int32_t n = n_all > n_filled ? n_all - n_filled : 0;
    int32_t *own = NULL;
    etx_status status;

    filling->n_tracks = n;
    ETX_SCRATCH(own, arena, event->n_hits, "hits of tracks");
    ETX_SCRATCH(filling->begin, arena, (int64_t)n + 1, "hits of tracks");
    ETX_SCRATCH(filling->hit, arena, event->n_hits, "hits of tracks");
    ETX_SCRATCH(filling->candidate, arena, n, "hits of tracks");
    for (int64_t i = 0; i < event->n_hits; i++)
        own[i] = label[i] - n_filled;
    ETX_CHECK(etx_order_hits(filling->begin, filling->hit, own, n, event, 0));
done:
    return status;
}

static bool is_between(double value, double a, double b)
{
    return (value > a && value < b) || (value > b && value < a);
}

/* Whether a track that has these layers may cross another one between the hits
 * a and b. */
static bool has_gap(const struct etx_first_pass_search *search, uint64_t layers,
    int32_t a, int32_t b)
{
    const struct etx_completion *const completion = search->completion;
    const int64_t *const begin =
        completion->begin[ETX_OUTWARD] + search->grid.row[a].layer;
    const struct etx_grid_hit *const inner = &search->grid.row[a];
    const struct etx_grid_hit *const outer = &search->grid.row[b];

    for (int64_t k = begin[0]; k < begin[1]; k++) {
        const int32_t to = etx_completion_step_to(completion, k);
        const struct etx_grid_layer *const layer = &search->grid.layers[to];

        if ((layers >> to & 1) == 0 &&
            (layer->is_barrel
                    ? is_between(layer->radius, (double)inner->radius,
                          (double)outer->radius)
                    : is_between(layer->z, (double)inner->z, (double)outer->z)))
            return true;
    }
    return false;
}

/* The first hit of track t on each of its layers, and what is found near the
 * helices through them. */
static void fill_track(const struct filling *filling, int32_t t)
{
    const struct etx_first_pass_search *const search = filling->search;
    struct etx_candidate *const candidate = &filling->candidate[t];

    *candidate = (struct etx_candidate){.n_hits = 0};
    for (int32_t k = filling->begin[t]; k < filling->begin[t + 1]; k++) {
        const int32_t hit = filling->hit[k];
        const int32_t layer = search->grid.row[hit].layer;

        if (layer < 0 || (candidate->layers >> layer & 1) != 0 ||
            candidate->n_hits == ETX_CANDIDATE_MAX_LAYERS)
            continue;
        candidate->layers |= UINT64_C(1) << layer;
        candidate->hit[candidate->n_hits++] = hit;
    }
    candidate->n_layers = candidate->n_hits;
    if (candidate->n_layers < MIN_HITS)
        return;
    for (int32_t k = 1; k < candidate->n_layers; k++)
        if (has_gap(search, candidate->layers, candidate->hit[k - 1],
                candidate->hit[k]))
            candidate->gaps |= UINT32_C(1) << k;
    etx_candidate_fill(candidate, search);
    etx_candidate_add_overlaps(candidate, search);
}

static etx_status fill_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    const struct filling *const filling = argument;

    (void)worker;
    for (int64_t t = begin; t < end; t++)
        fill_track(filling, (int32_t)t);
    return ETX_OK;
}

/* Whether a track has a hit on the module of this one. */
static bool has_module(const struct filling *filling, int32_t t, int32_t hit)
{
    const struct etx_first_pass_search *const search = filling->search;
    const int32_t *const module_id = search->event->module_id;

    for (int32_t k = filling->begin[t]; k < filling->begin[t + 1]; k++)
        if (search->grid.row[filling->hit[k]].layer ==
                search->grid.row[hit].layer &&
            module_id[filling->hit[k]] == module_id[hit])
            return true;
    return false;
}

etx_status etx_tracks_fill(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_grid *grid,
    const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_first_pass_search *search = NULL;
    struct filling filling = {.search = NULL};
    etx_status status;

    ETX_CHECK(etx_check_cancelled(host->stream));
    ETX_CHECK(
        etx_first_pass_search_make(&search, arena, grid, completion, event));
    search->max_distance = (double)options->max_distance;
    search->max_random = (double)options->max_random;
    search->reach = sqrt(search->max_distance);
    etx_grid_fill(&search->grid, completion, label, event->n_hits);
    filling.search = search;
    ETX_CHECK(list_hits(&filling, arena, label, n_filled));
    ETX_CHECK(etx_parallel_ranges(
        host->stream->pool, filling.n_tracks, BLOCK, fill_block, &filling));
    for (int32_t t = 0; t < filling.n_tracks; t++) {
        const struct etx_candidate *const candidate = &filling.candidate[t];

        for (int32_t i = 0; i < candidate->n_hits; i++)
            if (label[candidate->hit[i]] < 0 &&
                !has_module(&filling, t, candidate->hit[i]))
                label[candidate->hit[i]] = n_filled + t;
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}
