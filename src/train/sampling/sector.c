/* train/sampling/sector.c -- a phi-eta sector of an event, augmented.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/sector.h"

#include "base/check.h"
#include "base/heap.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* An interval of [0, 1) that wraps around. */
struct interval {
    float begin, width;
};

static int is_inside(const struct interval *interval, float x)
{
    const float distance = x - interval->begin;

    return (distance < 0.0f ? distance + 1.0f : distance) < interval->width;
}

/* An interval with this share of the hits; a share of 1: with all of them. */
static struct interval draw_interval(struct etx_random *random, double share)
{
    const float all = 2.0f; /* above 1, so that rounding excludes no hit */

    return (struct interval){.begin = etx_random_uniform(random),
        .width = share < 1.0 ? (float)share : all};
}

/* Fill row and local with the hits inside both intervals, without hits that
 * the truth drops. */
static void select_hits(struct etx_sector *sector,
    const struct etx_train_event *event, const struct interval *azimuth,
    const struct interval *slope)
{
    const int64_t n = event->event->n_hits;
    const uint8_t *is_dropped = event->truth.is_dropped;

    for (int64_t i = 0; i < n; i++) {
        const int inside = is_inside(azimuth, event->azimuth[i]) &&
                           is_inside(slope, event->slope_quantile[i]) &&
                           (is_dropped == NULL || !is_dropped[i]);

        sector->local[i] = inside ? (int32_t)sector->n_hits : -1;
        if (inside)
            sector->row[sector->n_hits++] = (int32_t)i;
    }
}

/* Augmentation of positions: a reflection, then a rotation about z. A matrix on
 * x and y, and a sign on z. */
struct transform {
    float xx, xy, yx, yy, zz;
};

static struct transform draw_transform(struct etx_random *random,
    const struct etx_train_augmentation *augmentation)
{
    const double angle = 2.0 * pi * (double)etx_random_uniform(random);
    const float mirror_y = etx_random_uniform(random) < 0.5f ? -1.0f : 1.0f;
    const float mirror_z = etx_random_uniform(random) < 0.5f ? -1.0f : 1.0f;
    const float c = augmentation->rotate_phi ? (float)cos(angle) : 1.0f;
    const float s = augmentation->rotate_phi ? (float)sin(angle) : 0.0f;
    const float y = augmentation->reflect_y ? mirror_y : 1.0f;
    const float x = augmentation->reflect_x && /* no draw when off */
                            etx_random_uniform(random) < 0.5f
                        ? -1.0f
                        : 1.0f;

    return (struct transform){.xx = c * x,
        .xy = -s * y,
        .yx = s * x,
        .yy = c * y,
        .zz = augmentation->reflect_z ? mirror_z : 1.0f};
}

static void transform_hits(struct etx_sector *sector,
    const struct etx_event *event, const struct transform *transform)
{
    for (int64_t k = 0; k < sector->n_hits; k++) {
        const float *x = event->position + 3 * (int64_t)sector->row[k];
        float *y = sector->position + 3 * k;

        y[0] = transform->xx * x[0] + transform->xy * x[1];
        y[1] = transform->yx * x[0] + transform->yy * x[1];
        y[2] = transform->zz * x[2];
    }
}

/* The sector's rows of the columns that a feature may read, in scratch, but for
 * those that `to` has. */
static etx_status gather_columns(struct etx_event *to, struct etx_arena *arena,
    const struct etx_sector *sector, const struct etx_event *from)
{
    etx_status status = ETX_OK;

    for (int32_t c = 0; c < ETX_N_EVENT_COLUMNS; c++) {
        const struct etx_event_column *column = &etx_event_columns[c];
        const unsigned char *values = etx_event_column_get(from, column);
        const size_t width = etx_event_row_bytes(from, column);
        unsigned char *gathered = NULL;

        if (column->kind != ETX_COLUMN_INPUT || values == NULL ||
            etx_event_column_get(to, column) != NULL)
            continue;
        ETX_CHECK(etx_arena_alloc(
            &gathered, arena, sector->n_hits, width, "hits of a sector"));
        for (int64_t k = 0; k < sector->n_hits; k++)
            memcpy(gathered + (size_t)k * width,
                values + (size_t)sector->row[k] * width, width);
        etx_event_column_set(to, column, gathered);
    }
done:
    return status;
}

