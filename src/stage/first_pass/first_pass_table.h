/* stage/first_pass/first_pass_table.h -- what the first pass has learned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_FIRST_PASS_FIRST_PASS_TABLE_H
#define ETX_STAGE_FIRST_PASS_FIRST_PASS_TABLE_H

#include "stage/helix/layer_table.h"

#define ETX_SEED_LAYERS 3 /* of a seed, from inside out */
/* Columns of the array of seeds: the layers, and 1 where tracks begin so only
 * when they lack a hit. */
enum { ETX_SEED_LACKS_HIT = ETX_SEED_LAYERS, ETX_SEED_WIDTH };

/* The three layers that tracks from the beam line begin with, all or without
 * one hit, and how well the helix through the beam line and the first two
 * predicts the hit on the third. Arrays are as in a model file; immutable and
 * owned by its model. */
struct etx_first_pass {
    const struct etx_table_kind *kind; /* etx_first_pass_kind */
    int64_t n_seeds;
    int64_t *seed; /* [n_seeds, ETX_SEED_WIDTH] of layers of the completion,
                    * ascending */
    struct etx_completion_window *window; /* [n_seeds, n_pt] */
    float *beam; /* [2] mm: tracks begin at |z - beam[0]| <= beam[1] */
};

/* Arrays: seeds, windows, beam. */
extern const struct etx_table_kind etx_first_pass_kind;

/* Check every number; ETX_ERR_FORMAT names what is wrong. */
etx_status etx_first_pass_check(
    const struct etx_first_pass *first_pass, int64_t n_layers);

#endif
