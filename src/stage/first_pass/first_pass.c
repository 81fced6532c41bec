/* stage/first_pass/first_pass.c -- passes, and the competition of candidates.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/first_pass/first_pass.h"

#include "base/check.h"
#include "base/constants.h"
#include "base/cpu.h"
#include "base/sort.h"
#include "data/tracks.h"
#include "stage/first_pass/pairs.h"
#include "stage/first_pass/search.h"
#include "stage/helix/field.h"

#include <math.h>
#include <string.h>

#define BLOCK    16 /* first hits of one task */
#define MAX_LOST 2  /* hits that better candidates may take */
/* The third hit of a seed lies no farther from its two than that many unrelated
 * hits are expected. Events of 100 000 hits have 0.5 within all of
 * max_distance, new tracks up to 16. */
#define SEED_MAX_RANDOM     0.5
#define NEW_SEED_MAX_RANDOM 1.0
/* The same for all seeds of a first hit, so that it has no more candidates in
 * denser events. Events of 100 000 hits have up to 64, new tracks up to 128,
 * and none of their tracks needs more than 64. */
#define SEED_MAX_OF_HIT 64.0
/* New tracks among hits that are left: stricter than completion, as no found
 * track speaks for them. Hundreds of pairs begin at a hit of a dense event, and
 * the third hit and those after it are chosen among unrelated ones. */
#define NEW_MAX_DISTANCE  20.0
#define NEW_MAX_RANDOM    0.1  /* of a hit */
#define NEW_MAX_UNRELATED 1e-7 /* of a track */

/* From narrow windows to wide ones, from whole tracks to those with holes. */
static const struct {
    double min_pt, max_pt; /* GeV, 0: that of the options, no limit */
    int32_t lacks_hit;     /* of the seeds */
    int32_t max_holes;     /* of a candidate, after its seed */
} passes[] = {{0.5, 0.0, 0, 1}, {0.0, 0.5, 0, 1}, {0.3, 0.0, 1, 1}};

/* One pass; arrays in the arena. */
struct pass {
    const struct etx_stream *stream;
    struct etx_first_pass_search *search; /* [threads] */
    int64_t n_first;
    int32_t *first;                  /* [n_first] hits that begin tracks */
    struct etx_candidate *candidate; /* [n_first, ETX_CANDIDATES_OF_HIT] */
};

static etx_status search_block(void *argument, int64_t block, int32_t worker)
{
    const struct pass *pass = argument;
    const struct etx_first_pass_search *const search = &pass->search[worker];
    const int64_t begin = block * BLOCK;
    const int64_t end =
        begin + BLOCK < pass->n_first ? begin + BLOCK : pass->n_first;
    etx_status status = ETX_OK;

    for (int64_t k = begin; k < end; k++) {
        struct etx_candidate *const best =
            pass->candidate + k * ETX_CANDIDATES_OF_HIT;

        ETX_CHECK(etx_check_cancelled(pass->stream));
        search->cache->n_candidates = 0;
        search->cache->n_visits = 0;
        if (search->leads_anywhere)
            etx_free_candidates(best, search, pass->first[k]);
        else
            etx_seed_candidates(best, search, pass->first[k]);
    }
done:
    return status;
}

/* The seeds of this pass. */
static void list_seeds(struct etx_first_pass_search *search)
{
    const struct etx_first_pass *const table = search->first_pass;

    search->n_seeds = 0;
    if (search->leads_anywhere)
        return;
    for (int64_t k = 0; k < table->n_seeds; k++)
        if (table->seed[k * ETX_SEED_WIDTH + ETX_SEED_LACKS_HIT] ==
            search->lacks_hit)
            search->seed[search->n_seeds++] = k;
}

static bool begins_seeds(
    const struct etx_first_pass_search *search, int32_t layer)
{
    if (search->leads_anywhere)
        return true;
    for (int64_t k = 0; k < search->n_seeds; k++)
        if (search->first_pass->seed[search->seed[k] * ETX_SEED_WIDTH] == layer)
            return true;
    return false;
}

