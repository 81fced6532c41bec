/* stage/graph_construction/bounded_radius.c -- a smaller radius for events with
 * more candidates than a model allows.
 *
 * At one radius the number of candidates grows with the square of the number of
 * hits. It is estimated from a sample of one point in k, which has k^2 times
 * fewer pairs at the same distances: a histogram of their squared distances
 * gives the radius at which the estimate meets the bound. A point is in the
 * sample by a hash of its hit's position: not by its row, as successive rows
 * are often neighbours, and not by its coordinates in the learned space, whose
 * last bits differ between machines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "stage/stage.h"

#include "base/check.h"
#include "base/heap.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define SAMPLE_POINTS 12500 /* aimed at */
#define MIN_STEP      4     /* at most one point in four */
#define BINS          4096  /* of squared distance, up to the radius squared */

struct sample {
    int64_t n_points;
    const float *point;    /* [n_points, n_dim] in the memory of the context */
    int64_t n_pairs[BINS]; /* by squared distance */
};

/* Hash of a position: the finaliser of MurmurHash3 after every coordinate. */
static uint32_t hash_position(const float position[3])
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

/* row [n_points]: the rows of the sample; returns their number. */
static int64_t choose_rows(
    int32_t *row, const struct etx_neighbours *neighbours)
{
    const int64_t wanted = neighbours->n_points / SAMPLE_POINTS;
    const int64_t step = wanted > MIN_STEP ? wanted : MIN_STEP;
    int64_t n = 0;

    /* Without a branch that nobody could foresee. */
    for (int64_t i = 0; i < neighbours->n_points; i++) {
        row[n] = (int32_t)i;
        n += hash_position(neighbours->position + 3 * i) % step == 0;
    }
    return n;
}

/* The points of the rows [n], in scratch. */
static etx_status gather_rows(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours,
    const int32_t *row, int64_t n)
{
    struct etx_arena *arena = context->stream->arena;
    const int32_t *device_row = NULL;
    float *point = NULL;
    etx_status status;

    ETX_CHECK(etx_arena_to_device(
        &device_row, arena, row, n, sizeof *row, "a sample of points"));
    ETX_SCRATCH(point, arena, n * neighbours->n_dim, "a sample of points");
    const struct etx_gather_args args = {.n_rows = n,
        .width = neighbours->n_dim,
        .x = neighbours->point,
        .index = device_row,
        .y = point};
    ETX_CHECK(context->ops->gather(context->stream, &args));
    sample->n_points = n;
    sample->point = point;
done:
    return status;
}

static etx_status choose_points(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    int32_t *row = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &row, neighbours->n_points, sizeof *row, "a sample of points"));
    ETX_CHECK(gather_rows(
        sample, context, neighbours, row, choose_rows(row, neighbours)));
done:
    etx_free(row);
    return status;
}

/* Histogram of the squared distances of the pairs within the radius. */
static etx_status count_pairs(struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    const struct etx_distance_bins_args bins = {.n_points = sample->n_points,
        .n_dim = neighbours->n_dim,
        .n_bins = BINS,
        .radius = neighbours->radius,
        .point = sample->point,
        .radius_graph = context->ops->radius_graph,
        .max_edges = etx_stage_free_edges(context, 0, neighbours->max_edges),
        .count = sample->n_pairs};

    return context->ops->distance_bins(context->stream, &bins);
}

/* The largest radius at a bin's edge, at least one bin, with at most max pairs
 * of the sample. */
static float find_radius(const struct sample *sample, double max, float radius)
{
    double sum = 0.0;
    int32_t bin = 0;

    while (bin < BINS && sum + (double)sample->n_pairs[bin] <= max)
        sum += (double)sample->n_pairs[bin++];
    bin = bin > 0 ? bin : 1;
    return (float)((double)radius * sqrt((double)bin / BINS));
}

