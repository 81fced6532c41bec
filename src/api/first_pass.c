/* api/first_pass.c -- long tracks, before the networks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include "api/arguments.h"
#include "base/check.h"
#include "data/tracks.h"
#include "stage/options.h"
#include "stage/stage.h"

etx_status etx_model_first_pass_options(
    etx_first_pass_options *out, const etx_model *model)
{
    ETX_FORWARD(etx_options_write(out, out->struct_size,
                    &model->first_pass_options, &etx_first_pass_options_type),
        ETX_GIVEN(out), ETX_GIVEN(model));
}

etx_status etx_find_long_tracks(etx_tracks **out, etx_context *context,
    const etx_model *model, const etx_event *event,
    const etx_first_pass_options *options)
{
    etx_first_pass_options used;
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
    used = model->first_pass_options;
    ETX_CHECK(etx_options_accept(
        &used, __func__, options, &etx_first_pass_options_type));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    etx_stage_reset_timings(context);
    ETX_SCRATCH(label, arena, event->n_hits, "labels");
    ETX_CHECK(
        etx_stage_find_long(label, &n_tracks, context, model, event, &used));
    ETX_CHECK(etx_tracks_group(out, event->n_hits, label, 1));
done:
    if (arena != NULL)
        etx_arena_reset(arena, mark);
    return etx_call_end(&host, status);
}
