/* op/op.h -- every operator: one documented argument struct and a table.
 *
 * An operator reads and writes plain arrays through one struct that the
 * reference (op/ref), the SIMD versions (op/x86), the CUDA versions, the
 * tests and the benchmark share. op/ref is complete and is the definition of
 * right; other tables start as a copy of it and override.
 *
 * Rules: matrices are row-major and contiguous unless a stride is given;
 * outputs must not overlap inputs unless the field says so; counts of zero
 * are valid and do nothing, except that scalar results (sums, n_selected, an
 * edge list) are then written as zero; sizes are checked by the caller (arch,
 * stage), operators fail only for memory, limits and cancellation. Results
 * are the same bits on every run and for every number of threads. Tolerance
 * against the reference: exact for indices and graphs, 8 eps sqrt(n) relative
 * to the sum of magnitudes for sums of n terms, unless the operator says
 * otherwise.
 *
 * On a device, arrays are in its memory and work is queued: an operator that
 * returns may still run. What is in the host's memory says so; lists of
 * features, counts, sums and argument structs always are.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ETX_OP_OP_H
#define ETX_OP_OP_H

#include "base/threads.h"
#include "memory/arena.h"

/* What an operator runs with: scratch and threads (CPU), or the queue of a
 * device. */
struct etx_stream {
    struct etx_arena *arena;       /* scratch; an operator leaves it as found */
    struct etx_pool *pool;         /* NULL: serial */
    int32_t (*cancel)(void *user); /* or NULL; see etx_context_options */
    void *cancel_user;
    double flop; /* 2 n_in n_out a row and layer, added by mlp */
    /* 1, on a device alone: operands of products in mlp, mlp_backward and
     * linear_backward, and stored arrays may be float16; sums are float32. */
    int32_t is_half;
    const struct etx_memory *memory; /* where arrays live; NULL: the host */
    void *device;                    /* owned by the backend, NULL on the CPU */
    struct etx_resident
        *resident; /* backend/backend.h; NULL: nothing is kept */
};

/* ------------------------------------------------- networks, row-wise -- */

enum etx_activation {
    ETX_ACTIVATION_NONE,
    ETX_ACTIVATION_RELU,
    ETX_ACTIVATION_SILU,
    ETX_ACTIVATION_TANH,
    ETX_ACTIVATION_GELU, /* x Phi(x), exact (erf) */
    ETX_ACTIVATION_ELU,  /* alpha 1 */
    ETX_ACTIVATION_SIGMOID,
    ETX_N_ACTIVATIONS
};

enum etx_norm {
    ETX_NORM_NONE,
    ETX_NORM_LAYER, /* (x - mean) / sqrt(var + eps) * gain + shift, a row */
    ETX_NORM_BATCH, /* the same over the rows of a channel, no running mean */
    ETX_NORM_L2,    /* x / max(|x|, eps), a row; no gain or shift */
    ETX_N_NORMS
};

#define ETX_MAX_PARTS  12
#define ETX_MAX_ADDED  4
#define ETX_MAX_LAYERS 16

/* Rows taken from a matrix: row i is data[index[i]] or data[i]. Arrays of
 * float16 (base/float16.h) are for the reference and for a stream that
 * is_half; a backward takes them as added rows alone. */
struct etx_rows {
    const float *data;    /* [rows, width] */
    const int32_t *index; /* [n_rows] rows of data, or NULL for i */
    int32_t width;
    const uint16_t *half; /* float16 in place of data, or NULL */
};

/* One layer: y = x W^T + b, then norm and activation in the order asked. */
struct etx_layer {
    int32_t n_in, n_out;
    const float *weight; /* [n_out, n_in] */
    const float *bias;   /* [n_out] or NULL */
    const float *gain;   /* [n_out] or NULL: ones */
    const float *shift;  /* [n_out] or NULL: zeros */
    float eps;           /* of the norm */
    int32_t norm;        /* enum etx_norm */
    int32_t norm_last;   /* 0: norm then activation; 1: the other way */
    int32_t activation;  /* enum etx_activation */
};

