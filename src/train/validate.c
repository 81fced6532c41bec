/* train/validate.c -- how good the stage is, and where to cut.
 *
 * Efficiency counts the signal pairs of the events' truth, whatever stage
 * lost them; the threshold is set relative to what reaches the stage.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "base/memory.h"
#include "stage/stage.h"
#include "train/edge_choice.h"
#include "train/edge_loss.h"
#include "train/metrics.h"
#include "train/pt_loss.h"
#include "train/team.h"

#include <math.h>
#include <string.h>

/* A radius that joins more than this many pairs a hit is not measured. */
#define MAX_EDGES_PER_HIT 300

static const float default_target = 0.98f;

/* Edges kept and, of them, neighbours and signal neighbours. */
struct edge_counts {
    double n, n_true, n_signal;
    double is_beyond; /* 1: there are too many to count */
};

/* What a validation knows of one event: doubles alone, zeros until its rank
 * has been told, so that ranks add them up without a rounding. */
struct finding {
    double n_signal_pairs;
    struct etx_edge_totals totals;
    struct etx_pt_totals momenta;
    struct edge_counts counts;
};

#define FINDING_WIDTH ((int64_t)(sizeof(struct finding) / sizeof(double)))

/* The events of a validation and which rank runs them; in scratch. */
struct survey {
    struct etx_trainer *trainer;
    int64_t n;
    int32_t *owner;          /* [n] */
    struct finding *finding; /* [n] */
};

static etx_status begin_survey(
    struct survey *survey, struct etx_trainer *trainer)
{
    const struct etx_train_events *events = &trainer->validation;
    etx_status status;

    *survey = (struct survey){.trainer = trainer, .n = events->n};
    ETX_CHECK(etx_team_deal(
        &survey->owner, trainer, events->event, events->n));
    ETX_CHECK(etx_arena_take(&survey->finding,
        etx_train_host(trainer)->arena, survey->n, sizeof *survey->finding,
        "findings"));
    memset(survey->finding, 0, (size_t)survey->n * sizeof *survey->finding);
    for (int64_t i = 0; i < survey->n; i++)
        if (survey->owner[i] == trainer->team.rank)
            survey->finding[i].n_signal_pairs =
                (double)events->event[i]->truth.n_signal_pairs;
done:
    return status;
}

static int is_mine(const struct survey *survey, int64_t i)
{
    return survey->owner[i] == survey->trainer->team.rank;
}

/* Before event i, where its rank has had an event since the ranks last met:
 * nobody waits longer than one event takes. *met: the first event since. */
static etx_status meet(const struct survey *survey, int64_t i, int64_t *met)
{
    double nothing = 0.0;

    for (int64_t k = *met; k < i; k++)
        if (survey->owner[k] == survey->owner[i]) {
            *met = i;
            return etx_team_sum(survey->trainer, &nothing, 1);
        }
    return ETX_OK;
}

/* What the other ranks found. */
static etx_status share_findings(const struct survey *survey)
{
    return etx_team_sum(survey->trainer, &survey->finding[0].n_signal_pairs,
        FINDING_WIDTH * survey->n);
}

static double count_signal_pairs(const struct survey *survey)
{
    double n = 0.0;

    for (int64_t i = 0; i < survey->n; i++)
        n += survey->finding[i].n_signal_pairs;
    return n;
}

static double target_efficiency(const struct etx_trainer *trainer)
{
    const float target = trainer->config.validation.target_efficiency;

    return (double)(target > 0.0f ? target : default_target);
}

/* ---------------------------------------------------------- embedding -- */

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
    struct etx_score_list *list, const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    int64_t met = 0;
    const int32_t n_dim = trainer->stage->network->n_out;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < survey->n; i++) {
        const struct etx_train_event *event = trainer->validation.event[i];
        float *point;

        ETX_CHECK(meet(survey, i, &met));
        if (!is_mine(survey, i))
            continue;
        ETX_CHECK(etx_stage_embed(
            &point, trainer->context, trainer->model, event->event));
        ETX_CHECK(etx_train_fetch(
            &point, trainer, point, event->event->n_hits * n_dim, "points"));
        ETX_CHECK(add_distances(list, &event->truth, n_dim, point));
        etx_train_reset(trainer, marks);
    }
    ETX_CHECK(etx_team_gather(trainer, list));
    etx_score_list_sort(list);
done:
    etx_train_reset(trainer, marks);
    return status;
}

