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
#include "train/hard_pairs.h"

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

/* Hits whose surroundings this step looks at. */
static etx_status draw_queries(int32_t **query, int64_t *n_queries,
    struct etx_trainer *trainer, const struct etx_sample *sample,
    struct etx_random *random)
{
    const int64_t wanted = trainer->config.sampling.n_queries;
    etx_status status;

    *n_queries = wanted < sample->n_hits ? wanted : sample->n_hits;
    ETX_CHECK(etx_arena_take(query, trainer->context->stream->arena,
        *n_queries, sizeof **query, "queries"));
    for (int64_t q = 0; q < *n_queries; q++)
        (*query)[q] = wanted < sample->n_hits
                          ? (int32_t)etx_random_below(
                                random, (uint64_t)sample->n_hits)
                          : (int32_t)q;
done:
    return status;
}

/* Pairs of the queries with hits of other particles near them. */
static etx_status find_hard_pairs(int32_t **a, int32_t **b, int64_t *n,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_sample *sample, const float *point,
    struct etx_random *random)
{
    const struct etx_train_sampling *options = &trainer->config.sampling;
    struct etx_stream *stream = trainer->context->stream;
    struct etx_hard_pairs_args args = {.n_points = sample->n_hits,
        .n_dim = trainer->stage->network->n_out,
        .point = point,
        .radius = options->search_radius,
        .n_nearest = options->n_neighbours,
        .n_other = options->n_other,
        .seed = (uint64_t)trainer->config.seed,
        .stream = (uint32_t)trainer->step + 1};
    int32_t *query;
    int32_t *particle;
    etx_status status;

    ETX_CHECK(
        draw_queries(&query, &args.n_queries, trainer, sample, random));
    ETX_CHECK(etx_arena_take(&particle, stream->arena, sample->n_hits,
        sizeof *particle, "particles"));
    for (int64_t k = 0; k < sample->n_hits; k++)
        particle[k] = truth->particle[sample->row[k]];
    args.query = query;
    args.particle = particle;
    ETX_CHECK(etx_hard_pairs(a, b, n, stream, &args));
done:
    return status;
}

/* True pairs of the wedge, hard pairs of the points, random pairs. */
static etx_status make_pairs(struct pairs *pairs, struct etx_trainer *trainer,
    const struct etx_truth *truth, const struct etx_sample *sample,
    const float *point, struct etx_random *random)
{
    const int32_t n_random = trainer->config.sampling.n_random;
    int32_t *a;
    int32_t *b;
    int64_t n_hard;
    etx_status status;

    ETX_CHECK(find_hard_pairs(
        &a, &b, &n_hard, trainer, truth, sample, point, random));
    ETX_CHECK(take_pairs(pairs, trainer->context->stream->arena,
        sample->n_hits + n_hard + n_random));
    add_true_pairs(
        pairs, truth, sample, trainer->config.truth.low_pt_weight);
    for (int64_t k = 0; k < n_hard; k++)
        add_pair(pairs, a[k], b[k], 0, 1.0f);
    for (int32_t k = 0; k < n_random && sample->n_hits > 1; k++) {
        const uint64_t n = (uint64_t)sample->n_hits;
        const int32_t first = (int32_t)etx_random_below(random, n);
        const int32_t second = (int32_t)etx_random_below(random, n);

        add_false_pair(pairs, truth, sample, first, second);
    }
done:
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
        &trainer->config));
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
