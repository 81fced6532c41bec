/* train/graphs/event_graph.c -- the graphs that a stage in training reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/graphs/event_graph.h"

#include "base/check.h"
#include "stage/stage.h"

static int64_t count_bytes(const struct etx_graph *graph)
{
    const int64_t per_edge = graph->score != NULL ? 16 : 12;

    return graph->n_edges * per_edge + (graph->n_nodes + 1) * 16;
}

/* The event of events, or `oldest`, whose graph was used longest ago; NULL when
 * none has a graph. */
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

static void free_oldest(struct etx_event_graphs *graphs)
{
    while (graphs->n_bytes > graphs->max_bytes) {
        struct etx_train_event *oldest = find_oldest(
            graphs->events[1], find_oldest(graphs->events[0], NULL));

        if (oldest == NULL)
            return;
        graphs->n_bytes -= oldest->graph_bytes;
        etx_graph_free(oldest->graph);
        oldest->graph = NULL;
        oldest->graph_bytes = 0;
    }
}

/* Run the stages before the one in training. */
static etx_status build_graph(struct etx_graph **out,
    const struct etx_event_graphs *graphs, const struct etx_event *event)
{
    struct etx_context *context = graphs->context;
    const struct etx_model *model = graphs->model;
    struct etx_graph *graph = NULL;
    etx_status status;

    ETX_CHECK(etx_stage_build_graph(&graph, context, model, event, 0));
    if (graphs->stage == ETX_TRAIN_GNN && model->filter.network != NULL) {
        ETX_CHECK(etx_stage_filter(out, graph, context, model, event));
    } else {
        *out = graph;
        graph = NULL;
    }
    ETX_CHECK(etx_stage_graph_to_host(out));
done:
    etx_graph_free(graph);
    return status;
}

/* From disk, or built and written to disk. */
static etx_status load_graph(struct etx_graph **out,
    struct etx_event_graphs *graphs, const struct etx_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status;

    if (graphs->disk == NULL)
        return build_graph(out, graphs, event);
    ETX_CHECK(etx_graph_disk_cache_find(&graph, graphs->disk, event));
    if (graph == NULL) {
        ETX_CHECK(build_graph(&graph, graphs, event));
        ETX_CHECK(etx_graph_disk_cache_insert(graphs->disk, event, graph));
    }
    *out = graph;
    graph = NULL;
done:
    etx_graph_free(graph);
    return status;
}

etx_status etx_event_graph(const struct etx_graph **out,
    struct etx_event_graphs *graphs, struct etx_train_event *event)
{
    struct etx_graph *graph = NULL;
    etx_status status = ETX_OK;

    if (event->graph == NULL) {
        ETX_CHECK(load_graph(&graph, graphs, event->event));
        free_oldest(graphs);
        event->graph = graph;
        event->graph_bytes = count_bytes(graph);
        graphs->n_bytes += event->graph_bytes;
    }
    event->last_use = ++graphs->n_uses;
    *out = event->graph;
done:
    return status;
}
