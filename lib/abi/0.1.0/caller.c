/* test/upgrade/caller.c -- a host that passes every struct of options and
 * every report, and prints what comes back.
 *
 * With -DNEWER its headers come from a later library, whose structs have
 * one field more; given the word "set" it then sets that field in each, which a
 * library that does not know it has to refuse.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/eval.h>
#include <exatrkx/fit.h>
#include <exatrkx/graph.h>
#include <exatrkx/train.h>

#include <stdio.h>
#include <string.h>

#ifdef NEWER
#define SET_NEWER(options) ((options)->newer = is_set)
#else
#define SET_NEWER(options) ((void)is_set)
#endif

static const char config[] =
    "{\"stage\": \"embedding\", \"model\": {\"arch\": \"mlp\","
    " \"options\": {\"hidden\": [8], \"n_out\": 2},"
    " \"node_features\": [{\"name\": \"r\", \"scale\": 1000.0},"
    " {\"name\": \"z\", \"scale\": 1000.0}], \"graph\": {\"radius\": 0.3}},"
    " \"schedule\": {\"steps\": 2}}";

static int is_set;
static int n_failed;

/* Print what a call said and count it. */
static int fails(const char *call, etx_status status)
{
    printf("%s: %s\n", call, etx_status_name(status));
    if (status != ETX_OK) {
        printf("  %s\n", etx_last_error());
        n_failed++;
    }
    return status != ETX_OK;
}

static etx_context *make_context(void)
{
    etx_context_options options;
    etx_context *context = NULL;

    if (fails("context options",
            etx_context_options_init(&options, sizeof options)))
        return NULL;
    printf("threads %d\n", (int)options.n_threads);
    options.n_threads = 2;
    options.cpu_level = ETX_CPU_REF;
    SET_NEWER(&options);
    fails("context", etx_context_create(&context, &options));
    return context;
}

static void use_graph(etx_context *context)
{
    const float point[6] = {0.0f, 0.0f, 0.05f, 0.0f, 5.0f, 5.0f};
    etx_graph_options options;
    etx_graph *graph = NULL;

    if (fails(
            "graph options", etx_graph_options_init(&options, sizeof options)))
        return;
    printf("radius %g, most edges %lld\n", (double)options.radius,
        (long long)options.max_edges);
    SET_NEWER(&options);
    if (!fails("radius graph", etx_graph_build_radius(&graph, context, 3, 2,
                                   point, NULL, &options)))
        printf("%d edges\n", (int)etx_graph_n_edges(graph));
    etx_graph_free(graph);
}

static void use_labels(etx_context *context, const etx_model *model)
{
    const int32_t src[3] = {0, 1, 3};
    const int32_t dst[3] = {1, 2, 4};
    const float score[3] = {0.9f, 0.9f, 0.9f};
    etx_label_options options;
    etx_graph *graph = NULL;
    int32_t label[5] = {0};

    if (fails("label options",
            etx_label_options_init(&options, sizeof options)) ||
        fails(
            "edges", etx_graph_from_edges(&graph, 5, 3, src, dst, score, NULL)))
        return;
    printf("cut %g, hits %d\n", (double)options.cut, (int)options.min_hits);
    SET_NEWER(&options);
    if (!fails(
            "labels", etx_graph_label(label, graph, context, NULL, &options)))
        for (int i = 0; i < 5; i++)
            printf("label %d\n", (int)label[i]);
    if (!fails("labels of the model", etx_model_label_options(&options, model)))
        printf(
            "method %d, hits %d\n", (int)options.method, (int)options.min_hits);
    etx_graph_free(graph);
}

static void use_completion(const etx_model *model)
{
    etx_completion_options options;

    if (fails("completion options",
            etx_completion_options_init(&options, sizeof options)))
        return;
    printf("random %g\n", (double)options.max_random);
    SET_NEWER(&options);
    if (!fails("completion of the model",
            etx_model_completion_options(&options, model)))
        printf("distance %g\n", (double)options.max_distance);
}

static void use_first_pass(const etx_model *model)
{
    etx_first_pass_options options;

    if (fails("first pass options",
            etx_first_pass_options_init(&options, sizeof options)))
        return;
    printf("layers %d\n", (int)options.min_layers);
    SET_NEWER(&options);
    if (!fails("first pass of the model",
            etx_model_first_pass_options(&options, model)))
        printf("momentum %g\n", (double)options.min_pt);
}

static void use_module_map(const etx_model *model, const etx_event *event)
{
    etx_module_map_options options;
    etx_model *made = NULL;

    if (fails("module map options",
            etx_module_map_options_init(&options, sizeof options)))
        return;
    printf("margin %g\n", (double)options.margin);
    SET_NEWER(&options);
    if (!fails("module map",
            etx_model_learn_module_map(&made, model, 1, &event, &options)))
        printf("map %d\n", (int)etx_model_has_stage(made, ETX_STAGE_GRAPH));
    etx_model_free(made);
}

/* The library writes no more of a report than its struct_size says: these bytes
 * lie after it. */
struct guard {
    unsigned char byte[64];
};

static void check_guard(const struct guard *guard)
{
    for (size_t k = 0; k < sizeof guard->byte; k++)
        if (guard->byte[k] != 0xee)
            n_failed += 1000;
}

static void use_timing(const etx_context *context)
{
    struct {
        etx_stage_timing report;
        struct guard guard;
    } guarded;

    memset(&guarded, 0xee, sizeof guarded);
    guarded.report.struct_size = (uint32_t)sizeof guarded.report;
    if (!fails("timing",
            etx_context_timing(&guarded.report, context, ETX_STAGE_GRAPH)))
        printf("%lld edges\n", (long long)guarded.report.n_edges);
    check_guard(&guarded.guard);
}

