/* train/validation/validate_edges.c -- validation of edge scores: loss, area
 * under the ROC curve, and the cut that keeps the wanted efficiency.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/validate.h"

#include "base/check.h"
#include "stage/stage.h"
#include "train/objective/partition_graph.h"
#include "train/ratio.h"
#include "train/transfer.h"

#include <math.h>

/* Add the loss of an event's edges, and the errors of the momentum head. */
static etx_status add_loss(struct etx_event_metrics *metrics,
    struct etx_trainer *trainer, const struct etx_train_event *event,
    const struct etx_graph *graph, const struct etx_edge_output *output)
{
    const struct etx_edge_sampler sampler = etx_trainer_edge_sampler(trainer);
    const struct etx_train_loss *options = &trainer->config.loss;
    struct etx_context *host = etx_host_of(trainer->context);
    struct etx_step_edges edges = {.n = graph->n_edges};
    float *pt_target;
    etx_status status;

    ETX_CHECK(etx_step_edges_label(&edges, &sampler, &event->truth, graph));
    if (output->pt != NULL) {
        ETX_CHECK(etx_pt_targets(&pt_target, host->stream->arena, options,
            event->event, NULL, graph, &edges));
        etx_pt_totals_add(&metrics->momenta, edges.n, output->pt, pt_target);
    }
    ETX_CHECK(etx_edge_totals_add(&metrics->totals, host, options, edges.n,
        output->logit, edges.target, edges.weight));
done:
    return status;
}

/* *out on the host; momenta only in training with them. */
static etx_status score_whole(struct etx_edge_output *out,
    struct etx_trainer *trainer, const float *features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_graph *device_graph;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_graph_to_device(&device_graph, &copy, context, graph));
    ETX_SCRATCH(out->logit, arena, graph->n_edges, "edge logits");
    if (trainer->config.loss.pt_weight > 0.0f)
        ETX_SCRATCH(out->pt, arena, graph->n_edges, "momenta");
    ETX_CHECK(etx_stage_edge_logits(
        out, context, trainer->stage->network, features, device_graph, event));
    ETX_CHECK(etx_train_to_host(
        &out->logit, context, out->logit, graph->n_edges, "edge logits"));
    if (out->pt != NULL)
        ETX_CHECK(etx_train_to_host(
            &out->pt, context, out->pt, graph->n_edges, "momenta"));
done:
    etx_graph_free(copy);
    return status;
}

/* The same of a partitioned graph; features are on the host. */
static etx_status score_partitions(struct etx_edge_output *out,
    struct etx_trainer *trainer, const float *features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    const struct etx_network_input input = {.n_nodes = graph->n_nodes,
        .node_features = features,
        .position = event->position,
        .graph = graph};
    etx_status status;

    ETX_SCRATCH(out->logit, etx_train_host(trainer->context)->arena,
        graph->n_edges, "edge logits");
    ETX_CHECK(etx_partition_graph_logits(out->logit, trainer->context,
        &trainer->partition, &trainer->state.device_network, &input));
done:
    return status;
}

static etx_status score_edges(struct etx_edge_output *out,
    struct etx_trainer *trainer, const struct etx_graph *graph,
    const struct etx_event *event)
{
    const int is_partitioned = trainer->partition.n_parts > 0;
    struct etx_context *context =
        is_partitioned ? etx_host_of(trainer->context) : trainer->context;
    const float *features;
    etx_status status;

    *out = (struct etx_edge_output){.pt = NULL};
    ETX_CHECK(
        etx_stage_node_features(&features, context, trainer->stage, event));
    ETX_CHECK((is_partitioned ? score_partitions : score_whole)(
        out, trainer, features, graph, event));
done:
    return status;
}

/* Score one event's graph and add it to list and metrics. */
static etx_status score_event(struct etx_score_list *list,
    struct etx_event_metrics *metrics, struct etx_trainer *trainer,
    struct etx_train_event *event)
{
    struct etx_context *host = etx_host_of(trainer->context);
    const struct etx_scratch_mark mark = etx_scratch_mark(trainer->context);
    const struct etx_graph *graph;
    struct etx_edge_output output;
    uint8_t *pair;
    etx_status status;

    ETX_CHECK(etx_event_graph(&graph, &trainer->graphs, event));
    ETX_SCRATCH(pair, host->stream->arena, graph->n_edges, "edge labels");
    ETX_CHECK(score_edges(&output, trainer, graph, event->event));
    for (int64_t e = 0; e < graph->n_edges; e++)
        pair[e] = (uint8_t)etx_truth_pair(
            &event->truth, graph->src[e], graph->dst[e]);
    ETX_CHECK(add_loss(metrics, trainer, event, graph, &output));
    const struct etx_activation_args args = {.n = graph->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = output.logit,
        .y = output.logit};
    ETX_CHECK(host->ops->activation(host->stream, &args));
    ETX_CHECK(etx_score_list_add(list, graph->n_edges, output.logit, pair));
done:
    etx_scratch_reset(trainer->context, mark);
    return status;
}

/* The model's cut on the scores of the stage. */
static float *find_cut(struct etx_trainer *trainer)
{
    return trainer->config.stage == ETX_TRAIN_FILTER
               ? &trainer->model->filter_cut
               : &trainer->model->label.cut;
}

/* Score this rank's events; list gets the edges of all ranks. */
static etx_status score_events(
    struct etx_score_list *list, const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    int64_t last = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < validation->n; i++) {
        ETX_CHECK(etx_validation_synchronise(validation, i, &last));
        if (etx_validation_is_mine(validation, i))
            ETX_CHECK(score_event(
                list, &validation->metrics[i], trainer, validation->event[i]));
    }
    ETX_CHECK(etx_validation_share(validation));
    ETX_CHECK(etx_validation_gather(list, validation));
done:
    return status;
}

etx_status etx_validate_edges(
    struct etx_train_result *result, const struct etx_validation *validation)
{
    struct etx_trainer *trainer = validation->trainer;
    struct etx_score_list list = {.n = 0};
    struct etx_event_metrics sum;
    struct etx_score_metrics metrics;
    etx_status status;

    ETX_CHECK(score_events(&list, validation));
    ETX_CHECK(etx_partition_barrier(&trainer->partition));
    const float cut = etx_score_list_cut(&list, etx_validation_target(trainer));
    result->threshold = cut >= 0.0f ? (double)cut : (double)NAN;
    if (cut >= 0.0f && trainer->config.validation.target_efficiency > 0.0f)
        *find_cut(trainer) = cut;
    metrics = etx_score_list_metrics(&list, *find_cut(trainer));
    sum = etx_validation_sum(validation);
    result->pt_error = etx_pt_totals_error(&sum.momenta);
    result->pt_spread = etx_pt_totals_spread(&sum.momenta);
    result->loss =
        etx_edge_totals_loss(&sum.totals, trainer->config.loss.reduction);
    result->n_edges = (double)metrics.n_kept;
    result->purity = metrics.purity;
    result->auc = metrics.auc;
    result->efficiency =
        etx_ratio((double)metrics.n_signal, sum.n_signal_pairs);
done:
    etx_score_list_clear(&list);
    return status;
}
