/* exatrkx/graph.h -- graphs of hits: build, read, partition, score.
 *
 * An edge runs from node src to node dst. Edges are sorted by dst, then src. A
 * radius graph has one edge per pair, or two with ETX_ORIENT_BOTH.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_GRAPH_H
#define ETX_GRAPH_H

#include <exatrkx/exatrkx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Direction of the edge between two neighbours. */
#define ETX_ORIENT_INDEX   0 /* from the smaller row to the larger */
#define ETX_ORIENT_OUTWARD 1 /* from the smaller x^2+y^2+z^2, ties by row */
#define ETX_ORIENT_BOTH    2 /* two edges, one per direction */

/* Options of radius and k-nearest-neighbour graphs. */
typedef struct etx_graph_options {
    uint32_t struct_size;   /* set by etx_graph_options_init */
    float radius;           /* above 0, in units of the points; default 0.1 */
    int32_t max_neighbours; /* nearest kept per point; 0 = all (default) */
    int32_t orientation;    /* ETX_ORIENT_; default INDEX */
    int64_t max_edges;      /* ETX_ERR_LIMIT above; default 2^31 - 1, with
                             * ETX_MAX_EDGES_PER_POINT */
} etx_graph_options;

/* Defaults for all fields; struct_size is sizeof *options. ETX_ERR_ARGUMENT
 * when it is below the size of the struct's first release, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_options_init(
    etx_graph_options *options, size_t struct_size);

/* Join all pairs of points [n_points, n_dim] (finite, 1 <= n_dim <= 1024) that
 * are at most options->radius apart. The squared distance is computed in
 * float32 as s = d0 * d0, then s = fma(dk, dk, s) for k = 1 .. n_dim - 1, and
 * compared with radius * radius: the same edges on every backend. With
 * max_neighbours point i keeps its nearest by (s, j): BOTH has the edges from i
 * to j, INDEX and OUTWARD each pair once, as ACTS and FRNN have. event gives
 * the positions for ETX_ORIENT_OUTWARD and may else be NULL. ETX_ERR_LIMIT
 * above max_edges, or above the context's memory_limit at 32 bytes per edge. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_radius(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options);

/* The same with the max_neighbours (at least 1) nearest of every point at any
 * distance; radius is not used. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_knn(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options);

/* Join the hits of event that the module map of model allows, outward: the
 * edges of etx_graph_build for a model that has one. A hit on a module or layer
 * that the map does not know has no edges. event has modules
 * (etx_event_set_modules; else ETX_ERR_ARGUMENT). ETX_ERR_LIMIT above max_edges
 * (0 .. 2^31 - 1), or as etx_graph_build_radius. On the CPU the same bits for
 * any number of threads; on a device values at the limit of a window may be
 * rounded to the other side. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_module_map(etx_graph **out,
    etx_context *context, const etx_model *model, const etx_event *event,
    int64_t max_edges);

/* A graph from the caller's edges, in any order: src and dst [n_edges] in
 * 0 .. n_nodes - 1, scores [n_edges] in [0, 1] or NULL.
 * They are copied and sorted by dst, then src; equal edges keep their order.
 * order_out [n_edges] or NULL: the input index of every edge of the graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_from_edges(etx_graph **out,
    int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
    const float *scores, int64_t *order_out);

/* The same with src, dst and scores in memory of the device of context, where
 * they are sorted; order_out is on the host. See etx_event_create_device for
 * stream. All are copied: the caller may change them when the call returns. The
 * graph has its arrays on the host and, with keep_graphs 1, on the device, too.
 */
ETX_API ETX_MUST_CHECK etx_status etx_graph_from_edges_device(etx_graph **out,
    etx_context *context, int64_t n_nodes, int64_t n_edges, const int32_t *src,
    const int32_t *dst, const float *scores, int64_t *order_out, void *stream);

