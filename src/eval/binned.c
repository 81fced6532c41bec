/* eval/binned.c -- efficiency against a property of particles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "eval/metrics.h"

#include "base/check.h"
#include "base/heap.h"
#include "data/particle.h"

/* The bin b with edges[b] <= value < edges[b + 1], -1 outside. */
static int64_t find_bin(const double *edges, int64_t n_bins, double value)
{
    int64_t low = 0;
    int64_t high = n_bins;

    if (!(value >= edges[0] && value < edges[n_bins]))
        return -1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;

        if (value >= edges[middle])
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* nearest: the values where that is the variable, else NULL. */
static double value_of(const etx_particle *particle, int32_t variable,
    const double *nearest, int64_t p)
{
    if (nearest != NULL)
        return nearest[p];
    switch (variable) {
    case ETX_VARIABLE_PT:
        return etx_particle_pt(particle);
    case ETX_VARIABLE_ETA:
        return etx_particle_eta(particle);
    default:
        return etx_particle_radius(particle);
    }
}

etx_status etx_count_binned(int64_t *total, int64_t *matched,
    const struct etx_event *event, const struct etx_tracks *tracks,
    int32_t variable, int64_t n_bins, const double *edges,
    const etx_evaluation_options *options)
{
    struct etx_matching matching = {.particle = NULL};
    double *nearest = NULL;
    etx_status status;

    ETX_CHECK(etx_match_tracks(&matching, event, tracks, options));
    if (variable == ETX_VARIABLE_NEAREST) {
        ETX_NEW(nearest, event->n_particles, "distances of particles");
        ETX_CHECK(etx_nearest_particles(nearest, event,
            matching.hits_of_particle, options->min_particle_hits));
    }
    for (int64_t p = 0; p < event->n_particles; p++) {
        const etx_particle *particle = &event->particles[p];
        int64_t bin;

        if (matching.hits_of_particle[p] < options->min_particle_hits ||
            !etx_particle_is_selected(particle, options))
            continue;
        bin = find_bin(edges, n_bins, value_of(particle, variable, nearest, p));
        if (bin < 0)
            continue;
        total[bin]++;
        matched[bin] += matching.is_matched[p];
    }
done:
    etx_free(nearest);
    etx_matching_release(&matching);
    return status;
}