static void count_edges(struct edge_counts *counts,
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
static etx_status count_event(struct edge_counts *counts,
    struct etx_trainer *trainer, const struct etx_train_event *event)
{
    const struct etx_model *model = trainer->model;
    const struct etx_train_marks marks = etx_train_mark(trainer);
    struct etx_neighbours neighbours = {.n_points = event->event->n_hits,
        .n_dim = trainer->stage->network->n_out,
        .max_neighbours = model->max_neighbours,
        .orientation = model->orientation,
        .radius = model->radius,
        .position = event->event->position,
        .max_edges = MAX_EDGES_PER_HIT * event->event->n_hits};
    struct etx_graph *graph = NULL;
    float *point;
    etx_status status;

    ETX_CHECK(etx_stage_embed(
        &point, trainer->context, trainer->model, event->event));
    neighbours.point = point;
    ETX_CHECK(etx_stage_neighbours(&graph, trainer->context, &neighbours));
    ETX_CHECK(etx_stage_leave(&graph));
    count_edges(counts, &event->truth, graph);
done:
    etx_graph_free(graph);
    etx_train_reset(trainer, marks);
    return status;
}

/* Count this rank's events at the model's radius; one with too many edges is
 * marked. */
static etx_status count_events(const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    int64_t met = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < survey->n && status == ETX_OK; i++) {
        struct edge_counts *counts = &survey->finding[i].counts;

        status = meet(survey, i, &met);
        if (!is_mine(survey, i) || status != ETX_OK)
            continue;
        status =
            count_event(counts, trainer, trainer->validation.event[i]);
        if (status == ETX_ERR_LIMIT) {
            *counts = (struct edge_counts){.is_beyond = 1.0};
            status = ETX_OK;
        }
    }
    return status;
}

/* Over all events; nan when one of them has too many edges. */
static struct edge_counts add_counts(const struct survey *survey)
{
    const double nothing = (double)NAN;
    struct edge_counts sum = {.n = 0.0};

    for (int64_t i = 0; i < survey->n; i++) {
        const struct edge_counts *counts = &survey->finding[i].counts;

        sum.n += counts->n;
        sum.n_true += counts->n_true;
        sum.n_signal += counts->n_signal;
        sum.is_beyond += counts->is_beyond;
    }
    if (sum.is_beyond > 0.0)
        sum = (struct edge_counts){nothing, nothing, nothing, 1.0};
    return sum;
}

/* The radius that keeps the wanted efficiency; 0 without signal pairs. */
static etx_status find_radius(float *out, const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    struct etx_score_list list = {.n = 0};
    etx_status status;

    ETX_CHECK(measure_distances(&list, survey));
    /* A little more, because the graph rounds its own squared distances. */
    *out =
        etx_score_list_quantile(&list, target_efficiency(trainer)) * 1.00001f;
    if (trainer->config.validation.radius > 0.0f)
        *out = trainer->config.validation.radius;
done:
    etx_score_list_clear(&list);
    return status;
}

static etx_status validate_embedding(
    struct etx_train_result *result, const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    const float radius_before = trainer->model->radius;
    struct edge_counts counts;
    float radius = 0.0f;
    etx_status status;

    ETX_CHECK(find_radius(&radius, survey));
    result->threshold = radius > 0.0f ? (double)radius : (double)NAN;
    if (radius > 0.0f)
        trainer->model->radius = radius;
    status = count_events(survey);
    if (trainer->config.validation.target_efficiency <= 0.0f ||
        status != ETX_OK)
        trainer->model->radius = radius_before;
    ETX_CHECK(status);
    ETX_CHECK(share_findings(survey));
    counts = add_counts(survey);
    result->n_edges = counts.n;
    result->purity = etx_ratio(counts.n_true, counts.n);
    result->efficiency =
        etx_ratio(counts.n_signal, count_signal_pairs(survey));
done:
    return status;
}

/* -------------------------------------------------------------- edges -- */