/* The hits of the layers that seeds begin on; out NULL: only their number. */
static int64_t list_first(
    int32_t *out, const struct etx_first_pass_search *search)
{
    int64_t n = 0;

    for (int32_t l = 0; l < search->completion->n_layers; l++) {
        const struct etx_grid_layer *const layer = &search->grid.layers[l];

        if (!begins_seeds(search, l))
            continue;
        for (int32_t k = 0; out != NULL && k < layer->n_hits; k++)
            out[n + k] = layer->hit[k].hit;
        n += layer->n_hits;
    }
    return n;
}

/* Keep the hits of a candidate that no better one has; true: enough for a
 * track. */
static bool keep_free_hits(struct etx_candidate *candidate,
    const struct etx_first_pass_search *search, const int32_t *label)
{
    uint64_t layers = 0;
    int32_t n_layers = 0;
    int32_t n = 0;

    for (int32_t i = 0; i < candidate->n_hits; i++) {
        const int32_t hit = candidate->hit[i];
        const uint64_t bit = UINT64_C(1) << search->grid.row[hit].layer;

        if (label[hit] >= 0)
            continue;
        n_layers += (layers & bit) == 0;
        layers |= bit;
        candidate->hit[n++] = hit;
    }
    const bool is_enough =
        candidate->n_hits - n <= MAX_LOST && n_layers >= search->min_layers;
    candidate->n_hits = n;
    return is_enough;
}

/* Candidates become tracks, the best first. */
static etx_status accept(int32_t *label, int32_t *n_tracks,
    const struct pass *pass, struct etx_arena *arena)
{
    const int64_t n_all = pass->n_first * ETX_CANDIDATES_OF_HIT;
    int64_t *key = NULL;
    int32_t *order = NULL;
    etx_status status;

    ETX_SCRATCH(key, arena, n_all, "order of candidates");
    ETX_SCRATCH(order, arena, n_all, "order of candidates");
    for (int64_t k = 0; k < n_all; k++)
        key[k] = pass->candidate[k].n_hits > 0
                     ? etx_candidate_key(&pass->candidate[k])
                     : INT64_MAX;
    ETX_CHECK(etx_sort_order(order, key, n_all));
    for (int64_t k = 0; k < n_all && key[order[k]] != INT64_MAX; k++) {
        struct etx_candidate *const candidate = &pass->candidate[order[k]];

        if (!keep_free_hits(candidate, &pass->search[0], label))
            continue;
        for (int32_t i = 0; i < candidate->n_hits; i++)
            label[candidate->hit[i]] = *n_tracks;
        (*n_tracks)++;
    }
done:
    return status;
}

/* The curvature of a momentum where the field is strongest. Without a field it
 * is what the resolution of hits gives. */
static double curvature_of(const struct etx_completion *completion, double pt)
{
    double field = ETX_COMPLETION_MIN_FIELD;

    for (int32_t b = 0; b < ETX_COMPLETION_N_FIELD; b++)
        field = fmax(field, fabs((double)completion->field[b]));
    return ETX_GEV_PER_T_MM * field / pt;
}

static etx_status run_pass(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, struct etx_first_pass_search *search)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const int32_t n_threads = etx_pool_n_threads(context->stream->pool);
    struct etx_step_cache *cache = NULL;
    struct pass pass = {.stream = context->stream};
    etx_status status;

    ETX_CHECK(etx_check_cancelled(context->stream));
    etx_grid_fill(
        &search->grid, search->completion, label, search->event->n_hits);
    list_seeds(search);
    pass.n_first = list_first(NULL, search);
    ETX_SCRATCH(pass.first, arena, pass.n_first, "hits that begin tracks");
    ETX_SCRATCH(pass.candidate, arena, pass.n_first * ETX_CANDIDATES_OF_HIT,
        "candidates of tracks");
    (void)list_first(pass.first, search);
    ETX_SCRATCH(pass.search, arena, n_threads, "search of tracks");
    ETX_SCRATCH(cache, arena, n_threads, "steps of candidates");
    memset(cache, -1, (size_t)n_threads * sizeof *cache); /* no hit is -1 */
    for (int32_t k = 0; k < n_threads; k++) {
        pass.search[k] = *search;
        pass.search[k].cache = &cache[k];
    }
    ETX_CHECK(etx_parallel_for(context->stream->pool,
        (pass.n_first + BLOCK - 1) / BLOCK, search_block, &pass));
    ETX_CHECK(accept(label, n_tracks, &pass, arena));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_first_pass_search_make(struct etx_first_pass_search **out,
    struct etx_arena *arena, const struct etx_grid *grid,
    const struct etx_completion *completion, const struct etx_event *event)
{
    struct etx_first_pass_search *search = NULL; /* too large for a stack */
    etx_status status;

    ETX_SCRATCH(search, arena, 1, "search of tracks");
    *search = (struct etx_first_pass_search){
        .completion = completion, .event = event, .grid = *grid};
    *out = search;
done:
    return status;
}

