/* stage/graph_construction/bounded_radius.c -- a smaller radius for events of
 * more candidates than a model allows.
 *
 * Candidates grow with the square of the hits at one radius. How many there
 * would be, and at which distances, is seen on one point of k: k^2 times fewer
 * pairs at the same distances. Where its hit lies says whether a point is one
 * of these, as if by chance: not its row, as rows that follow each other often
 * are neighbours, nor its coordinates, whose last bits differ between machines.
 * The radius is then the one at which the estimate meets the bound, on a grid
 * of squared distances.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"

#include <math.h>
#include <string.h>

#define SAMPLE_POINTS 12500 /* about */
#define MIN_STEP      4     /* of so many points about one at most */
#define BINS          4096  /* of squared distance, up to the radius squared */

struct sample {
    int64_t n_points;
    const float *point;    /* [n_points, n_dim] where the context computes */
    int64_t n_pairs[BINS]; /* by squared distance */
};

/* A number that positions give as if by chance (the finaliser of MurmurHash3,
 * after every coordinate). */
static uint32_t draw(const float position[3])
{
    uint32_t hash = 0;

    for (int32_t k = 0; k < 3; k++) {
        uint32_t bits;
        memcpy(&bits, &position[k], sizeof bits);
        hash ^= bits;
        hash = (hash ^ hash >> 16) * UINT32_C(0x85ebca6b);
        hash = (hash ^ hash >> 13) * UINT32_C(0xc2b2ae35);
        hash ^= hash >> 16;
    }
    return hash;
}

/* row [n_points]: those of the sample come first; returns their number. */
static int64_t choose_rows(
    int32_t *row, const struct etx_neighbours *neighbours)
{
    const int64_t wanted = neighbours->n_points / SAMPLE_POINTS;
    const int64_t step = wanted > MIN_STEP ? wanted : MIN_STEP;
    int64_t n = 0;

    for (int64_t i = 0; i < neighbours->n_points; i++)
        if (draw(neighbours->position + 3 * i) % step == 0)
            row[n++] = (int32_t)i;
    return n;
}

/* The rows [n] of the host as points where the context computes, in scratch. */
static etx_status take_rows(struct sample *sample, struct etx_context *context,
    const struct etx_neighbours *neighbours, const int32_t *row, int64_t n)
{
    struct etx_arena *arena = context->stream->arena;
    int32_t *there = NULL;
    float *point = NULL;
    etx_status status;

    ETX_CHECK(
        etx_arena_alloc(&there, arena, n, sizeof *there, "a sample of points"));
    ETX_CHECK(etx_memory_to_device(
        context->stream->memory, there, row, n, sizeof *row));
    ETX_CHECK(etx_arena_alloc(&point, arena, n * neighbours->n_dim,
        sizeof *point, "a sample of points"));
    const struct etx_gather_args args = {.n_rows = n,
        .width = neighbours->n_dim,
        .x = neighbours->point,
        .index = there,
        .y = point};
    ETX_CHECK(context->ops->gather(context->stream, &args));
    sample->n_points = n;
    sample->point = point;
done:
    return status;
}

static etx_status take_points(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    int32_t *row = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &row, neighbours->n_points, sizeof *row, "a sample of points"));
    ETX_CHECK(take_rows(
        sample, context, neighbours, row, choose_rows(row, neighbours)));
done:
    etx_free(row);
    return status;
}

/* How many pairs of the sample are within the radius, by distance. */
static etx_status count_pairs(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    const struct etx_memory *memory = context->stream->memory;
    struct etx_edge_list list = {0, NULL, NULL};
    const struct etx_radius_graph_args search = {.n_points = sample->n_points,
        .n_dim = neighbours->n_dim,
        .radius = neighbours->radius,
        .point = sample->point,
        .max_edges = etx_stage_max_edges(context, neighbours->max_edges),
        .out = &list};
    etx_status status;

    ETX_CHECK(context->ops->radius_graph(context->stream, &search));
    const struct etx_distance_bins_args bins = {.n_pairs = list.n_edges,
        .n_dim = neighbours->n_dim,
        .n_bins = BINS,
        .radius = neighbours->radius,
        .point = sample->point,
        .src = list.src,
        .dst = list.dst,
        .count = sample->n_pairs};
    ETX_CHECK(context->ops->distance_bins(context->stream, &bins));
done:
    etx_memory_free(memory, list.src);
    etx_memory_free(memory, list.dst);
    return status;
}

/* The largest radius of the grid, one bin at least, at which no more than
 * `most` pairs of the sample are left. */
static float find_radius(const struct sample *sample, double max, float radius)
{
    double sum = 0.0;
    int32_t bin = 0;

    while (bin < BINS && sum + (double)sample->n_pairs[bin] <= max)
        sum += (double)sample->n_pairs[bin++];
    bin = bin > 0 ? bin : 1;
    return (float)((double)radius * sqrt((double)bin / BINS));
}

/* Pairs of the sample that stand for as many edges of all points. */
static double max_pairs(const struct sample *sample,
    const struct etx_neighbours *neighbours, float max_edges_per_hit)
{
    const double n = (double)neighbours->n_points;
    const double share = (double)sample->n_points / n;
    const double edges_of_pair =
        neighbours->orientation == ETX_ORIENT_BOTH ? 2.0 : 1.0;

    return (double)max_edges_per_hit * n * share * share / edges_of_pair;
}

etx_status etx_stage_bound_radius(float *radius, struct etx_context *context,
    const struct etx_neighbours *neighbours, float max_edges_per_hit)
{
    const struct etx_arena_mark mark = etx_arena_mark(context->stream->arena);
    struct sample *sample = NULL;
    etx_status status;

    *radius = neighbours->radius;
    if (max_edges_per_hit <= 0.0f ||
        neighbours->n_points < ETX_MIN_BOUNDED_POINTS)
        return ETX_OK;
    ETX_CHECK(etx_alloc(&sample, 1, sizeof *sample, "a sample of points"));
    ETX_CHECK(take_points(sample, context, neighbours));
    ETX_CHECK(count_pairs(sample, context, neighbours));
    *radius = find_radius(sample,
        max_pairs(sample, neighbours, max_edges_per_hit), neighbours->radius);
done:
    etx_free(sample);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
