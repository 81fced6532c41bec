/* stage/completion/completion.c -- rounds of steps, the most certain first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/completion/completion.h"

#include "base/check.h"
#include "base/sort.h"
#include "data/hit_order.h"
#include "data/tracks.h"
#include "stage/completion/search.h"

#include <string.h>

#define MAX_ROUNDS 16
#define MIN_HITS   3  /* of a track that goes on */
#define BLOCK      16 /* tracks of one task */

/* What is known of an end. */
enum end_state { END_CHANGED, END_PROPOSED, END_FINISHED };

/* How a track changed in this round. */
enum track_change { UNCHANGED, EXTENDED, JOINED };

struct rounds {
    struct etx_completion_search search;
    struct etx_completion_proposal *proposal; /* [n_tracks, 2] */
    uint8_t *state;                           /* [n_tracks, 2] end_state */
    uint8_t *change;                          /* [n_tracks] track_change */
    int64_t *key;                             /* [n_tracks, 2] */
    int32_t *end;                             /* [n_tracks, 2] */
    int32_t *order;                           /* [n_tracks, 2] */
};

/* Add a layer, -1 for none, to the layers of a track. */
static void add_layer(
    struct etx_hit_chains *chains, int32_t track, int32_t layer)
{
    const uint64_t bit = layer >= 0 ? UINT64_C(1) << layer : 0;

    chains->twice[track] |= chains->layers[track] & bit;
    chains->layers[track] |= bit;
}

/* Link the hits of every track in the order hit [begin[n_tracks]]. */
static void link_hits(struct etx_hit_chains *chains, const int32_t *begin,
    const int32_t *hit, const int32_t *layer, int64_t n_hits)
{
    for (int64_t i = 0; i < n_hits; i++)
        chains->next[i] = chains->previous[i] = -1;
    for (int32_t t = 0; t < chains->n_tracks; t++) {
        const int32_t n = begin[t + 1] - begin[t];
        const int32_t *const own = hit + begin[t];

        chains->n_hits[t] = n;
        chains->end[ETX_INWARD][t] = n > 0 ? own[0] : -1;
        chains->end[ETX_OUTWARD][t] = n > 0 ? own[n - 1] : -1;
        chains->layers[t] = chains->twice[t] = 0;
        for (int32_t k = 0; k < n; k++)
            add_layer(chains, t, layer[own[k]]);
        for (int32_t k = 1; k < n; k++) {
            chains->next[own[k - 1]] = own[k];
            chains->previous[own[k]] = own[k - 1];
        }
    }
}

static etx_status make_chains(struct etx_hit_chains *chains, int32_t *label,
    struct etx_arena *arena, const struct etx_grid *grid,
    const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    const int32_t n_tracks = etx_count_labels(label, n);
    int32_t *begin = NULL;
    int32_t *hit = NULL;
    etx_status status;

    chains->n_tracks = n_tracks;
    chains->label = label;
    ETX_SCRATCH(chains->next, arena, n, "hits of tracks");
    ETX_SCRATCH(chains->previous, arena, n, "hits of tracks");
    ETX_SCRATCH(chains->n_hits, arena, n_tracks, "hits of tracks");
    ETX_SCRATCH(chains->layers, arena, n_tracks, "layers of tracks");
    ETX_SCRATCH(chains->twice, arena, n_tracks, "layers of tracks");
    for (int32_t d = 0; d < ETX_N_DIRECTIONS; d++)
        ETX_SCRATCH(chains->end[d], arena, n_tracks, "ends of tracks");
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    ETX_SCRATCH(begin, arena, (int64_t)n_tracks + 1, "order of hits");
    ETX_SCRATCH(hit, arena, n, "order of hits");
    ETX_CHECK(etx_order_hits(begin, hit, label, n_tracks, event, 0));
    link_hits(chains, begin, hit, grid->layer, n);
    etx_arena_reset(arena, mark);
done:
    return status;
}

static int32_t opposite_of(int32_t direction)
{
    return ETX_OUTWARD + ETX_INWARD - direction;
}

/* ------------------------------------------------------------- proposals -- */

/* Whether a proposal still holds. */
static bool is_open(const struct etx_hit_chains *chains,
    const struct etx_completion_proposal *proposal, int32_t direction)
{
    if (chains->label[proposal->hit] != proposal->track)
        return false;
    return proposal->track < 0 ||
           chains->end[opposite_of(direction)][proposal->track] ==
               proposal->hit;
}

