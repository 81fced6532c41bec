/* stage/helix/layer_table.h -- what completion has learned.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_HELIX_LAYER_TABLE_H
#define ETX_STAGE_HELIX_LAYER_TABLE_H

#include "data/event.h"
#include "data/learned_table.h"

#include <stdbool.h>

#define ETX_COMPLETION_MAX_LAYERS 64
#define ETX_CANDIDATE_MAX_LAYERS  20 /* of a track that is found by helices */
#define ETX_COMPLETION_N_PT       6  /* bins of transverse momentum */
#define ETX_COMPLETION_N_FIELD    24 /* bins of |z| */
#define ETX_COMPLETION_FIELD_BIN  125.0f /* mm */

/* Which way a track continues beyond its end. */
enum { ETX_OUTWARD, ETX_INWARD, ETX_N_DIRECTIONS };
/* Which helix predicts: that of the last hits, or of hits and the beam line. */
enum { ETX_HELIX_FREE, ETX_HELIX_BEAM, ETX_N_HELICES };
/* Columns of the arrays below. */
enum {
    ETX_LAYER_VOLUME,
    ETX_LAYER_LAYER,
    ETX_LAYER_IS_BARREL,
    ETX_LAYER_WIDTH
};
enum { ETX_STEP_DIRECTION, ETX_STEP_FROM, ETX_STEP_TO, ETX_STEP_WIDTH };

#define ETX_COMPLETION_N_WINDOWS (ETX_N_HELICES * ETX_COMPLETION_N_PT)

/* 68 % of true hits are nearer than this, mm; 0: not measured. */
struct etx_completion_window {
    float transverse, longitudinal;
};

/* The layers of the detector, the layers that follow each other along tracks,
 * and how well a helix predicts the hits there. Arrays are as in a model file;
 * the table is immutable and owned by its model. */
struct etx_completion {
    const struct etx_table_kind *kind; /* etx_completion_kind */
    int64_t n_layers, n_steps;
    int64_t *layer; /* [n_layers, ETX_LAYER_WIDTH]; a barrel's hits spread
                     * along z, a disc's along the radius */
    int64_t *step;  /* [n_steps, ETX_STEP_WIDTH] ascending by direction, layer
                     * before, layer after */
    struct etx_completion_window *window; /* [n_steps, n_helices, n_pt] */
    float *field; /* [ETX_COMPLETION_N_FIELD] T, bending field by |z| */
    /* Steps from layer l in direction d: begin[d][l] .. begin[d][l + 1] - 1;
     * made by etx_completion_check. */
    int64_t begin[ETX_N_DIRECTIONS][ETX_COMPLETION_MAX_LAYERS + 1];
};

static inline bool etx_completion_is_barrel(
    const struct etx_completion *completion, int32_t layer)
{
    return completion->layer[layer * ETX_LAYER_WIDTH + ETX_LAYER_IS_BARREL] !=
           0;
}

static inline int32_t etx_completion_step_to(
    const struct etx_completion *completion, int64_t step)
{
    return (int32_t)completion->step[step * ETX_STEP_WIDTH + ETX_STEP_TO];
}

static inline struct etx_completion_window *etx_completion_window(
    const struct etx_completion *completion, int64_t step, int32_t helix,
    int32_t pt_bin)
{
    return &completion->window[step * ETX_COMPLETION_N_WINDOWS +
                               helix * ETX_COMPLETION_N_PT + pt_bin];
}

/* The window of the free helix for the step from one layer to another; NULL:
 * not measured. */
const struct etx_completion_window *etx_step_window(
    const struct etx_completion *completion, int32_t direction, int32_t from,
    int32_t to, int32_t pt_bin);

/* The same outward, or else of the way back: where tracks begin, the step from
 * layer to layer is known inward alone. */
const struct etx_completion_window *etx_window_between(
    const struct etx_completion *completion, int32_t from, int32_t to,
    int32_t pt_bin);

/* Arrays: layers, steps, windows, field. */
extern const struct etx_table_kind etx_completion_kind;

/* Check every number and fill begin; ETX_ERR_FORMAT names what is wrong. */
etx_status etx_completion_check(struct etx_completion *completion);

/* The layer of every hit, or -1: layer [event->n_hits]. */
void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event);

/* The windows [n] of a table, which messages call owner. */
etx_status etx_completion_check_windows(
    const struct etx_completion_window *window, int64_t n, const char *owner);

#endif
