/* stage/first_pass/search.h -- from seeds to candidates of tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_FIRST_PASS_SEARCH_H
#define ETX_STAGE_FIRST_PASS_SEARCH_H

#include "stage/first_pass/first_pass.h"
#include "stage/helix/crossing.h"

struct etx_pair_functions;

#define ETX_CANDIDATE_MAX_HITS 32
#define ETX_CANDIDATES_OF_HIT  2 /* the best that begin at one hit */

/* The bounds of the work for one first hit where hits crowd, far above what
 * heavy events need. */
#define ETX_MAX_CANDIDATES 256
#define ETX_MAX_VISITS     4096 /* of hits, for all its candidates */

/* Hits that may be a track, from inside out. */
struct etx_candidate {
    int32_t n_hits, n_layers;
    int32_t n_holes; /* layers that were crossed without a hit */
    uint32_t gaps;   /* bit k: a hit may be missing before hit k */
    uint64_t layers; /* bit l: a hit is on layer l */
    float distance;  /* sum over the hits but the first two */
    float random; /* unrelated candidates of its first two hits that are as near
                   */
    int32_t hit[ETX_CANDIDATE_MAX_HITS];
    int32_t n_visits; /* of hits, to find these */
};

/* A candidate of three hits; those after them are not set. */
static inline void etx_candidate_begin(struct etx_candidate *candidate,
    int32_t a, int32_t b, int32_t c, float distance, float random,
    uint32_t gaps)
{
    candidate->n_hits = 3;
    candidate->n_layers = candidate->n_holes = 0;
    candidate->gaps = gaps;
    candidate->layers = 0;
    candidate->distance = distance;
    candidate->random = random;
    candidate->n_visits = 0;
    candidate->hit[0] = a;
    candidate->hit[1] = b;
    candidate->hit[2] = c;
}

#define ETX_CACHED_STEPS 256 /* at a time, by the hits that they depend on */

/* The hit that follows three others. */
struct etx_next_hit {
    int32_t last[3];      /* of the candidate, which has */
    int32_t n_holes;      /* this number of holes and */
    uint64_t layers;      /* these layers */
    int32_t hit;          /* -1: the track ends */
    int32_t n_more_holes; /* before it */
    float distance;
    float random; /* unrelated hits expected as near */
    int32_t n_visits;
};

/* Up to two hits on the layer of one, of other modules than that and each
 * other. */
struct etx_overlap {
    int32_t around[3]; /* hits that follow each other */
    int32_t at;        /* which one of them */
    int32_t hit[2];    /* -1: none */
    int32_t n_visits;
    double distance[2];
    double random[2]; /* unrelated hits expected as near */
};

/* What a thread has found last: candidates often go on through the same hits.
 * Results depend on what is stored with them alone. */
struct etx_step_cache {
    struct etx_next_hit next[ETX_CACHED_STEPS];
    struct etx_overlap overlap[ETX_CACHED_STEPS];
    /* Of the first hit of this search, so far: */
    int32_t n_candidates;
    int32_t n_visits; /* also those whose result was found here */
};

/* What a search reads. first_pass may be NULL where seeds lead anywhere. */
struct etx_first_pass_search {
    const struct etx_first_pass *first_pass;
    const struct etx_completion *completion;
    const struct etx_event *event;
    struct etx_grid grid;
    double max_distance, max_random; /* of a hit, as of the options */
    double reach;                    /* root of max_distance */
    double seed_max_random;          /* of the third hit of a seed */
    double seed_max_of_hit;          /* the same, all seeds of a first hit */
    double max_unrelated;            /* candidates that are as near as one */
    int32_t min_layers;              /* of a candidate */
    bool leads_anywhere; /* seeds need not come from the beam line */
    /* Of this pass: */
    int64_t n_seeds;
    int64_t *seed; /* [n_seeds] rows of the table */
    const struct etx_pair_functions *pairs;
    double min_curvature, max_curvature; /* 1/mm */
    int32_t lacks_hit;                   /* 1: seeds that lack a hit */
    int32_t max_holes;                   /* of a candidate */
    struct etx_step_cache *cache;        /* of this thread */
};

/* With the hits of an event, in arena; the rest of *out is zero. */
etx_status etx_first_pass_search_make(struct etx_first_pass_search **out,
    struct etx_arena *arena, const struct etx_grid *grid,
    const struct etx_completion *completion, const struct etx_event *event);

/* Unrelated hits per unit of distance. */
static inline double etx_random_hits_at(
    const struct etx_layer_crossing *crossing)
{
    return etx_window_random_hits(
        crossing->window, etx_grid_density(crossing->layer, crossing->across));
}

/* Begin a walk over the hits near a crossing: not beyond max_distance, nor
 * beyond the distance within which max_random unrelated ones are expected.
 * Returns it; the window of *crossing becomes as small. */
static inline double etx_crossing_begin_near(struct etx_grid_walk *walk,
    struct etx_layer_crossing *crossing,
    const struct etx_first_pass_search *search, double max_random)
{
    double distance = search->max_distance;

    /* Quick: it is nowhere as dense. */
    if (distance * etx_window_random_hits(
                       crossing->window, crossing->layer->max_density) >
        max_random) {
        const double random_hits = etx_random_hits_at(crossing);

        if (random_hits * distance > max_random) {
            distance = max_random / random_hits;
            etx_crossing_shrink(crossing, search->reach, sqrt(distance));
        }
    }
    etx_crossing_begin(walk, crossing);
    return distance;
}

/* Add the hits on the layers that follow, at most one a layer. */
void etx_candidate_extend(struct etx_candidate *candidate,
    const struct etx_first_pass_search *search);
/* Add hits in its gaps. */
void etx_candidate_fill(struct etx_candidate *candidate,
    const struct etx_first_pass_search *search);
/* Add the second and third hits on its layers, where modules overlap. */
void etx_candidate_add_overlaps(struct etx_candidate *candidate,
    const struct etx_first_pass_search *search);

/* The order of candidates: the more hits and layers, then the smaller distance
 * per hit comes first. */
int64_t etx_candidate_key(const struct etx_candidate *candidate);

/* The best candidates [ETX_CANDIDATES_OF_HIT] that begin at hit first, the best
 * first; others have n_hits 0. */
void etx_seed_candidates(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first);
/* The same from seeds that lead anywhere. */
void etx_free_candidates(struct etx_candidate *best,
    const struct etx_first_pass_search *search, int32_t first);
/* Add the other hits of a candidate, which has three, and offer it to the best
 * [ETX_CANDIDATES_OF_HIT]. */
void etx_candidate_finish(struct etx_candidate *best,
    const struct etx_first_pass_search *search,
    struct etx_candidate *candidate);

/* Whether the first hit may have another candidate. */
static inline bool etx_candidate_is_allowed(
    const struct etx_first_pass_search *search)
{
    return search->cache->n_candidates < ETX_MAX_CANDIDATES &&
           search->cache->n_visits < ETX_MAX_VISITS;
}

#endif
