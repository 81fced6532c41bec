/* train/embedding.c -- one step of metric learning.
 *
 * Hits of a true pair attract each other, hits of different particles repel
 * each other (Hadsell, Chopra, LeCun, CVPR 2006). The pairs that repel are
 * close in the space as it is now, or random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "train/pairs.h"

#include <string.h>

/* One wedge of a step, in scratch. */
struct wedge {
    struct etx_sample sample;
    struct etx_network_input input;
    struct etx_tape tape;
    struct etx_pairs pairs;
    float *point; /* [n_hits, n_out] where the context computes */
};

/* What the sums of a wedge's losses are multiplied by. */
struct scales {
    double positive, negative;
};

/* loss = positive_weight * mean(attract) + mean(repel), over this many. */
static struct scales find_scales(
    float positive_weight, double weight, double n_negative)
{
    return (struct scales){
        .positive = weight > 0.0 ? (double)positive_weight / weight : 0.0,
        .negative = n_negative > 0.0 ? 1.0 / n_negative : 0.0};
}

/* The scales of a wedge's own pairs, for the mean over the wedges that have
 * such pairs. */
static struct scales find_own_scales(float positive_weight,
    const struct wedge *wedge, int32_t n_wedges, int32_t w)
{
    const struct etx_pairs *own = &wedge[w].pairs;
    struct scales scales = find_scales(
        positive_weight, own->positive_weight, (double)own->n_negative);
    int32_t n_positive = 0;
    int32_t n_negative = 0;

    for (int32_t k = 0; k < n_wedges; k++) {
        n_positive += wedge[k].pairs.positive_weight > 0.0;
        n_negative += wedge[k].pairs.n_negative > 0;
    }
    if (n_positive > 0)
        scales.positive /= (double)n_positive;
    if (n_negative > 0)
        scales.negative /= (double)n_negative;
    return scales;
}

/* The scales of wedge w: over the pairs of all wedges, or the mean over
 * wedges of each one's own. */
static struct scales choose_scales(const struct etx_train_loss *options,
    const struct wedge *wedge, int32_t n_wedges, int32_t w)
{
    double weight = 0.0;
    double n_negative = 0.0;

    if (options->average == ETX_AVERAGE_GRAPHS)
        return find_own_scales(options->positive_weight, wedge, n_wedges, w);
    for (int32_t k = 0; k < n_wedges; k++) {
        weight += wedge[k].pairs.positive_weight;
        n_negative += (double)wedge[k].pairs.n_negative;
    }
    return find_scales(options->positive_weight, weight, n_negative);
}

/* The pairs where the context computes. */
static etx_status bring_pairs(struct etx_hinge_loss_args *args,
    const struct etx_trainer *trainer, const struct etx_pairs *pairs)
{
    etx_status status;

    args->n_pairs = pairs->n;
    ETX_CHECK(etx_train_bring(
        &args->a, trainer, pairs->a, pairs->n, sizeof *pairs->a, "pairs"));
    ETX_CHECK(etx_train_bring(
        &args->b, trainer, pairs->b, pairs->n, sizeof *pairs->b, "pairs"));
    ETX_CHECK(etx_train_bring(&args->target, trainer, pairs->target, pairs->n,
        sizeof *pairs->target, "pairs"));
    ETX_CHECK(etx_train_bring(&args->weight, trainer, pairs->weight, pairs->n,
        sizeof *pairs->weight, "pairs"));
done:
    return status;
}

static etx_status pair_loss(double *loss, float *d_point,
    struct etx_trainer *trainer, const struct wedge *wedge,
    const struct scales *scales)
{
    const struct etx_train_loss *options = &trainer->config.loss;
    double positive_sum = 0.0;
    double negative_sum = 0.0;
    struct etx_hinge_loss_args args = {.n_points = wedge->sample.n_hits,
        .n_dim = trainer->stage->network->n_out,
        .hinge = options->hinge,
        .margin = options->margin,
        .point = wedge->point,
        .positive_scale = (float)scales->positive,
        .negative_scale = (float)scales->negative,
        .positive_sum = &positive_sum,
        .negative_sum = &negative_sum,
        .d_point = d_point};
    etx_status status;

    ETX_CHECK(bring_pairs(&args, trainer, &wedge->pairs));
    ETX_CHECK(
        trainer->context->ops->hinge_loss(trainer->context->stream, &args));
    *loss = scales->positive * positive_sum + scales->negative * negative_sum;
done:
    return status;
}

/* Draw a wedge of the event, embed it and choose its pairs. */
static etx_status open_wedge(struct wedge *wedge, struct etx_trainer *trainer,
    const struct etx_train_event *event, struct etx_random *random)
{
    struct etx_context *context = trainer->context;
    const struct etx_network *network = &trainer->there.network;
    struct etx_graph *no_graph;
    int64_t n_values;
    float *point;
    etx_status status;

    ETX_CHECK(etx_sample_take(&wedge->sample, etx_train_host(trainer)->arena,
        random, event, trainer->config.sampling.n_hits,
        &trainer->stage->node_features, &trainer->config));
    ETX_CHECK(etx_train_input(
        &wedge->input, &no_graph, trainer, &wedge->sample, NULL));
    n_values = wedge->sample.n_hits * network->n_out;
    ETX_CHECK(etx_arena_take(&wedge->point, context->stream->arena, n_values,
        sizeof *wedge->point, "points"));
    ETX_CHECK(network->arch->forward(
        network, context, &wedge->input, &wedge->tape, wedge->point));
    ETX_CHECK(
        etx_train_fetch(&point, trainer, wedge->point, n_values, "points"));
    ETX_CHECK(etx_train_pairs(&wedge->pairs, trainer, &event->truth,
        &wedge->sample, point, random));
done:
    return status;
}

static etx_status go_back(double *loss, struct etx_trainer *trainer,
    const struct wedge *wedge, const struct scales *scales)
{
    struct etx_arena *arena = trainer->context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network *network = &trainer->there.network;
    const int64_t n_values = wedge->sample.n_hits * network->n_out;
    float *d_point;
    etx_status status;

    ETX_CHECK(etx_train_zeros(&d_point, trainer, n_values, "points"));
    ETX_CHECK(pair_loss(loss, d_point, trainer, wedge, scales));
    ETX_CHECK(network->arch->backward(network, trainer->context,
        &wedge->input, &wedge->tape, d_point, trainer->there.gradient));
done:
    etx_arena_reset(arena, mark);
    return status;
}

etx_status etx_train_embedding(struct etx_trainer *trainer,
    struct etx_train_event *const *event, int32_t n_events,
    struct etx_random *random, etx_training_report *report)
{
    struct wedge *wedge;
    etx_status status;

    ETX_CHECK(etx_arena_take(&wedge, etx_train_host(trainer)->arena, n_events,
        sizeof *wedge, "wedges"));
    memset(wedge, 0, (size_t)n_events * sizeof *wedge);
    for (int32_t w = 0; w < n_events; w++)
        ETX_CHECK(open_wedge(wedge + w, trainer, event[w], random));
    report->loss = 0.0;
    report->n_edges = 0.0;
    for (int32_t w = 0; w < n_events; w++) {
        const struct scales scales =
            choose_scales(&trainer->config.loss, wedge, n_events, w);
        double loss;

        ETX_CHECK(go_back(&loss, trainer, wedge + w, &scales));
        report->loss += loss;
        report->n_edges += (double)wedge[w].pairs.n;
    }
done:
    return status;
}