/* Targets and weights of the edges of a graph in the loss, in scratch. */
static etx_status label_edges(struct etx_step_edges *out,
    struct etx_trainer *trainer, const struct etx_truth *truth,
    const struct etx_graph *graph)
{
    struct etx_arena *arena = etx_train_host(trainer)->arena;
    etx_status status;

    *out = (struct etx_step_edges){.n = graph->n_edges};
    ETX_CHECK(etx_arena_take(
        &out->target, arena, out->n, sizeof *out->target, "edge targets"));
    ETX_CHECK(etx_arena_take(
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

static etx_status add_loss(struct finding *finding,
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
    const int32_t pair =
        etx_truth_pair(truth, graph->src[e], graph->dst[e]);

    if (trainer->config.stage == ETX_TRAIN_CASCADE &&
        pair == ETX_PAIR_SIGNAL &&
        !(graph->score[e] > trainer->model->filter_cut))
        return ETX_PAIR_LOW_PT;
    return (uint8_t)pair;
}

/* *out, on the host, of a graph of the host; momenta only in training with
 * them, which is of the CPU. */
static etx_status score_whole(
    struct etx_edge_output *out, struct etx_trainer *trainer,
    const float *features, const struct etx_graph *graph,
    const struct etx_event *event)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_graph *here;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_enter(&here, &copy, context, graph));
    ETX_CHECK(etx_arena_take(&out->logit, arena, graph->n_edges,
        sizeof *out->logit, "edge logits"));
    if (trainer->config.loss.pt_weight > 0.0f)
        ETX_CHECK(etx_arena_take(
            &out->pt, arena, graph->n_edges, sizeof *out->pt, "momenta"));
    ETX_CHECK(etx_stage_edge_logits(
        out, context, trainer->stage->network, features, here, event));
    ETX_CHECK(etx_train_fetch(
        &out->logit, trainer, out->logit, graph->n_edges, "edge logits"));
done:
    etx_graph_free(copy);
    return status;
}

/* The same of the graph in parts. */
static etx_status score_parts(
    struct etx_edge_output *out, struct etx_trainer *trainer,
    const float *features, const struct etx_graph *graph,
    const struct etx_event *event)
{
    const struct etx_network_input input = {.n_nodes = graph->n_nodes,
        .node_features = features,
        .position = event->position,
        .graph = graph};
    etx_status status;

    ETX_CHECK(etx_arena_take(&out->logit, etx_train_host(trainer)->arena,
        graph->n_edges, sizeof *out->logit, "edge logits"));
    ETX_CHECK(etx_train_part_logits(out->logit, trainer, &input));
done:
    return status;
}

static etx_status score_edges(
    struct etx_edge_output *out, struct etx_trainer *trainer,
    const struct etx_graph *graph, const struct etx_event *event)
{
    const float *features;
    etx_status status;

    *out = (struct etx_edge_output){.pt = NULL};
    ETX_CHECK(etx_stage_node_features(
        &features, trainer->context, trainer->stage, event));
    ETX_CHECK((trainer->parts.n_parts > 0 ? score_parts : score_whole)(
        out, trainer, features, graph, event));
done:
    return status;
}

/* Score one event's graph and add it to list and finding. */
static etx_status score_event(struct etx_score_list *list,
    struct finding *finding, struct etx_trainer *trainer,
    struct etx_train_event *event)
{
    struct etx_context *host = etx_host_of(trainer->context);
    const struct etx_train_marks marks = etx_train_mark(trainer);
    const struct etx_graph *graph;
    struct etx_edge_output output;
    uint8_t *pair;
    etx_status status;

    ETX_CHECK(etx_train_graph(&graph, trainer, event));
    ETX_CHECK(etx_arena_take(&pair, host->stream->arena, graph->n_edges,
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
static float share_kept(const struct etx_score_list *list,
    const struct etx_score_metrics *kept)
{
    const struct etx_score_metrics all = etx_score_list_metrics(list, -1.0f);

    return all.n_signal > 0
               ? (float)((double)kept->n_signal / (double)all.n_signal)
               : 1.0f;
}

/* Score this rank's events; list gets the edges of all ranks. */
static etx_status score_events(
    struct etx_score_list *list, const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    int64_t met = 0;
    etx_status status = ETX_OK;

    for (int64_t i = 0; i < survey->n; i++) {
        ETX_CHECK(meet(survey, i, &met));
        if (is_mine(survey, i))
            ETX_CHECK(score_event(list, &survey->finding[i], trainer,
                trainer->validation.event[i]));
    }
    ETX_CHECK(share_findings(survey));
    ETX_CHECK(etx_team_gather(trainer, list));
    etx_score_list_sort(list);
done:
    return status;
}

/* In the order of the events. */
static struct etx_edge_totals add_totals(const struct survey *survey)
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

static struct etx_pt_totals add_pt_totals(const struct survey *survey)
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

static etx_status validate_edges(
    struct etx_train_result *result, const struct survey *survey)
{
    struct etx_trainer *trainer = survey->trainer;
    struct etx_score_list list = {.n = 0};
    struct etx_edge_totals totals;
    struct etx_pt_totals momenta;
    struct etx_score_metrics metrics;
    etx_status status;

    ETX_CHECK(score_events(&list, survey));
    ETX_CHECK(etx_train_meet_parts(trainer));
    const float cut = etx_score_list_cut(&list, target_efficiency(trainer));
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
        etx_ratio((double)metrics.n_signal, count_signal_pairs(survey));
done:
    etx_score_list_clear(&list);
    return status;
}

etx_status etx_train_validate(
    struct etx_trainer *trainer, etx_training_report *report)
{
    struct etx_train_result result = {.step = trainer->step,
        .loss = (double)NAN,
        .auc = (double)NAN,
        .pt_error = (double)NAN,
        .pt_spread = (double)NAN};
    const struct etx_train_marks marks = etx_train_mark(trainer);
    struct survey survey;
    etx_status status;

    if (trainer->validation.n == 0)
        return etx_fail(
            ETX_ERR_ARGUMENT, "the trainer has no events to validate on");
    ETX_CHECK(begin_survey(&survey, trainer));
    if (trainer->config.stage == ETX_TRAIN_EMBEDDING)
        ETX_CHECK(validate_embedding(&result, &survey));
    else
        ETX_CHECK(validate_edges(&result, &survey));
    trainer->result = result;
    report->is_validation = 1;
    report->loss = result.loss;
    report->n_edges = result.n_edges;
    report->efficiency = result.efficiency;
    report->purity = result.purity;
    report->auc = result.auc;
    report->threshold = result.threshold;
    report->pt_error = result.pt_error;
    report->pt_spread = result.pt_spread;
done:
    etx_train_reset(trainer, marks);
    return status;
}
