/* train/sampling/sector.c -- a wedge of an event, turned and mirrored.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sampling/sector.h"

#include "base/check.h"
#include "base/heap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* A hit and the slope of the line from the origin to it. */
struct slope {
    float value;
    int32_t hit;
};

static int compare_slopes(const void *left, const void *right)
{
    const struct slope *a = left;
    const struct slope *b = right;

    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->hit < b->hit ? -1 : a->hit > b->hit;
}

static etx_status rank_hits(float *rank, const struct etx_event *event)
{
    const int64_t n = event->n_hits;
    struct slope *slope = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&slope, n, sizeof *slope, "slopes"));
    for (int64_t i = 0; i < n; i++) {
        const float *x = event->position + 3 * i;
        const double r = hypot((double)x[0], (double)x[1]);

        slope[i].value = (float)((double)x[2] / (r > 1e-3 ? r : 1e-3));
        slope[i].hit = (int32_t)i;
    }
    qsort(slope, (size_t)n, sizeof *slope, compare_slopes);
    for (int64_t i = 0; i < n; i++)
        rank[slope[i].hit] = (float)i / (float)n;
done:
    etx_free(slope);
    return status;
}

etx_status etx_train_event_create(struct etx_train_event **out,
    const struct etx_event *event, const struct etx_train_config *config)
{
    struct etx_train_event *made = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&made, 1, sizeof *made, "training event"));
    made->event = event;
    made->n_hits = event->n_hits;
    made->holder = -1;
    ETX_CHECK(etx_truth_build(
        &made->truth, event, &config->truth, config->loss.hit_weight > 0.0f));
    ETX_CHECK(
        etx_alloc(&made->turn, event->n_hits, sizeof *made->turn, "azimuths"));
    for (int64_t i = 0; i < event->n_hits; i++) {
        const float *x = event->position + 3 * i;
        const double turn =
            atan2((double)x[1], (double)x[0]) / (2.0 * pi) + 0.5;

        made->turn[i] = (float)(turn - floor(turn));
    }
    ETX_CHECK(
        etx_alloc(&made->rank, event->n_hits, sizeof *made->rank, "ranks"));
    ETX_CHECK(rank_hits(made->rank, event));
    *out = made;
    made = NULL;
done:
    etx_train_event_free(made);
    return status;
}

etx_status etx_train_event_absent(struct etx_train_event **out, int64_t n_hits)
{
    const etx_status status = etx_alloc(out, 1, sizeof **out, "training event");

    if (status == ETX_OK)
        (*out)->n_hits = n_hits;
    return status;
}

void etx_train_event_free(struct etx_train_event *event)
{
    if (event == NULL)
        return;
    etx_truth_clear(&event->truth);
    etx_free(event->turn);
    etx_free(event->rank);
    etx_graph_free(event->graph);
    etx_free(event);
}

/* A window on a circle of circumference 1. */
struct window {
    float begin, width;
};

static int is_inside(const struct window *window, float at)
{
    const float past = at - window->begin;

    return (past < 0.0f ? past + 1.0f : past) < window->width;
}

/* Windows in azimuth and slope that hold a share of the hits. */
static void draw_windows(struct window *turn, struct window *rank,
    struct etx_random *random, double share, double eta_window)
{
    const double wide = 2.0; /* everything, whatever is rounded */
    const double in_rank = share < eta_window ? eta_window : share;

    turn->begin = etx_random_uniform(random);
    rank->begin = etx_random_uniform(random);
    rank->width = (float)(in_rank < 1.0 ? in_rank : wide);
    turn->width = (float)(share < in_rank ? share / in_rank : wide);
}

/* Fill row and place with the hits inside both windows that training sees. */
static void select_hits(struct etx_sample *sample,
    const struct etx_train_event *event, const struct window *turn,
    const struct window *rank)
{
    const int64_t n = event->event->n_hits;
    const uint8_t *is_dropped = event->truth.is_dropped;

    for (int64_t i = 0; i < n; i++) {
        const int inside = is_inside(turn, event->turn[i]) &&
                           is_inside(rank, event->rank[i]) &&
                           (is_dropped == NULL || !is_dropped[i]);

        sample->local[i] = inside ? (int32_t)sample->n_hits : -1;
        if (inside)
            sample->row[sample->n_hits++] = (int32_t)i;
    }
}

/* x' = turn (mirror x), written as a matrix on x and y and a sign on z. */
struct motion {
    float xx, xy, yx, yy, zz;
};

static struct motion draw_motion(struct etx_random *random,
    const struct etx_train_augmentation *augmentation)
{
    const double angle = 2.0 * pi * (double)etx_random_uniform(random);
    const float mirror_y = etx_random_uniform(random) < 0.5f ? -1.0f : 1.0f;
    const float mirror_z = etx_random_uniform(random) < 0.5f ? -1.0f : 1.0f;
    const float c = augmentation->rotate_phi ? (float)cos(angle) : 1.0f;
    const float s = augmentation->rotate_phi ? (float)sin(angle) : 0.0f;
    const float y = augmentation->reflect_y ? mirror_y : 1.0f;
    const float x = augmentation->reflect_x && /* drawn only where asked */
                            etx_random_uniform(random) < 0.5f
                        ? -1.0f
                        : 1.0f;

    return (struct motion){.xx = c * x,
        .xy = -s * y,
        .yx = s * x,
        .yy = c * y,
        .zz = augmentation->reflect_z ? mirror_z : 1.0f};
}

