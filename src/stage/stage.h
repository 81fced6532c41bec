/* stage/stage.h -- the stages of the pipeline, one function each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_STAGE_STAGE_H
#define ETX_STAGE_STAGE_H

#include "data/event.h"
#include "data/graph.h"
#include "data/part.h"
#include "data/tracks.h"
#include "stage/model.h"

/* Time and bytes of a running stage. */
struct etx_stage_clock {
    double start;
    double flop;
    int32_t stage;
};

/* Start measuring stage ETX_STAGE_ of this context. */
struct etx_stage_clock etx_stage_begin(
    struct etx_context *context, int32_t stage);
/* Add what passed since to context->timing; n_edges leave the stage. Fails when
 * what is queued on a device does. */
etx_status etx_stage_end(struct etx_context *context,
    const struct etx_stage_clock *clock, int64_t n_edges);
/* Forget the timings of the event before. */
void etx_stage_forget(struct etx_context *context);

/* resident.c: values [n] of the host where the context computes: themselves on
 * the CPU, a copy in scratch on a device. NULL stays NULL. */
etx_status etx_stage_bring(const float **out, struct etx_context *context,
    const float *values, int64_t n, const char *what);
/* Bring values [n] once: until etx_stage_let_go they are found, in the scratch
 * that was taken here. On the CPU nothing is done. */
etx_status etx_stage_hold(struct etx_context *context, const float *values,
    int64_t n, const char *what);
/* Forget what is held, features too. */
void etx_stage_let_go(struct etx_context *context);
/* The parameters of a network where the context computes; out borrows the rest.
 * Those of a frozen network are copied once and stay, on the CPU too.
 */
etx_status etx_stage_network(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network);
/* A graph where the context computes: *copy, to be freed, is NULL when graph
 * itself will do. And a graph that a stage has made to the host, in place of
 * the other; NULL on error. */
etx_status etx_stage_enter(const struct etx_graph **out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_graph *graph);
etx_status etx_stage_leave(struct etx_graph **graph);
/* The same for a caller of the library: where the context keeps graphs, the
 * other stays as the copy on the device of the new one. */
etx_status etx_stage_hand_out(
    struct etx_graph **graph, struct etx_context *context);

/* The node features of a stage in scratch: *out [n_hits, n_features].
 * Positions must be the event's. */
etx_status etx_stage_node_features(const float **out,
    struct etx_context *context, const struct etx_model_stage *stage,
    const struct etx_event *event);

/* Make them once: until etx_stage_let_go they are found for every list that is
 * equal, in the scratch that was taken here. */
etx_status etx_stage_hold_features(struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event);

/* graph_construction/embedding.c: *out [n_hits, n_out] in scratch. */
etx_status etx_stage_embed(float **out, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);

/* graph_construction/neighbours.c: pairs of points within a radius, or the
 * nearest when the radius is FLT_MAX. orientation ETX_ORIENT_; position
 * [n_points, 3] is read for ETX_ORIENT_OUTWARD, and by etx_stage_bound_radius.
 */
struct etx_neighbours {
    int64_t n_points;
    int32_t n_dim;
    int32_t max_neighbours;
    int32_t orientation;
    float radius;
    const float *point;    /* [n_points, n_dim] where the context computes */
    const float *position; /* [n_points, 3] mm, on the host */
    int64_t max_edges;
    int32_t ends_alone; /* 1: a graph of ends alone will do (data/graph.h) */
};
etx_status etx_stage_neighbours(struct etx_graph **out,
    struct etx_context *context, const struct etx_neighbours *neighbours);

/* graph_construction/bounded_radius.c: *radius is that of neighbours, or, where
 * that gives more than about max_edges_per_hit edges a hit, the one that gives
 * so many; 0: any number. Fewer points than this are not looked at. */
#define ETX_MIN_BOUNDED_POINTS 1000
etx_status etx_stage_bound_radius(float *radius, struct etx_context *context,
    const struct etx_neighbours *neighbours, float max_edges_per_hit);

/* graph_construction/neighbours.c: edges that a graph may have, of those asked
 * for and of those that fit the context's memory limit. */
int64_t etx_stage_max_edges(
    const struct etx_context *context, int64_t max_edges);

/* graph_construction/triplets.c: the edges of graph as nodes, joined where one
 * ends and the other begins. */
etx_status etx_stage_triplets(struct etx_graph **out,
    struct etx_context *context, const struct etx_graph *graph,
    int64_t max_edges);

/* graph_construction/build.c: embedding and radius graph. for_filter 1: the
 * filter of the model alone reads it, with its cascade, so that it may be a
 * graph of ends alone (data/graph.h). */
etx_status etx_stage_build_graph(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int32_t for_filter);

/* What an edge network says of every edge. */
struct etx_edge_output {
    float *logit; /* [n_edges] */
    float *pt;    /* [n_edges] of its momentum head, or NULL */
};

/* edge_classification/logits.c: what an edge network says on
 * node_features [n_hits, n]; and scores = sigmoid(logits). */
etx_status etx_stage_edge_logits(const struct etx_edge_output *out,
    struct etx_context *context, const struct etx_network *network,
    const float *node_features, const struct etx_graph *graph,
    const struct etx_event *event);
etx_status etx_stage_edge_scores(float *score, struct etx_context *context,
    const struct etx_network *network, const float *node_features,
    const struct etx_graph *graph, const struct etx_event *event);
/* edge_classification/part.c: the graph network on one part of a graph;
 * scores [n_edges of the part]. event is that of the whole graph. */
etx_status etx_stage_score_part(float *score, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph_part *part,
    const struct etx_event *event, const struct etx_part_exchange *exchange);
/* The filter: edges with a score above the cut, their scores kept. Those that
 * the model's cascade rejects never reach it. */
etx_status etx_stage_filter(struct etx_graph **out, struct etx_context *context,
    const struct etx_model *model, const struct etx_graph *graph,
    const struct etx_event *event);
/* The scores of the filter for all edges: graph->score is made or replaced. */
etx_status etx_stage_filter_scores(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);
/* The graph neural network: graph->score is made or replaced. */
etx_status etx_stage_score(struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);
/* edge_classification/score_host.c: the same for a graph of the host, whose
 * copy on a device, if it has one, gets them too. */
etx_status etx_stage_score_host(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

/* edge_classification/triplets.c: triplets, the line graph of graph, gets
 * scores. graph has scores unless the model's network scores triplets. */
etx_status etx_stage_score_triplets(struct etx_graph *triplets,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_graph *graph, const struct etx_event *event);

/* pipeline.c: every stage that the model holds, then its labels. */
etx_status etx_stage_find_tracks(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

#endif