static void propose(struct rounds *rounds, int32_t track, int32_t direction)
{
    const int64_t e = ETX_N_DIRECTIONS * (int64_t)track + direction;
    struct etx_completion_proposal *proposal = &rounds->proposal[e];

    if (rounds->state[e] == END_PROPOSED &&
        !is_open(&rounds->search.chains, proposal, direction))
        rounds->state[e] = END_CHANGED;
    if (rounds->state[e] != END_CHANGED)
        return;
    etx_completion_propose(proposal, &rounds->search, track, direction);
    rounds->state[e] = proposal->hit >= 0 ? END_PROPOSED : END_FINISHED;
}

static etx_status propose_block(
    void *argument, int64_t begin, int64_t end, int32_t worker)
{
    struct rounds *rounds = argument;
    const struct etx_hit_chains *const chains = &rounds->search.chains;

    (void)worker;
    for (int64_t t = begin; t < end; t++)
        for (int32_t d = 0; chains->n_hits[t] >= MIN_HITS && d < 2; d++)
            propose(rounds, (int32_t)t, d);
    return ETX_OK;
}

/* Ends with a proposal by cost, ties by track: end [*n] through order. */
static etx_status sort_proposals(struct rounds *rounds, int64_t *n)
{
    const struct etx_hit_chains *const chains = &rounds->search.chains;

    *n = 0;
    for (int64_t e = 0; e < ETX_N_DIRECTIONS * (int64_t)chains->n_tracks; e++) {
        if (chains->n_hits[e / 2] < MIN_HITS ||
            rounds->state[e] != END_PROPOSED)
            continue;
        rounds->key[*n] = etx_sort_key(rounds->proposal[e].cost);
        rounds->end[(*n)++] = (int32_t)e;
    }
    return etx_sort_order(rounds->order, rounds->key, *n);
}

/* ----------------------------------------------------------------- steps -- */

/* The proposal of the end does not hold any more. */
static void add_hit(
    struct rounds *rounds, int32_t track, int32_t direction, int32_t hit)
{
    struct etx_hit_chains *chains = &rounds->search.chains;
    const int32_t end = chains->end[direction][track];

    if (direction == ETX_OUTWARD) {
        chains->next[end] = hit;
        chains->previous[hit] = end;
    } else {
        chains->previous[end] = hit;
        chains->next[hit] = end;
    }
    chains->end[direction][track] = hit;
    chains->label[hit] = track;
    chains->n_hits[track]++;
    add_layer(chains, track, rounds->search.grid->layer[hit]);
    rounds->change[track] = EXTENDED;
}

/* Whether more than one hit of b is on a layer of a. */
static bool share_layers(
    const struct etx_completion_search *search, int32_t a, int32_t b)
{
    const uint64_t shared = search->chains.layers[a] & search->chains.layers[b];

    return (shared & (shared - 1)) != 0 ||
           (shared & search->chains.twice[b]) != 0;
}

/* Whether the tracks go on into each other, seen from either end. */
static bool can_join(
    const struct etx_completion_search *search, int32_t inner, int32_t outer)
{
    const struct etx_hit_chains *const chains = &search->chains;

    return !share_layers(search, inner, outer) &&
           etx_completion_meets(
               search, outer, ETX_INWARD, chains->end[ETX_OUTWARD][inner]) &&
           etx_completion_meets(
               search, inner, ETX_OUTWARD, chains->end[ETX_INWARD][outer]);
}

/* Append the hits of outer to inner, with the label of inner. */
static void join(struct rounds *rounds, int32_t inner, int32_t outer)
{
    struct etx_hit_chains *chains = &rounds->search.chains;
    const int32_t last = chains->end[ETX_OUTWARD][inner];
    const int32_t first = chains->end[ETX_INWARD][outer];

    chains->next[last] = first;
    chains->previous[first] = last;
    for (int32_t i = first; i >= 0; i = chains->next[i])
        chains->label[i] = inner;
    chains->end[ETX_OUTWARD][inner] = chains->end[ETX_OUTWARD][outer];
    chains->n_hits[inner] += chains->n_hits[outer];
    chains->n_hits[outer] = 0;
    chains->twice[inner] |=
        chains->twice[outer] | (chains->layers[inner] & chains->layers[outer]);
    chains->layers[inner] |= chains->layers[outer];
    rounds->change[inner] = rounds->change[outer] = JOINED;
    for (int32_t d = 0; d < ETX_N_DIRECTIONS; d++)
        rounds->state[ETX_N_DIRECTIONS * (int64_t)inner + d] = END_CHANGED;
}

/* Accept the step from end e, unless an earlier one excludes it; true when it
 * was accepted. */
