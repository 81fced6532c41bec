/* train/objective/edge_objective.c -- one step of an edge network: filter or
 * graph network.
 *
 * The filter sees true edges of a wedge and some false ones. A graph network
 * sees all edges of a wedge that holds about as many as asked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "train/objective/edge_loss.h"
#include "train/objective/momentum_loss.h"
#include "train/ranks/gradient.h"
#include "train/sampling/edge_sampling.h"

#include <string.h>

/* One wedge of a step; all but the graph in scratch. */
struct wedge {
    struct etx_sample sample;
    struct etx_step_edges edges;
    struct etx_graph *graph; /* of the chosen edges */
    float *pt_target;        /* [edges.n] see etx_pt_targets; or NULL */
};

/* How many hits hold about as many edges as asked. */
static int64_t wedge_hits(
    const struct etx_train_config *config, const struct etx_graph *graph)
{
    const struct etx_train_sampling *options = &config->sampling;
    const double max =
        options->n_hits > 0 ? (double)options->n_hits : (double)graph->n_nodes;
    double hits = max;

    if (config->stage == ETX_TRAIN_GNN && options->n_edges > 0 &&
        graph->n_edges > 0)
        hits = (double)graph->n_nodes * (double)options->n_edges /
               (double)graph->n_edges;
    hits = hits < max ? hits : max;
    return hits < 1.0 ? 1 : (int64_t)hits;
}

/* Draw the wedge of graph k of the step and choose its edges. The event's graph
 * may be forgotten after this. */
static etx_status open_wedge(struct wedge *wedge, struct etx_trainer *trainer,
    struct etx_step *step, int32_t k)
{
    struct etx_train_event *event = step->event[k];
    struct etx_random random = etx_step_random(step, trainer, k);
    struct etx_edge_sums sums = {.weight = 0.0};
    const struct etx_graph *whole;
    etx_status status;

    ETX_CHECK(etx_train_graph(&whole, trainer, event));
    ETX_CHECK(etx_sample_take(&wedge->sample, etx_train_host(trainer)->arena,
        &random, event, wedge_hits(&trainer->config, whole),
        &trainer->stage->node_features, &trainer->config));
    ETX_CHECK(etx_step_edges_choose(
        &wedge->edges, trainer, &event->truth, &wedge->sample, whole, &random));
    ETX_CHECK(etx_sample_graph(
        &wedge->graph, &wedge->sample, whole, wedge->edges.n, wedge->edges.id));
    etx_edge_sums_add(
        &sums, wedge->edges.n, wedge->edges.target, wedge->edges.weight);
    step->sums[k] = (struct etx_graph_sums){.n_true = sums.n_true,
        .n_false = sums.n_false,
        .weight = sums.weight,
        .n = (double)wedge->edges.n};
    if (trainer->config.loss.pt_weight > 0.0f)
        ETX_CHECK(etx_pt_targets(&wedge->pt_target,
            etx_train_host(trainer)->arena, &trainer->config.loss, event->event,
            wedge->sample.row, wedge->graph, &wedge->edges));
done:
    return status;
}

static void add_sums(
    struct etx_edge_sums *sums, const struct etx_graph_sums *graph)
{
    sums->n_true += graph->n_true;
    sums->n_false += graph->n_false;
    sums->weight += graph->weight;
}

/* What the loss of graph w is divided by: the edges of all graphs, or its own
 * and the number of graphs that have edges. */
static struct etx_edge_norm choose_norm(const struct etx_train_loss *options,
    const struct etx_step *step, int32_t w, double loss_scale)
{
    struct etx_edge_sums all = {.weight = 0.0};
    struct etx_edge_sums own = {.weight = 0.0};
    double n_filled = 0.0;
    struct etx_edge_norm norm;

    for (int32_t k = 0; k < step->n_graphs; k++) {
        add_sums(&all, step->sums + k);
        n_filled += step->sums[k].weight > 0.0;
    }
    if (options->average == ETX_AVERAGE_PAIRS || n_filled == 0.0) {
        norm = etx_edge_norm(&all, options->reduction);
    } else {
        add_sums(&own, step->sums + w);
        norm = etx_edge_norm(&own, options->reduction);
        norm.scale /= n_filled;
        norm.pt_scale /= n_filled;
    }
    norm.loss_scale = loss_scale;
    return norm;
}

