/* stage/track_building/completion.h -- give found tracks the hits they lack.
 *
 * Graph networks lose single edges, so tracks miss hits, most of all at their
 * ends. From each end of a track a helix through its last three layers predicts
 * where the track crosses the layers that may follow. A hit without a track
 * near the prediction is added; where the prediction meets an end of another
 * track, the two are joined. All ends compete: the most certain step is taken
 * first, in rounds, until nothing changes.
 *
 * How near is near is learned (train/completion): the residuals of true tracks
 * by direction, layer, next layer and transverse momentum.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_TRACK_BUILDING_COMPLETION_H
#define ETX_STAGE_TRACK_BUILDING_COMPLETION_H

#include "backend/backend.h"
#include "data/event.h"
#include "stage/track_building/track_helix.h"

#define ETX_COMPLETION_MAX_LAYERS 64
#define ETX_COMPLETION_N_PT       6  /* bins of transverse momentum */
#define ETX_COMPLETION_N_FIELD    24 /* bins of |z| */

/* Which way a track goes on from its end. */
enum { ETX_OUTWARD, ETX_INWARD, ETX_N_DIRECTIONS };
/* Which helix predicts: the one of the end, or the one towards the beam line.
 */
enum { ETX_HELIX_FREE, ETX_HELIX_BEAM, ETX_N_HELICES };

struct etx_completion_layer {
    int32_t volume_id, layer_id;
    int32_t is_barrel; /* 1: hits spread along z; 0: along the radius */
};

/* 68 % of true hits are nearer than this, mm; 0: none was seen. */
struct etx_completion_window {
    float transverse, longitudinal;
};

/* A layer that follows another along true tracks. */
struct etx_completion_step {
    int32_t to; /* layer */
    struct etx_completion_window window[ETX_N_HELICES][ETX_COMPLETION_N_PT];
};

/* What is learned; owned by the model, immutable. */
struct etx_completion {
    int32_t n_layers;
    struct etx_completion_layer layer[ETX_COMPLETION_MAX_LAYERS];
    float field_bin;                     /* mm of |z| */
    float field[ETX_COMPLETION_N_FIELD]; /* T, bending field along z */
    /* Steps from layer l in direction d: begin[d][l] .. begin[d][l + 1] - 1. */
    int32_t begin[ETX_N_DIRECTIONS][ETX_COMPLETION_MAX_LAYERS + 1];
    struct etx_completion_step *step;
};

/* How sure a step has to be. */
struct etx_completion_options {
    float max_distance; /* squared, in windows, of a hit */
    float max_join;     /* the same, of the end of another track */
    float max_random;   /* expected hits of chance that are as near */
};

/* The layer of every hit, or -1: layer [event->n_hits]. */
void etx_completion_layers(int32_t *layer,
    const struct etx_completion *completion, const struct etx_event *event);

/* The helix at the end of hit [n_hits], which lead to that end; for
 * ETX_HELIX_BEAM towards the beam line. layer is by hit of the event. false:
 * fewer than three layers, or no such helix. */
bool etx_completion_helix(struct etx_track_helix *out, int32_t kind,
    const float *position, const int32_t *layer, const int32_t *hit,
    int32_t n_hits);

/* Curvature near z of a helix: it follows the bending field. */
double etx_completion_curvature(const struct etx_completion *completion,
    const struct etx_track_helix *helix, double z);

/* The bin of its transverse momentum. */
int32_t etx_completion_pt_bin(const struct etx_completion *completion,
    const struct etx_track_helix *helix);

/* label [event->n_hits], -1 for hits of no track, others from 0 on: hits get
 * the label of the track they were added to; of joined tracks one label stays.
 * The event has layers. Deterministic for any number of threads. */
etx_status etx_complete_labels(int32_t *label, struct etx_context *context,
    const struct etx_completion *completion,
    const struct etx_completion_options *options,
    const struct etx_event *event);

#endif