/* Where the gradients of a layer are added; NULL where there is none. Two
 * layers may share arrays (a shared layer norm). */
struct etx_layer_gradient {
    float *weight; /* [n_out, n_in] */
    float *bias;   /* [n_out] */
    float *gain;   /* [n_out] */
    float *shift;  /* [n_out] */
};

struct etx_segment_reduce_args;

/* mlp: out = layers(concat(parts)) + residual, row by row. Added rows are
 * terms of the first layer's linear, of its width: what another product has
 * made of inputs that many rows share. A part without index may be out
 * itself. On a stream that is_half inputs, weights and what layers hand on may
 * be rounded to float16, 2^-11 of each. */
struct etx_mlp_args {
    int64_t n_rows;
    int32_t n_parts;  /* 0 .. ETX_MAX_PARTS; widths add up to layer[0].n_in */
    int32_t n_added;  /* 0 .. ETX_MAX_ADDED */
    int32_t n_layers; /* 1 .. ETX_MAX_LAYERS */
    int32_t added_is_centred; /* 1: added rows have mean 0, up to rounding */
    struct etx_rows part[ETX_MAX_PARTS];
    struct etx_rows added[ETX_MAX_ADDED]; /* width layer[0].n_out */
    const struct etx_layer *layer;        /* [n_layers] */
    const float *residual; /* [n_rows, n_out] or NULL; may be out itself */
    float *out;            /* [n_rows, n_out] of the last layer */
    /* Room that mlp may leave the results of its linears in, one layer after
     * the other, [n_rows, n_out] each, for mlp_backward of the same table and
     * inputs, which reads them rather than multiply again and gives the same
     * bits; NULL: none. out is the same up to rounding, and the same bits
     * where no linear directly follows another. */
    float *linear;
    /* float16 in place of residual and out, or NULL. */
    const uint16_t *half_residual;
    uint16_t *half_out;
    /* What segment_reduce is to make of out (or half_out), its x (or half),
     * with the same bits: a version may do so while the rows are in cache.
     * NULL: nothing. */
    const struct etx_segment_reduce_args *reduce;
};

/* mlp_prepare: layers for many calls of mlp in place of forward's, the same up
 * to rounding: what a version of mlp would work out again at each call is done
 * here. Of forward only the layers and n_added are read. New arrays are taken
 * from the arena, or lie with parameters that the context keeps. */
struct etx_mlp_prepare_args {
    const struct etx_mlp_args *forward;
    struct etx_layer *layer; /* [forward->n_layers], may be forward's own */
    int32_t *n_layers;       /* 1 .. forward->n_layers */
};

/* Floats of etx_mlp_args.linear a row. */
static inline int64_t etx_mlp_linear_width(
    const struct etx_layer *layer, int32_t n_layers)
{
    int64_t width = 0;

    for (int32_t l = 0; l < n_layers; l++)
        width += layer[l].n_out;
    return width;
}

/* Multiplications and additions of the linear layers of an mlp. */
static inline double etx_mlp_flop(const struct etx_mlp_args *args)
{
    double flop = 0.0;

    for (int32_t l = 0; l < args->n_layers; l++)
        flop += 2.0 * (double)args->layer[l].n_in * args->layer[l].n_out;
    return flop * (double)args->n_rows;
}

/* mlp_backward: from d_out the gradient of every part's rows and of every
 * parameter. The forward is computed again block by block, so nothing has to
 * be kept; what forward->linear holds spares its products. forward->out and
 * ->residual are not read; the gradient of the residual is d_out itself. */
struct etx_mlp_backward_args {
    const struct etx_mlp_args *forward;
    const float *d_out; /* [n_rows, n_out] */
    /* [n_rows, part[p].width] of the gathered rows, overwritten; or NULL. */
    float *d_part[ETX_MAX_PARTS];
    /* [n_rows, layer[0].n_out] of each added row, overwritten; or NULL. */
    float *d_added;
    const struct etx_layer_gradient *gradient; /* [n_layers] or NULL */
};

