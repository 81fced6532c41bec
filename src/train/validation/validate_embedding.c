/* train/validation/validate_embedding.c -- the radius that keeps the wanted
 * pairs, and what the graph at that radius holds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/validate.h"

#include "base/check.h"
#include "stage/stage.h"
#include "train/ratio.h"
#include "train/transfer.h"

#include <math.h>

static float find_distance(const float *a, const float *b, int32_t n_dim)
{
    double sum = 0.0;

    for (int32_t k = 0; k < n_dim; k++) {
        const double d = (double)a[k] - (double)b[k];
        sum += d * d;
    }
    return (float)sqrt(sum);
}

/* Distances of the true pairs of one event. */
static etx_status add_distances(struct etx_score_list *list,
    const struct etx_truth *truth, int32_t n_dim, const float *point)
{
    etx_status status = ETX_OK;

    for (int64_t a = 0; a < truth->n_hits; a++) {
        const uint8_t pair =
            truth->is_signal[a] ? ETX_PAIR_SIGNAL : ETX_PAIR_LOW_PT;

        for (int64_t p = truth->offset[a]; p < truth->offset[a + 1]; p++) {
            const float distance = find_distance(point + a * n_dim,
                point + (int64_t)truth->partner[p] * n_dim, n_dim);

            ETX_CHECK(etx_score_list_add(list, 1, &distance, &pair));
        }
    }
done:
    return status;
}

static etx_status measure_distances(
    struct etx_score_list *list, const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    int64_t last = 0;
    const int32_t n_dim = trainer->stage->network->n_out;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < validation->n; i++) {
        const struct etx_train_event *event = validation->event[i];
        float *point;

        ETX_CHECK(etx_validation_synchronise(validation, i, &last));
        if (!etx_validation_is_mine(validation, i))
            continue;
        ETX_CHECK(etx_stage_embed(
            &point, NULL, trainer->context, trainer->model, event->event));
        ETX_CHECK(etx_train_to_host(&point, trainer->context, point,
            event->event->n_hits * n_dim, "points"));
        ETX_CHECK(add_distances(list, &event->truth, n_dim, point));
        etx_scratch_reset(trainer->context, mark);
    }
    ETX_CHECK(etx_validation_gather(list, validation));
done:
    return status;
}

static void count_edges(struct etx_edge_counts *counts,
    const struct etx_truth *truth, const struct etx_graph *graph)
{
    for (int64_t e = 0; e < graph->n_edges; e++) {
        const int32_t pair =
            etx_truth_pair(truth, graph->src[e], graph->dst[e]);

        counts->n += 1.0;
        counts->n_true += pair == ETX_PAIR_SIGNAL || pair == ETX_PAIR_LOW_PT;
        counts->n_signal += pair == ETX_PAIR_SIGNAL;
    }
}

/* The edges of one event at the model's radius. */
static etx_status count_event(struct etx_edge_counts *counts,
    struct etx_trainer *trainer, const struct etx_train_event *event)
{
    const struct etx_model *model = trainer->model;
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    struct etx_neighbours neighbours = {.n_points = event->event->n_hits,
        .n_dim = trainer->stage->network->n_out,
        .max_neighbours = model->max_neighbours,
        .orientation = model->orientation,
        .radius = model->radius,
        .position = event->event->position,
        .max_edges = ETX_VALIDATION_EDGES_PER_HIT * event->event->n_hits};
    struct etx_graph *graph = NULL;
    float *point;
    etx_status status;

    ETX_CHECK(etx_stage_embed(
        &point, NULL, trainer->context, trainer->model, event->event));
    neighbours.point = point;
    ETX_CHECK(etx_stage_neighbours(&graph, trainer->context, &neighbours));
    ETX_CHECK(etx_stage_graph_to_host(&graph));
    count_edges(counts, &event->truth, graph);
done:
    etx_graph_free(graph);
    etx_scratch_reset(trainer->context, mark);
    return status;
}

/* Count this rank's events at the model's radius; one with too many edges is
 * marked. */
static etx_status count_events(const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    int64_t last = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < validation->n && status == ETX_OK; i++) {
        struct etx_edge_counts *counts = &validation->metrics[i].counts;

        status = etx_validation_synchronise(validation, i, &last);
        if (!etx_validation_is_mine(validation, i) || status != ETX_OK)
            continue;
        status = count_event(counts, trainer, validation->event[i]);
        if (status == ETX_ERR_LIMIT) {
            *counts = (struct etx_edge_counts){.is_beyond = 1.0};
            status = ETX_OK;
        }
    }
    return status;
}

/* The radius that keeps the wanted efficiency; 0 without signal pairs. */
static etx_status find_radius(
    float *out, const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    struct etx_score_list list = {.n = 0};
    etx_status status;

    ETX_CHECK(measure_distances(&list, validation));
    /* A little more, because the graph rounds its own squared distances. */
    *out = etx_score_list_quantile(&list, etx_validation_target(trainer)) *
           1.00001f;
    if (trainer->config.validation.radius > 0.0f)
        *out = trainer->config.validation.radius;
done:
    etx_score_list_clear(&list);
    return status;
}

etx_status etx_validate_embedding(
    struct etx_train_result *result, const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    const float radius_before = trainer->model->radius;
    struct etx_event_metrics sum;
    float radius = 0.0f;
    etx_status status;

    ETX_CHECK(find_radius(&radius, validation));
    result->threshold = radius > 0.0f ? (double)radius : (double)NAN;
    if (radius > 0.0f)
        trainer->model->radius = radius;
    status = count_events(validation);
    trainer->model->radius = radius_before;
    ETX_CHECK(status);
    ETX_CHECK(etx_validation_share(validation));
    sum = etx_validation_sum(validation);
    if (sum.counts.is_beyond > 0.0)
        sum.counts.n = sum.counts.n_true = sum.counts.n_signal = (double)NAN;
    else if (trainer->config.validation.target_efficiency > 0.0f &&
             radius > 0.0f)
        trainer->model->radius = radius;
    result->n_edges = sum.counts.n;
    result->purity = etx_ratio(sum.counts.n_true, sum.counts.n);
    result->efficiency = etx_ratio(sum.counts.n_signal, sum.n_signal_pairs);
done:
    return status;
}
