/* stage/completion/search.h -- hits near a predicted point.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_COMPLETION_SEARCH_H
#define ETX_STAGE_COMPLETION_SEARCH_H

#include "stage/completion/completion.h"
#include "stage/helix/crossing.h"

/* Tracks as chains of hits from inside out. */
struct etx_hit_chains {
    int32_t n_tracks;
    int32_t *label;                 /* [n_hits] track, -1: none */
    int32_t *next, *previous;       /* [n_hits] -1: none */
    int32_t *end[ETX_N_DIRECTIONS]; /* [n_tracks] last hit, first hit */
    int32_t *n_hits;                /* [n_tracks] 0: joined to another */
    uint64_t *layers,
        *twice; /* [n_tracks] bit l: hits on layer l; two or more */
};

/* What a search reads; arrays in the arena. */
struct etx_completion_search {
    const struct etx_completion *completion;
    const etx_completion_options *options;
    double reach; /* root of options->max_distance */
    const struct etx_event *event;
    /* By direction: the hits that a step may lead to. */
    struct etx_grid grid[ETX_N_DIRECTIONS];
    struct etx_hit_chains chains;
};

/* The best step on from the end of a track. */
struct etx_completion_proposal {
    float cost;    /* the lower, the more certain */
    int32_t hit;   /* -1: there is none */
    int32_t track; /* whose other end the hit is; -1: of no track */
};

/* The best step of track in direction. */
void etx_completion_propose(struct etx_completion_proposal *out,
    const struct etx_completion_search *search, int32_t track,
    int32_t direction);

/* Whether the helix of this end meets the hit. */
bool etx_completion_meets(const struct etx_completion_search *search,
    int32_t track, int32_t direction, int32_t hit);

#endif