static void use_batch(etx_context *context, const etx_model *model,
    const etx_event *event, const etx_tracks *tracks)
{
    const etx_event *const events[2] = {event, event};
    etx_tracks *found[2] = {NULL, NULL};

    if (!fails("tracks of events",
            etx_find_tracks_batch(found, context, model, 2, events)) &&
        etx_tracks_count(found[1]) == etx_tracks_count(tracks))
        puts("the same twice");
    etx_tracks_free(found[0]);
    etx_tracks_free(found[1]);
}

static void use_rates(const etx_evaluation_counts *counts)
{
    struct {
        etx_evaluation report;
        struct guard guard;
    } guarded;

    memset(&guarded, 0xee, sizeof guarded);
    guarded.report.struct_size = (uint32_t)sizeof guarded.report;
    if (!fails("rates", etx_evaluation_rates(&guarded.report, counts)))
        printf("purity %.17g, score %.17g\n", guarded.report.purity.value,
            guarded.report.trackml_score);
    check_guard(&guarded.guard);
}

static void use_evaluation(const etx_event *event, const etx_tracks *tracks)
{
    etx_evaluation_options options;
    struct {
        etx_evaluation_counts report;
        struct guard guard;
    } guarded;

    memset(&guarded.report, 0, sizeof guarded.report);
    memset(&guarded.guard, 0xee, sizeof guarded.guard);
    guarded.report.struct_size = (uint32_t)sizeof guarded.report;
    if (fails("evaluation options",
            etx_evaluation_options_init(&options, sizeof options)))
        return;
    printf("pt %g, eta %g\n", (double)options.min_pt, (double)options.max_eta);
    options.min_pt = 0.5f;
    SET_NEWER(&options);
    if (!fails("evaluation",
            etx_evaluate(&guarded.report, event, tracks, &options)))
        printf("%d tracks, %d matched\n", (int)guarded.report.n_tracks,
            (int)guarded.report.n_tracks_matched);
    check_guard(&guarded.guard);
    use_rates(&guarded.report);
}

static void use_resolve(
    const etx_tracks *tracks, const etx_track_parameters *parameters)
{
    etx_tracks *left = NULL;
    etx_resolve_options options;

    if (fails("resolve options",
            etx_resolve_options_init(&options, sizeof options)))
        return;
    SET_NEWER(&options);
    if (!fails(
            "resolve", etx_tracks_resolve(&left, tracks, parameters, &options)))
        printf("%d left\n", (int)etx_tracks_count(left));
    etx_tracks_free(left);
}

static void use_fit(etx_context *context, const etx_event *event,
    const etx_detector *detector, const etx_tracks *tracks)
{
    static etx_track_parameters parameters[1000];
    etx_fit_options options;

    if (fails("fit options", etx_fit_options_init(&options, sizeof options)) ||
        etx_tracks_count(tracks) > 1000)
        return;
    options.field = 2.0f;
    SET_NEWER(&options);
    if (!fails("fit", etx_fit_tracks(parameters, NULL, tracks, context, NULL,
                          event, detector, &options)))
        printf("q/pT %.9g\n", parameters[0].q_over_pt);
    use_resolve(tracks, parameters);
}

static void use_report(etx_context *context, const etx_event *event)
{
    struct {
        etx_training_report report;
        struct guard guard;
    } guarded;
    etx_trainer *trainer = NULL;

    memset(&guarded, 0xee, sizeof guarded);
    guarded.report.struct_size = (uint32_t)sizeof guarded.report;
    if (fails("trainer", etx_trainer_create(&trainer, context, config, NULL)) ||
        fails("event", etx_trainer_add_event(trainer, event, 0)))
        return;
    if (!fails("step", etx_trainer_step(&guarded.report, trainer)))
        printf("step %d, loss %.17g, best %d\n", (int)guarded.report.step,
            guarded.report.loss, (int)guarded.report.is_best);
    check_guard(&guarded.guard);
    etx_trainer_free(trainer);
}

/* caller MODEL EVENT DETECTORS [set]: exits with the number of failed calls. */
int main(int argc, char **argv)
{
    etx_context *context = NULL;
    etx_model *model = NULL;
    etx_detector *detector = NULL;
    etx_event *event = NULL;
    etx_tracks *tracks = NULL;

    is_set = argc > 4 && strcmp(argv[4], "set") == 0;
    context = make_context();
    if (context == NULL)
        (void)fails("plain context", etx_context_create(&context, NULL));
    if (fails("model", etx_model_load(&model, argv[1])) ||
        fails("detector", etx_detector_read(&detector, argv[3])) ||
        fails("event", etx_event_read_trackml(&event, argv[2], detector)) ||
        fails("tracks", etx_find_tracks(&tracks, context, model, event)))
        return 100;
    printf("%d tracks\n", (int)etx_tracks_count(tracks));
    use_batch(context, model, event, tracks);
    use_timing(context);
    use_graph(context);
    use_labels(context, model);
    use_completion(model);
    use_first_pass(model);
    use_module_map(model, event);
    use_evaluation(event, tracks);
    use_fit(context, event, detector, tracks);
    use_report(context, event);
    etx_tracks_free(tracks);
    etx_event_free(event);
    etx_detector_free(detector);
    etx_model_free(model);
    etx_context_free(context);
    return n_failed;
}
