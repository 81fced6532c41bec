/* train/objective/edge_objective.c -- classification of edges: the filter and
 * graph networks.
 *
 * The filter sees true edges of a sector and some false ones. A graph network
 * sees all edges of a sector that holds about sampling.edges of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/objective/objective.h"

#include "base/check.h"
#include "train/graphs/event_graph.h"
#include "train/objective/edge_loss.h"
#include "train/objective/momentum_loss.h"
#include "train/objective/partition_graph.h"
#include "train/sampling/edge_sampling.h"
#include "train/sampling/sector_input.h"
#include "train/transfer.h"
#include "train/validation/validate.h"

/* One graph of a step; all but the graph in scratch of the host. */
struct sample {
    struct etx_sector sector;
    struct etx_step_edges edges;
    struct etx_graph *graph; /* of the chosen edges */
    float *pt_target;        /* [edges.n] see etx_pt_targets; or NULL */
};

/* How many hits hold about sampling.edges edges. */
static int64_t sector_hits(
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

/* Draw the sector of graph k and choose its edges. The event's graph may leave
 * the cache after this. */
static etx_status draw_sample(
    void *out, struct etx_trainer *trainer, struct etx_batch *batch, int32_t k)
{
    struct sample *sample = out;
    struct etx_arena *arena = etx_train_host(trainer->context)->arena;
    struct etx_train_event *event = batch->event[k];
    struct etx_random random = etx_batch_random(batch, k);
    const struct etx_edge_sampler sampler = etx_trainer_edge_sampler(trainer);
    const struct etx_graph *whole;
    etx_status status;

    ETX_CHECK(etx_event_graph(&whole, &trainer->graphs, event));
    ETX_CHECK(etx_sector_draw(&sample->sector, arena, &random, event,
        sector_hits(&trainer->config, whole), &trainer->stage->node_features,
        &trainer->config));
    ETX_CHECK(etx_step_edges_choose(&sample->edges, &sampler, &event->truth,
        &sample->sector, whole, &random));
    ETX_CHECK(etx_sector_graph(&sample->graph, &sample->sector, whole,
        sample->edges.n, sample->edges.id));
    batch->sums[k] = etx_edge_sums(
        sample->edges.n, sample->edges.target, sample->edges.weight);
    if (trainer->config.loss.pt_weight > 0.0f)
        ETX_CHECK(etx_pt_targets(&sample->pt_target, arena,
            &trainer->config.loss, event->event, sample->sector.row,
            sample->graph, &sample->edges));
done:
    return status;
}

static void clear_sample(void *drawn)
{
    struct sample *sample = drawn;

    etx_graph_free(sample->graph);
}

/* What the loss of graph g is divided by: the edges of all graphs, or its own
 * and the number of graphs that have edges. */
static struct etx_edge_norm choose_norm(const struct etx_train_loss *options,
    const struct etx_batch *batch, int32_t g, double loss_scale)
{
    struct etx_loss_sums all = {.weight = 0.0};
    double n_filled = 0.0;
    struct etx_edge_norm norm;

    for (int32_t k = 0; k < batch->n_graphs; k++) {
        all.n_true += batch->sums[k].n_true;
        all.n_false += batch->sums[k].n_false;
        all.weight += batch->sums[k].weight;
        n_filled += batch->sums[k].weight > 0.0;
    }
    if (options->average == ETX_AVERAGE_PAIRS || n_filled == 0.0) {
        norm = etx_edge_norm(&all, options->reduction);
    } else {
        norm = etx_edge_norm(batch->sums + g, options->reduction);
        norm.scale /= n_filled;
        norm.pt_scale /= n_filled;
    }
    norm.loss_scale = loss_scale;
    return norm;
}

/* How the latents of the forward are kept for the backward. */
static struct etx_tape make_tape(const struct etx_train_memory *memory)
{
    static const int32_t half[] = {[ETX_MEMORY_FLOAT32] = ETX_HALF_NONE,
        [ETX_MEMORY_BF16] = ETX_HALF_BFLOAT16,
        [ETX_MEMORY_FP16] = ETX_HALF_FLOAT16};

    return (struct etx_tape){
        .recomputes = memory->checkpointing, .half = half[memory->precision]};
}

/* Some edges of a sample, a network's input and where the results go. */
struct pass {
    const struct etx_network_input *input; /* where the context computes */
    int64_t n_edges;
    const float *target;    /* [n_edges] */
    float *weight;          /* [n_edges] overwritten */
    const float *pt_target; /* [n_edges], or NULL */
    struct etx_edge_norm norm;
    float *gradient; /* [n_values] added to, where the context computes */
    double *loss;    /* added to */
};

/* Arrays [n_edges] of a pass, in scratch of the context. */
struct outputs {
    float *logit, *d_logit;
    float *d_pt; /* NULL without momentum head; its output is in the tape */
};

static etx_status alloc_outputs(struct outputs *out, struct etx_tape *tape,
    struct etx_arena *arena, const struct pass *pass)
{
    const int64_t n = pass->n_edges;
    etx_status status;

    *out = (struct outputs){.logit = NULL};
    ETX_CHECK(etx_arena_alloc(&out->logit, arena, n, sizeof(float), "logits"));
    ETX_CHECK(etx_arena_alloc(
        &out->d_logit, arena, n, sizeof(float), "gradient of logits"));
    if (pass->pt_target == NULL)
        return ETX_OK;
    ETX_CHECK(etx_arena_alloc(&tape->pt, arena, n, sizeof(float), "momenta"));
    ETX_CHECK(etx_arena_alloc(
        &out->d_pt, arena, n, sizeof(float), "gradient of momenta"));
    tape->d_pt = out->d_pt;
done:
    return status;
}

/* Forward, loss and backward. */
static etx_status run_pass(struct etx_trainer *trainer, const struct pass *pass)
{
    struct etx_context *context = trainer->context;
    const struct etx_train_loss *options = &trainer->config.loss;
    const struct etx_edge_norm *norm = &pass->norm;
    const struct etx_network *network = &trainer->state.device_network;
    struct etx_tape tape = make_tape(&trainer->config.memory);
    struct outputs edges;
    double loss = 0.0;
    double pt_loss = 0.0;
    etx_status status;

    ETX_CHECK(alloc_outputs(&edges, &tape, context->stream->arena, pass));
    context->stream->is_half =
        trainer->config.arithmetic.products == ETX_PRODUCTS_FP16;
    ETX_CHECK(network->arch->forward(
        network, context, pass->input, &tape, edges.logit));
    ETX_CHECK(etx_edge_loss(&loss, edges.d_logit, context, options, norm,
        pass->n_edges, edges.logit, pass->target, pass->weight));
    if (pass->pt_target != NULL)
        ETX_CHECK(etx_pt_loss(&pt_loss, edges.d_pt, context, pass->n_edges,
            tape.pt, pass->pt_target,
            norm->pt_scale * (double)options->pt_weight, norm->loss_scale));
    ETX_CHECK(network->arch->backward(
        network, context, pass->input, &tape, edges.d_logit, pass->gradient));
    *pass->loss += loss + pt_loss;
done:
    context->stream->is_half = 0;
    return status;
}

/* The edges `first` .. first + graph->n_edges of the sample. */
static etx_status run_graph(struct etx_trainer *trainer,
    const struct sample *sample, const struct etx_graph *graph, int64_t first,
    struct pass pass)
{
    struct etx_context *context = trainer->context;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    const struct etx_network *network = &trainer->state.device_network;
    struct etx_network_input input;
    struct etx_graph *copy = NULL;
    etx_status status;

    ETX_CHECK(etx_sector_input(&input, &copy, context, &sample->sector,
        network->n_node_features, graph));
    ETX_CHECK(etx_network_votes(&input.votes, network, context, &input));
    pass.input = &input;
    pass.n_edges = graph->n_edges;
    pass.target = sample->edges.target + first;
    pass.weight = sample->edges.weight + first;
    if (sample->pt_target != NULL)
        pass.pt_target = sample->pt_target + first;
    ETX_CHECK(run_pass(trainer, &pass));
done:
    etx_graph_free(copy);
    etx_scratch_reset(context, mark);
    return status;
}

/* In pieces of at most `chunk` edges: the memory of a piece, and the gradient
 * of the whole up to rounding. */
static etx_status run_chunks(struct etx_trainer *trainer,
    const struct sample *sample, int64_t chunk, const struct pass *pass)
{
    struct etx_graph *piece = NULL;
    int32_t *id;
    etx_status status;

    ETX_SCRATCH(
        id, etx_train_host(trainer->context)->arena, chunk, "edges of a chunk");
    for (int64_t first = 0; first < sample->edges.n; first += chunk) {
        const int64_t left = sample->edges.n - first;
        const int64_t n = left < chunk ? left : chunk;

        for (int64_t e = 0; e < n; e++)
            id[e] = (int32_t)(first + e);
        ETX_CHECK(etx_graph_subset(&piece, NULL, sample->graph, n, id));
        ETX_CHECK(run_graph(trainer, sample, piece, first, *pass));
        etx_graph_free(piece);
        piece = NULL;
    }
done:
    etx_graph_free(piece);
    return status;
}

/* This trainer's partition of the graph. */
static etx_status run_partition(
    struct etx_trainer *trainer, const struct sample *sample, struct pass pass)
{
    struct etx_context *context = trainer->context;
    const struct etx_scratch_mark mark = etx_scratch_mark(context);
    const struct etx_network_input whole = {.n_nodes = sample->sector.n_hits,
        .node_features = sample->sector.features,
        .position = sample->sector.position,
        .graph = sample->graph};
    struct etx_partition_graph partition;
    float *target;
    etx_status status;

    ETX_CHECK(etx_partition_graph_open(&partition, context, &trainer->partition,
        &whole, trainer->stage->network->n_node_features));
    ETX_CHECK(etx_partition_graph_targets(&target, &pass.weight, &partition,
        sample->edges.target, sample->edges.weight));
    pass.target = target;
    pass.input = &partition.input;
    pass.n_edges = partition.n_edges;
    ETX_CHECK(run_pass(trainer, &pass));
done:
    etx_partition_graph_close(&partition);
    etx_scratch_reset(context, mark);
    return status;
}

static etx_status add_gradient(float *gradient, const void *drawn,
    struct etx_trainer *trainer, struct etx_batch *batch, int32_t k)
{
    const struct sample *sample = drawn;
    const int64_t chunk = trainer->config.sampling.chunk_edges;
    const struct pass pass = {.norm = choose_norm(&trainer->config.loss, batch,
                                  k, trainer->progress.loss_scale.scale),
        .gradient = gradient,
        .loss = batch->loss + k};

    if (trainer->partition.n_parts > 0)
        return run_partition(trainer, sample, pass);
    if (chunk > 0 && chunk < sample->edges.n)
        return run_chunks(trainer, sample, chunk, &pass);
    return run_graph(trainer, sample, sample->graph, 0, pass);
}

const struct etx_objective etx_edge_objective = {
    .sample_size = sizeof(struct sample),
    .sample = draw_sample,
    .add_gradient = add_gradient,
    .clear = clear_sample,
    .validate = etx_validate_edges};
