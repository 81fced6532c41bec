/* train/edges.c -- one step of an edge network: filter or graph network.
 *
 * The filter sees true edges of a wedge and some false ones. A graph network
 * sees all edges of a wedge that holds about as many as asked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "train/edge_choice.h"
#include "train/edge_loss.h"

#include <string.h>

/* One wedge of a step; all but the graph in scratch. */
struct wedge {
    struct etx_sample sample;
    struct etx_step_edges edges;
    struct etx_edge_sums sums;
    struct etx_graph *graph; /* of the chosen edges */
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

/* Draw a wedge of the event and choose its edges. The event's graph may be
 * forgotten after this. */
static etx_status open_wedge(struct wedge *wedge, struct etx_trainer *trainer,
    struct etx_train_event *event, struct etx_random *random)
{
    const struct etx_graph *whole;
    etx_status status;

    ETX_CHECK(etx_train_graph(&whole, trainer, event));
    ETX_CHECK(etx_sample_take(&wedge->sample, etx_train_host(trainer)->arena,
        random, event, wedge_hits(&trainer->config, whole),
        &trainer->stage->node_features, &trainer->config));
    ETX_CHECK(etx_step_edges_choose(&wedge->edges, trainer, &event->truth,
        &wedge->sample, whole, random));
    ETX_CHECK(etx_sample_graph(&wedge->graph, &wedge->sample, whole,
        wedge->edges.n, wedge->edges.id));
    etx_edge_sums_add(&wedge->sums, wedge->edges.n, wedge->edges.target,
        wedge->edges.weight);
done:
    return status;
}

/* What the loss of wedge w is divided by: the edges of all wedges, or its own
 * and the number of wedges that have edges. */
static struct etx_edge_norm choose_norm(const struct etx_train_loss *options,
    const struct wedge *wedge, int32_t n_wedges, int32_t w)
{
    struct etx_edge_sums sums = {.weight = 0.0};
    double n_filled = 0.0;
    struct etx_edge_norm norm;

    for (int32_t k = 0; k < n_wedges; k++) {
        sums.n_true += wedge[k].sums.n_true;
        sums.n_false += wedge[k].sums.n_false;
        sums.weight += wedge[k].sums.weight;
        n_filled += wedge[k].sums.weight > 0.0;
    }
    if (options->average == ETX_AVERAGE_PAIRS || n_filled == 0.0)
        return etx_edge_norm(&sums, options->reduction);
    norm = etx_edge_norm(&wedge[w].sums, options->reduction);
    norm.scale /= n_filled;
    return norm;
}

/* Forward, loss and backward on edges `first` .. first + graph->n_edges of the
 * wedge; adds to *loss. */
static etx_status run_network(struct etx_trainer *trainer,
    const struct wedge *wedge, const struct etx_graph *graph, int64_t first,
    const struct etx_edge_norm *norm, double *loss)
{
    struct etx_context *context = trainer->context;
    struct etx_arena *arena = context->stream->arena;
    const struct etx_arena_mark mark = etx_arena_mark(arena);
    const struct etx_network *network = &trainer->there.network;
    struct etx_network_input input;
    struct etx_graph *copy = NULL;
    struct etx_tape tape = {NULL};
    double part = 0.0;
    float *logit;
    float *d_logit;
    etx_status status;

    ETX_CHECK(
        etx_train_input(&input, &copy, trainer, &wedge->sample, graph));
    ETX_CHECK(etx_arena_take(
        &logit, arena, graph->n_edges, sizeof *logit, "logits"));
    ETX_CHECK(etx_arena_take(&d_logit, arena, graph->n_edges, sizeof *d_logit,
        "gradient of logits"));
    ETX_CHECK(network->arch->forward(network, context, &input, &tape, logit));
    ETX_CHECK(etx_edge_loss(&part, d_logit, context, &trainer->config.loss,
        norm, graph->n_edges, logit, wedge->edges.target + first,
        wedge->edges.weight + first));
    ETX_CHECK(network->arch->backward(
        network, context, &input, &tape, d_logit, trainer->there.gradient));
    *loss += part;
done:
    etx_graph_free(copy);
    etx_arena_reset(arena, mark);
    return status;
}

/* The same in pieces of at most `chunk` edges: the memory of a piece, and the
 * gradient of the whole up to rounding. */
static etx_status run_chunks(struct etx_trainer *trainer,
    const struct wedge *wedge, int64_t chunk,
    const struct etx_edge_norm *norm, double *loss)
{
    struct etx_graph *part = NULL;
    int32_t *id;
    etx_status status;

    ETX_CHECK(etx_arena_take(&id, etx_train_host(trainer)->arena, chunk,
        sizeof *id, "edges of a chunk"));
    for (int64_t first = 0; first < wedge->edges.n; first += chunk) {
        const int64_t left = wedge->edges.n - first;
        const int64_t n = left < chunk ? left : chunk;

        for (int64_t e = 0; e < n; e++)
            id[e] = (int32_t)(first + e);
        ETX_CHECK(etx_graph_subset(&part, wedge->graph, n, id));
        ETX_CHECK(run_network(trainer, wedge, part, first, norm, loss));
        etx_graph_free(part);
        part = NULL;
    }
done:
    etx_graph_free(part);
    return status;
}

static etx_status run_wedge(struct etx_trainer *trainer,
    const struct wedge *wedge, const struct etx_edge_norm *norm, double *loss)
{
    const int64_t chunk = trainer->config.sampling.chunk_edges;

    if (chunk > 0 && chunk < wedge->edges.n)
        return run_chunks(trainer, wedge, chunk, norm, loss);
    return run_network(trainer, wedge, wedge->graph, 0, norm, loss);
}

etx_status etx_train_edges(struct etx_trainer *trainer,
    struct etx_train_event *const *event, int32_t n_events,
    struct etx_random *random, etx_training_report *report)
{
    struct wedge *wedge = NULL;
    int32_t n_open = 0;
    etx_status status;

    ETX_CHECK(etx_arena_take(&wedge, etx_train_host(trainer)->arena, n_events,
        sizeof *wedge, "wedges"));
    memset(wedge, 0, (size_t)n_events * sizeof *wedge);
    for (; n_open < n_events; n_open++)
        ETX_CHECK(
            open_wedge(wedge + n_open, trainer, event[n_open], random));
    report->loss = 0.0;
    report->n_edges = 0.0;
    for (int32_t w = 0; w < n_events; w++) {
        const struct etx_edge_norm norm =
            choose_norm(&trainer->config.loss, wedge, n_events, w);

        ETX_CHECK(run_wedge(trainer, wedge + w, &norm, &report->loss));
        report->n_edges += (double)wedge[w].edges.n;
    }
done:
    for (int32_t w = 0; w < n_open; w++)
        etx_graph_free(wedge[w].graph);
    return status;
}
