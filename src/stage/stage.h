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

/* clock.c: a stage that is being measured. */
struct etx_stage_clock {
    double start;
    double flop;
    int32_t stage;
    int32_t pair;      /* of marks on a device, or -1 */
    etx_status status; /* of etx_stage_begin, for etx_stage_end */
};

/* Start measuring stage ETX_STAGE_ of this context. */
struct etx_stage_clock etx_stage_begin(
    struct etx_context *context, int32_t stage);
/* Add time, work and peak memory to the timing; n_edges leave the stage. Waits
 * for no device: what is queued belongs to the stage, its time is read by
 * etx_context_timing, and its failure shows where the host waits. */
etx_status etx_stage_end(struct etx_context *context,
    const struct etx_stage_clock *clock, int64_t n_edges);
/* The timing of a stage so far; waits for its end on a device. */
etx_stage_timing etx_stage_timing_of(
    const struct etx_context *context, int32_t stage);
/* The same of all stages, to context->timing. */
void etx_stage_read_timings(struct etx_context *context);
/* Clear the timings of the previous event. */
void etx_stage_reset_timings(struct etx_context *context);

/* ------------------------------------------------------------- transfers --
 *
 * transfer.c. Inputs of a stage have to be in the memory of the context, which
 * on the CPU is the host. */

/* Values [n] of the host: themselves on the CPU, on a device a copy in scratch.
 * NULL stays NULL. */
etx_status etx_stage_to_device(const float **out, struct etx_context *context,
    const float *values, int64_t n, const char *what);
/* Nodes of a partition: their features [n_features] and positions, from rows of
 * the whole graph on the host. */
etx_status etx_stage_part_nodes_to_device(struct etx_network_input *out,
    struct etx_context *context, const struct etx_graph_part *part,
    const float *features, int32_t n_features, const float *position);
/* An array borrowed from the caller, if it is on the device of the context;
 * else NULL. */
const float *etx_stage_borrowed(const struct etx_context *context,
    const struct etx_borrowed_array *borrowed);
/* The positions of hits: borrowed, cached or copied. */
etx_status etx_stage_positions(const float **out, struct etx_context *context,
    const struct etx_event *event);
/* The first of x [n] that is not finite, or -1, in *found, for which a device
 * is waited for; or, where later is not NULL, in *later once the host has
 * waited. NULL: not here, or there are none. score [n] = sigmoid(x), may be x;
 * NULL: not wanted. */
etx_status etx_stage_find_not_finite(const int64_t **found,
    const int64_t **later, struct etx_context *context, const float *x,
    int64_t n, float *score);
/* The parameters of a network; out borrows all else. A frozen
 * network's are cached. */
etx_status etx_stage_network_to_device(struct etx_network *out,
    struct etx_context *context, const struct etx_network *network);
/* A graph. *copy, for the caller to free, is NULL when graph itself or its
 * mirror will do. */
etx_status etx_stage_graph_to_device(const struct etx_graph **out,
    struct etx_graph **copy, struct etx_context *context,
    const struct etx_graph *graph);
/* Replace the graph that a stage has made by one on the host; NULL on error. */
etx_status etx_stage_graph_to_host(struct etx_graph **graph);
/* The same for a caller of the library: where the context keeps graphs, the one
 * on the device stays as its mirror. */
etx_status etx_stage_graph_to_caller(
    struct etx_graph **graph, struct etx_context *context);

/* node_features.c: the node features of a stage, *out [n_hits, n_features] in
 * scratch. Positions must be the event's. */
etx_status etx_stage_node_features(const float **out,
    struct etx_context *context, const struct etx_model_stage *stage,
    const struct etx_event *event);

/* Copy the positions, and what the model reads of the cells, or compute the
 * features for every stage with an equal list, once: they stay in the scratch
 * allocated here until context->event_cache is cleared. */
etx_status etx_stage_cache_hits(struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);
etx_status etx_stage_cache_features(struct etx_context *context,
    const struct etx_model_stage *stage, const struct etx_event *event);

/* ---------------------------------------------------- graph construction -- */

/* embedding.c: *out [n_hits, n_out] in scratch. Points that are not finite
 * fail; with bad, on a device, in a call of etx_stage_check_points(*bad) once
 * the host has waited. */