static void move_hits(struct etx_sample *sample, const struct etx_event *event,
    const struct motion *motion)
{
    for (int64_t k = 0; k < sample->n_hits; k++) {
        const float *x = event->position + 3 * (int64_t)sample->row[k];
        float *y = sample->position + 3 * k;

        y[0] = motion->xx * x[0] + motion->xy * x[1];
        y[1] = motion->yx * x[0] + motion->yy * x[1];
        y[2] = motion->zz * x[2];
    }
}

/* Rows of an event's array of n_columns, in scratch; NULL stays NULL. */
static etx_status take_rows(float **out, struct etx_arena *arena,
    const struct etx_sample *sample, const float *values, int64_t n_columns)
{
    float *taken = NULL;
    etx_status status = ETX_OK;

    if (values != NULL) {
        ETX_CHECK(etx_arena_alloc(&taken, arena, sample->n_hits * n_columns,
            sizeof *taken, "hits of a wedge"));
        for (int64_t k = 0; k < sample->n_hits; k++)
            memcpy(taken + k * n_columns,
                values + (int64_t)sample->row[k] * n_columns,
                (size_t)n_columns * sizeof *taken);
    }
    *out = taken;
done:
    return status;
}

static etx_status make_features(struct etx_sample *sample,
    struct etx_arena *arena, const struct etx_event *event,
    const struct etx_feature_list *features)
{
    struct etx_event part = {.n_hits = sample->n_hits,
        .position = sample->position,
        .n_features = event->n_features};
    etx_status status;

    ETX_CHECK(take_rows(&part.cell_features, arena, sample,
        event->cell_features, ETX_N_CELL_FEATURES));
    ETX_CHECK(take_rows(
        &part.features, arena, sample, event->features, event->n_features));
    ETX_CHECK(etx_arena_alloc(&sample->features, arena,
        sample->n_hits * features->n_features, sizeof *sample->features,
        "node features"));
    ETX_CHECK(etx_hit_features(sample->features, NULL, &part, features));
done:
    return status;
}

etx_status etx_sample_take(struct etx_sample *out, struct etx_arena *arena,
    struct etx_random *random, const struct etx_train_event *event,
    int64_t n_hits, const struct etx_feature_list *features,
    const struct etx_train_config *config)
{
    const int64_t n = event->event->n_hits;
    const double share =
        n_hits == 0 || n_hits >= n ? 1.0 : (double)n_hits / (double)n;
    struct window turn;
    struct window rank;
    struct motion motion;
    struct etx_sample sample = {.n_hits = 0};
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&sample.row, arena, n, sizeof *sample.row, "wedge"));
    ETX_CHECK(etx_arena_alloc(
        &sample.local, arena, n, sizeof *sample.local, "wedge"));
    draw_windows(
        &turn, &rank, random, share, (double)config->sampling.eta_window);
    select_hits(&sample, event, &turn, &rank);
    motion = draw_motion(random, &config->augmentation);
    ETX_CHECK(etx_arena_alloc(&sample.position, arena, 3 * sample.n_hits,
        sizeof *sample.position, "positions of a wedge"));
    move_hits(&sample, event->event, &motion);
    ETX_CHECK(make_features(&sample, arena, event->event, features));
    *out = sample;
done:
    return status;
}

etx_status etx_sample_edges(int32_t **ids, int64_t *n_edges,
    struct etx_arena *arena, const struct etx_sample *sample,
    const struct etx_graph *graph)
{
    int32_t *taken = NULL;
    int64_t capacity = 0;
    int64_t n = 0;
    etx_status status;

    for (int64_t k = 0; k < sample->n_hits; k++) {
        const int64_t *offset = graph->in_offset + sample->row[k];
        capacity += offset[1] - offset[0];
    }
    ETX_CHECK(etx_arena_alloc(
        &taken, arena, capacity, sizeof *taken, "edges of a wedge"));
    for (int64_t k = 0; k < sample->n_hits; k++) {
        const int64_t *offset = graph->in_offset + sample->row[k];

        for (int64_t e = offset[0]; e < offset[1]; e++)
            if (sample->local[graph->src[e]] >= 0)
                taken[n++] = (int32_t)e;
    }
    *ids = taken;
    *n_edges = n;
done:
    return status;
}

etx_status etx_sample_graph(struct etx_graph **out,
    const struct etx_sample *sample, const struct etx_graph *graph,
    int64_t n_edges, const int32_t *ids)
{
    int32_t *src = NULL;
    int32_t *dst = NULL;
    float *score = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc(&src, n_edges, sizeof *src, "edges of a step"));
    ETX_CHECK(etx_alloc(&dst, n_edges, sizeof *dst, "edges of a step"));
    if (graph->score != NULL)
        ETX_CHECK(etx_alloc(&score, n_edges, sizeof *score, "scores"));
    for (int64_t e = 0; e < n_edges; e++) {
        src[e] = sample->local[graph->src[ids[e]]];
        dst[e] = sample->local[graph->dst[ids[e]]];
        if (score != NULL)
            score[e] = graph->score[ids[e]];
    }
    ETX_CHECK(
        etx_graph_adopt(out, NULL, sample->n_hits, n_edges, src, dst, score));
    src = dst = NULL;
    score = NULL;
done:
    etx_free(src);
    etx_free(dst);
    etx_free(score);
    return status;
}
