/* train/sampling/hard_negatives.h -- pairs of query hits with the points near
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_TRAIN_SAMPLING_HARD_NEGATIVES_H
#define ETX_TRAIN_SAMPLING_HARD_NEGATIVES_H

#include "backend/backend.h"
#include "base/random.h"

struct etx_hard_negatives_args {
    int64_t n_points;
    int32_t n_dim;
    const float *point;      /* [n_points, n_dim] */
    const int32_t *particle; /* [n_points] equal ones make no pair, unless
                              * negative */
    int64_t n_queries;
    const int32_t *query; /* [n_queries] */
    float radius;
    int32_t n_nearest; /* pairs per query: the nearest within the radius */
    int32_t n_other;   /* and at most this many of the others, random */
    int32_t n_pool;    /* others are of the nearest n_pool; 0 = any within */
    int32_t with_own;  /* not 0: hits of the same particle make pairs, too */
    uint64_t seed;     /* of the random draws, one stream per query */
};

/* Pairs (a = query, b) in scratch, in the order of the queries; the same for
 * any number of threads. Brute force: for a thousand queries that is
 * cheaper than a tree, as most of the sector is within the radius when a
 * training begins. */
etx_status etx_hard_negatives(int32_t **a, int32_t **b, int64_t *n_pairs,
    struct etx_stream *stream, const struct etx_hard_negatives_args *args);

#endif
