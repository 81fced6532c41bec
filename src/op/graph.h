/* op/graph.h -- arguments of operators on graphs and edges.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_GRAPH_H
#define ETX_OP_GRAPH_H

#include <exatrkx/exatrkx.h>

#include <stdint.h>

/* --------------------------------------------------------- hit features -- */

/* What a column is, in float64 from the position of the hit or of a cluster, or
 * from the features of its cells. */
enum etx_hit_formula {
    ETX_HIT_R,
    ETX_HIT_PHI, /* atan2(y, x) */
    ETX_HIT_Z,
    ETX_HIT_COS_PHI, /* 1 on the axis */
    ETX_HIT_SIN_PHI,
    ETX_HIT_ETA, /* asinh(z / r); on the axis 0 or +-20, by the sign of z */
    ETX_HIT_X,
    ETX_HIT_Y,
    ETX_HIT_DISTANCE, /* from the origin */
    ETX_HIT_CELL,
    ETX_HIT_LOG_CELL /* log(1 + cell) */
};

#define ETX_MAX_HIT_COLUMNS 32
#define ETX_N_CELL_FEATURES 9

struct etx_hit_column {
    int32_t formula; /* enum etx_hit_formula */
    int32_t of;      /* 0: the hit, 1, 2: cluster; or which feature of cells */
    float scale;     /* > 0 */
};

/* hit_features: out[i, k] = column[k] of hit i, divided by its scale. Finite.
 * Tolerance: 8 eps relative. */
struct etx_hit_features_args {
    int64_t n_hits;
    int32_t n_columns;                   /* at most ETX_MAX_HIT_COLUMNS */
    const struct etx_hit_column *column; /* [n_columns] in host memory */
    const float *position;               /* [n_hits, 3] x, y, z in mm */
    const float *cluster; /* [n_hits, 2, 3] mm; NULL where no column has it */
    /* Feature c of the cells of hit i is cell[c][i * cell_stride]; NULL: 0. */
    const float *cell[ETX_N_CELL_FEATURES];
    int64_t cell_stride;
    float *out; /* [n_hits, n_columns] */
};

/* -------------------------------------------------------- edge features -- */

/* Geometry of an edge from s to d. r = (float)sqrt(x x + y y), computed in
 * float64 and rounded once, so that dr is the same bits on every backend; dphi
 * = atan2(x_s y_d - y_s x_d, x_s x_d + y_s y_d) lies in [-pi, pi] and is
 * accurate for small angles. Features of finite positions are finite: divisors
 * dr and r are at least 1e-6 mm in magnitude, and results are clamped to
 * +-FLT_MAX. Tolerance: 16 eps (1 + the magnitudes of the terms of a
 * difference) / scale, and the propagated tolerance of dphi and dz / dr.
 *
 * X(identifier, name in configurations). A feature is an entry here and a
 * formula in op/shared/edge_features.h, for the reference and CUDA; known
 * values in test/checkop/test_checkop_edge_features.c and a scale in
 * test/conformance/network_fixture.c, in this order; and a row in
 * docs/model_format.md. op/simd/kernels/float32_edges.c may have a vector
 * version; the reference serves the features that it lacks. */
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
    X(PHISLOPE, "phislope")         /* half turns per m, see below */          \
    X(RPHISLOPE, "rphislope")       /* (r_s + r_d) / 2 in m * phislope */      \
    X(SCORE_LOGIT, "score_logit") /* logit of the score so far, within +-16 */ \
    X(HELIX_CURVATURE, "helix_curvature") /* 1/m, > 0 counter-clockwise */     \
    X(HELIX_PHI0, "helix_phi0")         /* direction at the beam line, rad */  \
    X(ASINH_HELIX_Z0, "asinh_helix_z0") /* asinh(z at the beam line), mm */    \
    X(HELIX_ETA, "helix_eta")           /* asinh(dz / d arc) */                \
    X(LOG_HOUGH_VOTES, "log_hough_votes") /* log(votes), see hough_votes */    \
    ETX_OWN_EDGE_FEATURES(X)

