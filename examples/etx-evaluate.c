/* examples/etx-evaluate.c -- how good are these tracks?
 *
 * Compares tracks in TrackML's submission form with the truth of their events
 * and prints rates with intervals (docs/evaluation.md has the definitions).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exatrkx/eval.h>

#include "json.h"
#include "program.h"

static const char summary[] =
    "Compare tracks with the truth of their events: efficiency, purity, fakes\n"
    "and TrackML score over all events. Give --event and --tracks as often as\n"
    "there are events, in the same order, or a folder for either: the tracks\n"
    "of event NAME are then FOLDER/NAME-tracks.csv[.gz].";

static const char *const matchings[] = {
    [ETX_MATCH_DOUBLE_MAJORITY] = "double_majority",
    [ETX_MATCH_ATLAS] = "atlas",
    [ETX_MATCH_PERFECT] = "perfect",
};

#define N_MATCHINGS ((int32_t)(sizeof matchings / sizeof *matchings))

struct options {
    struct program_list events, tracks;
    etx_evaluation_options cuts;
    int32_t json;
};

static int32_t find_matching(const char *name)
{
    for (int32_t k = 0; k < N_MATCHINGS; k++)
        if (strcmp(matchings[k], name) == 0)
            return k;
    exit(program_usage(
        "--matching %s: not double_majority, atlas or perfect", name));
}

static void read_options(struct options *o, int argc, char **argv)
{
    etx_evaluation_options *const cuts = &o->cuts;
    const char *matching = matchings[cuts->matching];
    double min_pt = (double)cuts->min_pt;
    double max_eta = (double)cuts->max_eta;
    double fraction = (double)cuts->matching_fraction;
    int64_t min_hits = cuts->min_particle_hits;
    int64_t min_track_hits = cuts->min_track_hits;
    int32_t neutral = !cuts->charged_only;
    const struct program_option table[] = {
        {"event", "PREFIX",
            "PREFIX-hits.csv[.gz], -truth and -particles, or a folder; "
            "repeatable",
            .list = &o->events},
        {"tracks", "FILE",
            "hit_id,track_id of the event (.csv or .csv.gz), or a folder; "
            "repeatable",
            .list = &o->tracks},
        {"min-pt", "GEV",
            "lower bound on pT of selected particles (default 0.1)",
            .number = &min_pt, .low = 0, .high = 1e6},
        {"max-eta", "ETA",
            "upper bound on |eta| of selected particles (default 4)",
            .number = &max_eta, .low = 1e-6, .high = 100},
        {"min-hits", "N",
            "hits of a reconstructable particle, at least (default 5)",
            .integer = &min_hits, .low = 1, .high = INT32_MAX},
        {"min-track-hits", "N", "ignore tracks with fewer hits (default 3)",
            .integer = &min_track_hits, .low = 1, .high = INT32_MAX},
        {"matching", "RULE", "double_majority (default), atlas or perfect",
            .text = &matching},
        {"fraction", "F", "fraction of hits required to match (default 0.5)",
            .number = &fraction, .low = 0.5, .high = 0.999},
        {"neutral", NULL, "also select neutral particles", .flag = &neutral},
        {"json", NULL, "print one JSON object", .flag = &o->json},
    };

    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->events.count == 0 || o->tracks.count == 0)
        exit(program_usage("--%s is missing (see --help)",
            o->events.count == 0 ? "event" : "tracks"));
    cuts->matching = find_matching(matching);
    cuts->matching_fraction = (float)fraction;
    cuts->min_pt = (float)min_pt;
    cuts->max_eta = (float)max_eta;
    cuts->min_particle_hits = (int32_t)min_hits;
    cuts->min_track_hits = (int32_t)min_track_hits;
    cuts->charged_only = !neutral;
}

/* -------------------------------------------------------------- events -- */

/* One file of tracks for every event. */
static int expand_tracks(struct options *o)
{
    struct program_list expanded = {.count = 0};

    if (o->tracks.count == 1 && program_is_folder(o->tracks.item[0])) {
        const int result = program_check_names(&o->events, "-tracks.csv");

        if (result != 0)
            return result;
        for (int64_t k = 0; k < o->events.count; k++)
            program_add_tracks(&expanded, o->tracks.item[0], o->events.item[k]);
        program_list_free(&o->tracks);
        o->tracks = expanded;
    }
    if (o->tracks.count != o->events.count)
        return program_usage("events: %lld, files of tracks: %lld",
            (long long)o->events.count, (long long)o->tracks.count);
    return 0;
}

static int add_event(etx_evaluation_counts *counts, const char *prefix,
    const char *path, const etx_evaluation_options *cuts)
{
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;
    etx_status status = etx_event_read_trackml(&event, prefix, NULL);
    int result = 0;

    if (status == ETX_OK) {
        program_check_event(program_base_name(prefix), event, NULL, NULL);
        status = etx_tracks_read_csv(&tracks, event, path);
    }
    if (status == ETX_OK)
        status = etx_evaluate(counts, event, tracks, cuts);
    if (status != ETX_OK)
        result = program_failed(program_base_name(prefix));
    etx_tracks_free(tracks);
    etx_event_free(event);
    return result;
}

/* -------------------------------------------------------------- output -- */

/* A rate in the output: what of what. */
struct line {
    const char *key, *title;
    const etx_rate *rate;
    int64_t part, whole;
};

#define N_RATES 5