/* linear: y = x W^T + b. */
struct etx_linear_args {
    int64_t n_rows;
    int32_t n_in, n_out;
    const float *x;      /* [n_rows, n_in] */
    const float *weight; /* [n_out, n_in] */
    const float *bias;   /* [n_out] or NULL */
    float *y;            /* [n_rows, n_out] */
};

struct etx_linear_backward_args {
    int64_t n_rows;
    int32_t n_in, n_out;
    const float *x;      /* [n_rows, n_in] */
    const float *weight; /* [n_out, n_in] */
    const float *d_y;    /* [n_rows, n_out] */
    float *d_x;          /* [n_rows, n_in], overwritten, or NULL */
    float *d_weight;     /* [n_out, n_in], added to, or NULL */
    float *d_bias;       /* [n_out], added to, or NULL */
};

/* norm: y = norm(x) over rows (LAYER, L2) or channels (BATCH). */
struct etx_norm_args {
    int64_t n_rows;
    int32_t width;
    int32_t norm; /* enum etx_norm */
    float eps;
    const float *x;     /* [n_rows, width] */
    const float *gain;  /* [width] or NULL */
    const float *shift; /* [width] or NULL */
    float *y;           /* [n_rows, width]; may be x */
};

struct etx_norm_backward_args {
    struct etx_norm_args forward; /* y is not read */
    const float *d_y;             /* [n_rows, width] */
    float *d_x;                   /* [n_rows, width], overwritten; may be d_y */
    float *d_gain;                /* [width], added to, or NULL */
    float *d_shift;               /* [width], added to, or NULL */
};

/* activation: y = f(x), element by element. Never raises a floating-point
 * exception other than inexact and underflow for finite x. Tolerance 4 ulp of
 * the result plus 2^-24. */
struct etx_activation_args {
    int64_t n;
    int32_t activation; /* enum etx_activation */
    const float *x;     /* [n] */
    float *y;           /* [n]; may be x */
};

struct etx_activation_backward_args {
    int64_t n;
    int32_t activation;
    const float *x;   /* [n] the forward's input */
    const float *d_y; /* [n] */
    float *d_x;       /* [n], overwritten; may be d_y */
};

/* gather: y[i] = x[index[i]]. */
struct etx_gather_args {
    int64_t n_rows;
    int32_t width;
    int32_t add;          /* 1: y += */
    const float *x;       /* [rows, width] */
    const int32_t *index; /* [n_rows] */
    float *y;             /* [n_rows, width] */
};

/* scatter: y[index[i]] = x[i], or added; no two of index are equal. */
struct etx_scatter_args {
    int64_t n_rows;
    int32_t width;
    int32_t add;          /* 1: y += */
    const float *x;       /* [n_rows, width] */
    const int32_t *index; /* [n_rows] */
    float *y;             /* [rows, width] */
};

/* add: y += alpha * x. */
struct etx_add_args {
    int64_t n;
    float alpha;
    const float *x; /* [n] */
    float *y;       /* [n] */
};

/* row_dot: out[i] = sum_k a[a_index[i], k] * b[b_index[i], k]. */
struct etx_row_dot_args {
    int64_t n_rows;
    int32_t width;
    const float *a;         /* [rows, width] */
    const int32_t *a_index; /* [n_rows] or NULL */
    const float *b;         /* [rows, width] */
    const int32_t *b_index; /* [n_rows] or NULL */
    float *out;             /* [n_rows] */
};

/* ------------------------------------------------------------ segments -- */

enum etx_reduce {
    ETX_REDUCE_SUM,
    ETX_REDUCE_MEAN, /* sum / max(count, 1) */
    ETX_REDUCE_MAX,  /* 0 for an empty segment */
    /* sqrt(sum (x - mean)^2 / (max(count - 1, 1) + 1e-6)): torch_scatter's */
    ETX_REDUCE_STD,
    ETX_N_REDUCES
};