static bool accept_step(struct rounds *rounds, int32_t e)
{
    const struct etx_completion_proposal *const proposal = &rounds->proposal[e];
    const struct etx_hit_chains *const chains = &rounds->search.chains;
    const int32_t track = e / ETX_N_DIRECTIONS;
    const int32_t direction = e % ETX_N_DIRECTIONS;
    const int32_t other = proposal->track;

    if (chains->n_hits[track] == 0 || !is_open(chains, proposal, direction))
        return false;
    if (other < 0) {
        if (rounds->change[track] == JOINED)
            return false;
        add_hit(rounds, track, direction, proposal->hit);
        return true;
    }
    if (rounds->change[track] != UNCHANGED ||
        rounds->change[other] != UNCHANGED)
        return false;
    const int32_t inner = direction == ETX_OUTWARD ? track : other;
    const int32_t outer = direction == ETX_OUTWARD ? other : track;
    if (!can_join(&rounds->search, inner, outer)) {
        rounds->state[e] = END_FINISHED;
        return false;
    }
    join(rounds, inner, outer);
    return true;
}

/* One round; *n_steps are accepted. */
static etx_status run_round(
    int64_t *n_steps, struct rounds *rounds, struct etx_context *context)
{
    const int64_t n_tracks = rounds->search.chains.n_tracks;
    int64_t n;
    etx_status status;

    *n_steps = 0;
    ETX_CHECK(etx_check_cancelled(context->stream));
    ETX_CHECK(etx_parallel_ranges(
        context->stream->pool, n_tracks, BLOCK, propose_block, rounds));
    ETX_CHECK(sort_proposals(rounds, &n));
    memset(rounds->change, UNCHANGED, (size_t)n_tracks);
    for (int64_t k = 0; k < n; k++)
        *n_steps += accept_step(rounds, rounds->end[rounds->order[k]]);
done:
    return status;
}

/* The hits that a step may lead to: those without a track, and the ends of
 * tracks that lead the other way. No step makes another hit one of them. */
static etx_status fill_grids(struct etx_completion_search *search,
    struct etx_arena *arena, const struct etx_grid *grid)
{
    const struct etx_hit_chains *const chains = &search->chains;
    const int64_t n = search->event->n_hits;
    bool *is_end = NULL;
    etx_status status;

    ETX_SCRATCH(is_end, arena, n, "ends of tracks");
    search->grid[0] = *grid;
    etx_grid_measure(search->grid, search->completion, n);
    search->grid[1] = search->grid[0];
    ETX_CHECK(etx_grid_make_bins(&search->grid[1], arena, n));
    for (int32_t d = 0; d < ETX_N_DIRECTIONS; d++) {
        const int32_t *const end = chains->end[opposite_of(d)];

        memset(is_end, 0, (size_t)n * sizeof *is_end);
        for (int32_t t = 0; t < chains->n_tracks; t++)
            if (end[t] >= 0)
                is_end[end[t]] = true;
        etx_grid_fill_with(
            &search->grid[d], search->completion, chains->label, is_end, n);
    }
done:
    return status;
}

static etx_status make_rounds(struct rounds *rounds, struct etx_arena *arena)
{
    const int64_t n_tracks = rounds->search.chains.n_tracks;
    const int64_t n = ETX_N_DIRECTIONS * n_tracks;
    etx_status status;

    ETX_SCRATCH(rounds->proposal, arena, n, "steps of tracks");
    ETX_SCRATCH(rounds->state, arena, n, "ends of tracks");
    ETX_SCRATCH(rounds->change, arena, n_tracks, "changes of tracks");
    ETX_SCRATCH(rounds->key, arena, n, "order of steps");
    ETX_SCRATCH(rounds->end, arena, n, "order of steps");
    ETX_SCRATCH(rounds->order, arena, n, "order of steps");
    memset(rounds->state, END_CHANGED, (size_t)n);
done:
    return status;
}

etx_status etx_complete_labels(int32_t *label, struct etx_context *context,
    const struct etx_grid *grid, const struct etx_completion *completion,
    const etx_completion_options *options, const struct etx_event *event)
{
    struct etx_context *host = etx_host_of(context);
    struct etx_arena *arena = host->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct rounds *rounds = NULL; /* 20 kB: too large for small stacks */
    int64_t n_steps = 1;
    etx_status status;

    ETX_SCRATCH(rounds, arena, 1, "completion of tracks");
    memset(rounds, 0, sizeof *rounds);
    rounds->search.completion = completion;
    rounds->search.options = options;
    rounds->search.reach = sqrt((double)options->max_distance);
    rounds->search.event = event;
    ETX_CHECK(make_chains(&rounds->search.chains, label, arena, grid, event));
    ETX_CHECK(fill_grids(&rounds->search, arena, grid));
    ETX_CHECK(make_rounds(rounds, arena));
    for (int32_t round = 0; round < MAX_ROUNDS && n_steps > 0; round++)
        ETX_CHECK(run_round(&n_steps, rounds, host));
done:
    etx_arena_reset(arena, mark);
    return status;
}