static void list_rates(struct line lines[N_RATES], const etx_evaluation *rates,
    const etx_evaluation_counts *counts)
{
    const struct line made[N_RATES] = {
        {"physics_efficiency", "physics efficiency", &rates->physics_efficiency,
            counts->n_selected_matched, counts->n_particles_selected},
        {"technical_efficiency", "technical efficiency",
            &rates->technical_efficiency, counts->n_reconstructable_matched,
            counts->n_particles_reconstructable},
        {"purity", "purity", &rates->purity, counts->n_tracks_matched,
            counts->n_tracks},
        {"fake_rate", "fake rate", &rates->fake_rate, counts->n_tracks_fake,
            counts->n_tracks},
        {"duplicate_rate", "duplicate rate", &rates->duplicate_rate,
            counts->n_tracks_duplicate, counts->n_tracks},
    };

    memcpy(lines, made, sizeof made);
}

static void print_text(const struct options *o, const struct line *lines,
    const etx_evaluation *rates, const etx_evaluation_counts *counts)
{
    printf("%lld event%s, %lld tracks of %d hits or more; matching %s above "
           "%g\n",
        (long long)counts->n_events, counts->n_events == 1 ? "" : "s",
        (long long)counts->n_tracks, o->cuts.min_track_hits,
        matchings[o->cuts.matching], (double)o->cuts.matching_fraction);
    printf("%lld %sparticles of pT > %g GeV, |eta| < %g; %lld of them with %d "
           "hits or more\n\n",
        (long long)counts->n_particles_selected,
        o->cuts.charged_only ? "charged " : "", (double)o->cuts.min_pt,
        (double)o->cuts.max_eta, (long long)counts->n_particles_reconstructable,
        o->cuts.min_particle_hits);
    printf("%-22s %8s   %-17s  counts\n", "", "value", "68.27 % interval");
    for (int k = 0; k < N_RATES; k++)
        printf("%-22s %8.4f   %.4f .. %.4f   %lld / %lld\n", lines[k].title,
            lines[k].rate->value, lines[k].rate->low, lines[k].rate->high,
            (long long)lines[k].part, (long long)lines[k].whole);
    printf("%-22s %8.4f\n", "TrackML score", rates->trackml_score);
    printf("%-22s %8.4f\n", "- generation 0 alone", rates->primary_score);
}

/* KEY, KEY_low and KEY_high. */
static void write_rate(struct json *object, const struct line *line)
{
    char key[64];

    json_number(object, line->key, line->rate->value);
    snprintf(key, sizeof key, "%s_low", line->key);
    json_number(object, key, line->rate->low);
    snprintf(key, sizeof key, "%s_high", line->key);
    json_number(object, key, line->rate->high);
}

static void write_cuts(struct json *object, const etx_evaluation_options *cuts)
{
    json_text(object, "matching", matchings[cuts->matching]);
    json_number(object, "matching_fraction", (double)cuts->matching_fraction);
    json_number(object, "min_pt", (double)cuts->min_pt);
    json_number(object, "max_eta", (double)cuts->max_eta);
    json_integer(object, "min_particle_hits", cuts->min_particle_hits);
    json_integer(object, "min_track_hits", cuts->min_track_hits);
    json_flag(object, "charged_only", cuts->charged_only);
}

static void print_json(const struct options *o, const struct line *lines,
    const etx_evaluation *rates, const etx_evaluation_counts *counts)
{
    struct json object = json_begin_lines(stdout);

    json_integer(&object, "n_events", counts->n_events);
    json_integer(&object, "n_particles_selected", counts->n_particles_selected);
    json_integer(&object, "n_particles_reconstructable",
        counts->n_particles_reconstructable);
    json_integer(&object, "n_selected_matched", counts->n_selected_matched);
    json_integer(&object, "n_reconstructable_matched",
        counts->n_reconstructable_matched);
    json_integer(&object, "n_tracks", counts->n_tracks);
    json_integer(&object, "n_tracks_matched", counts->n_tracks_matched);
    json_integer(&object, "n_tracks_fake", counts->n_tracks_fake);
    json_integer(&object, "n_tracks_duplicate", counts->n_tracks_duplicate);
    for (int k = 0; k < N_RATES; k++)
        write_rate(&object, &lines[k]);
    json_number(&object, "trackml_score", rates->trackml_score);
    json_number(&object, "primary_score", rates->primary_score);
    write_cuts(&object, &o->cuts);
    json_end(&object);
    putchar('\n');
}

static int print_rates(
    const struct options *o, const etx_evaluation_counts *counts)
{
    struct line lines[N_RATES];
    etx_evaluation rates = {.struct_size = sizeof rates};

    if (etx_evaluation_rates(&rates, counts) != ETX_OK)
        return program_failed(NULL);
    list_rates(lines, &rates, counts);
    if (o->json)
        print_json(o, lines, &rates, counts);
    else
        print_text(o, lines, &rates, counts);
    if (fflush(stdout) != 0 || ferror(stdout))
        return program_error("standard output cannot be written");
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.json = 0};
    etx_evaluation_counts counts = {.struct_size = sizeof counts};
    int result = 0;

    if (etx_evaluation_options_init(&o.cuts, sizeof o.cuts) != ETX_OK)
        return program_failed(NULL);
    read_options(&o, argc, argv);
    result = program_expand_events(&o.events);
    if (result == 0)
        result = expand_tracks(&o);
    for (int64_t k = 0; result == 0 && k < o.events.count; k++)
        result =
            add_event(&counts, o.events.item[k], o.tracks.item[k], &o.cuts);
    if (result == 0)
        result = print_rates(&o, &counts);
    program_list_free(&o.events);
    program_list_free(&o.tracks);
    return result;
}