/* The same from an edge index as ACTS and PyTorch Geometric have it: index
 * [2, n_edges] has all sources, then all targets. It is checked and sorted on
 * the device. The graph has its arrays on the host, too, unless keep_graphs
 * is 2. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_from_index_device(etx_graph **out,
    etx_context *context, int64_t n_nodes, int64_t n_edges,
    const int64_t *index, const float *scores, void *stream);

/* And back: the edges with a score above cut (strictly), or all of a graph that
 * is not scored, to index [2, *n_edges] and, unless NULL, scores [*n_edges] in
 * memory of the device of context. index holds capacity edges
 * (ETX_ERR_ARGUMENT when there are more); NULL: only *n_edges is set. The call
 * writes after what is queued on stream (a cudaStream_t; NULL: the legacy
 * default stream), and waits. ETX_ERR_ARGUMENT for scores of a graph that has
 * none. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_to_index_device(int64_t *n_edges,
    int64_t *index, float *scores, int64_t capacity, const etx_graph *graph,
    etx_context *context, float cut, void *stream);

/* The line graph of graph: from doublets to triplets of hits. Node a of *out is
 * edge a of graph, the doublet (src[a], dst[a]). Where edge a ends at the hit
 * at which edge b begins, *out has an edge from a to b, a triplet; a hit with m
 * edges in and n out gives m * n triplets. A graph with both directions also
 * joins an edge with its reverse. *out has no scores and is independent of
 * graph. ETX_ERR_LIMIT above max_edges (0 .. 2^31 - 1) triplets, or above the
 * context's memory_limit at 32 bytes each. Method: Choma et al.,
 * arXiv:2007.00149. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_to_triplets(etx_graph **out,
    const etx_graph *graph, etx_context *context, int64_t max_edges);

/* Score triplets, the result of etx_graph_to_triplets for graph; high scores
 * mark hits of one particle in order, good as seeds. The scores [n_edges] in
 * [0, 1] of triplets are replaced. A graph network triplet_gnn scores triplets
 * itself; with any other network the score is the product of the scores of the
 * two doublets, and graph must be scored (else ETX_ERR_ARGUMENT). event has the
 * hits of graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_score_triplets(etx_graph *triplets,
    const etx_graph *graph, etx_context *context, const etx_model *model,
    const etx_event *event);

/* Number of nodes: hits, or doublets in a graph of triplets. */
ETX_API int64_t etx_graph_n_nodes(const etx_graph *graph);
/* Number of edges. */
ETX_API int64_t etx_graph_n_edges(const etx_graph *graph);
/* [n_edges] first node of every edge. */
ETX_API const int32_t *etx_graph_src(const etx_graph *graph);
/* [n_edges] last node of every edge, ascending. */
ETX_API const int32_t *etx_graph_dst(const etx_graph *graph);
/* [n_nodes + 1]: edges into node i are offsets[i] .. offsets[i + 1] - 1. */
ETX_API const int64_t *etx_graph_offsets(const etx_graph *graph);
/* [n_edges] in [0, 1]; NULL before the graph is scored. */
ETX_API const float *etx_graph_scores(const etx_graph *graph);

/* Arrays on a device, for consumers that compute there. With keep_graphs a
 * context on a device keeps a copy of every graph that a call with it creates
 * or scores; with keep_graphs 2 a graph that it creates has no other arrays:
 * the getters above return NULL for them. The pointers below refer to that copy
 * and are read only. They are valid until the graph is scored, gets scores or
 * is freed, or the context is freed; a call that fails to score the graph ends
 * them too, where it has arrays on the host. The call that computed the values
 * has synchronized: any stream may read them without a wait. The memory is that
 * of the context and counts in its memory_limit. NULL when there is no copy,
 * with the reason in etx_last_error().
 *
 * Threads: freeing or scoring such a graph, or setting its scores, uses the
 * context that keeps the copy, whichever context is passed. */

/* device_index of the context that keeps the copy; -1 without a copy. */
ETX_API int32_t etx_graph_device_index(const etx_graph *graph);
/* [n_edges] on the device. */
ETX_API const int32_t *etx_graph_src_device(const etx_graph *graph);
/* [n_edges] on the device. */
ETX_API const int32_t *etx_graph_dst_device(const etx_graph *graph);
/* [n_nodes + 1] on the device. */
ETX_API const int64_t *etx_graph_offsets_device(const etx_graph *graph);
/* [n_edges] on the device; NULL also before the graph is scored. */
ETX_API const float *etx_graph_scores_device(const etx_graph *graph);

/* Replace the scores by scores [n_edges] in [0, 1], copied; NULL removes them.
 */
ETX_API ETX_MUST_CHECK etx_status etx_graph_set_scores(
    etx_graph *graph, const float *scores);

/* Features [n_edges, n_features] of the edges, in the order of the graph,
 * within +-1e9, in place of those that it has; copied; 0 columns remove them.
 * At most 16 (else ETX_ERR_LIMIT). A model reads column k as the edge feature
 * own_k, divided by its scale. etx_graph_filter passes them on; a network that
 * doubles the edges reads the same values for both directions. The graph loses
 * its copy on a device. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_set_edge_features(
    etx_graph *graph, int64_t n_features, const float *features);
/* Columns of etx_graph_edge_features, 0 without. */
ETX_API int64_t etx_graph_n_edge_features(const etx_graph *graph);
/* [n_edges, n_features] the caller's own; NULL without. */
ETX_API const float *etx_graph_edge_features(const etx_graph *graph);

