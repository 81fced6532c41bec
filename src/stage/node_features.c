/* stage/node_features.c -- the features of the hits that a network reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "data/hit_features.h"

static size_t bytes_of(const struct etx_feature_list *list)
{
    return (size_t)list->n_features * sizeof *list->feature;
}

/* The columns of cells that args names, of the host, in one copy to the
 * device, unless the cache has them. */
static etx_status cells_to_device(
    struct etx_hit_features_args *args, struct etx_context *context)
{
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(host);
    const float **wanted[ETX_N_CELL_FEATURES];
    const float *copy = NULL;
    float *packed = NULL;
    int32_t n = 0;
    etx_status status = ETX_OK;

    for (int32_t c = 0; c < ETX_N_CELL_FEATURES; c++) {
        const float *const found =
            etx_event_cache_find(&context->event_cache, args->cell[c], 0);

        if (found != NULL)
            args->cell[c] = found;
        else if (args->cell[c] != NULL)
            wanted[n++] = &args->cell[c];
    }
    ETX_SCRATCH(packed, host, n * args->n_hits, "cells of hits");
    for (int64_t i = 0; i < args->n_hits; i++)
        for (int32_t k = 0; k < n; k++)
            packed[k * args->n_hits + i] = (*wanted[k])[i * args->cell_stride];
    if (n > 0)
        ETX_CHECK(etx_arena_to_device(&copy, context->stream->arena, packed,
            n * args->n_hits, sizeof *packed, "cells of hits"));
    for (int32_t k = 0; k < n; k++)
        *wanted[k] = copy + k * args->n_hits;
    args->cell_stride = 1;
done:
    etx_arena_reset(host, mark);
    return status;
}

/* *out, in scratch. */
static etx_status compute(const float **out, struct etx_context *context,
    const struct etx_feature_list *list, const struct etx_event *event)
{
    struct etx_hit_column column[ETX_MAX_FEATURES];
    struct etx_hit_features_args args;
    etx_status status;

    ETX_CHECK(etx_hit_feature_columns(&args, column, event, list));
    ETX_SCRATCH(args.out, context->stream->arena, args.n_hits * args.n_columns,
        "node features");
    ETX_CHECK(etx_stage_positions(&args.position, context, event));
    if (args.cluster != NULL)
        ETX_CHECK(etx_stage_to_device(&args.cluster, context, args.cluster,
            6 * args.n_hits, "positions of clusters"));
    if (context->stream->memory != NULL)
        ETX_CHECK(cells_to_device(&args, context));
    ETX_CHECK(context->ops->hit_features(context->stream, &args));
    *out = args.out;
done:
    return status;
}

/* Features of the caller. */
static etx_status copy_own(const float **out, struct etx_context *context,
    const struct etx_feature_list *list, const struct etx_event *event)
{
    struct etx_hit_column column[ETX_MAX_FEATURES];
    struct etx_hit_features_args args;
    etx_status status;

    ETX_CHECK(etx_hit_feature_columns(&args, column, event, list));
    ETX_CHECK(etx_stage_to_device(out, context, event->features,
        event->n_hits * list->n_features, "node features"));
done:
    return status;
}

etx_status etx_stage_node_features(const float **out,
    struct etx_context *context, const struct etx_model_stage *stage,
    const struct etx_event *event)
{
    etx_status status = ETX_OK;
    const struct etx_feature_list *list = &stage->node_features;

    *out = etx_event_cache_find(
        &context->event_cache, list->feature, bytes_of(list));
    if (*out == NULL && event->n_features == list->n_features)
        *out = etx_stage_borrowed(context, &event->borrowed_features);
    if (*out != NULL)
        return ETX_OK;
    const struct etx_stage_clock clock =
        etx_stage_begin(context, ETX_STAGE_FEATURES);

    if (event->features != NULL)
        ETX_CHECK(copy_own(out, context, list, event));
    else
        ETX_CHECK(compute(out, context, list, event));
    ETX_CHECK(etx_stage_end(context, &clock, 0));
done:
    return status;
}

etx_status etx_stage_cache_features(struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event)
{
    const struct etx_feature_list *list = &stage->node_features;
    const float *features = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_node_features(&features, context, stage, event));
    etx_event_cache_insert(
        &context->event_cache, list->feature, bytes_of(list), features);
done:
    return status;
}

/* What the networks of a model read of the cells, in one copy. */
static etx_status cache_cells(struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    const struct etx_model_stage *const stages[] = {
        &model->embedding, &model->filter, &model->gnn};
    struct etx_hit_column column[ETX_MAX_FEATURES];
    struct etx_hit_features_args all = {
        .n_hits = event->n_hits, .cell_stride = ETX_N_CELL_FEATURES};
    etx_status status = ETX_OK;

    for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++) {
        struct etx_hit_features_args args;

        if (stages[s]->network == NULL)
            continue;
        ETX_CHECK(etx_hit_feature_columns(
            &args, column, event, &stages[s]->node_features));
        for (int32_t c = 0; c < ETX_N_CELL_FEATURES; c++)
            if (args.cell[c] != NULL)
                all.cell[c] = args.cell[c];
    }
    const struct etx_hit_features_args host = all;

    ETX_CHECK(cells_to_device(&all, context));
    for (int32_t c = 0; c < ETX_N_CELL_FEATURES; c++)
        if (host.cell[c] != NULL)
            etx_event_cache_insert(
                &context->event_cache, host.cell[c], 0, all.cell[c]);
done:
    return status;
}

etx_status etx_stage_cache_hits(struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event)
{
    const float *position = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_positions(&position, context, event));
    etx_event_cache_insert(&context->event_cache, event->position, 0, position);
    if (context->stream->memory != NULL)
        ETX_CHECK(cache_cells(context, model, event));
done:
    return status;
}
