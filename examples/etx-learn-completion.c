/* examples/etx-learn-completion.c -- give a model file a completion.
 *
 * Learns from the true tracks of events in TrackML form which layers follow
 * each other and how well a helix predicts the hits there, and writes the model
 * with it. Tracks of that model then get the hits that they lack. With a first
 * pass it also finds long tracks before its networks run. Or it learns which
 * modules, or layers, tracks cross after each other, and leaves the rest of the
 * model as it is: candidate edges then come from this map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "training.h"

static const char summary[] =
    "Learn from true tracks how to add missing hits, or which to join.";

/* Numbers are -1 where they are not given. */
struct options {
    const char *model, *out, *detector;
    struct program_list data;
    const char *module_map;
    double max_distance, max_join, max_random;
    double min_pt, tail, margin;
    int64_t triplets, min_layers;
    int64_t first_pass, n_threads;
};

/* Options of what is not learned are refused. */
static void check_unused(const struct options *o)
{
    const int of_map = o->triplets >= 0 || o->min_pt >= 0.0 || o->tail >= 0.0 ||
                       o->margin >= 0.0;
    const int of_tracks = o->max_distance >= 0.0 || o->max_join >= 0.0 ||
                          o->max_random >= 0.0 || o->min_layers >= 0 ||
                          o->first_pass >= 0;

    if (o->module_map == NULL && of_map)
        exit(program_usage("--triplets, --min-pt, --tail and --margin go with "
                           "--module-map"));
    if (o->module_map != NULL && of_tracks)
        exit(program_usage("--max-distance, --max-join, --max-random, "
                           "--min-layers and --first-pass go without "
                           "--module-map"));
}

static void read_options(struct options *o, int argc, char **argv)
{
    etx_completion_options tracks;
    etx_module_map_options map;

    if (etx_completion_options_init(&tracks, sizeof tracks) != ETX_OK ||
        etx_module_map_options_init(&map, sizeof map) != ETX_OK)
        exit(program_failed(NULL));
    const float min_layers = (float)tracks.min_layers;
    const struct program_option table[] = {
        PROGRAM_MODEL_OPTION(&o->model),
        {"data", "DIR", "events with truth: a folder or a prefix; repeatable",
            .list = &o->data},
        {"out", "FILE", "model file to write", .text = &o->out},
        {"max-distance", "X",
            "of a hit from the helix, squared, in units of the 68 % quantiles",
            .preset = &tracks.max_distance, .number = &o->max_distance,
            .low = 0, .high = 1e9},
        {"max-join", "X", "the same of another track; 0 joins none",
            .preset = &tracks.max_join, .number = &o->max_join, .low = 0,
            .high = 1e9},
        {"max-random", "N",
            "expected number of unrelated hits as near as the hit",
            .preset = &tracks.max_random, .number = &o->max_random, .low = 0,
            .high = 1e9},
        {"min-layers", "N",
            "of a new track among the hits that are left; 0 finds none",
            .preset = &min_layers, .integer = &o->min_layers, .low = 0,
            .high = 20},
        {"first-pass", "0|1",
            "1: also find long tracks before the networks (default 1)",
            .integer = &o->first_pass, .low = 0, .high = 1},
        {"module-map", "UNITS",
            "modules or layers: learn a module map instead of all above",
            .text = &o->module_map},
        {"triplets", "0|1", "1: edges of the map need triplets (default 0)",
            .integer = &o->triplets, .low = 0, .high = 1},
        {"min-pt", "GEV", "of the tracks that the map learns from",
            .preset = &map.min_pt, .number = &o->min_pt, .low = 0, .high = 1e9},
        {"tail", "SHARE",
            "of the values outside a window of the map, at either end",
            .preset = &map.tail, .number = &o->tail, .low = 0, .high = 0.49},
        {"margin", "X",
            "windows of n values are widened by X / n of their length",
            .preset = &map.margin, .number = &o->margin, .low = 0,
            .high = 1000},
        {"threads", "N", "threads that read events, 0 = all cores (default)",
            .integer = &o->n_threads, .low = 0, .high = 256},
        PROGRAM_DETECTOR_OPTION(&o->detector),
    };

    o->max_distance = o->max_join = o->max_random = -1.0;
    o->min_pt = o->tail = o->margin = -1.0;
    o->min_layers = o->first_pass = o->triplets = -1;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->out == NULL || o->data.count == 0)
        exit(program_usage("--data and --out are needed"));
    if (o->module_map != NULL && strcmp(o->module_map, "modules") != 0 &&
        strcmp(o->module_map, "layers") != 0)
        exit(program_usage("--module-map is neither modules nor layers"));
    check_unused(o);
}