/* The version for the level of the processor, or the lower one of the
 * options. */
static const struct etx_pair_functions *choose_pairs(
    const struct etx_context *context)
{
#if defined(__x86_64__)
    const int32_t wanted = context->options.cpu_level;

    if ((wanted == ETX_CPU_BEST ? etx_cpu_level() : wanted) >= ETX_CPU_AVX2)
        return &etx_pairs_avx2;
#else
    (void)context;
#endif
    return &etx_pairs_plain;
}

etx_status etx_first_pass_find(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_first_pass *first_pass,
    const struct etx_completion *completion,
    const etx_first_pass_options *options, const struct etx_event *event)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_first_pass_search *search = NULL;
    struct etx_grid *grid = NULL;
    etx_status status;

    *n_tracks = 0;
    for (int64_t i = 0; i < event->n_hits; i++)
        label[i] = -1;
    ETX_CHECK(etx_grid_make(&grid, arena, completion, event));
    ETX_CHECK(
        etx_first_pass_search_make(&search, arena, grid, completion, event));
    ETX_SCRATCH(search->seed, arena, first_pass->n_seeds, "seeds of a pass");
    search->first_pass = first_pass;
    search->pairs = choose_pairs(host);
    search->max_distance = (double)options->max_distance;
    search->max_random = (double)options->max_random;
    search->reach = sqrt(search->max_distance);
    search->seed_max_random = SEED_MAX_RANDOM;
    search->seed_max_of_hit = SEED_MAX_OF_HIT;
    search->max_unrelated = INFINITY;
    search->min_layers = options->min_layers;
    for (size_t pass = 0; pass < sizeof passes / sizeof *passes; pass++) {
        search->lacks_hit = passes[pass].lacks_hit;
        search->max_holes = passes[pass].max_holes;
        search->min_curvature =
            passes[pass].max_pt > 0.0
                ? curvature_of(completion, passes[pass].max_pt)
                : -1.0;
        search->max_curvature = curvature_of(
            completion, fmax(passes[pass].min_pt, (double)options->min_pt));
        ETX_CHECK(run_pass(label, n_tracks, host, search));
    }
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_new_tracks_find(int32_t *label, struct etx_context *context,
    const struct etx_grid *grid, const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_first_pass_search *search = NULL;
    int32_t n_tracks = etx_count_labels(label, event->n_hits);
    etx_status status;

    ETX_CHECK(
        etx_first_pass_search_make(&search, arena, grid, completion, event));
    search->leads_anywhere = true;
    search->pairs = choose_pairs(host);
    search->max_distance = NEW_MAX_DISTANCE;
    search->reach = sqrt(search->max_distance);
    search->max_curvature = curvature_of(completion, (double)options->min_pt);
    search->min_layers = options->min_layers;
    search->max_random = NEW_MAX_RANDOM;
    search->seed_max_random = NEW_SEED_MAX_RANDOM;
    search->seed_max_of_hit = SEED_MAX_OF_HIT;
    search->max_unrelated = NEW_MAX_UNRELATED;
    ETX_CHECK(run_pass(label, &n_tracks, host, search));
done:
    etx_arena_reset(arena, mark);
    return status;
}
