/* exatrkx/graph.h -- graphs of hits: build, look at, filter, score.
 *
 * Edges run from src to dst and are sorted by dst, then src. A radius graph
 * has each pair once, unless asked for both directions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_GRAPH_H
#define ETX_GRAPH_H

#include <exatrkx/exatrkx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which way an edge between neighbours runs. */
#define ETX_ORIENT_INDEX 0   /* from the smaller row to the larger */
#define ETX_ORIENT_OUTWARD 1 /* from the smaller x^2+y^2+z^2, ties by row */
#define ETX_ORIENT_BOTH 2    /* both ways */

/* How points are joined. */
typedef struct etx_graph_options {
    uint32_t struct_size;   /* set by etx_graph_options_init */
    float radius;           /* > 0, in units of the points; default 0.1 */
    int32_t max_neighbours; /* nearest kept per query, 0 = all (default) */
    int32_t orientation;    /* ETX_ORIENT_; default INDEX */
    int64_t max_edges;      /* more is ETX_ERR_LIMIT; default 2^31 - 1 */
} etx_graph_options;

/* Set every field of an options struct of struct_size bytes to its default.
 * ETX_ERR_ARGUMENT for NULL, for a size below that of the first version of the
 * struct, or above 4096. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_options_init(
    etx_graph_options *options, size_t struct_size);

/* Pairs not further apart than options->radius. points [n_points, n_dim], finite,
 * 1 <= n_dim <= 1024. Pair (i, j) is an edge when s <= r * r in float32, with
 * s = d0 * d0, then s = fma(dk, dk, s) for k = 1 .. n_dim - 1, the same on
 * every backend. With max_neighbours, query i keeps its nearest by
 * (s, j) and an edge runs from query to neighbour; of those, INDEX and OUTWARD
 * drop what runs the other way, BOTH keeps all. event gives the positions for
 * ETX_ORIENT_OUTWARD; NULL otherwise. A context's memory_limit bounds the edges
 * too, at 32 bytes each. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_radius(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim,
    const float *points, const etx_event *event,
    const etx_graph_options *options);

/* The max_neighbours nearest of every point, however far: radius unused. All
 * of them with ETX_ORIENT_BOTH; the other orientations drop what runs the
 * other way. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_knn(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim,
    const float *points, const etx_event *event,
    const etx_graph_options *options);

/* The caller's edges: src, dst [n_edges] rows in 0..n_nodes-1 (others are
 * ETX_ERR_LIMIT), in any order; scores [n_edges] in [0, 1] or NULL. Copied
 * and sorted by dst, then src (equal edges keep their order). order_out
 * [n_edges] or NULL: for each edge of the graph, its place in the input. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_from_edges(etx_graph **out,
    int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
    const float *scores, int64_t *order_out);

/* From doublets to triplets: the edges of graph, in its order, become the nodes
 * of *out, and where edge a ends at the hit at which edge b begins, an edge runs
 * from a to b (the line graph of graph). Node a of *out is thus the pair of
 * hits (etx_graph_src(graph)[a], etx_graph_dst(graph)[a]), and an edge of it is
 * a triplet of hits. A graph with both directions also joins an edge with its
 * reverse. *out is sorted like every graph, has no scores, shares nothing with
 * graph and belongs to the caller. max_edges, 0 .. 2^31 - 1: more triplets
 * than that, or than the context's memory_limit has room for at 32 bytes each,
 * are ETX_ERR_LIMIT; a hit with m edges in and n out makes m n of them.
 * ETX_ERR_CANCELLED when the context's callback says so. The context is used
 * by one thread at a time; graph may be read by others. The method: doublet
 * and triplet classifiers of Exa.TrkX (Choma et al., arXiv:2007.00149; Ju et
 * al., arXiv:2103.06995). */
ETX_API ETX_MUST_CHECK etx_status etx_graph_to_triplets(etx_graph **out,
    const etx_graph *graph, etx_context *context, int64_t max_edges);

/* Scores of triplets, for seeds: those of high score are hits of one particle,
 * in order. triplets is what etx_graph_to_triplets made of graph; its scores
 * are made or replaced, in [0, 1], one an edge of triplets. A graph network of
 * the model that scores triplets (family triplet_gnn) does so on graph; with
 * any other the score is the product of those of the two doublets, and graph
 * must have been scored (else ETX_ERR_ARGUMENT). Event and graph must be of the
 * same hits. The context is used by one thread at a time; graph, model and
 * event may be read by others. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_score_triplets(etx_graph *triplets,
    const etx_graph *graph, etx_context *context, const etx_model *model,
    const etx_event *event);

/* Nodes: hits, or doublets of a graph of triplets. */
ETX_API int64_t etx_graph_n_nodes(const etx_graph *graph);
/* Edges of the graph. */
ETX_API int64_t etx_graph_n_edges(const etx_graph *graph);
ETX_API const int32_t *etx_graph_src(const etx_graph *graph); /* [n_edges] */
ETX_API const int32_t *etx_graph_dst(const etx_graph *graph); /* [n_edges] */
/* Edges into node i are offsets[i] .. offsets[i + 1] - 1: [n_nodes + 1]. */
ETX_API const int64_t *etx_graph_offsets(const etx_graph *graph);
/* [n_edges] in [0, 1]; NULL before the graph was scored. */
ETX_API const float *etx_graph_scores(const etx_graph *graph);
/* Release it; NULL is fine. */
ETX_API void etx_graph_free(etx_graph *graph);

#ifdef __cplusplus
}
#endif

#endif
