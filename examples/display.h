/* examples/display.h -- what an event display shows: hits, tracks, and the
 * particles that were missed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EXAMPLES_DISPLAY_H
#define EXAMPLES_DISPLAY_H

#include <exatrkx/exatrkx.h>

#define DISPLAY_NONE (-1)

/* Particles that should be found: charged, with this many hits or more, pT
 * above, |eta| below. */
#define DISPLAY_MIN_HITS 5
#define DISPLAY_MIN_PT   0.5 /* GeV */
#define DISPLAY_MAX_ETA  4.0

/* A hit of a line, and its squared distance from the origin, mm^2. */
struct display_step {
    double distance2;
    int32_t hit;
};

/* What is drawn. */
struct display {
    const etx_event *event;
    const etx_tracks *tracks;
    int64_t n_hits;
    const float *position;     /* [n_hits, 3] mm */
    uint8_t *is_used;          /* [n_hits] on some track */
    struct display_step *path; /* [n_hits] scratch: the hits of one line */
    int32_t *first;     /* [n_particles] a hit of each, or DISPLAY_NONE */
    int32_t *next;      /* [n_hits] the next of its particle */
    uint8_t *is_missed; /* [n_particles] should be found and is not */
    int64_t n_used, n_missed, n_findable;
};

/* Borrows event and tracks. Returns 0, or prints why and returns
 * PROGRAM_FAILED; release in either case. */
int display_prepare(
    struct display *d, const etx_event *event, const etx_tracks *tracks);
void display_release(struct display *d);

#endif
