/* stage/graph_construction/bounded_radius.c -- a smaller radius for events of
 * more candidates than a model allows.
 *
 * Candidates grow with the square of the hits at one radius. How many there
 * would be, and at which distances, is seen on one point of k: k^2 times fewer
 * pairs at the same distances. Where its hit lies says whether a point is one of
 * these, as if by chance: not its row, as rows that follow each other often are
 * neighbours, nor its coordinates, whose last bits differ between machines. The
 * radius is then the one at which the estimate meets the bound, on a grid of
 * squared distances.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define SAMPLE_POINTS 12500 /* about; never more than one of LEAST_STEP */
#define LEAST_STEP    4
#define BINS          4096 /* of squared distance, up to the radius squared */

/* All on the host. */
struct sample {
    int64_t n_points;
    float *point;       /* [n_points, n_dim] */
    int64_t n_edges;
    int32_t *src, *dst; /* [n_edges] */
    int64_t *n_pairs;   /* [BINS] by squared distance */
};

static void release_sample(struct sample *sample)
{
    etx_release(sample->point);
    etx_release(sample->src);
    etx_release(sample->dst);
    etx_release(sample->n_pairs);
}

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

/* Move the points of the sample to the front; returns their number. */
static int64_t choose_points(
    float *point, const struct etx_neighbours *neighbours)
{
    const int64_t wanted = neighbours->n_points / SAMPLE_POINTS;
    const int64_t step = wanted > LEAST_STEP ? wanted : LEAST_STEP;
    const int64_t n_dim = neighbours->n_dim;
    int64_t n = 0;

    for (int64_t i = 0; i < neighbours->n_points; i++)
        if (draw(neighbours->position + 3 * i) % step == 0)
            memmove(point + n++ * n_dim, point + i * n_dim,
                (size_t)n_dim * sizeof *point);
    return n;
}

static etx_status take_points(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    const int64_t n_values = neighbours->n_points * neighbours->n_dim;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &sample->point, n_values, sizeof *sample->point, "points"));
    ETX_CHECK(etx_place_get(context->stream->place, sample->point,
        neighbours->point, n_values, sizeof *sample->point));
    sample->n_points = choose_points(sample->point, neighbours);
done:
    return status;
}

/* The pairs of the sample within the radius. */
static etx_status find_pairs(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    const struct etx_place *place = context->stream->place;
    struct etx_edge_list list = {0, NULL, NULL};
    struct etx_radius_graph_args args = {.n_points = sample->n_points,
        .n_dim = neighbours->n_dim,
        .radius = neighbours->radius,
        .max_edges = etx_stage_most_edges(context, neighbours->max_edges),
        .out = &list};
    etx_status status;

    ETX_CHECK(etx_stage_bring(&args.point, context, sample->point,
        sample->n_points * neighbours->n_dim, "a sample of points"));
    ETX_CHECK(context->ops->radius_graph(context->stream, &args));
    ETX_CHECK(etx_alloc_uncleared(&sample->src, list.n_edges,
        sizeof *sample->src, "pairs of a sample"));
    ETX_CHECK(etx_alloc_uncleared(&sample->dst, list.n_edges,
        sizeof *sample->dst, "pairs of a sample"));
    ETX_CHECK(etx_place_get(
        place, sample->src, list.src, list.n_edges, sizeof *list.src));
    ETX_CHECK(etx_place_get(
        place, sample->dst, list.dst, list.n_edges, sizeof *list.dst));
    sample->n_edges = list.n_edges;
done:
    etx_place_release(place, list.src);
    etx_place_release(place, list.dst);
    return status;
}

static etx_status count_pairs(
    struct sample *sample, int32_t n_dim, float radius)
{
    const double whole = (double)radius * (double)radius;
    etx_status status;

    ETX_CHECK(etx_alloc(&sample->n_pairs, BINS, sizeof *sample->n_pairs,
        "pairs by distance"));
    for (int64_t e = 0; e < sample->n_edges; e++) {
        const float *a = sample->point + (int64_t)sample->src[e] * n_dim;
        const float *b = sample->point + (int64_t)sample->dst[e] * n_dim;
        double squared = 0.0;
        for (int32_t k = 0; k < n_dim; k++) {
            const double d = (double)a[k] - (double)b[k];
            squared += d * d;
        }
        const int64_t bin = (int64_t)(BINS * (squared / whole));
        sample->n_pairs[bin < BINS ? bin : BINS - 1]++;
    }
done:
    return status;
}

/* The largest radius of the grid, one bin at least, at which no more than
 * `most` pairs of the sample are left. */
static float find_radius(
    const struct sample *sample, double most, float radius)
{
    double sum = 0.0;
    int32_t bin = 0;

    while (bin < BINS && sum + (double)sample->n_pairs[bin] <= most)
        sum += (double)sample->n_pairs[bin++];
    bin = bin > 0 ? bin : 1;
    return (float)((double)radius * sqrt((double)bin / BINS));
}

/* Pairs of the sample that stand for as many edges of all points. */
static double most_pairs(const struct sample *sample,
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
    struct sample sample = {0};
    etx_status status;

    *radius = neighbours->radius;
    if (max_edges_per_hit <= 0.0f ||
        neighbours->n_points < ETX_LEAST_BOUNDED_POINTS)
        return ETX_OK;
    ETX_CHECK(take_points(&sample, context, neighbours));
    ETX_CHECK(find_pairs(&sample, context, neighbours));
    ETX_CHECK(count_pairs(&sample, neighbours->n_dim, neighbours->radius));
    *radius = find_radius(&sample,
        most_pairs(&sample, neighbours, max_edges_per_hit),
        neighbours->radius);
done:
    release_sample(&sample);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}
