/* op/graph.h -- arguments of the operators that make graphs and features of
 * edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_GRAPH_H
#define ETX_OP_GRAPH_H

#include <stdint.h>

/* -------------------------------------------------------- edge features -- */

/* Geometry of an edge from s to d. r = (float)sqrt(x x + y y), computed in
 * float64 and rounded once, so that dr is the same bits everywhere; dphi =
 * atan2(x_s y_d - y_s x_d, x_s x_d + y_s y_d) lies in [-pi, pi] without loss
 * for small angles. All are finite for finite positions: as a divisor dr
 * below 1e-6 mm counts as +-1e-6 and r as at least 1e-6, and results beyond
 * +-FLT_MAX become that. Tolerance 16 eps (1 + the magnitudes that a feature
 * is the difference of) / scale, and that of dphi and dz / dr carried on. */
/* X(identifier, name in configurations). A feature is an entry here and a
 * formula in op/shared/edge_features.h. */
#define ETX_EDGE_FEATURES(X)                                                   \
    X(DR, "dr")                     /* r_d - r_s, mm */                        \
    X(DPHI, "dphi")                 /* rad */                                  \
    X(DZ, "dz")                     /* mm */                                   \
    X(DETA, "deta")                 /* eta = asinh(z / r) */                   \
    X(LENGTH, "length")             /* distance in space, mm */                \
    X(THETA, "theta")               /* atan2(dz, dr) */                        \
    X(ASINH_Z0, "asinh_z0")         /* asinh(z_s - r_s dz/dr), mm inside */    \
    X(ASINH_DZDR, "asinh_dzdr")     /* asinh(dz / dr) */                       \
    X(ASINH_DPHIDR, "asinh_dphidr") /* asinh(1000 dphi / dr), rad per m */     \
    X(PHI_SLOPE, "phi_slope") /* (dphi / pi) / dr within +-100, 0 at dr = 0 */ \
    X(R_PHI_SLOPE, "r_phi_slope") /* (r_s + r_d) / 2 * phi slope */            \
    X(SCORE_LOGIT, "score_logit") /* logit of the score so far, within +-16 */ \
    X(HELIX_CURVATURE, "helix_curvature") /* 1/m, > 0 counter-clockwise */     \
    X(HELIX_PHI0, "helix_phi0")         /* direction at the beam line, rad */  \
    X(ASINH_HELIX_Z0, "asinh_helix_z0") /* asinh(z at the beam line), mm */    \
    X(HELIX_ETA, "helix_eta")           /* asinh(dz / d arc) */                \
    X(LOG_HOUGH_VOTES, "log_hough_votes") /* log(votes), see hough_votes */

#define ETX_EDGE_FEATURE_ID(id, name) ETX_EDGE_##id,

enum etx_edge_feature {
    ETX_EDGE_FEATURES(ETX_EDGE_FEATURE_ID) ETX_N_EDGE_FEATURES
};

/* The helix of an edge leaves the beam line and passes the end with the smaller
 * r, then the other: a circle through the origin in the transverse plane, z
 * linear in its arc. The same for both directions of an edge with unequal r;
 * with equal r it runs from s to d. Straight, curvature 0, when the ends and
 * the origin are on a line. An arc between the ends below 1e-6 mm counts as
 * that. All in float64, rounded at the end. */

/* Cells of the Hough space of helices: wide enough for two pixel layers to
 * agree, and narrow enough to keep tracks of 0.5 GeV in 2 T (1.2 / m) apart. */
#define ETX_HOUGH_CURVATURE_CELL 4e-4 /* 1 / mm */
#define ETX_HOUGH_PHI0_CELLS     128  /* of the full turn */
#define ETX_HOUGH_ETA_CELL       0.1

/* hough_votes: votes[e] = the number of edges, e among them, whose helix is in
 * the same cell of curvature, phi0 and eta. Exact against the reference. */
struct etx_hough_votes_args {
    int64_t n_edges;
    const float *position; /* [n_nodes, 3] x, y, z in mm */
    const int32_t *src;    /* [n_edges] */
    const int32_t *dst;    /* [n_edges] */
    float *votes;          /* [n_edges] whole numbers */
};

/* edge_features: out[e, k] = feature[k] of edge e, divided by scale[k]. */
struct etx_edge_features_args {
    int64_t n_edges;
    int32_t n_features;
    const int32_t *feature; /* [n_features] enum etx_edge_feature */
    const float *scale;     /* [n_features] */
    const float *position;  /* [n_nodes, 3] x, y, z in mm */
    const int32_t *src;     /* [n_edges] */
    const int32_t *dst;     /* [n_edges] */
    const float *score;     /* [n_edges] or NULL without SCORE_LOGIT */
    const float *votes;     /* [n_edges] >= 1, NULL without LOG_HOUGH_VOTES */
    float *out;             /* [n_edges, n_features] */
};

/* --------------------------------------------------------------- graphs -- */

/* Edges made by an operator, sorted by (dst, src); src and dst come from
 * etx_memory_alloc of the stream's place and belong to the caller. */
struct etx_edge_list {
    int64_t n_edges;
    int32_t *src; /* [n_edges] */
    int32_t *dst; /* [n_edges] */
};

/* radius_graph: all pairs with s <= radius * radius in float32, where
 * s = d0 * d0, then s = fmaf(dk, dk, s), dk = x[i][k] - x[j][k] (no self
 * pairs). Query i and neighbour j give the edge i -> j. With max_neighbours
 * k, query i keeps its k smallest (s, j). Orientation: with `key`, i -> j is
 * kept when (key[i], i) < (key[j], j); with both = 1 every i -> j is kept;
 * otherwise when i < j. Exact on every backend. */