/* The columns that a caller gave to the graph. */
#define ETX_OWN_EDGE_FEATURES(X)                                               \
    X(OWN_0, "own_0")                                                          \
    X(OWN_1, "own_1")                                                          \
    X(OWN_2, "own_2")                                                          \
    X(OWN_3, "own_3")                                                          \
    X(OWN_4, "own_4")                                                          \
    X(OWN_5, "own_5")                                                          \
    X(OWN_6, "own_6")                                                          \
    X(OWN_7, "own_7")                                                          \
    X(OWN_8, "own_8")                                                          \
    X(OWN_9, "own_9")                                                          \
    X(OWN_10, "own_10")                                                        \
    X(OWN_11, "own_11")                                                        \
    X(OWN_12, "own_12")                                                        \
    X(OWN_13, "own_13")                                                        \
    X(OWN_14, "own_14")                                                        \
    X(OWN_15, "own_15")

#define ETX_OWN_EDGE_FEATURE_COUNT(id, name) +1
#define ETX_N_OWN_EDGE_FEATURES                                                \
    (0 ETX_OWN_EDGE_FEATURES(ETX_OWN_EDGE_FEATURE_COUNT))

#define ETX_EDGE_FEATURE_ID(id, name) ETX_EDGE_##id,

/* phislope and rphislope as acorn computes them from r / m and phi / pi
 * (utils/loading_utils.py): (dphi / pi) / dr within +-100, so +-100 where only
 * dr is 0. ACTS's module maps have 0 there. */

enum etx_edge_feature {
    ETX_EDGE_FEATURES(ETX_EDGE_FEATURE_ID) ETX_N_EDGE_FEATURES
};

/* The helix of an edge starts at the beam line and passes the end with the
 * smaller r, then the other: a circle through the origin in the transverse
 * plane, with z linear in its arc length. It does not depend on the direction
 * of the edge; only with equal r it runs from s to d. The curvature is 0 when
 * the ends and the origin are on a line. The arc between the ends is at least
 * 1e-6 mm. Computed in float64, rounded at the end. */

/* Cells of the Hough space of helices: wide enough for two pixel layers to
 * agree, narrow enough to separate tracks of 0.5 GeV in 2 T (1.2 / m). */
#define ETX_HOUGH_CURVATURE_CELL 4e-4 /* 1 / mm */
#define ETX_HOUGH_PHI0_CELLS     128  /* of the full turn */
#define ETX_HOUGH_ETA_CELL       0.1

/* hough_votes: votes[e] = number of edges, including e, whose helix is in the
 * same cell of curvature, phi0 and eta. Exact against the reference. */
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
    int32_t n_own;
    const float *own; /* [n_edges, n_own], NULL without OWN_0 .. */
    float *out;       /* [n_edges, n_features] */
};

/* --------------------------------------------------------------- graphs -- */

/* Edges that an operator returns, sorted by (dst, src). src and dst are from
 * etx_memory_alloc of the stream's memory and are owned by the caller. */
struct etx_edge_list {
    int64_t n_edges;
    int32_t *src; /* [n_edges] */
    int32_t *dst; /* [n_edges] */
};

/* radius_graph: all pairs i != j with s <= radius * radius in float32, where
 * s = d0 * d0, then s = fmaf(dk, dk, s), dk = x[i][k] - x[j][k]. Query i and
 * neighbour j give the edge i -> j. With max_neighbours k, query i keeps its k
 * smallest (s, j). Orientation: with key, edges with (key[i], i) < (key[j], j)
 * are kept; with both = 1, all; otherwise, those with i < j. Exact on every
 * backend. */