/* Pairs of the sample that correspond to the bound on edges. */
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
    ETX_NEW(sample, 1, "a sample of points");
    ETX_CHECK(choose_points(sample, context, neighbours));
    ETX_CHECK(count_pairs(sample, context, neighbours));
    *radius = find_radius(sample,
        max_pairs(sample, neighbours, max_edges_per_hit), neighbours->radius);
done:
    etx_free(sample);
    etx_arena_reset(context->stream->arena, mark);
    return status;
}

/* --------------------------------------------------------- joined events -- */

/* The hits of one of the joined events. */
static struct etx_neighbours hits_of(const struct etx_neighbours *neighbours,
    const struct etx_event *event, int32_t e)
{
    struct etx_neighbours out = *neighbours;

    out.n_points = event->first_hit[e + 1] - event->first_hit[e];
    out.position += 3 * event->first_hit[e];
    return out;
}

/* The points of the samples of all events, first [n_joined + 1] of each. */
static etx_status choose_all(struct sample *sample, int64_t *first,
    struct etx_context *context, const struct etx_neighbours *neighbours,
    const struct etx_event *event)
{
    int32_t *row = NULL;
    etx_status status;

    ETX_CHECK(etx_alloc_uncleared(
        &row, neighbours->n_points, sizeof *row, "a sample of points"));
    first[0] = 0;
    for (int32_t e = 0; e < event->n_joined; e++) {
        const struct etx_neighbours of = hits_of(neighbours, event, e);
        const int64_t n = of.n_points < ETX_MIN_BOUNDED_POINTS
                              ? 0
                              : choose_rows(row + first[e], &of);

        for (int64_t k = first[e]; k < first[e] + n; k++)
            row[k] += (int32_t)event->first_hit[e];
        first[e + 1] = first[e] + n;
    }
    ETX_CHECK(
        gather_rows(sample, context, neighbours, row, first[event->n_joined]));
done:
    etx_free(row);
    return status;
}

/* offset [sample->n_points + 1]: how many pairs come before each point. */
static etx_status count_by_point(int64_t *offset, const struct sample *sample,
    struct etx_context *context, const struct etx_neighbours *neighbours)
{
    struct etx_neighbours of_sample = *neighbours;
    struct etx_graph *graph = NULL;
    etx_status status;

    of_sample.n_points = sample->n_points;
    of_sample.point = sample->point;
    of_sample.orientation = ETX_ORIENT_INDEX;
    of_sample.ends_only = 0;
    ETX_CHECK(etx_stage_neighbours(&graph, context, &of_sample));
    ETX_CHECK(etx_memory_to_host(graph->memory, offset, graph->in_offset,
        sample->n_points + 1, sizeof *offset));
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_stage_check_radius(struct etx_context *context,
    const struct etx_neighbours *neighbours, const struct etx_event *event,
    float max_edges_per_hit)
{
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    struct etx_arena *host = etx_host_of(context)->stream->arena;
    struct sample *sample = NULL;
    int64_t *first = NULL;
    int64_t *offset = NULL;
    etx_status status;

    if (max_edges_per_hit <= 0.0f)
        return ETX_OK;
    ETX_NEW(sample, 1, "a sample of points");
    ETX_SCRATCH(
        first, host, (int64_t)event->n_joined + 1, "a sample of points");
    ETX_CHECK(choose_all(sample, first, context, neighbours, event));
    if (sample->n_points == 0)
        goto done;
    ETX_SCRATCH(offset, host, sample->n_points + 1, "a sample of points");
    ETX_CHECK(count_by_point(offset, sample, context, neighbours));
    for (int32_t e = 0; e < event->n_joined; e++) {
        const struct etx_neighbours of = hits_of(neighbours, event, e);

        sample->n_points = first[e + 1] - first[e];
        if (sample->n_points > 0 &&
            (double)(offset[first[e + 1]] - offset[first[e]]) >
                max_pairs(sample, &of, max_edges_per_hit))
            ETX_FAIL(ETX_ERR_LIMIT,
                "joined events: one needs a smaller radius than the others");
    }
done:
    etx_free(sample);
    etx_scratch_reset(context, mark);
    return status;
}