/* segment_reduce: out[s] = reduce over v in segment s of
 * weight[v] * x[gather[v]], v = order[offset[s]] .. order[offset[s+1]-1].
 * Sums run in segment order in float32. */
struct etx_segment_reduce_args {
    int64_t n_segments;
    int32_t width;
    int32_t reduce;        /* enum etx_reduce */
    int32_t add;           /* 1: out += (SUM only) */
    const int64_t *offset; /* [n_segments + 1] */
    const int32_t *order;  /* [n_values] or NULL for v itself */
    const int32_t *gather; /* [n_values] rows of x, or NULL for v */
    const float *weight;   /* [n_values] or NULL (SUM only) */
    const float *x;        /* [rows, width] */
    float *out;            /* [n_segments, width] */
    const uint16_t *half;  /* float16 in place of x, as in etx_rows, or NULL */
};

/* segment_reduce_backward: d_x[v] (+)= what d_out says. forward.weight and
 * gather are NULL (their gradients are a segment_reduce over the other order
 * and a row_dot). MAX goes to the first of equal values in segment order; STD
 * gives 0 where the deviation is 0. */
struct etx_segment_reduce_backward_args {
    struct etx_segment_reduce_args forward; /* out is read for MAX, STD */
    const float *d_out;                     /* [n_segments, width] */
    float *d_x;                             /* [n_values, width] */
    int32_t add; /* 1: d_x += ; 0: every v of a segment overwritten */
};

/* -------------------------------------------------------- edge features -- */

/* Geometry of an edge from s to d. r = (float)sqrt(x x + y y), computed in
 * float64 and rounded once, so that dr is the same bits everywhere; dphi =
 * atan2(x_s y_d - y_s x_d, x_s x_d + y_s y_d) lies in [-pi, pi] without loss
 * for small angles. All are finite for finite positions: as a divisor dr
 * below 1e-6 mm counts as +-1e-6 and r as at least 1e-6, and results beyond
 * +-FLT_MAX become that. Tolerance 16 eps (1 + the magnitudes that a feature
 * is the difference of) / scale, and that of dphi and dz / dr carried on. */
