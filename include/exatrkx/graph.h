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
#define ETX_ORIENT_INDEX   0 /* from the smaller row to the larger */
#define ETX_ORIENT_OUTWARD 1 /* from the smaller x^2+y^2+z^2, ties by row */
#define ETX_ORIENT_BOTH    2 /* both ways */

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

/* Pairs not further apart than options->radius. points [n_points, n_dim],
 * finite, 1 <= n_dim <= 1024. Pair (i, j) is an edge when s <= r * r in
 * float32, with s = d0 * d0, then s = fma(dk, dk, s) for k = 1 .. n_dim - 1,
 * the same on every backend. With max_neighbours, query i keeps its nearest by
 * (s, j) and an edge runs from query to neighbour; of those, INDEX and OUTWARD
 * drop what runs the other way, BOTH keeps all. event gives the positions for
 * ETX_ORIENT_OUTWARD; NULL otherwise. A context's memory_limit bounds the edges
 * too, at 32 bytes each. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_radius(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options);

/* The max_neighbours nearest of every point, however far: radius unused. All
 * of them with ETX_ORIENT_BOTH; the other orientations drop what runs the
 * other way. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_build_knn(etx_graph **out,
    etx_context *context, int64_t n_points, int64_t n_dim, const float *points,
    const etx_event *event, const etx_graph_options *options);

/* The caller's edges: src, dst [n_edges] rows in 0..n_nodes-1 (others are
 * ETX_ERR_LIMIT), in any order; scores [n_edges] in [0, 1] or NULL. Copied
 * and sorted by dst, then src (equal edges keep their order). order_out
 * [n_edges] or NULL: for each edge of the graph, its place in the input. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_from_edges(etx_graph **out,
    int64_t n_nodes, int64_t n_edges, const int32_t *src, const int32_t *dst,
    const float *scores, int64_t *order_out);

/* From doublets to triplets: the edges of graph, in its order, become the nodes
 * of *out, and where edge a ends at the hit at which edge b begins, an edge
 * runs from a to b (the line graph of graph). Node a of *out is thus the pair
 * of hits (etx_graph_src(graph)[a], etx_graph_dst(graph)[a]), and an edge of it
 * is a triplet of hits. A graph with both directions also joins an edge with
 * its reverse. *out is sorted like every graph, has no scores, shares nothing
 * with graph and belongs to the caller. max_edges, 0 .. 2^31 - 1: more triplets
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

/* What a graph has on a device, for consumers that compute there. A context on
 * a device with keep_graphs leaves the arrays of every graph that a call with
 * it returns or scores where it computed them; host getters are as for any
 * graph. The pointers below are to memory of that device, to be read only, and
 * lie in the context's pool, thus count in its memory_limit. They belong to the
 * graph and are valid until it is scored, gets scores or is freed, or the
 * context is freed. The call that made the values has waited for them: any
 * stream may read them with no wait, and reads must be over when the pointers
 * end. A call that fails to score leaves none. Otherwise NULL, and
 * etx_last_error tells why.
 *
 * Threads: to free such a graph, to score it or to give it scores is a use of
 * the context that keeps it, whatever context is passed. */

/* The device_index of the context that keeps the graph; -1: it is on the host
 * alone. */
ETX_API int32_t etx_graph_device_index(const etx_graph *graph);
/* [n_edges] on the device. */
ETX_API const int32_t *etx_graph_src_dev(const etx_graph *graph);
/* [n_edges] on the device. */
ETX_API const int32_t *etx_graph_dst_dev(const etx_graph *graph);
/* [n_nodes + 1] on the device. */
ETX_API const int64_t *etx_graph_offsets_dev(const etx_graph *graph);
/* [n_edges] on the device; NULL before the graph was scored, too. */
ETX_API const float *etx_graph_scores_dev(const etx_graph *graph);

/* Scores [n_edges] in [0, 1], copied, in place of those that the graph has;
 * NULL: none. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_set_scores(
    etx_graph *graph, const float *scores);
/* Release it; NULL is fine. */
ETX_API void etx_graph_free(etx_graph *graph);

