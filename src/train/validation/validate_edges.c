/* train/validation/validate_edges.c -- the scores of edges: loss, area under
 * the curve, and the cut that keeps the wanted pairs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/validation/event_metrics.h"

#include "base/check.h"
#include "base/heap.h"
#include "stage/stage.h"
#include "train/ranks/team.h"
#include "train/sampling/edge_sampling.h"
#include "train/validation/score_list.h"

#include <math.h>

/* Targets and weights of the edges of a graph in the loss, in scratch. */
static etx_status label_edges(struct etx_step_edges *out,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    etx_status status;

    *out = (struct etx_step_edges){.n = graph->n_edges};
    ETX_CHECK(etx_arena_alloc(
        &out->target, arena, out->n, sizeof *out->target, "edge targets"));
    ETX_CHECK(etx_arena_alloc(
        &out->weight, arena, out->n, sizeof *out->weight, "edge weights"));
    for (int64_t e = 0; e < out->n; e++)
        etx_step_edge_label(
            out->target + e, out->weight + e, trainer, truth, graph, e);
done:
    return status;
}

/* What the momentum head says beside the truth. */
static etx_status add_momenta(struct etx_pt_totals *totals,
    struct etx_trainer *trainer, const struct etx_event *event,
    const struct etx_graph *graph, const struct etx_step_edges *edges,
    const float *pt)
{
    float *target;
    etx_status status;

    ETX_CHECK(etx_pt_targets(&target, etx_train_host(trainer)->arena,
        &trainer->config.loss, event, NULL, graph, edges));
    etx_pt_totals_add(totals, edges->n, pt, target);
done:
    return status;
}

static etx_status add_loss(struct etx_finding *finding,
    struct etx_trainer *trainer, const struct etx_train_event *event,
    const struct etx_graph *graph, const struct etx_edge_output *output)
{
    struct etx_step_edges edges;
    etx_status status;

    ETX_CHECK(label_edges(&edges, trainer, &event->truth, graph));
    if (output->pt != NULL)
        ETX_CHECK(add_momenta(&finding->momenta, trainer, event->event, graph,
            &edges, output->pt));
    ETX_CHECK(etx_edge_totals_add(&finding->totals,
        etx_host_of(trainer->context), &trainer->config.loss, edges.n,
        output->logit, edges.target, edges.weight));
done:
    return status;
}

/* What an edge is to the metrics. For a cascade only signal that the filter
 * keeps is signal. */
static uint8_t find_pair(const struct etx_trainer *trainer,
    const struct etx_truth *truth, const struct etx_graph *graph, int64_t e)
{
    const int32_t pair = etx_truth_pair(truth, graph->src[e], graph->dst[e]);

    if (trainer->config.stage == ETX_TRAIN_CASCADE && pair == ETX_PAIR_SIGNAL &&
        !(graph->score[e] > trainer->model->filter_cut))
        return ETX_PAIR_LOW_PT;
    return (uint8_t)pair;
}

/* *out, on the host, of a graph of the host; momenta only in training with
 * them. */
static etx_status score_whole(struct etx_edge_output *out,
    struct etx_trainer *trainer, const float *features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_graph *here;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_graph_to_device(&here, &copy, context, graph));
    ETX_CHECK(etx_arena_alloc(
        &out->logit, arena, graph->n_edges, sizeof *out->logit, "edge logits"));
    if (trainer->config.loss.pt_weight > 0.0f)
        ETX_CHECK(etx_arena_alloc(
            &out->pt, arena, graph->n_edges, sizeof *out->pt, "momenta"));
    ETX_CHECK(etx_stage_edge_logits(
        out, context, trainer->stage->network, features, here, event));
    ETX_CHECK(etx_train_fetch(
        &out->logit, trainer, out->logit, graph->n_edges, "edge logits"));
    if (out->pt != NULL)
        ETX_CHECK(etx_train_fetch(
            &out->pt, trainer, out->pt, graph->n_edges, "momenta"));
done:
    etx_graph_free(copy);
    return status;
}

/* The same of the graph in parts; features are on the host. */
static etx_status score_parts(struct etx_edge_output *out,
    struct etx_trainer *trainer, const float *features,
    const struct etx_graph *graph, const struct etx_event *event)
{
    const struct etx_network_input input = {.n_nodes = graph->n_nodes,
        .node_features = features,
        .position = event->position,
        .graph = graph};
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&out->logit, etx_train_host(trainer)->arena,
        graph->n_edges, sizeof *out->logit, "edge logits"));
    ETX_CHECK(etx_train_part_logits(out->logit, trainer, &input));
done:
    return status;
}

static etx_status score_edges(struct etx_edge_output *out,
    struct etx_trainer *trainer, const struct etx_graph *graph,
    const struct etx_event *event)
{
    const int in_parts = trainer->parts.n_parts > 0;
    struct etx_context *context =
        in_parts ? etx_host_of(trainer->context) : trainer->context;
    const float *features;
    etx_status status;

    *out = (struct etx_edge_output){.pt = NULL};
    ETX_CHECK(
        etx_stage_node_features(&features, context, trainer->stage, event));
    ETX_CHECK((in_parts ? score_parts : score_whole)(
        out, trainer, features, graph, event));
done:
    return status;
}