struct etx_radius_graph_args {
    int64_t n_points; /* at most 2^31 - 1 */
    int32_t n_dim;
    int32_t max_neighbours; /* 0: all */
    int32_t both;
    float radius; /* > 0; FLT_MAX for nearest neighbours with max_neighbours */
    const float *point; /* [n_points, n_dim] */
    const float *key;   /* [n_points] or NULL */
    int64_t max_edges;  /* more fail with ETX_ERR_LIMIT */
    struct etx_edge_list *out;
};

/* A line graph in compressed sparse rows; arrays from etx_memory_alloc of the
 * stream's memory, owned by the caller. */
struct etx_line_graph {
    int64_t n_edges;
    int32_t *src;        /* [n_edges] doublets, sorted by (dst, src) */
    int32_t *dst;        /* [n_edges] */
    int64_t *in_offset;  /* [n_doublets + 1] edges into a doublet */
    int64_t *out_offset; /* [n_doublets + 1] into out_edge */
    int32_t *out_edge;   /* [n_edges] edges sorted by (src, edge) */
};

/* line_graph: the edges (doublets) of a graph become nodes, with an edge from a
 * to b where dst[a] == src[b] (a triplet of hits). Doublets are sorted by
 * (dst, src), so the doublets into a node are contiguous, and so are the
 * sources of every row of the line graph. */
struct etx_line_graph_args {
    int64_t n_nodes, n_doublets; /* at most 2^31 - 1 each */
    const int32_t *src;          /* [n_doublets] */
    const int32_t *dst;          /* [n_doublets] ascending */
    const int64_t *in_offset;    /* [n_nodes + 1] doublets into a node */
    const int64_t *out_offset;   /* [n_nodes + 1] into out_doublet */
    const int32_t *out_doublet;  /* [n_doublets] by (src, doublet) */
    int64_t max_edges; /* more fail with ETX_ERR_LIMIT; at most 2^31 - 1 */
    struct etx_line_graph *out;
};

struct etx_stream;

/* distance_bins: histogram of the squared distances, in float64, of the pairs
 * of points that radius_graph finds: n_bins equal bins from 0 to radius
 * squared, the last with all beyond. Exact against the reference. */
struct etx_distance_bins_args {
    int64_t n_points;
    int32_t n_dim, n_bins;
    float radius;       /* > 0 */
    const float *point; /* [n_points, n_dim] */
    /* Of the table, and the pairs that it may store; a device stores none. */
    etx_status (*radius_graph)(
        struct etx_stream *stream, const struct etx_radius_graph_args *args);
    int64_t max_edges;
    int64_t *count; /* [n_bins], in host memory */
};

/* double_edges: the edges of a graph in both directions, sorted by (dst, src);
 * of equal pairs an edge before a reversed one, then by index. */
struct etx_double_edges_args {
    int64_t n_nodes, n_edges;  /* at most 2^30 - 1 edges */
    const int32_t *src;        /* [n_edges] */
    const int32_t *dst;        /* [n_edges] ascending */
    const int64_t *in_offset;  /* [n_nodes + 1] */
    const int64_t *out_offset; /* [n_nodes + 1] */
    const int32_t *out_edge;   /* [n_edges] */
    int32_t *both_src;         /* [2 * n_edges] */
    int32_t *both_dst;         /* [2 * n_edges] */
    /* [2 * n_edges] where edge e is, at e, and its reverse, at n_edges + e */
    int32_t *slot;
};

/* degrees: degree[i] = 1 + number of edges into and out of node i. */
struct etx_degrees_args {
    int64_t n_nodes;
    const int64_t *in_offset;  /* [n_nodes + 1] */
    const int64_t *out_offset; /* [n_nodes + 1] */
    float *degree;             /* [n_nodes] */
};

/* degree_weights: symmetric normalisation of a graph with loops, in float64:
 * 1 / sqrt(degree[src] degree[dst]) of an edge, 1 / degree of a loop. */
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
 * in_offset[i], ..., in_offset[i + 1] - 1; the edges out of it are out_edge[k],
 * k = out_offset[i], ..., out_offset[i + 1] - 1. */
