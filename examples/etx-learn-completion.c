/* examples/etx-learn-completion.c -- give a model file a completion.
 *
 * Learns from the true tracks of events in TrackML form which layers follow
 * each other and how well a helix predicts the hits there, and writes the model
 * with it. Tracks of that model then get the hits that they lack. With a first
 * pass it also finds long tracks before its networks run.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include <stdio.h>
#include <stdlib.h>

#include "program.h"
#include "training.h"

static const char summary[] =
    "Learn from true tracks how to add missing hits to found ones.";

struct options {
    const char *model, *out, *detector;
    struct program_list data;
    double max_distance, max_join, max_random;
    int64_t first_pass, n_threads;
};

static void read_options(struct options *o, int argc, char **argv)
{
    const struct program_option table[] = {
        {"model", "FILE", "model file, or default, accurate or counts",
            .text = &o->model},
        {"data", "DIR", "events with truth: a folder or a prefix; repeatable",
            .list = &o->data},
        {"out", "FILE", "model file to write", .text = &o->out},
        {"max-distance", "X",
            "of a hit from the helix, squared, in units of the 68 % quantiles "
            "(default 25)",
            .number = &o->max_distance, .low = 0, .high = 1e9},
        {"max-join", "X",
            "the same of another track; 0 joins none (default 25)",
            .number = &o->max_join, .low = 0, .high = 1e9},
        {"max-random", "N",
            "expected number of unrelated hits as near as the hit (default "
            "0.2)",
            .number = &o->max_random, .low = 0, .high = 1e9},
        {"first-pass", "0|1",
            "1: also find long tracks before the networks (default 1)",
            .integer = &o->first_pass, .low = 0, .high = 1},
        {"threads", "N", "threads that read events, 0 = all cores (default)",
            .integer = &o->n_threads, .low = 0, .high = 256},
        {"detector", "FILE", "detectors.csv (default: the TrackML detector)",
            .text = &o->detector},
    };

    o->max_distance = o->max_join = 25.0;
    o->max_random = 0.2;
    o->first_pass = 1;
    program_parse(
        argc, argv, summary, table, (int32_t)(sizeof table / sizeof *table));
    if (o->out == NULL || o->data.count == 0)
        exit(program_usage("--data and --out are needed"));
}

/* *model: start with a completion. */
static etx_status learn_completion(etx_model **model, const struct options *o,
    const etx_model *start, const struct training_events *events)
{
    etx_completion_options options;

    if (etx_completion_options_init(&options, sizeof options) != ETX_OK)
        return ETX_ERR_ARGUMENT;
    options.max_distance = (float)o->max_distance;
    options.max_join = (float)o->max_join;
    options.max_random = (float)o->max_random;
    return etx_model_learn_completion(model, start,
        (const etx_event *const *)events->event, events->count, &options);
}

/* Learn and write. */
static int learn(const struct options *o, const etx_model *start,
    const struct training_events *events)
{
    const etx_event *const *list = (const etx_event *const *)events->event;
    etx_model *completed = NULL;
    etx_model *model = NULL;
    int result = 0;

    if (learn_completion(&completed, o, start, events) != ETX_OK ||
        (o->first_pass != 0 && etx_model_learn_first_pass(&model, completed,
                                   list, events->count, NULL) != ETX_OK) ||
        etx_model_save(model != NULL ? model : completed, o->out) != ETX_OK)
        result = program_failed(NULL);
    else
        printf("%s: completion%s from %lld events\n", o->out,
            model != NULL ? " and first pass" : "", (long long)events->count);
    etx_model_free(model);
    etx_model_free(completed);
    return result;
}

int main(int argc, char **argv)
{
    struct options o = {NULL};
    struct program_list none = {0};
    struct training_events events = {.list = {&o.data, &none}};
    etx_detector *detector = NULL;
    etx_model *model = NULL;
    int result;

    read_options(&o, argc, argv);
    result = program_expand_events(&o.data) != 0 ? PROGRAM_FAILED : 0;
    if (result == 0)
        result = program_detector(&detector, o.detector);
    if (result == 0)
        result = program_model(&model, o.model);
    events.detector = detector;
    if (result == 0)
        result = training_events_read(&events, o.n_threads);
    if (result == 0)
        result = learn(&o, model, &events);
    training_events_free(&events);
    etx_model_free(model);
    etx_detector_free(detector);
    program_list_free(&o.data);
    return result;
}