enum etx_edge_feature {
    ETX_EDGE_DR,           /* r_d - r_s, mm */
    ETX_EDGE_DPHI,         /* rad */
    ETX_EDGE_DZ,           /* mm */
    ETX_EDGE_DETA,         /* eta = asinh(z / r) */
    ETX_EDGE_LENGTH,       /* distance in space, mm */
    ETX_EDGE_THETA,        /* atan2(dz, dr) */
    ETX_EDGE_ASINH_Z0,     /* asinh(z_s - r_s dz/dr), mm inside */
    ETX_EDGE_ASINH_DZDR,   /* asinh(dz / dr) */
    ETX_EDGE_ASINH_DPHIDR, /* asinh(1000 dphi / dr), rad per m inside */
    ETX_EDGE_PHI_SLOPE,    /* (dphi / pi) / dr clamped to +-100; 0 at dr = 0 */
    ETX_EDGE_R_PHI_SLOPE,  /* (r_s + r_d) / 2 * phi slope */
    ETX_EDGE_SCORE_LOGIT,  /* logit of the edge's score so far, +-16 at most */
    ETX_EDGE_HELIX_CURVATURE, /* 1 / m, positive counter-clockwise */
    ETX_EDGE_HELIX_PHI0,      /* direction at the beam line, rad */
    ETX_EDGE_ASINH_HELIX_Z0,  /* asinh(z at the beam line), mm inside */
    ETX_EDGE_HELIX_ETA,       /* asinh(dz / d arc) */
    ETX_EDGE_LOG_HOUGH_VOTES, /* log(votes), see hough_votes */
    ETX_N_EDGE_FEATURES
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

/* connected_components: label[i] = smallest node of i's component over the
 * edges with score > cut (score NULL: all edges). */
struct etx_connected_components_args {
    int64_t n_nodes, n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] or NULL */
    float cut;
    int32_t *label; /* [n_nodes] */
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

/* edge_select: ids of the edges with score > cut, ascending; of more than
 * max_selected those of the highest scores, of equal scores the first. */
struct etx_edge_select_args {
    int64_t n_edges;
    const float *score; /* [n_edges] */
    float cut;
    int64_t max_selected; /* 0: all */
    int32_t *selected;    /* [n_edges] capacity */
    int64_t *n_selected;
};

/* mutual_best: ids of the edges with score > cut that are the best out of
 * their source and the best into their target; best is the highest score,
 * then the lowest edge id. Ascending. */
struct etx_mutual_best_args {
    int64_t n_nodes, n_edges;
    const int32_t *src; /* [n_edges] */
    const int32_t *dst; /* [n_edges] */
    const float *score; /* [n_edges] */
    float cut;
    int32_t *selected; /* [n_edges] capacity */
    int64_t *n_selected;
};

/* outward_edges: the selected edges that are no loops, in their order, turned
 * to run from the smaller key to the larger, ties from the smaller node. */
struct etx_outward_edges_args {
    int64_t n_selected;
    const int32_t *selected; /* [n_selected] edges */
    const int32_t *src;      /* [edges] */
    const int32_t *dst;      /* [edges] */
    const float *edge_score; /* [edges] */
    const float *key;        /* [nodes] */
    int32_t *tail, *head;    /* [n_selected] capacity */
    float *score;            /* [n_selected] capacity */
    int64_t *n;              /* how many they are; on the host */
};

/* best_first: joins edges to chains, at most one edge in and one out a node.
 * Edges with a score above a cut join in the order of their scores, then the
 * rest in the order of the roughness (op/ref/joint.h) that their joints have
 * by then, where it is at most ETX_ROUGHEST_JOINT and one of both chains has
 * support_hits hits or more; so with sure_cut first, if it is larger, then with
 * strong_cut. An edge whose tail or head is joined already is passed over; ties
 * by edge. The edges have no cycle. */
struct etx_best_first_args {
    int64_t n_nodes, n_edges;
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] */
    const float *position;      /* [n_nodes, 3] mm */
    float sure_cut, strong_cut;
    float max_curvature_change, max_polar_change;
    int32_t support_hits;
    int32_t *group; /* [n_nodes] the first node of the chain */
};

/* walkthrough: of the nodes that are not taken yet the path with the largest
 * sum of scores is a group, its nodes are taken, and so on while a path of two
 * nodes is left. Edges run from the smaller key to the larger, ties from the
 * smaller node; an edge may be given twice. Ties of paths and what a component
 * gets beyond its looks: op/ref/longest_paths.h. A component in which no node
 * has two edges in or two out is a group. */
