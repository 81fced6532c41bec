/* api/first_pass.c -- long tracks, before the networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include "api/arguments.h"
#include "base/check.h"
#include "base/options.h"
#include "data/tracks.h"
#include "learn/learn_table.h"
#include "stage/stage.h"

#include <math.h>

#define FIRST_SIZE ETX_SIZE_UP_TO(etx_first_pass_options, min_hits)

etx_status etx_first_pass_options_init(
    etx_first_pass_options *options, size_t struct_size)
{
    return etx_options_init(options, struct_size, &etx_first_pass_defaults,
        sizeof etx_first_pass_defaults, FIRST_SIZE, "etx_first_pass_options");
}

etx_status etx_model_first_pass_options(
    etx_first_pass_options *out, const etx_model *model)
{
    ETX_FORWARD(
        etx_options_init(out, out->struct_size, &model->first_pass_options,
            sizeof model->first_pass_options, FIRST_SIZE,
            "etx_first_pass_options"),
        ETX_GIVEN(out), ETX_GIVEN(model));
}

/* *out: the caller's options over `known`. */
static etx_status read_options(etx_first_pass_options *out,
    const char *function, const etx_first_pass_options *known,
    const etx_first_pass_options *options)
{
    etx_status status = ETX_OK;

    *out = *known;
    if (options != NULL)
        ETX_CHECK(etx_options_copy(out, sizeof *out, options,
            options->struct_size, FIRST_SIZE, "etx_first_pass_options"));
    const struct etx_range ranges[] = {
        {"min_layers", out->min_layers, 3, ETX_CANDIDATE_MAX_LAYERS},
        {"min_hits", out->min_hits, 0, INT32_MAX},
    };
    const struct etx_real_range reals[] = {
        {"min_pt", out->min_pt, 0.01f, INFINITY},
        {"max_distance", out->max_distance, 0.0f, INFINITY},
        {"max_random", out->max_random, 0.0f, INFINITY},
    };
    ETX_CHECK(
        etx_check_ranges(function, ranges, sizeof ranges / sizeof *ranges));
    ETX_CHECK(etx_check_reals(function, reals, sizeof reals / sizeof *reals));
done:
    return status;
}

etx_status etx_find_long_tracks(etx_tracks **out, etx_context *context,
    const etx_model *model, const etx_event *event,
    const etx_first_pass_options *options)
{
    etx_first_pass_options known;
    struct etx_arena *arena = NULL;
    struct etx_arena_mark mark;
    int32_t *label = NULL;
    int32_t n_tracks;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_learned(__func__, model->first_pass, "first pass",
        "etx_model_learn_first_pass"));
    ETX_CHECK(etx_check_modules(__func__, event));
    ETX_CHECK(
        read_options(&known, __func__, &model->first_pass_options, options));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    etx_stage_reset_timings(context);
    ETX_SCRATCH(label, arena, event->n_hits, "labels");
    ETX_CHECK(
        etx_stage_find_long(label, &n_tracks, context, model, event, &known));
    ETX_CHECK(etx_tracks_group(out, event->n_hits, label, 1));
done:
    if (arena != NULL)
        etx_arena_reset(arena, mark);
    return etx_call_end(&host, status);
}

etx_status etx_model_learn_first_pass(etx_model **out, const etx_model *model,
    const etx_event *const *events, int64_t n_events,
    const etx_first_pass_options *options)
{
    etx_first_pass_options known;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(model),
        ETX_GIVEN(events), ETX_END));
    ETX_CHECK(etx_check_learned(__func__, model->completion, "completion",
        "etx_model_learn_completion"));
    ETX_CHECK(etx_check_events(__func__, events, n_events));
    ETX_CHECK(
        read_options(&known, __func__, &etx_first_pass_defaults, options));
    ETX_CHECK(etx_learn_table(
        out, &etx_learned_first_pass, model, events, n_events, &known));
done:
    return etx_call_end(&host, status);
}
