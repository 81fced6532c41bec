/* examples/display.c -- what an event display shows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "display.h"

#include <math.h>
#include <stdlib.h>

#include <exatrkx/eval.h>

#include "program.h"

/* Row of the event's particles, which ascend by id; DISPLAY_NONE for noise. */
static int64_t find_particle(const etx_event *event, int64_t id)
{
    const etx_particle *particles = etx_event_particles(event);
    const int64_t n = etx_event_n_particles(event);
    int64_t low = 0;
    int64_t high = n;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;

        if (particles[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && particles[low].id == id ? low : DISPLAY_NONE;
}

static int is_findable(const struct display *d, int64_t p)
{
    const etx_particle *particle = &etx_event_particles(d->event)[p];
    const double pt =
        hypot((double)particle->momentum[0], (double)particle->momentum[1]);
    int64_t n = 0;

    for (int32_t i = d->first[p]; i != DISPLAY_NONE; i = d->next[i])
        n++;
    return n >= DISPLAY_MIN_HITS && particle->charge != 0 &&
           pt > DISPLAY_MIN_PT &&
           fabs(asinh((double)particle->momentum[2] / pt)) < DISPLAY_MAX_ETA;
}

/* Which particles did no track find? Returns 0, or prints why and 1. */
static int find_missed(struct display *d)
{
    const int64_t n_particles = etx_event_n_particles(d->event);
    const int64_t *ids = etx_event_particle_ids(d->event);

    d->first = program_allocate(n_particles, sizeof *d->first);
    d->next = program_allocate(d->n_hits, sizeof *d->next);
    d->is_missed = program_allocate(n_particles, sizeof *d->is_missed);
    if (ids == NULL)
        return 0;
    if (etx_match(NULL, d->is_missed, d->event, d->tracks, NULL) != ETX_OK)
        return program_failed(NULL);
    for (int64_t p = 0; p < n_particles; p++)
        d->first[p] = DISPLAY_NONE;
    for (int64_t i = d->n_hits - 1; i >= 0; i--) {
        const int64_t p = find_particle(d->event, ids[i]);

        d->next[i] = p == DISPLAY_NONE ? DISPLAY_NONE : d->first[p];
        if (p != DISPLAY_NONE)
            d->first[p] = (int32_t)i;
    }
    for (int64_t p = 0; p < n_particles; p++) {
        const int findable = is_findable(d, p);

        d->is_missed[p] = findable && !d->is_missed[p];
        d->n_findable += findable;
        d->n_missed += d->is_missed[p];
    }
    return 0;
}

int display_prepare(
    struct display *d, const etx_event *event, const etx_tracks *tracks)
{
    const int64_t *offsets = etx_tracks_offsets(tracks);

    *d = (struct display){
        .event = event,
        .tracks = tracks,
        .n_hits = etx_event_n_hits(event),
        .position = etx_event_positions(event),
    };
    d->is_used = program_allocate(d->n_hits, sizeof *d->is_used);
    d->path = program_allocate(d->n_hits, sizeof *d->path);
    for (int64_t k = 0; k < offsets[etx_tracks_count(tracks)]; k++)
        d->is_used[etx_tracks_hits(tracks)[k]] = 1;
    for (int64_t i = 0; i < d->n_hits; i++)
        d->n_used += d->is_used[i];
    return find_missed(d);
}

void display_release(struct display *d)
{
    free(d->is_used);
    free(d->path);
    free(d->first);
    free(d->next);
    free(d->is_missed);
}