static etx_status make_features(struct etx_sector *sector,
    struct etx_arena *arena, const struct etx_event *event,
    const struct etx_feature_list *features)
{
    struct etx_event transformed = {.n_hits = sector->n_hits,
        .position = sector->position,
        .n_features = event->n_features};
    etx_status status;

    ETX_CHECK(gather_columns(&transformed, arena, sector, event));
    ETX_SCRATCH(sector->features, arena, sector->n_hits * features->n_features,
        "node features");
    ETX_CHECK(etx_hit_features(sector->features, NULL, &transformed, features));
done:
    return status;
}

etx_status etx_sector_draw(struct etx_sector *out, struct etx_arena *arena,
    struct etx_random *random, const struct etx_train_event *event,
    int64_t n_hits, const struct etx_feature_list *features,
    const struct etx_train_config *config)
{
    const int64_t n = event->event->n_hits;
    const double fraction =
        n_hits == 0 || n_hits >= n ? 1.0 : (double)n_hits / (double)n;
    /* The shares of both intervals multiply to the fraction. */
    const double slope_share = fmax(fraction, config->sampling.eta_window);
    struct interval azimuth;
    struct interval slope;
    struct transform transform;
    struct etx_sector sector = {.n_hits = 0};
    etx_status status;

    ETX_SCRATCH(sector.row, arena, n, "sector");
    ETX_SCRATCH(sector.local, arena, n, "sector");
    azimuth = draw_interval(random, fraction / slope_share);
    slope = draw_interval(random, slope_share);
    select_hits(&sector, event, &azimuth, &slope);
    transform = draw_transform(random, &config->augmentation);
    ETX_SCRATCH(
        sector.position, arena, 3 * sector.n_hits, "positions of a sector");
    transform_hits(&sector, event->event, &transform);
    ETX_CHECK(make_features(&sector, arena, event->event, features));
    *out = sector;
done:
    return status;
}

etx_status etx_sector_edges(int32_t **ids, int64_t *n_edges,
    struct etx_arena *arena, const struct etx_sector *sector,
    const struct etx_graph *graph)
{
    int32_t *gathered = NULL;
    int64_t capacity = 0;
    int64_t n = 0;
    etx_status status;

    for (int64_t k = 0; k < sector->n_hits; k++) {
        const int64_t *offset = graph->in_offset + sector->row[k];
        capacity += offset[1] - offset[0];
    }
    ETX_SCRATCH(gathered, arena, capacity, "edges of a sector");
    for (int64_t k = 0; k < sector->n_hits; k++) {
        const int64_t *offset = graph->in_offset + sector->row[k];

        for (int64_t e = offset[0]; e < offset[1]; e++)
            if (sector->local[graph->src[e]] >= 0)
                gathered[n++] = (int32_t)e;
    }
    *ids = gathered;
    *n_edges = n;
done:
    return status;
}

etx_status etx_sector_graph(struct etx_graph **out,
    const struct etx_sector *sector, const struct etx_graph *graph,
    int64_t n_edges, const int32_t *ids)
{
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *score = NULL;
    etx_status status;

    ETX_NEW(src, n_edges, "edges of a step");
    ETX_NEW(dst, n_edges, "edges of a step");
    if (graph->score != NULL)
        ETX_NEW(score, n_edges, "scores");
    for (int64_t e = 0; e < n_edges; e++) {
        src[e] = sector->local[graph->src[ids[e]]];
        dst[e] = sector->local[graph->dst[ids[e]]];
        if (score != NULL)
            score[e] = graph->score[ids[e]];
    }
    ETX_CHECK(
        etx_graph_adopt(out, NULL, sector->n_hits, n_edges, src, dst, score));
    src = dst = NULL;
    score = NULL;
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    return status;
}