etx_status etx_stage_embed(float **out, const int64_t **bad,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);
etx_status etx_stage_check_points(const int64_t *bad, int64_t n_dim);

/* The same for inference, in the precision of the context. */
etx_status etx_stage_infer_points(float **out, const int64_t **bad,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

/* Pairs of points within a radius, or the nearest when the radius is FLT_MAX.
 * orientation ETX_ORIENT_. */
struct etx_neighbours {
    int64_t n_points;
    int32_t n_dim;
    int32_t max_neighbours;
    int32_t orientation;
    float radius;
    const float *point;    /* [n_points, n_dim] in the memory of the context */
    const float *position; /* [n_points, 3] mm, on the host; for
                            * ETX_ORIENT_OUTWARD and etx_stage_bound_radius */
    int64_t max_edges;
    int32_t ends_only; /* 1: a graph of ends only will do (data/graph.h) */
};

/* neighbours.c */
etx_status etx_stage_neighbours(struct etx_graph **out,
    struct etx_context *context, const struct etx_neighbours *neighbours);
/* The smaller of max_edges and the edges that the memory limit allows. */
int64_t etx_stage_max_edges(
    const struct etx_context *context, int64_t max_edges);
/* The same for a graph without a bound per hit: a wrong radius, or hits at one
 * point, must not fill the memory of a host that set no limit. */
int64_t etx_stage_free_edges(
    const struct etx_context *context, int64_t n_points, int64_t max_edges);

/* bounded_radius.c: *radius is that of neighbours or, where it gives more than
 * about max_edges_per_hit edges per hit, the one that gives as many; 0: no
 * bound. Events of fewer points are not bounded. */
#define ETX_MIN_BOUNDED_POINTS 1000
etx_status etx_stage_bound_radius(float *radius, struct etx_context *context,
    const struct etx_neighbours *neighbours, float max_edges_per_hit);

/* The same of joined events, whose points are apart: ETX_ERR_LIMIT where one of
 * them needs a smaller radius. */
etx_status etx_stage_check_radius(struct etx_context *context,
    const struct etx_neighbours *neighbours, const struct etx_event *event,
    float max_edges_per_hit);

/* triplets.c: the line graph. The edges of graph are its nodes; two are joined
 * where one ends and the other begins. */
etx_status etx_stage_triplets(struct etx_graph **out,
    const struct etx_graph *graph, struct etx_context *context,
    int64_t max_edges);

/* build_map.c: by the module map of the model, outward. ETX_ERR_ARGUMENT for an
 * event without modules, ETX_ERR_LIMIT above max_edges or the bounds of a
 * radius graph. */
etx_status etx_stage_build_map(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int64_t max_edges);

/* build.c: by the module map of the model, or embedding and radius graph.
 * for_filter 1: only the filter of the model reads it, so it may be a graph of
 * ends only. */
etx_status etx_stage_build_graph(struct etx_graph **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, int32_t for_filter);

/* --------------------------------------------------- edge classification -- */

/* Output of an edge network. */
struct etx_edge_output {
    float *logit; /* [n_edges] */
    float *pt;    /* [n_edges] of its momentum head, or NULL */
};

/* edge_network.c: logits from node_features [n_hits, n]. */
etx_status etx_stage_edge_logits(const struct etx_edge_output *out,
    struct etx_context *context, const struct etx_network *network,
    const float *node_features, const struct etx_graph *graph,
    const struct etx_event *event);
/* Both: score [n_edges] = sigmoid(logits). Logits that are not finite fail;
 * with bad, on a device, in a call of etx_stage_check_logits(*bad) once the
 * host has waited. */
etx_status etx_stage_edge_scores(float *score, const int64_t **bad,
    struct etx_context *context, const struct etx_network *network,
    const float *node_features, const struct etx_graph *graph,
    const struct etx_event *event);
etx_status etx_stage_check_logits(const int64_t *bad,
    const struct etx_graph *graph, const struct etx_network *network);

/* score.c: graph->score by the network of a stage, measured as ETX_STAGE_; bad
 * as above. */
etx_status etx_stage_score(struct etx_graph *graph, const int64_t **bad,
    struct etx_context *context, const struct etx_model_stage *stage,
    int32_t timing, const struct etx_event *event);
/* Without a network of edges: every edge that has no score counts as certain.
 */
etx_status etx_stage_score_certain(
    struct etx_graph *graph, struct etx_context *context);
/* The same by the graph neural network for a graph on the host; its mirror, if
 * it has one, gets the scores, too. */
etx_status etx_stage_score_host(struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);
/* score_part.c: the graph neural network on one partition of a graph; score
 * [n_edges of the partition]. event is that of the whole graph. */
etx_status etx_stage_score_part(float *score, const struct etx_graph_part *part,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const struct etx_part_exchange *exchange);

/* filter.c: the edges with a score above the cut, with their scores. */
etx_status etx_stage_filter(struct etx_graph **out,
    const struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);
/* ETX_ERR_LIMIT where one of joined events has more of these edges than its
 * bound. */
etx_status etx_stage_check_joined(const struct etx_graph *graph,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

/* triplets.c: scores of triplets, the line graph of graph, which has scores
 * unless the model's network scores triplets. */
etx_status etx_stage_score_triplets(struct etx_graph *triplets,
    const struct etx_graph *graph, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);

/* -------------------------------------------------------- track building --
 *
 * Labels are [n_hits], on the host, and -1 without a track. */

/* track_building/label.c: of a scored graph; event may be NULL where the method
 * needs no positions. */
etx_status etx_stage_label(int32_t *label, struct etx_context *context,
    const struct etx_graph *graph, const struct etx_event *event,
    const etx_label_options *options);

/* classical.c. Add the hits that tracks lack, by the completion of the model;
 * the tracks 0 .. n_filled - 1 were filled before and are not again. */
etx_status etx_stage_complete(int32_t *label, int32_t n_filled,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_completion_options *options);
/* By the first pass of the model: 0 .. *n_tracks - 1. */
etx_status etx_stage_find_long(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event, const etx_first_pass_options *options);
/* Whether the tracks of this event begin with a first pass; and its
 * labels, completed; -1 for the hits left to the networks. */
int32_t etx_stage_has_first_pass(
    const struct etx_model *model, const struct etx_event *event);
etx_status etx_stage_first_pass(int32_t *label, int32_t *n_tracks,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

/* ---------------------------------------------------------- all of them -- */

/* hits_left.c: an event between its first pass and its completion. Arrays are
 * scratch of the host. */
struct etx_hits_left {
    const struct etx_event *event;
    const struct etx_event *rest; /* the hits left to the networks */
    struct etx_event *selected;   /* the same, or NULL: all of the event */
    int32_t *row;     /* [rest->n_hits] of the event; NULL: all of them */
    int32_t *label;   /* [n_hits] of the event */
    int32_t n_tracks; /* so far: of the first pass and passes of networks */
};

/* The first pass, where the event has one, and what it leaves but for crowds on
 * modules (crowds.h). *out is zeroed; free it also after a failure. */
etx_status etx_stage_begin_event(struct etx_hits_left *out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);
/* Add the tracks that the networks found among the hits left. */
void etx_stage_add_found(struct etx_hits_left *left, const int32_t *found);
/* How many passes of the networks an event has. */
int32_t etx_stage_passes(
    const struct etx_model *model, const struct etx_event *event);
/* Complete the tracks so far, but for new ones: rest becomes what they leave.
 */
etx_status etx_stage_next_pass(struct etx_hits_left *left,
    struct etx_context *context, const struct etx_model *model);
/* The tracks so far, completed. */
etx_status etx_stage_end_event(struct etx_tracks **out,
    struct etx_hits_left *left, struct etx_context *context,
    const struct etx_model *model);
void etx_hits_left_free(struct etx_hits_left *left);

/* pipeline.c: label [n_hits] by the networks of the model. */
etx_status etx_stage_run_networks(int32_t *label, struct etx_context *context,
    const struct etx_model *model, const struct etx_event *event);
/* The passes after the first one, whose tracks are there. */
etx_status etx_stage_more_passes(struct etx_hits_left *left,
    struct etx_context *context, const struct etx_model *model);
/* Every stage of the model. */
etx_status etx_stage_find_tracks(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *event);

/* batch.c: the same of n events, out [n]; unchanged on failure. */
etx_status etx_stage_find_tracks_batch(struct etx_tracks **out,
    struct etx_context *context, const struct etx_model *model,
    const struct etx_event *const *event, int64_t n);
/* Close the contexts of threads that it has opened. */
void etx_batch_free(struct etx_context *context);

#endif
