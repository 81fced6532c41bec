/* api/evaluate.c -- tracks compared with the truth.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/options.h"
#include "base/status.h"
#include "eval/metrics.h"
#include "stage/options.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Sizes of the structs in their first release. */
#define COUNTS_FIRST_SIZE                                                      \
    ETX_SIZE_UP_TO(etx_evaluation_counts, primary_score_sum)
#define RATES_FIRST_SIZE ETX_SIZE_UP_TO(etx_evaluation, primary_score)

/* The arguments that all calls share: an event with truth, tracks of the same
 * hits, and options, which are copied to *used. */
static etx_status check_call(etx_evaluation_options *used, const char *function,
    const etx_event *event, const etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    etx_status status;

    ETX_CHECK(etx_check_given(
        function, ETX_GIVEN(event), ETX_GIVEN(tracks), ETX_END));
    etx_options_preset(used, &etx_evaluation_options_type);
    ETX_CHECK(etx_options_accept(
        used, function, options, &etx_evaluation_options_type));
    if (event->particle_row == NULL)
        return etx_fail(
            ETX_ERR_ARGUMENT, "%s: the event has no truth", function);
    ETX_CHECK(etx_check_tracks(function, tracks, event));
done:
    return status;
}

/* What all counts of etx_evaluate fulfil: 0 <= part <= whole. */
static etx_status check_counts(
    const char *function, const etx_evaluation_counts *counts)
{
    const struct {
        const char *name;
        int64_t part, whole;
    } ratios[] = {
        {"selected particles matched", counts->n_selected_matched,
            counts->n_particles_selected},
        {"reconstructable particles matched", counts->n_reconstructable_matched,
            counts->n_particles_reconstructable},
        {"tracks matched", counts->n_tracks_matched, counts->n_tracks},
        {"fake tracks", counts->n_tracks_fake, counts->n_tracks},
        {"duplicate tracks", counts->n_tracks_duplicate, counts->n_tracks},
        {"events", 0, counts->n_events},
    };
    const struct {
        const char *name;
        double sum;
    } scores[] = {
        {"trackml_score_sum", counts->trackml_score_sum},
        {"primary_score_sum", counts->primary_score_sum},
    };

    for (size_t k = 0; k < sizeof ratios / sizeof *ratios; k++)
        if (ratios[k].part < 0 || ratios[k].part > ratios[k].whole)
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: %s: %" PRId64 " of %" PRId64 " is no rate", function,
                ratios[k].name, ratios[k].part, ratios[k].whole);
    for (size_t k = 0; k < sizeof scores / sizeof *scores; k++)
        if (!(scores[k].sum >= 0.0 && scores[k].sum < INFINITY))
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: %s is %.9g, not a sum of scores", function, scores[k].name,
                scores[k].sum);
    return ETX_OK;
}

/* *out: the caller's counts; what an older caller lacks is 0. */
static etx_status read_counts(etx_evaluation_counts *out, const char *function,
    const etx_evaluation_counts *counts)
{
    etx_status status;

    ETX_CHECK(etx_check_given(function, ETX_GIVEN(counts), ETX_END));
    ETX_CHECK(etx_report_check(counts, COUNTS_FIRST_SIZE, "evaluation counts"));
    if (counts->reserved != 0)
        return etx_fail(ETX_ERR_ARGUMENT,
            "%s: counts->reserved is %d and must be 0", function,
            (int)counts->reserved);
    *out = (etx_evaluation_counts){0};
    memcpy(out, counts,
        counts->struct_size < sizeof *out ? counts->struct_size : sizeof *out);
    ETX_CHECK(check_counts(function, out));
done:
    return status;
}

static void add_counts(
    etx_evaluation_counts *sum, const etx_evaluation_counts *event)
{
    sum->n_events += event->n_events;
    sum->n_particles_selected += event->n_particles_selected;
    sum->n_particles_reconstructable += event->n_particles_reconstructable;
    sum->n_selected_matched += event->n_selected_matched;
    sum->n_reconstructable_matched += event->n_reconstructable_matched;
    sum->n_tracks += event->n_tracks;
    sum->n_tracks_matched += event->n_tracks_matched;
    sum->n_tracks_fake += event->n_tracks_fake;
    sum->n_tracks_duplicate += event->n_tracks_duplicate;
    sum->trackml_score_sum += event->trackml_score_sum;
    sum->primary_score_sum += event->primary_score_sum;
}

