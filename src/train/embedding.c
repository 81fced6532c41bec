/* train/embedding.c -- one step of metric learning.
 *
 * Neighbours on a particle attract each other, hits of different particles
 * repel each other (Hadsell, Chopra, LeCun, CVPR 2006). The pairs that repel
 * are the nearest of every hit in the space as it is now, and random ones.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/memory.h"

#include <string.h>

/* Pairs of a step, in scratch. */
struct pairs {
    int64_t n, n_positive, n_negative;
    double positive_weight; /* sum of the weights of the positive ones */
    int32_t *a, *b;         /* [n] */
    uint8_t *target;        /* [n] */
    float *weight;          /* [n] */
};

static void add_pair(
    struct pairs *pairs, int32_t a, int32_t b, int target, float weight)
{
    pairs->a[pairs->n] = a;
    pairs->b[pairs->n] = b;
    pairs->target[pairs->n] = (uint8_t)target;
    pairs->weight[pairs->n] = weight;
    pairs->n++;
    if (target) {
        pairs->n_positive++;
        pairs->positive_weight += (double)weight;
    } else {
        pairs->n_negative++;
    }
}

static void add_true_pairs(struct pairs *pairs,
    const struct etx_truth *truth, const struct etx_sample *sample,
    float low_pt_weight)
{
    for (int32_t k = 0; k < sample->n_hits; k++) {
        const int32_t row = sample->row[k];
        const int32_t next = truth->next[row];

        if (next >= 0 && sample->place[next] >= 0)
            add_pair(pairs, k, sample->place[next], 1,
                truth->is_signal[row] ? 1.0f : low_pt_weight);
    }
}

static void add_false_pair(struct pairs *pairs, const struct etx_truth *truth,
    const struct etx_sample *sample, int32_t a, int32_t b)
{
    if (a != b && etx_truth_pair(truth, sample->row[a], sample->row[b]) ==
                      ETX_PAIR_FALSE)
        add_pair(pairs, a, b, 0, 1.0f);
}

static etx_status take_pairs(
    struct pairs *pairs, struct etx_arena *arena, int64_t capacity)
{
    etx_status status;

    ETX_CHECK(etx_arena_take(
        &pairs->a, arena, capacity, sizeof *pairs->a, "pairs"));
    ETX_CHECK(etx_arena_take(
        &pairs->b, arena, capacity, sizeof *pairs->b, "pairs"));
    ETX_CHECK(etx_arena_take(
        &pairs->target, arena, capacity, sizeof *pairs->target, "pairs"));
    ETX_CHECK(etx_arena_take(
        &pairs->weight, arena, capacity, sizeof *pairs->weight, "pairs"));
done:
    return status;
}

/* True pairs of the wedge, hard pairs of the points, random pairs. */
static etx_status make_pairs(struct pairs *pairs, struct etx_trainer *trainer,
    const struct etx_truth *truth, const struct etx_sample *sample,
    const float *point, struct etx_random *random)
{
    const struct etx_train_sampling *options = &trainer->config.sampling;
    struct etx_context *context = trainer->context;
    struct etx_edge_list near = {.n_edges = 0};
    const struct etx_radius_graph_args args = {.n_points = sample->n_hits,
        .n_dim = trainer->stage->network->n_out,
        .max_neighbours = options->n_neighbours,
        .both = 1,
        .radius = options->search_radius,
        .point = point,
        .max_edges = INT32_MAX,
        .out = &near};
    etx_status status;

    ETX_CHECK(context->ops->radius_graph(context->stream, &args));
    ETX_CHECK(take_pairs(pairs, context->stream->arena,
        sample->n_hits + near.n_edges + options->n_random));
    add_true_pairs(
        pairs, truth, sample, trainer->config.truth.low_pt_weight);
    for (int64_t e = 0; e < near.n_edges; e++)
        add_false_pair(pairs, truth, sample, near.src[e], near.dst[e]);
    for (int32_t k = 0; k < options->n_random && sample->n_hits > 1; k++) {
        const uint64_t n = (uint64_t)sample->n_hits;
        const int32_t a = (int32_t)etx_random_below(random, n);
        const int32_t b = (int32_t)etx_random_below(random, n);

        add_false_pair(pairs, truth, sample, a, b);
    }
done:
    etx_release(near.src);
    etx_release(near.dst);
    return status;
}

/* loss = positive_weight * mean(attract) + mean(repel). */
static etx_status pair_loss(double *loss, float *d_point,
    struct etx_trainer *trainer, const struct pairs *pairs, int64_t n_points,
    const float *point)
{
    const struct etx_train_loss *options = &trainer->config.loss;
    const double positive_scale =
        pairs->positive_weight > 0.0
            ? (double)options->positive_weight / pairs->positive_weight
            : 0.0;
    const double negative_scale =
        pairs->n_negative > 0 ? 1.0 / (double)pairs->n_negative : 0.0;
    double positive_sum = 0.0;
    double negative_sum = 0.0;
    const struct etx_hinge_loss_args args = {.n_pairs = pairs->n,
        .n_points = n_points,
        .n_dim = trainer->stage->network->n_out,
        .hinge = options->hinge,
        .margin = options->margin,
        .point = point,
        .a = pairs->a,
        .b = pairs->b,
        .target = pairs->target,
        .weight = pairs->weight,
        .positive_scale = (float)positive_scale,
        .negative_scale = (float)negative_scale,
        .positive_sum = &positive_sum,
        .negative_sum = &negative_sum,
        .d_point = d_point};
    const etx_status status =
        trainer->context->ops->hinge_loss(trainer->context->stream, &args);

    *loss = positive_scale * positive_sum + negative_scale * negative_sum;
    return status;
}

etx_status etx_train_embedding(struct etx_trainer *trainer,
    struct etx_train_event *event, struct etx_random *random,
    etx_training_report *report)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_network *network = trainer->stage->network;
    const struct etx_arch *arch = network->arch;
    struct etx_sample sample;
    struct etx_tape tape = {NULL};
    struct pairs pairs = {.n = 0};
    float *point;
    float *d_point;
    etx_status status;

    ETX_CHECK(etx_sample_take(&sample, arena, random, event,
        trainer->config.sampling.n_hits, &trainer->stage->node_features,
        &trainer->config.augmentation));
    const int64_t n_values = sample.n_hits * network->n_out;
    const struct etx_network_input input = {.n_nodes = sample.n_hits,
        .node_features = sample.features,
        .position = sample.position};
    ETX_CHECK(
        etx_arena_take(&point, arena, n_values, sizeof *point, "points"));
    ETX_CHECK(
        etx_arena_take(&d_point, arena, n_values, sizeof *d_point, "points"));
    ETX_CHECK(arch->forward(network, context, &input, &tape, point));
    ETX_CHECK(make_pairs(
        &pairs, trainer, &event->truth, &sample, point, random));
    memset(d_point, 0, (size_t)n_values * sizeof *d_point);
    ETX_CHECK(pair_loss(
        &report->loss, d_point, trainer, &pairs, sample.n_hits, point));
    ETX_CHECK(arch->backward(
        network, context, &input, &tape, d_point, trainer->gradient));
    report->n_edges = (double)pairs.n;
done:
    return status;
}