/* Score one event's graph and add it to list and finding. */
static etx_status score_event(struct etx_score_list *list,
    struct etx_finding *finding, struct etx_trainer *trainer,
    struct etx_train_event *event)
{
    struct etx_context *host = etx_host_of(trainer->context);
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_graph *graph;
    struct etx_edge_output output;
    uint8_t *pair;
    etx_status status;

    ETX_CHECK(etx_train_graph(&graph, trainer, event));
    ETX_CHECK(etx_arena_alloc(&pair, host->stream->arena, graph->n_edges,
        sizeof *pair, "edge labels"));
    ETX_CHECK(score_edges(&output, trainer, graph, event->event));
    for (int64_t e = 0; e < graph->n_edges; e++)
        pair[e] = find_pair(trainer, &event->truth, graph, e);
    ETX_CHECK(add_loss(finding, trainer, event, graph, &output));
    const struct etx_activation_args args = {.n = graph->n_edges,
        .activation = ETX_ACTIVATION_SIGMOID,
        .x = output.logit,
        .y = output.logit};
    ETX_CHECK(host->ops->activation(host->stream, &args));
    ETX_CHECK(etx_score_list_add(list, graph->n_edges, output.logit, pair));
done:
    etx_train_reset(trainer, marks);
    return status;
}

/* The model's cut of the stage: what an edge must pass. */
static float *find_cut(struct etx_trainer *trainer)
{
    if (trainer->config.stage == ETX_TRAIN_CASCADE)
        return &trainer->model->cascade_cut;
    return trainer->config.stage == ETX_TRAIN_FILTER
               ? &trainer->model->filter_cut
               : &trainer->model->label.cut;
}

/* The share of the signal in the list that is kept; 1 without signal. */
static float share_kept(
    const struct etx_score_list *list, const struct etx_score_metrics *kept)
{
    const struct etx_score_metrics all = etx_score_list_metrics(list, -1.0f);

    return all.n_signal > 0
               ? (float)((double)kept->n_signal / (double)all.n_signal)
               : 1.0f;
}

/* Score this rank's events; list gets the edges of all ranks. */
static etx_status score_events(
    struct etx_score_list *list, const struct etx_survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    int64_t met = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < survey->n; i++) {
        ETX_CHECK(etx_survey_meet(survey, i, &met));
        if (etx_survey_is_mine(survey, i))
            ETX_CHECK(score_event(list, &survey->finding[i], trainer,
                trainer->validation.event[i]));
    }
    ETX_CHECK(etx_survey_share(survey));
    ETX_CHECK(etx_team_gather(trainer, list));
    etx_score_list_sort(list);
done:
    return status;
}

/* In the order of the events. */
static struct etx_edge_totals add_totals(const struct etx_survey *survey)
{
    struct etx_edge_totals sum = {.loss = 0.0};

    for (int64_t i = 0; i < survey->n; i++) {
        const struct etx_edge_totals *totals = &survey->finding[i].totals;

        sum.n_true += totals->n_true;
        sum.n_false += totals->n_false;
        sum.weight += totals->weight;
        sum.loss += totals->loss;
        sum.loss_true += totals->loss_true;
    }
    return sum;
}

static struct etx_pt_totals add_pt_totals(const struct etx_survey *survey)
{
    struct etx_pt_totals sum = {.n = 0.0};

    for (int64_t i = 0; i < survey->n; i++) {
        const struct etx_pt_totals *momenta = &survey->finding[i].momenta;

        sum.n += momenta->n;
        sum.miss += momenta->miss;
        sum.value += momenta->value;
        sum.square += momenta->square;
    }
    return sum;
}

etx_status etx_validate_edges(
    struct etx_train_result *result, const struct etx_survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    struct etx_score_list list = {.n = 0};
    struct etx_edge_totals totals;
    struct etx_pt_totals momenta;
    struct etx_score_metrics metrics;
    etx_status status;

    ETX_CHECK(score_events(&list, survey));
    ETX_CHECK(etx_train_meet_parts(trainer));
    const float cut = etx_score_list_cut(&list, etx_survey_target(trainer));
    result->threshold = cut >= 0.0f ? (double)cut : (double)NAN;
    if (cut >= 0.0f && trainer->config.validation.target_efficiency > 0.0f)
        *find_cut(trainer) = cut;
    metrics = etx_score_list_metrics(&list, *find_cut(trainer));
    if (trainer->config.stage == ETX_TRAIN_CASCADE)
        trainer->model->cascade_kept = share_kept(&list, &metrics);
    totals = add_totals(survey);
    momenta = add_pt_totals(survey);
    result->pt_error = etx_pt_totals_error(&momenta);
    result->pt_spread = etx_pt_totals_spread(&momenta);
    result->loss =
        etx_edge_totals_loss(&totals, trainer->config.loss.reduction);
    result->n_edges = (double)metrics.n_kept;
    result->purity = metrics.purity;
    result->auc = metrics.auc;
    result->efficiency =
        etx_ratio((double)metrics.n_signal, etx_survey_signal_pairs(survey));
done:
    etx_score_list_clear(&list);
    return status;
}
