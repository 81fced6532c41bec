/* train/graphs/event_graph.c -- the graphs that reach a stage, kept within a
 * bound.
 *
 * The stages before the one in training do not change, so a graph is made at
 * most once while it fits; beyond the bound the least recently used goes. With
 * a cache on disk it is made once and read again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/trainer.h"

#include "base/check.h"
#include "stage/stage.h"
#include "train/graphs/disk_cache.h"

static int64_t count_bytes(const struct etx_graph *graph)
{
    const int64_t per_edge = graph->score != NULL ? 16 : 12;

    return graph->n_edges * per_edge + (graph->n_nodes + 1) * 16;
}

static void forget_graph(
    struct etx_trainer *trainer, struct etx_train_event *event)
{
    trainer->graph_bytes -= event->graph_bytes;
    etx_graph_free(event->graph);
    event->graph = NULL;
    event->graph_bytes = 0;
}

/* The one with a graph that was used longest ago; NULL when none has. */
static struct etx_train_event *find_oldest(
    const struct etx_train_events *events, struct etx_train_event *oldest)
{
    for (int64_t i = 0; i < events->n; i++) {
        struct etx_train_event *event = events->event[i];

        if (event->graph != NULL &&
            (oldest == NULL || event->last_use < oldest->last_use))
            oldest = event;
    }
    return oldest;
}

static void make_room(struct etx_trainer *trainer)
{
    const int64_t max = (int64_t)trainer->config.sampling.cache_mib << 20;

    while (trainer->graph_bytes > max) {
        struct etx_train_event *oldest = find_oldest(
            &trainer->validation, find_oldest(&trainer->training, NULL));

        if (oldest == NULL)
            return;
        forget_graph(trainer, oldest);
    }
}

static etx_status make_graph(struct etx_graph **out,
    struct etx_trainer *trainer, const struct etx_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_build_graph(
        &graph, trainer->context, trainer->model, event, 0));
    if (trainer->config.stage == ETX_TRAIN_CASCADE)
        ETX_CHECK(etx_stage_filter_scores(
            graph, trainer->context, trainer->model, event));
    if (trainer->config.stage == ETX_TRAIN_GNN &&
        trainer->model->filter.network != NULL) {
        ETX_CHECK(etx_stage_filter(
            out, trainer->context, trainer->model, graph, event));
    } else {
        *out = graph;
        graph = NULL;
    }
    ETX_CHECK(etx_stage_graph_to_host(out));
done:
    etx_graph_free(graph);
    return status;
}

/* From the disk, or made and written there. */
static etx_status find_graph(struct etx_graph **out,
    struct etx_trainer *trainer, const struct etx_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    if (trainer->cache == NULL)
        return make_graph(out, trainer, event);
    ETX_CHECK(etx_train_cache_get(&graph, trainer->cache, event));
    if (graph == NULL) {
        ETX_CHECK(make_graph(&graph, trainer, event));
        ETX_CHECK(etx_train_cache_put(trainer->cache, event, graph));
    }
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_train_graph(const struct etx_graph **out,
    struct etx_trainer *trainer, struct etx_train_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status = ETX_OK;

    if (event->graph == NULL) {
        ETX_CHECK(find_graph(&graph, trainer, event->event));
        make_room(trainer);
        event->graph = graph;
        event->graph_bytes = count_bytes(graph);
        trainer->graph_bytes += event->graph_bytes;
    }
    event->last_use = ++trainer->n_uses;
    *out = event->graph;
done:
    return status;
}