struct etx_tape etx_train_tape(const struct etx_trainer *trainer)
{
    static const int32_t half[] = {[ETX_MEMORY_FLOAT32] = ETX_HALF_NONE,
        [ETX_MEMORY_BF16] = ETX_HALF_BFLOAT16,
        [ETX_MEMORY_FP16] = ETX_HALF_FLOAT16};
    const struct etx_train_memory *memory = &trainer->config.memory;

    return (struct etx_tape){
        .recomputes = memory->checkpointing, .half = half[memory->precision]};
}

/* Room for what the momentum head says, and its gradient. */
static etx_status take_pt(
    struct etx_tape *tape, float **d_pt, struct etx_arena *arena, int64_t n)
{
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&tape->pt, arena, n, sizeof(float), "momenta"));
    ETX_CHECK(
        etx_arena_alloc(d_pt, arena, n, sizeof(float), "gradient of momenta"));
    tape->d_pt = *d_pt;
done:
    return status;
}

/* Where a wedge's loss and gradient go. */
struct target {
    struct etx_edge_norm norm;
    float *gradient; /* [n_values] added to */
    double *loss;    /* added to */
};

/* Forward, loss and backward on edges `first` .. first + graph->n_edges of the
 * wedge. */
static etx_status run_network(struct etx_trainer *trainer,
    const struct wedge *wedge, const struct etx_graph *graph, int64_t first,
    const struct target *target)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network *network = &trainer->there.network;
    struct etx_network_input input;
    struct etx_graph *copy = NULL;
    struct etx_tape tape = etx_train_tape(trainer);
    double part = 0.0;
    double pt_part = 0.0;
    float *gradient;
    float *logit;
    float *d_logit;
    float *d_pt = NULL;
    etx_status status;

    ETX_CHECK(etx_train_input(&input, &copy, trainer, &wedge->sample, graph));
    ETX_CHECK(etx_train_gradient_open(&gradient, trainer, target->gradient));
    ETX_CHECK(etx_arena_alloc(
        &logit, arena, graph->n_edges, sizeof *logit, "logits"));
    ETX_CHECK(etx_arena_alloc(&d_logit, arena, graph->n_edges, sizeof *d_logit,
        "gradient of logits"));
    ETX_CHECK(etx_network_votes(&input.votes, network, context, &input));
    if (wedge->pt_target != NULL)
        ETX_CHECK(take_pt(&tape, &d_pt, arena, graph->n_edges));
    context->stream->is_half =
        trainer->config.arithmetic.products == ETX_PRODUCTS_FP16;
    ETX_CHECK(network->arch->forward(network, context, &input, &tape, logit));
    ETX_CHECK(etx_edge_loss(&part, d_logit, context, &trainer->config.loss,
        &target->norm, graph->n_edges, logit, wedge->edges.target + first,
        wedge->edges.weight + first));
    if (wedge->pt_target != NULL)
        ETX_CHECK(etx_pt_loss(&pt_part, d_pt, context, graph->n_edges, tape.pt,
            wedge->pt_target + first,
            target->norm.pt_scale * (double)trainer->config.loss.pt_weight,
            target->norm.loss_scale));
    ETX_CHECK(network->arch->backward(
        network, context, &input, &tape, d_logit, gradient));
    ETX_CHECK(etx_train_gradient_close(trainer, target->gradient, gradient));
    *target->loss += part + pt_part;
done:
    context->stream->is_half = 0;
    etx_graph_free(copy);
    etx_arena_reset(arena, mark);
    return status;
}

/* The same in pieces of at most `chunk` edges: the memory of a piece, and the
 * gradient of the whole up to rounding. */