struct etx_radius_graph_args {
    int64_t n_points; /* at most 2^31 - 1 */
    int32_t n_dim;
    int32_t max_neighbours; /* 0: all */
    int32_t both;
    float radius;       /* > 0; may be FLT_MAX when max_neighbours > 0 (knn) */
    const float *point; /* [n_points, n_dim] */
    const float *key;   /* [n_points] or NULL */
    int64_t max_edges;  /* more is ETX_ERR_LIMIT with the bound named */
    struct etx_edge_list *out;
};

/* The edges of a line graph, from both ends; all from etx_memory_alloc of the
 * stream's place, owned by the caller. */
struct etx_line_graph {
    int64_t n_edges;
    int32_t *src;        /* [n_edges] doublets, sorted by (dst, src) */
    int32_t *dst;        /* [n_edges] */
    int64_t *in_offset;  /* [n_doublets + 1] edges into a doublet */
    int64_t *out_offset; /* [n_doublets + 1] places in out_edge */
    int32_t *out_edge;   /* [n_edges] edges sorted by (src, edge) */
};

/* line_graph: the edges (doublets) of a graph as nodes; an edge joins a to b
 * when dst[a] == src[b]. The doublets are sorted by (dst, src), hence those
 * into a node are neighbours and the sources of a row are consecutive. */
struct etx_line_graph_args {
    int64_t n_nodes, n_doublets; /* at most 2^31 - 1 each */
    const int32_t *src;          /* [n_doublets] */
    const int32_t *dst;          /* [n_doublets] ascending */
    const int64_t *in_offset;    /* [n_nodes + 1] doublets into a node */
    const int64_t *out_offset;   /* [n_nodes + 1] places in out_doublet */
    const int32_t *out_doublet;  /* [n_doublets] by (src, doublet) */
    int64_t max_edges; /* more is ETX_ERR_LIMIT with the bound named; at most
                        * 2^31 - 1 */
    struct etx_line_graph *out;
};

/* distance_bins: count[b] = how many pairs have a squared distance, worked out
 * in float64, in bin b of n_bins equal ones from 0 to the radius squared; those
 * beyond are in the last. Exact against the reference. */
struct etx_distance_bins_args {
    int64_t n_pairs;
    int32_t n_dim, n_bins;
    float radius;       /* > 0 */
    const float *point; /* [points, n_dim] */
    const int32_t *src; /* [n_pairs] */
    const int32_t *dst; /* [n_pairs] */
    int64_t *count;     /* [n_bins], on the host */
};

/* double_edges: the edges of a graph in both directions, by (dst, src), of
 * equal ones an edge before a reverse, else by edge. */
struct etx_double_edges_args {
    int64_t n_nodes, n_edges;  /* at most 2^30 - 1 edges */
    const int32_t *src;        /* [n_edges] */
    const int32_t *dst;        /* [n_edges] ascending */
    const int64_t *in_offset;  /* [n_nodes + 1] */
    const int64_t *out_offset; /* [n_nodes + 1] */
    const int32_t *out_edge;   /* [n_edges] */
    int32_t *both_src;         /* [2 * n_edges] */
    int32_t *both_dst;         /* [2 * n_edges] */
    int32_t *slot; /* [2 * n_edges] of edge e at e, of its reverse at
                    * n_edges + e */
};

/* degrees: degree[i] = 1 + the edges into node i and out of it. */
struct etx_degrees_args {
    int64_t n_nodes;
    const int64_t *in_offset;  /* [n_nodes + 1] */
    const int64_t *out_offset; /* [n_nodes + 1] */
    float *degree;             /* [n_nodes] */
};

/* degree_weights: of an edge 1 / sqrt(degree degree) of its ends, of a node's
 * loop 1 / degree; worked out in float64. */
struct etx_degree_weights_args {
    int64_t n_nodes, n_edges;
    const int32_t *src;   /* [n_edges] */
    const int32_t *dst;   /* [n_edges] */
    const float *degree;  /* [n_nodes] */
    float *edge_weight;   /* [n_edges] */
    float *loop_weight;   /* [n_nodes] */
    int64_t *loop_offset; /* [n_nodes + 1] 0, 1, 2, ... */
};

/* graph_index: compressed sparse rows from both ends. The edges into node i are
 * in_offset[i] .. in_offset[i + 1] - 1, those out of it out_edge[out_offset[i]
 * .. out_offset[i + 1] - 1]. */
struct etx_graph_index_args {
    int64_t n_nodes, n_edges;
    const int32_t *src;  /* [n_edges] */
    const int32_t *dst;  /* [n_edges] ascending; not read without in_offset */
    int64_t *in_offset;  /* [n_nodes + 1] or NULL */
    int64_t *out_offset; /* [n_nodes + 1] */
    int32_t *out_edge;   /* [n_edges] edges sorted by (src, edge) */
};

/* X(name) for every operator of this header. */
#define ETX_GRAPH_OPERATORS(X)                                                 \
    X(edge_features)                                                           \
    X(radius_graph)                                                            \
    X(distance_bins)                                                           \
    X(line_graph)                                                              \
    X(double_edges)                                                            \
    X(degrees)                                                                 \
    X(degree_weights)                                                          \
    X(graph_index)

#endif
