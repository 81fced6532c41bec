/* train/objective/embedding_objective.c -- metric learning on pairs of hits.
 *
 * Hits of a true pair attract each other, hits of different particles repel
 * each other (Hadsell, Chopra, LeCun, CVPR 2006). The pairs that repel are
 * close in the current embedding, or random.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/objective.h"

#include "base/check.h"
#include "base/clock.h"
#include "train/sampling/embedding_pairs.h"
#include "train/sampling/sector_input.h"
#include "train/transfer.h"
#include "train/validation/validate.h"

/* One graph of a step, in scratch. */
struct sample {
    struct etx_sector sector;
    struct etx_network_input input;
    struct etx_tape tape;
    struct etx_embedding_pairs pairs;
    float *point; /* [n_hits, n_out] where the context computes */
};

/* The points of the sample's sector: *out, on the host. */
static etx_status embed(float **out, struct sample *sample,
    struct etx_trainer *trainer, struct etx_batch *batch)
{
    struct etx_context *context = trainer->context;
    const struct etx_network *network = &trainer->state.device_network;
    const int64_t n = sample->sector.n_hits * network->n_out;
    struct etx_graph *no_graph;
    double begin;
    etx_status status;

    ETX_CHECK(etx_sector_input(&sample->input, &no_graph, context,
        &sample->sector, network->n_node_features, NULL));
    ETX_SCRATCH(sample->point, context->stream->arena, n, "points");
    begin = etx_now();
    ETX_CHECK(network->arch->forward(
        network, context, &sample->input, &sample->tape, sample->point));
    batch->network_seconds += etx_now() - begin;
    ETX_CHECK(etx_train_to_host(out, context, sample->point, n, "points"));
done:
    return status;
}

/* Draw the sector of graph k, embed it and choose its pairs. */
static etx_status draw_sample(
    void *out, struct etx_trainer *trainer, struct etx_batch *batch, int32_t k)
{
    struct sample *sample = out;
    const struct etx_embedding_pairs *pairs = &sample->pairs;
    const struct etx_train_event *event = batch->event[k];
    struct etx_random random = etx_batch_random(batch, k);
    struct etx_pair_source source = {.stream = etx_train_host(trainer->context),
        .config = &trainer->config,
        .truth = &event->truth,
        .sector = &sample->sector,
        .n_dim = trainer->stage->network->n_out};
    float *point;
    etx_status status;

    ETX_CHECK(etx_sector_draw(&sample->sector, source.stream->arena, &random,
        event, trainer->config.sampling.n_hits, &trainer->stage->node_features,
        &trainer->config));
    ETX_CHECK(embed(&point, sample, trainer, batch));
    source.point = point;
    ETX_CHECK(etx_embedding_pairs_choose(&sample->pairs, &source, &random));
    batch->sums[k] = (struct etx_loss_sums){.weight = pairs->positive_weight,
        .n_false = (double)pairs->n_negative,
        .n_true = (double)pairs->n_positive,
        .n = (double)pairs->n};
done:
    return status;
}

/* Factors of the sums of a sector's losses. */
struct scales {
    double positive, negative;
};

/* loss = positive_weight * mean(attract) + mean(repel), over the weight
 * of the true pairs and the number of the false ones. */
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
    float positive_weight, const struct etx_batch *batch, int32_t g)
{
    const struct etx_loss_sums *own = batch->sums + g;
    struct scales scales =
        find_scales(positive_weight, own->weight, own->n_false);
    int32_t n_positive = 0;
    int32_t n_negative = 0;

    for (int32_t k = 0; k < batch->n_graphs; k++) {
        n_positive += batch->sums[k].weight > 0.0;
        n_negative += batch->sums[k].n_false > 0.0;
    }
    if (n_positive > 0)
        scales.positive /= (double)n_positive;
    if (n_negative > 0)
        scales.negative /= (double)n_negative;
    return scales;
}

/* The scales of graph g: over the pairs of all graphs, or the mean over
 * graphs of each one's own. */
static struct scales choose_scales(const struct etx_train_loss *options,
    const struct etx_batch *batch, int32_t g)
{
    double weight = 0.0;
    double n_negative = 0.0;

    if (options->average == ETX_AVERAGE_GRAPHS)
        return find_own_scales(options->positive_weight, batch, g);
    for (int32_t k = 0; k < batch->n_graphs; k++) {
        weight += batch->sums[k].weight;
        n_negative += batch->sums[k].n_false;
    }
    return find_scales(options->positive_weight, weight, n_negative);
}

static etx_status pairs_to_device(struct etx_hinge_loss_args *args,
    struct etx_arena *arena, const struct etx_embedding_pairs *pairs)
{
    const int64_t n = pairs->n;
    etx_status status;

    args->n_pairs = n;
    ETX_CHECK(etx_arena_to_device(&args->a, arena, pairs->a, n, 4, "pairs"));
    ETX_CHECK(etx_arena_to_device(&args->b, arena, pairs->b, n, 4, "pairs"));
    ETX_CHECK(etx_arena_to_device(
        &args->target, arena, pairs->target, n, 1, "pairs"));
    ETX_CHECK(etx_arena_to_device(
        &args->weight, arena, pairs->weight, n, 4, "pairs"));
done:
    return status;
}

/* loss = scales . sums of the hinge losses; d_point [n_hits, n_out] gets its
 * gradient times loss_scale. */
static etx_status pair_loss(double *loss, float *d_point,
    struct etx_trainer *trainer, const struct sample *sample,
    const struct scales *scales)
{
    struct etx_context *context = trainer->context;
    const struct etx_train_loss *options = &trainer->config.loss;
    const double loss_scale = trainer->progress.loss_scale.scale;
    double positive_sum = 0.0;
    double negative_sum = 0.0;
    struct etx_hinge_loss_args args = {.n_points = sample->sector.n_hits,
        .n_dim = trainer->stage->network->n_out,
        .hinge = options->hinge,
        .margin = options->margin,
        .point = sample->point,
        .positive_scale = (float)(scales->positive * loss_scale),
        .negative_scale = (float)(scales->negative * loss_scale),
        .positive_sum = &positive_sum,
        .negative_sum = &negative_sum,
        .d_point = d_point};
    etx_status status;

    ETX_CHECK(pairs_to_device(&args, context->stream->arena, &sample->pairs));
    ETX_CHECK(context->ops->hinge_loss(context->stream, &args));
    *loss = scales->positive * positive_sum + scales->negative * negative_sum;
done:
    return status;
}

static etx_status add_gradient(float *gradient, const void *drawn,
    struct etx_trainer *trainer, struct etx_batch *batch, int32_t k)
{
    const struct sample *sample = drawn;
    const struct scales scales = choose_scales(&trainer->config.loss, batch, k);
    const struct etx_network *network = &trainer->state.device_network;
    float *d_point;
    etx_status status;

    ETX_CHECK(etx_scratch_zeros(&d_point, trainer->context,
        sample->sector.n_hits * network->n_out, "points"));
    ETX_CHECK(pair_loss(batch->loss + k, d_point, trainer, sample, &scales));
    ETX_CHECK(network->arch->backward(network, trainer->context, &sample->input,
        &sample->tape, d_point, gradient));
done:
    return status;
}

const struct etx_objective etx_embedding_objective = {
    .sample_size = sizeof(struct sample),
    .sample = draw_sample,
    .add_gradient = add_gradient,
    .validate = etx_validate_embedding};