/* ------------------------------------------------------ parts of a graph -- */

/* How nodes are shared out. */
#define ETX_PARTITION_PHI 0 /* sectors of azimuth */
/* halves of halves, each along azimuth or pseudorapidity: what takes fewer
 * edges apart */
#define ETX_PARTITION_KD 1

/* One part of a graph, for a graph network that runs on all parts at once:
 * its own nodes, every edge at one of them, and the halo, which is the other
 * ends of those edges. An edge between parts is held by both; its score is
 * that of the part where it ends. Immutable; may be used by several threads.
 */
typedef struct etx_graph_part etx_graph_part;

/* owners [n_nodes] gets the part of every node, 0 .. n_parts - 1, such that
 * the parts have about as many ends of edges each. order is ETX_PARTITION_,
 * n_parts 1 .. 65536; the event is that of the graph. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_partition(int32_t *owners,
    const etx_graph *graph, const etx_event *event, int32_t n_parts,
    int32_t order);

/* Part `part` of n_parts; owners [n_nodes] in 0 .. n_parts - 1, any of which
 * may own nothing. Shares nothing with graph and belongs to the caller. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_part_create(etx_graph_part **out,
    const etx_graph *graph, const int32_t *owners, int32_t n_parts,
    int32_t part);

/* The part as a graph: edges in the order of the whole graph, nodes numbered
 * anew in the order of the whole graph, scores copied. Borrowed. */
ETX_API const etx_graph *etx_graph_part_graph(const etx_graph_part *part);
/* [n_nodes of that graph] nodes of the whole graph, ascending. Borrowed. */
ETX_API const int32_t *etx_graph_part_nodes(const etx_graph_part *part);
/* [n_edges of that graph] edges of the whole graph, ascending. Borrowed. */
ETX_API const int32_t *etx_graph_part_edges(const etx_graph_part *part);
/* Edges that end at own nodes: their sum over the parts is that of the whole
 * graph. */
ETX_API int64_t etx_graph_part_n_own_edges(const etx_graph_part *part);
/* [n_parts] node rows that this part sends to each part at an update.
 * Borrowed. */
ETX_API const int64_t *etx_graph_part_sent(const etx_graph_part *part);
/* [n_parts] node rows that it receives from each. Borrowed. */
ETX_API const int64_t *etx_graph_part_received(const etx_graph_part *part);

/* What carries rows between the parts. */
typedef struct etx_part_exchange {
    uint32_t struct_size; /* set by the caller */
    int32_t reserved;     /* 0 */
    /* All-to-all: sent holds n_sent[q] values for each part q, in the order of
     * the parts; received gets n_received[q] from each, bit for bit. Every part
     * calls it equally often, and a part's n_received[q] is the n_sent of part
     * q for it; counts [n_parts]. A status other than ETX_OK ends the run. */
    etx_status (*swap)(void *user, float *received, const int64_t *n_received,
        const float *sent, const int64_t *n_sent);
    /* This part failed with status, which may be that of swap, and swaps no
     * more in this run: tell the others. NULL: nobody is told. */
    void (*leave)(void *user, etx_status status);
    void *user; /* for both, and for one thread at a time */
} etx_part_exchange;

/* Scores of the graph network for the edges of a part: scores [n_edges of the
 * part's graph], the same bits as etx_graph_score gives the whole graph, for
 * any number of parts. Every part must be scored at once, each by a thread or
 * process of its own: the network's node rows of the halo are exchanged after
 * every update. What is kept of a network's latents is that of the part. event
 * is that of the whole graph. ETX_ERR_UNSUPPORTED for a context on a device,
 * for the family triplet_gnn and for networks with a batch norm. */
ETX_API ETX_MUST_CHECK etx_status etx_graph_part_score(float *scores,
    const etx_graph_part *part, etx_context *context, const etx_model *model,
    const etx_event *event, const etx_part_exchange *exchange);

/* Release it; NULL is fine. */
ETX_API void etx_graph_part_free(etx_graph_part *part);

#ifdef __cplusplus
}
#endif

#endif