struct etx_walkthrough_args {
    int64_t n_nodes, n_edges;
    const int32_t *tail, *head; /* [n_edges] */
    const float *score;         /* [n_edges] >= 0 */
    const float *key;           /* [n_nodes] >= 0 */
    int64_t looks; /* for every edge and node, to keep the search exact; at most
                    * 2^30 */
    int32_t *group; /* [n_nodes] a node of the group, the same for all of it */
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

/* graph_index: where the edges of every node are. */
struct etx_graph_index_args {
    int64_t n_nodes, n_edges;
    const int32_t *src;  /* [n_edges] */
    const int32_t *dst;  /* [n_edges] ascending */
    int64_t *in_offset;  /* [n_nodes + 1] edges into a node */
    int64_t *out_offset; /* [n_nodes + 1] places in out_edge */
    int32_t *out_edge;   /* [n_edges] edges sorted by (src, edge) */
};

/* -------------------------------------------------------- plain arrays -- */

/* fill: y[i] = value. */
struct etx_fill_args {
    int64_t n;
    float value;
    float *y; /* [n] */
};

/* columns: y[i, k] = x[i, k] for k < width, rows x_stride and y_stride apart;
 * with centre, less the mean over the rows of x[., k], taken in float64; with
 * add, which excludes centre, y[i, k] += x[i, k]. */
struct etx_columns_args {
    int64_t n_rows;
    int32_t width;
    int32_t centre;
    int64_t x_stride, y_stride; /* at least width */
    const float *x;             /* [n_rows, x_stride] */
    float *y;                   /* [n_rows, y_stride] */
    int32_t add;
};

/* take: y[i] = x[index[i]]. */
struct etx_take_args {
    int64_t n;
    const int32_t *x;     /* [values] */
    const int32_t *index; /* [n] */
    int32_t *y;           /* [n] */
};

/* find_not_finite: the first i whose x[i] is infinite or not a number. */
struct etx_find_not_finite_args {
    int64_t n;
    const float *x; /* [n] */
    int64_t *index; /* on the host; -1: all are finite */
};

/* scale: y[i] *= factor. */
struct etx_scale_args {
    int64_t n;
    float factor;
    float *y; /* [n] */
};

/* sum_squares: *sum = the sum of x[i]^2 in float64; not a number, or infinite,
 * where an x[i] is. Tolerance n eps of float64. */
struct etx_sum_squares_args {
    int64_t n;
    const float *x; /* [n] */
    double *sum;    /* on the host */
};

/* Floats in half the bits. */
enum etx_half {
    ETX_HALF_NONE,     /* float32 as it is; not for narrow and widen */
    ETX_HALF_BFLOAT16, /* base/bfloat16.h */
    ETX_HALF_FLOAT16,  /* base/float16.h */
    ETX_N_HALVES
};

/* narrow: y[i] = x[i] rounded to the nearest, ties to even. Exact but for the
 * bits of what is not a number, which stays so. */
struct etx_narrow_args {
    int64_t n;
    int32_t format; /* enum etx_half */
    const float *x; /* [n] */
    uint16_t *y;    /* [n] */
};

/* widen: y[i] = x[i], exactly. */
struct etx_widen_args {
    int64_t n;
    int32_t format;    /* enum etx_half */
    const uint16_t *x; /* [n] */
    float *y;          /* [n] */
};

/* outward_key: key[i] = x^2 + y^2 + z^2 in float32, each product and sum
 * rounded, from left to right. */
struct etx_outward_key_args {
    int64_t n;
    const float *position; /* [n, 3] mm */
    float *key;            /* [n] mm^2 */
};

/* ------------------------------------------------------------- training -- */

/* bce_loss: binary cross-entropy of logits, and its gradient.
 * loss_e = weight_e * (pos_weight * y softplus(-x) + (1 - y) softplus(x)).
 * A focal_gamma above 0 multiplies the first term by (1 - p)^gamma and the
 * second by p^gamma, p = sigmoid(x): the focal loss of Lin et al.,
 * arXiv:1708.02002, equation 5. Edges with weight 0 are masked. Sums are in
 * float64, in edge order. */
struct etx_bce_loss_args {
    int64_t n;
    const float *logit;  /* [n] */
    const float *target; /* [n] in [0, 1] */
    const float *weight; /* [n] >= 0, or NULL: ones */
    float pos_weight;
    double *loss_sum;   /* sum of loss_e; or NULL */
    double *weight_sum; /* sum of weight_e; or NULL */
    float scale;        /* d_logit = scale * d loss_e / d x_e */
    float *d_logit;     /* [n] overwritten, or NULL */
    float focal_gamma;  /* >= 0; 0: cross-entropy */
};

/* square_loss: *sum = the sum of (x_i - target_i)^2 in float64, in the order of
 * i; d_x_i = scale * (x_i - target_i). A target that is not a number has no
 * part in it: its d_x is 0. Tolerance of the sum n eps of float64. */
struct etx_square_loss_args {
    int64_t n;
    const float *x;      /* [n] */
    const float *target; /* [n] or nan */
    double scale;
    float *d_x;  /* [n] overwritten, or NULL */
    double *sum; /* on the host */
};

/* How pairs of different particles repel each other. */
enum etx_hinge {
    ETX_HINGE_SQUARED, /* max(0, margin^2 - s): Exa.TrkX metric learning */
    ETX_HINGE_DISTANCE /* max(0, margin - sqrt(s))^2: Hadsell et al. 2006 */
};

/* hinge_loss: contrastive loss on squared distances s of pairs (a, b).
 * y = 1: weight * s (attract); y = 0: weight * the hinge. Sums in float64,
 * in pair order. The gradient of a coincident pair is 0. */
struct etx_hinge_loss_args {
    int64_t n_pairs, n_points;
    int32_t n_dim;
    int32_t hinge; /* enum etx_hinge */
    float margin;
    const float *point;    /* [n_points, n_dim] */
    const int32_t *a;      /* [n_pairs] */
    const int32_t *b;      /* [n_pairs] */
    const uint8_t *target; /* [n_pairs] 0 or 1 */
    const float *weight;   /* [n_pairs] or NULL: ones */
    float positive_scale;  /* of the gradient of pairs with y = 1 */
    float negative_scale;  /* of the gradient of pairs with y = 0 */
    double *positive_sum;  /* sum of the loss of pairs with y = 1, unscaled */
    double *negative_sum;
    float *d_point; /* [n_points, n_dim], added to, or NULL */
};

/* adamw: one step of AdamW (Loshchilov and Hutter, arXiv:1711.05101), with
 * the AMSGrad maximum when v_max is given. */
struct etx_adamw_args {
    int64_t n;
    int64_t step; /* 1 for the first */
    float learning_rate, beta1, beta2, eps, weight_decay;
    const float *decays;   /* [n] what weight_decay is multiplied by: 1 or 0; or
                            * NULL: ones */
    const float *gradient; /* [n] */
    float *parameter;      /* [n] */
    float *m, *v;          /* [n] moments */
    float *v_max;          /* [n] or NULL */
};

/* ---------------------------------------------------------------- table -- */

#define ETX_OPERATORS(X)                                                       \
    X(mlp)                                                                     \
    X(mlp_prepare)                                                             \
    X(mlp_backward)                                                            \
    X(linear)                                                                  \
    X(linear_backward)                                                         \
    X(norm)                                                                    \
    X(norm_backward)                                                           \
    X(activation)                                                              \
    X(activation_backward)                                                     \
    X(gather)                                                                  \
    X(scatter)                                                                 \
    X(add)                                                                     \
    X(row_dot)                                                                 \
    X(segment_reduce)                                                          \
    X(segment_reduce_backward)                                                 \
    X(edge_features)                                                           \
    X(hough_votes)                                                             \
    X(radius_graph)                                                            \
    X(distance_bins)                                                           \
    X(line_graph)                                                              \
    X(connected_components)                                                    \
    X(edge_select)                                                             \
    X(mutual_best)                                                             \
    X(outward_edges)                                                           \
    X(best_first)                                                              \
    X(walkthrough)                                                             \
    X(double_edges)                                                            \
    X(degrees)                                                                 \
    X(degree_weights)                                                          \
    X(graph_index)                                                             \
    X(fill)                                                                    \
    X(columns)                                                                 \
    X(take)                                                                    \
    X(find_not_finite)                                                         \
    X(scale)                                                                   \
    X(sum_squares)                                                             \
    X(narrow)                                                                  \
    X(widen)                                                                   \
    X(outward_key)                                                             \
    X(bce_loss)                                                                \
    X(square_loss)                                                             \
    X(hinge_loss)                                                              \
    X(adamw)

#define ETX_OPERATOR_FIELD(name)                                               \
    etx_status (*name)(                                                        \
        struct etx_stream * stream, const struct etx_##name##_args *args);

/* One pointer per operator; none is NULL. */
struct etx_op_table {
    ETX_OPERATORS(ETX_OPERATOR_FIELD)
};

/* The complete reference table. */
extern const struct etx_op_table etx_op_ref;

/* Override what has a version for this ETX_CPU_ level; does nothing at
 * ETX_CPU_REF or on another architecture. */
void etx_op_x86(struct etx_op_table *table, int32_t cpu_level);

#endif