static void set(float *option, double given)
{
    if (given >= 0.0)
        *option = (float)given;
}

/* *model: start with a completion. */
static etx_status learn_completion(etx_model **model, const struct options *o,
    const etx_model *start, const struct training_events *events)
{
    etx_completion_options options;

    if (etx_completion_options_init(&options, sizeof options) != ETX_OK)
        return ETX_ERR_ARGUMENT;
    set(&options.max_distance, o->max_distance);
    set(&options.max_join, o->max_join);
    set(&options.max_random, o->max_random);
    if (o->min_layers >= 0)
        options.min_layers = (int32_t)o->min_layers;
    return etx_model_learn_completion(model, start, events->n,
        (const etx_event *const *)events->event, &options);
}

/* *model: start with a module map. */
static etx_status learn_map(etx_model **model, const struct options *o,
    const etx_model *start, const struct training_events *events)
{
    etx_module_map_options options;

    if (etx_module_map_options_init(&options, sizeof options) != ETX_OK)
        return ETX_ERR_ARGUMENT;
    options.units =
        strcmp(o->module_map, "layers") == 0 ? ETX_MAP_LAYERS : ETX_MAP_MODULES;
    options.use_triplets = o->triplets == 1;
    set(&options.min_pt, o->min_pt);
    set(&options.tail, o->tail);
    set(&options.margin, o->margin);
    return etx_model_learn_module_map(model, start, events->n,
        (const etx_event *const *)events->event, &options);
}

/* *model: start with completion and, unless it is not wanted, first pass. The
 * completion alone, and why, where it may be missing and cannot be learned.
 */
static etx_status learn_tracks(etx_model **model, const struct options *o,
    const etx_model *start, const struct training_events *events)
{
    etx_model *completed = NULL;
    etx_status status = learn_completion(&completed, o, start, events);

    if (status != ETX_OK || o->first_pass == 0) {
        *model = completed;
        return status;
    }
    status = etx_model_learn_first_pass(model, completed, events->n,
        (const etx_event *const *)events->event, NULL);
    if (status == ETX_ERR_ARGUMENT && o->first_pass < 0) {
        (void)program_failed("no first pass");
        *model = completed;
        return ETX_OK;
    }
    etx_model_free(completed);
    return status;
}

/* Learn and write. */
static int learn(const struct options *o, const etx_model *start,
    const struct training_events *events)
{
    etx_model *model = NULL;
    const etx_status status = o->module_map != NULL
                                  ? learn_map(&model, o, start, events)
                                  : learn_tracks(&model, o, start, events);
    int result = 0;

    if (status != ETX_OK || etx_model_save(model, o->out) != ETX_OK)
        result = program_failed(NULL);
    else
        printf("%s: %s from %lld events\n", o->out,
            o->module_map != NULL ? "module map"
            : etx_model_has_stage(model, ETX_STAGE_FIRST_PASS)
                ? "completion and first pass"
                : "completion",
            (long long)events->n);
    etx_model_free(model);
    return result;
}

static int read_events(struct training_events *events, const struct options *o,
    const etx_detector *detector)
{
    *events = (struct training_events){.name = o->data.item,
        .n = o->data.count,
        .detector = detector,
        .event = program_allocate(o->data.count, sizeof(etx_event *))};
    return training_read_events(events, o->n_threads) == ETX_OK
               ? 0
               : program_failed(o->data.item[events->failed]);
}

int main(int argc, char **argv)
{
    struct options o = {NULL};
    struct training_events events = {.n = 0};
    etx_detector *detector = NULL;
    etx_model *model = NULL;
    int result;

    read_options(&o, argc, argv);
    result = program_check_output(o.out);
    if (result == 0)
        result = program_expand_events(&o.data);
    if (result == 0)
        result = program_detector(&detector, o.detector);
    if (result == 0)
        result = program_model(&model, o.model);
    if (result == 0)
        result = read_events(&events, &o, detector);
    if (result == 0)
        result = learn(&o, model, &events);
    for (int64_t k = 0; k < events.n; k++)
        etx_event_free(events.event[k]);
    free(events.event);
    etx_model_free(model);
    etx_detector_free(detector);
    program_list_free(&o.data);
    return result;
}