struct etx_graph_index_args {
    int64_t n_nodes, n_edges;
    const int32_t *src;  /* [n_edges] */
    const int32_t *dst;  /* [n_edges] ascending; not read without in_offset */
    int64_t *in_offset;  /* [n_nodes + 1] or NULL */
    int64_t *out_offset; /* [n_nodes + 1] */
    int32_t *out_edge;   /* [n_edges] edges sorted by (src, edge) */
};

/* ----------------------------------------------------------- module maps -- */

#define ETX_MAP_UNIT_WIDTH 3 /* volume, layer, module; -1: a whole layer */

/* Quantities of a doublet (a, b) of hits, a nearer to the origin. Those with
 * division are 0 where dr is. */
enum {
    ETX_MAP_Z0,        /* z_a - r_a dz / dr, mm */
    ETX_MAP_DPHI,      /* phi_b - phi_a, rad, within -pi and pi */
    ETX_MAP_PHI_SLOPE, /* dphi / dr, rad / mm */
    ETX_MAP_DETA,      /* eta_b - eta_a */
    ETX_MAP_N_DOUBLET
};

/* Quantities of a triplet: by how much the second doublet turns against the
 * first, rad within -pi and pi. */
enum {
    ETX_MAP_TURN, /* of atan2(dy, dx): in the transverse plane */
    ETX_MAP_BEND, /* of atan2(dz, dr) */
    ETX_MAP_N_TRIPLET
};

struct etx_map_window {
    float low, high; /* both allowed */
};

/* The arrays of a map, as in a model file. */
struct etx_map_table {
    int64_t n_units;
    const int64_t *unit; /* [n_units, 3] ascending */
    int64_t n_pairs;
    const int64_t *pair; /* [n_pairs, 2] units, inner first, ascending */
    const struct etx_map_window *pair_window; /* [n_pairs, ETX_MAP_N_DOUBLET] */
    int64_t n_triplets;                       /* 0: pairs are enough */
    const int64_t *triplet; /* [n_triplets, 2] pairs, ascending; the first ends
                             * where the second begins */
    const struct etx_map_window
        *triplet_window;          /* [n_triplets, ETX_MAP_N_TRIPLET] */
    const int64_t *pair_first;    /* [n_units + 1] into pair, by inner unit */
    const int64_t *triplet_first; /* [n_pairs + 1] into triplet */
};

/* module_map: the edges a -> b between hits whose units (of the first three
 * numbers of a unit; -1: of any module) are a pair, a before b by (distance
 * from the origin, row), with all quantities in the windows of the pair. With
 * triplets, only edges with which another edge is a triplet in its windows,
 * before or after. Exact where sqrt, asinh and atan2 of float64, rounded to
 * float32, are the same as in the reference. */
struct etx_module_map_args {
    int64_t n_hits;           /* at most 2^31 - 1 */
    const float *position;    /* [n_hits, 3] x, y, z in mm */
    const int32_t *volume_id; /* [n_hits] */
    const int32_t *layer_id;  /* [n_hits] */
    const int32_t *module_id; /* [n_hits] */
    struct etx_map_table map;
    int64_t max_edges; /* more, before triplets, fail with ETX_ERR_LIMIT; at
                        * most 2^31 - 1 */
    struct etx_edge_list *out;
};

/* X(name) for every operator of this header. */
#define ETX_GRAPH_OPERATORS(X)                                                 \
    X(hit_features)                                                            \
    X(edge_features)                                                           \
    X(radius_graph)                                                            \
    X(distance_bins)                                                           \
    X(line_graph)                                                              \
    X(double_edges)                                                            \
    X(degrees)                                                                 \
    X(degree_weights)                                                          \
    X(graph_index)                                                             \
    X(module_map)

#endif
