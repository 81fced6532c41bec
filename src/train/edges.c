/* train/edges.c -- one step of an edge network: filter or graph network.
 *
 * The filter sees every true edge of a wedge and some false ones; it scores
 * edges one by one, so that leaving some out changes nothing. A graph network
 * sees all edges of a wedge that holds about as many as asked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"

#include <math.h>

/* Edges of a step with their labels, in scratch. */
struct step_edges {
    int64_t n;
    int32_t *id;   /* [n] edges of the event's graph, ascending */
    float *target; /* [n] */
    float *weight; /* [n] */
    double weight_sum;
};

/* How many hits hold about as many edges as asked. */
static int64_t wedge_hits(const struct etx_train_config *config,
    const struct etx_graph *graph)
{
    const struct etx_train_sampling *options = &config->sampling;
    const double most = options->n_hits > 0 ? (double)options->n_hits
                                            : (double)graph->n_nodes;
    double hits = most;

    if (config->stage == ETX_TRAIN_GNN && options->n_edges > 0 &&
        graph->n_edges > 0)
        hits = (double)graph->n_nodes * (double)options->n_edges /
               (double)graph->n_edges;
    hits = hits < most ? hits : most;
    return hits < 1.0 ? 1 : (int64_t)hits;
}

static etx_status label_edges(struct step_edges *edges,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph)
{
    struct etx_arena *arena = trainer->context->stream->arena;
    etx_status status;

    ETX_CHECK(etx_arena_take(&edges->target, arena, edges->n,
        sizeof *edges->target, "edge targets"));
    ETX_CHECK(etx_arena_take(&edges->weight, arena, edges->n,
        sizeof *edges->weight, "edge weights"));
    for (int64_t e = 0; e < edges->n; e++) {
        const int32_t id = edges->id[e];

        etx_truth_label(edges->target + e, edges->weight + e,
            etx_truth_pair(truth, graph->src[id], graph->dst[id]),
            &trainer->config.truth);
    }
done:
    return status;
}

/* The chance of a true and of a false edge to take part. */
static void find_chances(float *chance_true, float *chance_false,
    const struct step_edges *edges, const struct etx_train_sampling *options)
{
    double n_true = 0.0;
    double n_false = 0.0;
    double wanted;

    for (int64_t e = 0; e < edges->n; e++) {
        if (edges->weight[e] > 0.0f && edges->target[e] > 0.0f)
            n_true += 1.0;
        else if (edges->weight[e] > 0.0f)
            n_false += 1.0;
    }
    wanted = (double)options->false_per_true * fmax(n_true, 1.0);
    if (!(wanted > 0.0) || wanted > n_false)
        wanted = n_false;
    const double scale =
        options->n_edges > 0 && n_true + wanted > (double)options->n_edges
            ? (double)options->n_edges / (n_true + wanted)
            : 1.0;
    *chance_true = (float)scale;
    *chance_false = n_false > 0.0 ? (float)(scale * wanted / n_false) : 0.0f;
}

/* Keep edges by chance; masked ones go. */
static void thin_edges(struct step_edges *edges,
    const struct etx_train_sampling *options, struct etx_random *random)
{
    float chance_true;
    float chance_false;
    int64_t n = 0;

    find_chances(&chance_true, &chance_false, edges, options);
    for (int64_t e = 0; e < edges->n; e++) {
        const float chance =
            edges->target[e] > 0.0f ? chance_true : chance_false;

        if (!(edges->weight[e] > 0.0f) ||
            (chance < 1.0f && etx_random_uniform(random) >= chance))
            continue;
        edges->id[n] = edges->id[e];
        edges->target[n] = edges->target[e];
        edges->weight[n] = edges->weight[e];
        n++;
    }
    edges->n = n;
}

static etx_status choose_edges(struct step_edges *edges,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_sample *sample, const struct etx_graph *graph,
    struct etx_random *random)
{
    etx_status status;

    ETX_CHECK(etx_sample_edges(&edges->id, &edges->n,
        trainer->context->stream->arena, sample, graph));
    ETX_CHECK(label_edges(edges, trainer, truth, graph));
    if (trainer->config.stage == ETX_TRAIN_FILTER)
        thin_edges(edges, &trainer->config.sampling, random);
    edges->weight_sum = 0.0;
    for (int64_t e = 0; e < edges->n; e++)
        edges->weight_sum += (double)edges->weight[e];
done:
    return status;
}

/* loss = sum(weight * cross-entropy) / sum(weight). */
static etx_status edge_loss(double *loss, float *d_logit,
    const struct etx_trainer *trainer, const struct step_edges *edges,
    const float *logit)
{
    const double scale =
        edges->weight_sum > 0.0 ? 1.0 / edges->weight_sum : 0.0;
    double sum = 0.0;
    const struct etx_bce_loss_args args = {.n = edges->n,
        .logit = logit,
        .target = edges->target,
        .weight = edges->weight,
        .pos_weight = trainer->config.loss.positive_weight,
        .loss_sum = &sum,
        .scale = (float)scale,
        .d_logit = d_logit};
    const etx_status status =
        trainer->context->ops->bce_loss(trainer->context->stream, &args);

    *loss = scale * sum;
    return status;
}

/* Forward, loss and backward on the graph of a step. */
static etx_status run_network(struct etx_trainer *trainer,
    const struct etx_sample *sample, const struct etx_graph *graph,
    const struct step_edges *edges, double *loss)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_network *network = trainer->stage->network;
    const struct etx_network_input input = {.n_nodes = sample->n_hits,
        .node_features = sample->features,
        .position = sample->position,
        .graph = graph};
    struct etx_tape tape = {NULL};
    float *logit;
    float *d_logit;
    etx_status status;

    ETX_CHECK(
        etx_arena_take(&logit, arena, edges->n, sizeof *logit, "logits"));
    ETX_CHECK(etx_arena_take(
        &d_logit, arena, edges->n, sizeof *d_logit, "gradient of logits"));
    ETX_CHECK(
        network->arch->forward(network, context, &input, &tape, logit));
    ETX_CHECK(edge_loss(loss, d_logit, trainer, edges, logit));
    ETX_CHECK(network->arch->backward(
        network, context, &input, &tape, d_logit, trainer->gradient));
done:
    return status;
}

etx_status etx_train_edges(struct etx_trainer *trainer,
    struct etx_train_event *event, struct etx_random *random,
    etx_training_report *report)
{
    struct etx_arena *arena = trainer->context->stream->arena;
    const struct etx_graph *whole;
    struct etx_graph *graph = NULL;
    struct etx_sample sample;
    struct step_edges edges = {.n = 0};
    etx_status status;

    ETX_CHECK(etx_train_graph(&whole, trainer, event));
    ETX_CHECK(etx_sample_take(&sample, arena, random, event,
        wedge_hits(&trainer->config, whole), &trainer->stage->node_features,
        &trainer->config));
    ETX_CHECK(choose_edges(
        &edges, trainer, &event->truth, &sample, whole, random));
    ETX_CHECK(etx_sample_graph(&graph, &sample, whole, edges.n, edges.id));
    ETX_CHECK(run_network(trainer, &sample, graph, &edges, &report->loss));
    report->n_edges = (double)edges.n;
done:
    etx_graph_free(graph);
    return status;
}