/* Free it; NULL is allowed. */
ETX_API void etx_graph_free(etx_graph *graph);

/* ----------------------------------------------------- partitioned graphs --
 */

/* How nodes are assigned to parts. */
#define ETX_PARTITION_PHI 0 /* sectors of azimuth */
/* recursive bisection along azimuth or pseudorapidity, whichever cuts fewer
 * edges */
#define ETX_PARTITION_KD 1

/* One part of a partitioned graph: its own nodes, all edges with an end at one
 * of them, and the halo, which is the other ends of these edges. An edge
 * between two parts is in both, and the part of its dst owns it. Immutable, may
 * be shared by threads.
 *
 *     part 0      |  part 1        part 0 has nodes a b and halo c,
 *     a ---> b ---|---> c          part 1 has node c and halo b;
 *                 |                both have edge b-c, part 1 owns it
 */
typedef struct etx_graph_part etx_graph_part;

/* Assign nodes to parts with about equal numbers of edge ends: owners [n_nodes]
 * gets the part of every node, 0 .. n_parts - 1. order is ETX_PARTITION_,
 * n_parts 1 .. 65536; event has the hits of graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_partition(int32_t *owners,
    const etx_graph *graph, const etx_event *event, int32_t n_parts,
    int32_t order);

/* Part `part` of n_parts. owners [n_nodes] in 0 .. n_parts - 1; a part may
 * own no node. *out is independent of graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_part_create(etx_graph_part **out,
    const etx_graph *graph, const int32_t *owners, int32_t n_parts,
    int32_t part);

/* The part as a graph: nodes and edges in the order of the whole graph, nodes
 * renumbered from 0, scores copied. */
ETX_API const etx_graph *etx_graph_part_graph(const etx_graph_part *part);
/* [n_nodes of the part's graph] index of each node in the whole graph,
 * ascending. */
ETX_API const int32_t *etx_graph_part_nodes(const etx_graph_part *part);
/* [n_edges of the part's graph] index of each edge in the whole graph,
 * ascending. */
ETX_API const int32_t *etx_graph_part_edges(const etx_graph_part *part);
/* Number of edges that the part owns; the sum over the parts is that of the
 * whole graph. */
ETX_API int64_t etx_graph_part_n_own_edges(const etx_graph_part *part);
/* [n_parts] node rows that this part sends to each part in a halo exchange. */
ETX_API const int64_t *etx_graph_part_sent(const etx_graph_part *part);
/* [n_parts] node rows that it receives from each part. */
ETX_API const int64_t *etx_graph_part_received(const etx_graph_part *part);

/* Transport of rows between the parts, implemented by the caller.
 * libexatrkx_dist has one over MPI, NCCL and threads (dist.h). */
typedef struct etx_part_exchange {
    uint32_t struct_size; /* set by the caller */
    int32_t reserved;     /* 0 */
    /* All-to-all of float values. sent holds n_sent[q] values for each part q,
     * in the order of the parts; received gets n_received[q] values from each
     * part q, unchanged; counts [n_parts]. All parts make the same sequence of
     * calls with matching counts. A status other than ETX_OK ends the run, with
     * the message that swap set by etx_set_last_error; a value that is no
     * status is ETX_ERR_IO. */
    etx_status (*swap)(void *user, float *received, const int64_t *n_received,
        const float *sent, const int64_t *n_sent);
    /* Called once when this part failed with status, from swap or otherwise: it
     * will not call swap again in this run, and must notify the other parts so
     * that they do not wait. May be NULL. */
    void (*leave)(void *user, etx_status status);
    void *user; /* argument of both; used by one thread at a time */
} etx_part_exchange;

/* Score the edges of one part with the graph network: scores [n_edges of the
 * part's graph], the same bits as etx_graph_score for the whole graph, whatever
 * the number of parts; in float32 where that is in float16. All parts are
 * scored at the same time, each by a thread or process of its own; the node
 * latents of the halo are exchanged after every iteration. Memory for latents
 * is that of the part. event is that of the whole graph. ETX_ERR_UNSUPPORTED
 * for triplet_gnn and for networks with a batch norm, which need the whole
 * graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_part_score(float *scores,
    const etx_graph_part *part, etx_context *context, const etx_model *model,
    const etx_event *event, const etx_part_exchange *exchange);

/* Free it; NULL is allowed. */
ETX_API void etx_graph_part_free(etx_graph_part *part);

#ifdef __cplusplus
}
#endif

#endif