etx_status etx_evaluate(etx_evaluation_counts *counts, const etx_event *event,
    const etx_tracks *tracks, const etx_evaluation_options *options)
{
    etx_evaluation_options used;
    etx_evaluation_counts one;
    etx_evaluation_counts sum = {.n_events = 0};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(read_counts(&sum, __func__, counts));
    ETX_CHECK(check_call(&used, __func__, event, tracks, options));
    ETX_CHECK(etx_count_event(&one, event, tracks, &used));
    add_counts(&sum, &one);
    etx_report_write(counts, &sum, sizeof sum);
done:
    return etx_call_end(&host, status);
}

static double mean(double sum, int64_t n_events)
{
    return n_events == 0 ? (double)NAN : sum / (double)n_events;
}

etx_status etx_evaluation_rates(
    etx_evaluation *out, const etx_evaluation_counts *counts)
{
    etx_evaluation rates = {.struct_size = sizeof rates};
    etx_evaluation_counts sums = {.n_events = 0};
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_END));
    ETX_CHECK(etx_report_check(out, RATES_FIRST_SIZE, "evaluation"));
    ETX_CHECK(read_counts(&sums, __func__, counts));
    counts = &sums;
    rates.physics_efficiency = etx_clopper_pearson(
        counts->n_selected_matched, counts->n_particles_selected);
    rates.technical_efficiency = etx_clopper_pearson(
        counts->n_reconstructable_matched, counts->n_particles_reconstructable);
    rates.purity =
        etx_clopper_pearson(counts->n_tracks_matched, counts->n_tracks);
    rates.fake_rate =
        etx_clopper_pearson(counts->n_tracks_fake, counts->n_tracks);
    rates.duplicate_rate =
        etx_clopper_pearson(counts->n_tracks_duplicate, counts->n_tracks);
    rates.trackml_score = mean(counts->trackml_score_sum, counts->n_events);
    rates.primary_score = mean(counts->primary_score_sum, counts->n_events);
    etx_report_write(out, &rates, sizeof rates);
done:
    return etx_call_end(&host, status);
}

static etx_status check_bins(
    const char *function, int32_t variable, int64_t n_bins, const double *edges)
{
    const struct etx_range ranges[] = {
        {"variable", variable, ETX_VARIABLE_PT, ETX_VARIABLE_NEAREST},
        {"n_bins", n_bins, 1, INT64_MAX - 1},
    };
    etx_status status;

    ETX_CHECK(
        etx_check_ranges(function, ranges, sizeof ranges / sizeof *ranges));
    ETX_CHECK(etx_check_array(function, ETX_ARRAY(edges, n_bins + 1, double)));
    for (int64_t b = 0; b < n_bins; b++)
        if (!(edges[b] < edges[b + 1]))
            return etx_fail(ETX_ERR_ARGUMENT,
                "%s: edges %" PRId64 " and %" PRId64
                ", %.9g and %.9g, do not ascend",
                function, b, b + 1, edges[b], edges[b + 1]);
done:
    return status;
}

etx_status etx_evaluate_binned(int64_t *total, int64_t *matched,
    const etx_event *event, const etx_tracks *tracks, int32_t variable,
    int64_t n_bins, const double *edges, const etx_evaluation_options *options)
{
    etx_evaluation_options used;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(check_call(&used, __func__, event, tracks, options));
    ETX_CHECK(check_bins(__func__, variable, n_bins, edges));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(total, n_bins, int64_t)));
    ETX_CHECK(etx_check_array(__func__, ETX_ARRAY(matched, n_bins, int64_t)));
    ETX_CHECK(etx_count_binned(
        total, matched, event, tracks, variable, n_bins, edges, &used));
done:
    return etx_call_end(&host, status);
}

etx_status etx_match(int32_t *particle_of_track, uint8_t *matched_particle,
    const etx_event *event, const etx_tracks *tracks,
    const etx_evaluation_options *options)
{
    struct etx_matching matching = {.particle = NULL};
    etx_evaluation_options used;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_END));
    ETX_CHECK(check_call(&used, __func__, event, tracks, options));
    ETX_CHECK(etx_match_tracks(&matching, event, tracks, &used));
    if (particle_of_track != NULL)
        for (int64_t t = 0; t < tracks->n_tracks; t++)
            particle_of_track[t] = matching.particle[t];
    if (matched_particle != NULL)
        for (int64_t p = 0; p < event->n_particles; p++)
            matched_particle[p] = matching.is_matched[p];
done:
    etx_matching_release(&matching);
    return etx_call_end(&host, status);
}
