/* train/objective/embedding_objective.c -- one step of metric learning.
 *
 * Hits of a true pair attract each other, hits of different particles repel
 * each other (Hadsell, Chopra, LeCun, CVPR 2006). The pairs that repel are
 * close in the space as it is now, or random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "train/ranks/gradient.h"
#include "train/sampling/embedding_pairs.h"

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

/* The scales of a graph's own pairs, for the mean over the graphs that have
 * such pairs. */
static struct scales find_own_scales(
    float positive_weight, const struct etx_step *step, int32_t w)
{
    const struct etx_graph_sums *own = step->sums + w;
    struct scales scales =
        find_scales(positive_weight, own->weight, own->n_false);
    int32_t n_positive = 0;
    int32_t n_negative = 0;

    for (int32_t k = 0; k < step->n_graphs; k++) {
        n_positive += step->sums[k].weight > 0.0;
        n_negative += step->sums[k].n_false > 0.0;
    }
    if (n_positive > 0)
        scales.positive /= (double)n_positive;
    if (n_negative > 0)
        scales.negative /= (double)n_negative;
    return scales;
}

/* The scales of graph w: over the pairs of all graphs, or the mean over
 * graphs of each one's own. */
static struct scales choose_scales(const struct etx_train_loss *options,
    const struct etx_step *step, int32_t w)
{
    double weight = 0.0;
    double n_negative = 0.0;

    if (options->average == ETX_AVERAGE_GRAPHS)
        return find_own_scales(options->positive_weight, step, w);
    for (int32_t k = 0; k < step->n_graphs; k++) {
        weight += step->sums[k].weight;
        n_negative += step->sums[k].n_false;
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
    const double loss_scale = etx_train_loss_scale(trainer);
    double positive_sum = 0.0;
    double negative_sum = 0.0;
    struct etx_hinge_loss_args args = {.n_points = wedge->sample.n_hits,
        .n_dim = trainer->stage->network->n_out,
        .hinge = options->hinge,
        .margin = options->margin,
        .point = wedge->point,
        .positive_scale = (float)(scales->positive * loss_scale),
        .negative_scale = (float)(scales->negative * loss_scale),
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

/* Draw the wedge of graph k of the step, embed it and choose its pairs. */
static etx_status open_wedge(struct wedge *wedge, struct etx_trainer *trainer,
    struct etx_step *step, int32_t k)
{
    const struct etx_train_event *event = step->event[k];
    struct etx_random random = etx_step_random(step, trainer, k);
    struct etx_context *context = trainer->context;
    const struct etx_network *network = &trainer->there.network;
    struct etx_graph *no_graph;
    int64_t n_values;
    double begin;
    float *point;
    etx_status status;

    ETX_CHECK(etx_sample_take(&wedge->sample, etx_train_host(trainer)->arena,
        &random, event, trainer->config.sampling.n_hits,
        &trainer->stage->node_features, &trainer->config));
    ETX_CHECK(etx_train_input(
        &wedge->input, &no_graph, trainer, &wedge->sample, NULL));
    n_values = wedge->sample.n_hits * network->n_out;
    ETX_CHECK(etx_arena_alloc(&wedge->point, context->stream->arena, n_values,
        sizeof *wedge->point, "points"));
    begin = etx_train_now();
    ETX_CHECK(network->arch->forward(
        network, context, &wedge->input, &wedge->tape, wedge->point));
    step->network_seconds += etx_train_now() - begin;
    ETX_CHECK(
        etx_train_fetch(&point, trainer, wedge->point, n_values, "points"));
    ETX_CHECK(etx_train_pairs(
        &wedge->pairs, trainer, &event->truth, &wedge->sample, point, &random));
    step->sums[k] =
        (struct etx_graph_sums){.weight = wedge->pairs.positive_weight,
            .n_false = (double)wedge->pairs.n_negative,
            .n_true = (double)(wedge->pairs.n - wedge->pairs.n_negative),
            .n = (double)wedge->pairs.n};
done:
    return status;
}

/* Adds to gradient [n_values]. */
static etx_status go_back(double *loss, float *gradient,
    struct etx_trainer *trainer, const struct wedge *wedge,
    const struct scales *scales)
{
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_network *network = &trainer->there.network;
    float *there;
    float *d_point;
    etx_status status;

    ETX_CHECK(etx_train_zeros(
        &d_point, trainer, wedge->sample.n_hits * network->n_out, "points"));
    ETX_CHECK(etx_train_gradient_open(&there, trainer, gradient));
    ETX_CHECK(pair_loss(loss, d_point, trainer, wedge, scales));
    ETX_CHECK(network->arch->backward(network, trainer->context, &wedge->input,
        &wedge->tape, d_point, there));
    ETX_CHECK(etx_train_gradient_close(trainer, gradient, there));
done:
    etx_train_reset(trainer, marks);
    return status;
}

/* The gradient of this rank's wedges, each in a slice of its own. */
static etx_status run_wedges(
    struct etx_slices *slices, const struct wedge *wedge, struct etx_step *step)
{
    struct etx_trainer *trainer = slices->trainer;
    const double begin = etx_train_now();
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < step->n_graphs; k++) {
        const struct scales scales =
            choose_scales(&trainer->config.loss, step, k);
        float *gradient;

        if (!etx_step_is_mine(step, trainer, k))
            continue;
        ETX_CHECK(etx_slices_open(&gradient, slices, k));
        ETX_CHECK(
            go_back(step->loss + k, gradient, trainer, wedge + k, &scales));
        ETX_CHECK(etx_slices_close(slices));
    }
    step->network_seconds += etx_train_now() - begin;
done:
    return status;
}

etx_status etx_train_embedding(
    struct etx_trainer *trainer, struct etx_step *step)
{
    const double begin = etx_train_now();
    struct wedge *wedge;
    struct etx_slices slices;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&wedge, etx_train_host(trainer)->arena,
        step->n_graphs, sizeof *wedge, "wedges"));
    memset(wedge, 0, (size_t)step->n_graphs * sizeof *wedge);
    for (int32_t k = 0; k < step->n_graphs; k++)
        if (etx_step_is_mine(step, trainer, k))
            ETX_CHECK(open_wedge(wedge + k, trainer, step, k));
    step->graphs_seconds = etx_train_now() - begin - step->network_seconds;
    ETX_CHECK(etx_step_share_sums(step, trainer));
    ETX_CHECK(etx_slices_begin(&slices, trainer, step->n_graphs, step->owner));
    ETX_CHECK(run_wedges(&slices, wedge, step));
    ETX_CHECK(etx_slices_finish(&slices));
done:
    return status;
}
