/* stage/hits_left.c -- an event between its first pass and its completion.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/crowds.h"
#include "data/tracks.h"

/* What is borrowed of the caller, for the hits row [rest->n_hits] of an event,
 * in scratch of the device. */
static etx_status select_borrowed(struct etx_event *rest,
    struct etx_context *context, const struct etx_event *event,
    const int32_t *row)
{
    struct etx_arena *arena = context->stream->arena;
    const struct etx_borrowed_array *const from[] = {
        &event->borrowed_position, &event->borrowed_features};
    struct etx_borrowed_array *const to[] = {
        &rest->borrowed_position, &rest->borrowed_features};
    const int64_t width[] = {3, event->n_features};
    const int32_t *index = NULL;
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < 2; k++) {
        struct etx_gather_args args = {.n_rows = rest->n_hits,
            .width = (int32_t)width[k],
            .x = etx_stage_borrowed(context, from[k])};

        if (args.x == NULL)
            continue;
        if (index == NULL)
            ETX_CHECK(etx_arena_to_device(
                &index, arena, row, rest->n_hits, sizeof *row, "hits left"));
        ETX_SCRATCH(args.y, arena, rest->n_hits * width[k], "hits left");
        args.index = index;
        ETX_CHECK(context->ops->gather(context->stream, &args));
        *to[k] = (struct etx_borrowed_array){args.y, from[k]->device_index};
    }
done:
    return status;
}

/* rest: the hits of no track, but for crowds. */
static etx_status select_left(
    struct etx_hits_left *left, struct etx_context *context)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    const struct etx_event *const event = left->event;
    uint8_t *is_crowded = NULL;
    int64_t n = 0;
    etx_status status;

    etx_event_free(left->selected);
    left->selected = NULL;
    ETX_SCRATCH(is_crowded, arena, event->n_hits, "hits left");
    ETX_CHECK(etx_event_find_crowds(is_crowded, arena, event));
    ETX_SCRATCH(left->row, arena, event->n_hits, "hits left");
    for (int64_t i = 0; i < event->n_hits; i++)
        if (left->label[i] < 0 && !is_crowded[i])
            left->row[n++] = (int32_t)i;
    ETX_CHECK(etx_event_select(&left->selected, event, left->row, n));
    left->rest = left->selected;
    ETX_CHECK(select_borrowed(left->selected, context, event, left->row));
done:
    return status;
}

etx_status etx_stage_begin_event(struct etx_hits_left *out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event)
{
    struct etx_arena *arena = etx_host_of(context)->stream->arena;
    etx_status status;

    *out = (struct etx_hits_left){.event = event, .rest = event};
    ETX_SCRATCH(out->label, arena, event->n_hits, "labels");
    for (int64_t i = 0; i < event->n_hits; i++)
        out->label[i] = -1;
    if (!etx_stage_has_first_pass(model, event))
        return ETX_OK;
    ETX_CHECK(etx_stage_first_pass(
        out->label, &out->n_tracks, context, model, event));
    ETX_CHECK(select_left(out, context));
done:
    return status;
}

int32_t etx_stage_passes(
    const struct etx_model *model, const struct etx_event *event)
{
    return model->completion != NULL && event->layer_id != NULL
               ? model->completion_options.passes
               : 1;
}

void etx_stage_add_found(struct etx_hits_left *left, const int32_t *found)
{
    for (int64_t k = 0; k < left->rest->n_hits; k++)
        left->label[left->row != NULL ? left->row[k] : k] =
            found[k] < 0 ? -1 : found[k] + left->n_tracks;
}

etx_status etx_stage_next_pass(struct etx_hits_left *left,
    struct etx_context *context, const struct etx_model *model)
{
    etx_completion_options options = model->completion_options;
    etx_status status;

    options.min_layers = 0; /* new tracks are for the networks to find */
    ETX_CHECK(etx_stage_complete(
        left->label, left->n_tracks, context, model, left->event, &options));
    left->n_tracks = etx_count_labels(left->label, left->event->n_hits);
    ETX_CHECK(select_left(left, context));
done:
    return status;
}

etx_status etx_stage_end_event(struct etx_tracks **out,
    struct etx_hits_left *left, struct etx_context *context,
    const struct etx_model *model)
{
    const struct etx_event *const event = left->event;
    etx_status status = ETX_OK;

    if (model->completion != NULL && event->layer_id != NULL)
        ETX_CHECK(etx_stage_complete(left->label, left->n_tracks, context,
            model, event, &model->completion_options));
    ETX_CHECK(etx_tracks_group(out, event->n_hits, left->label, 1));
done:
    return status;
}

void etx_hits_left_free(struct etx_hits_left *left)
{
    etx_event_free(left->selected);
}
