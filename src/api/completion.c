/* api/completion.c -- add missing hits to tracks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <exatrkx/train.h>

#include "api/arguments.h"
#include "base/check.h"
#include "data/tracks.h"
#include "stage/options.h"
#include "stage/stage.h"

etx_status etx_model_completion_options(
    etx_completion_options *out, const etx_model *model)
{
    ETX_FORWARD(etx_options_write(out, out->struct_size,
                    &model->completion_options, &etx_completion_options_type),
        ETX_GIVEN(out), ETX_GIVEN(model));
}

etx_status etx_complete_tracks(etx_tracks **out, const etx_tracks *tracks,
    etx_context *context, const etx_model *model, const etx_event *event,
    const etx_completion_options *options)
{
    etx_completion_options used;
    struct etx_arena *arena = NULL;
    struct etx_arena_mark mark;
    int32_t *label = NULL;
    etx_status status;
    fenv_t host;

    ETX_CHECK(etx_call_begin(&host, __func__, ETX_GIVEN(out), ETX_GIVEN(tracks),
        ETX_GIVEN(context), ETX_GIVEN(model), ETX_GIVEN(event), ETX_END));
    ETX_CHECK(etx_check_learned(__func__, model->completion, "completion",
        "etx_model_learn_completion"));
    ETX_CHECK(etx_check_modules(__func__, event));
    ETX_CHECK(etx_check_tracks(__func__, tracks, event));
    used = model->completion_options;
    ETX_CHECK(etx_options_accept(
        &used, __func__, options, &etx_completion_options_type));
    arena = etx_host_of(context)->stream->arena;
    mark = etx_arena_mark(arena);
    ETX_SCRATCH(label, arena, tracks->n_hits, "labels");
    etx_tracks_to_labels(label, tracks);
    ETX_CHECK(etx_stage_complete(label, 0, context, model, event, &used));
    ETX_CHECK(etx_tracks_group(out, tracks->n_hits, label, 1));
done:
    if (arena != NULL)
        etx_arena_reset(arena, mark);
    return etx_call_end(&host, status);
}