static etx_status run_chunks(struct etx_trainer *trainer,
    const struct wedge *wedge, int64_t chunk, const struct target *target)
{
    struct etx_graph *part = NULL;
    int32_t *id;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&id, etx_train_host(trainer)->arena, chunk,
        sizeof *id, "edges of a chunk"));
    for (int64_t first = 0; first < wedge->edges.n; first += chunk) {
        const int64_t left = wedge->edges.n - first;
        const int64_t n = left < chunk ? left : chunk;

        for (int64_t e = 0; e < n; e++)
            id[e] = (int32_t)(first + e);
        ETX_CHECK(etx_graph_subset(&part, NULL, wedge->graph, n, id));
        ETX_CHECK(run_network(trainer, wedge, part, first, target));
        etx_graph_free(part);
        part = NULL;
    }
done:
    etx_graph_free(part);
    return status;
}

/* This trainer's part of the wedge. */
static etx_status run_part(struct etx_trainer *trainer,
    const struct wedge *wedge, const struct target *target)
{
    const struct etx_network_input input = {.n_nodes = wedge->sample.n_hits,
        .node_features = wedge->sample.features,
        .position = wedge->sample.position,
        .graph = wedge->graph};
    const struct etx_train_pass pass = {.input = &input,
        .target = wedge->edges.target,
        .weight = wedge->edges.weight,
        .norm = &target->norm,
        .gradient = target->gradient};

    return etx_train_part_step(trainer, &pass, target->loss);
}

static etx_status run_wedge(struct etx_trainer *trainer,
    const struct wedge *wedge, const struct target *target)
{
    const int64_t chunk = trainer->config.sampling.chunk_edges;

    if (trainer->parts.n_parts > 0)
        return run_part(trainer, wedge, target);
    if (chunk > 0 && chunk < wedge->edges.n)
        return run_chunks(trainer, wedge, chunk, target);
    return run_network(trainer, wedge, wedge->graph, 0, target);
}

/* The gradient of this rank's wedges, each in a slice of its own. */
static etx_status run_wedges(
    struct etx_slices *slices, const struct wedge *wedge, struct etx_step *step)
{
    struct etx_trainer *trainer = slices->trainer;
    const double begin = etx_train_now();
    etx_status status = ETX_OK;

    for (int32_t k = 0; k < step->n_graphs; k++) {
        struct target target = {.norm = choose_norm(&trainer->config.loss, step,
                                    k, etx_train_loss_scale(trainer)),
            .loss = step->loss + k};

        if (!etx_step_is_mine(step, trainer, k))
            continue;
        ETX_CHECK(etx_slices_open(&target.gradient, slices, k));
        ETX_CHECK(run_wedge(trainer, wedge + k, &target));
        ETX_CHECK(etx_slices_close(slices));
    }
    step->network_seconds = etx_train_now() - begin;
done:
    return status;
}

etx_status etx_train_edges(struct etx_trainer *trainer, struct etx_step *step)
{
    const double begin = etx_train_now();
    struct wedge *wedge = NULL;
    struct etx_slices slices;
    int32_t n_open = 0;
    etx_status status;

    ETX_CHECK(etx_arena_alloc(&wedge, etx_train_host(trainer)->arena,
        step->n_graphs, sizeof *wedge, "wedges"));
    memset(wedge, 0, (size_t)step->n_graphs * sizeof *wedge);
    for (; n_open < step->n_graphs; n_open++)
        if (etx_step_is_mine(step, trainer, n_open))
            ETX_CHECK(open_wedge(wedge + n_open, trainer, step, n_open));
    step->graphs_seconds = etx_train_now() - begin;
    ETX_CHECK(etx_step_share_sums(step, trainer));
    ETX_CHECK(etx_slices_begin(&slices, trainer, step->n_graphs, step->owner));
    ETX_CHECK(run_wedges(&slices, wedge, step));
    ETX_CHECK(etx_slices_finish(&slices));
    ETX_CHECK(etx_train_sum_parts(trainer, step->loss, step->n_graphs));
done:
    /* What failed to open may have its graph. */
    for (int32_t w = 0; w <= n_open && w < step->n_graphs; w++)
        etx_graph_free(wedge[w].graph);
    return status;
}
