/* stage/classical.c -- first pass and completion, by the tables of a model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "stage/completion/completion.h"
#include "stage/first_pass/first_pass.h"

etx_status etx_stage_complete(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_completion_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_COMPLETION);
    const struct etx_completion *const completion = model->completion;
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    struct etx_grid *grid = NULL;
    etx_status status;

    ETX_CHECK(etx_grid_make(&grid, arena, completion, event));
    ETX_CHECK(
        etx_complete_labels(label, context, grid, completion, options, event));
    ETX_CHECK(etx_tracks_fill(
        label, n_filled, context, grid, completion, options, event));
    if (options->min_layers > 0)
        ETX_CHECK(etx_new_tracks_find(
            label, context, grid, completion, options, event));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    etx_arena_reset(arena, mark);
    return status;
}

int32_t etx_stage_has_first_pass(
    const struct etx_model *model, const struct etx_event *event)
{
    return model->first_pass != NULL && event->layer_id != NULL &&
           event->n_hits >= model->first_pass_options.min_event_hits;
}

etx_status etx_stage_find_long(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_first_pass_options *options)
{
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FIRST_PASS);
    etx_status status;

    ETX_CHECK(etx_first_pass_find(label, n_tracks, context, model->first_pass,
        model->completion, options, event));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    return status;
}

etx_status etx_stage_first_pass(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    etx_completion_options options = model->completion_options;
    etx_status status;

    options.min_layers = 0; /* new tracks are for the networks to find */
    ETX_CHECK(etx_stage_find_long(
        label, n_tracks, context, model, event, &model->first_pass_options));
    ETX_CHECK(etx_stage_complete(label, 0, context, model, event, &options));
done:
    return status;
}
